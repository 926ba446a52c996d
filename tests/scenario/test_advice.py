"""Advice of lint: each kind is given once."""

from __future__ import annotations

import json
from typing import Any

from perdure.scenario.compose import compose, single
from perdure.scenario.document import SyllabusProblem
from perdure.scenario.lint import lint


def lifetime(*phases: tuple[str, str, int]) -> list[SyllabusProblem]:
    instructions: list[dict[str, Any]] = []
    for phase, tasks, count in phases:
        number, _, subtype = phase.partition("/")
        instructions.append({"$phase": number, **({"subtype": subtype} if subtype else {})})
        instructions += [{"$repeat": {"$episode": task}, "count": count} for task in tasks.split()]
    return list(lint(json.dumps({"instructions": instructions})).problems)


def whats(problems: list[SyllabusProblem], level: str = "advice") -> list[str]:
    return [problem.what for problem in problems if problem.level == level]


def test_a_well_made_lifetime_needs_no_advice() -> None:
    assert lint(compose("condensed", ["a", "b", "c"], learn=100, evaluate=10)).problems == ()


def test_tasks_not_evaluated_before_the_first_learning_are_named() -> None:
    problems = lifetime(
        ("0.test", "a", 10), ("1.train", "a", 100), ("1.test", "a b", 10), ("2.train", "b", 100), ("2.test", "a b", 10)
    )
    assert whats(problems) == ["b is not evaluated before the first learning block"]
    assert problems[0].where == "instructions[3]"


def test_a_lifetime_without_evaluation_gets_one_advice() -> None:
    assert whats(lifetime(("1.train", "a", 100), ("2.train", "b", 100), ("3.train", "a", 100))) == [
        "nothing is evaluated"
    ]


def test_an_expert_needs_no_evaluation() -> None:
    assert lint(single("a", learn=100, evaluate=0)).problems == ()


def test_a_lifetime_without_learning_is_a_warning() -> None:
    assert whats(lifetime(("0.test", "a", 100)), "warning") == ["nothing is learned"]


def test_blocks_too_short_to_smooth_are_counted() -> None:
    problems = lifetime(
        ("0.test", "a b", 2), ("1.train", "a", 14), ("1.test", "a b", 2), ("2.train", "b", 10), ("2.test", "a b", 2)
    )
    assert whats(problems) == ["2 learning blocks, the first here, under 15 experiences"]
    assert not whats(problems, "warning")


def test_fifteen_experiences_are_enough_to_smooth() -> None:
    assert not lifetime(("0.test", "a", 2), ("1.train", "a", 15), ("1.test", "a", 2))


def test_a_block_whose_terminal_performance_is_one_value_is_a_warning() -> None:
    problems = lifetime(("0.test", "a", 2), ("1.train", "a", 9), ("1.test", "a", 2))
    assert whats(problems, "warning") == ["a learning block under 10 experiences"]
    assert "single value" in problems[0].fix


def test_learning_twice_without_an_evaluation_between_is_advised_against() -> None:
    problems = lifetime(("0.test", "a b", 2), ("1.train", "a b", 50), ("1.test", "a b", 2))
    assert "a learning block right after another" in whats(problems)[0]
    assert "(first: a, then b)" in whats(problems)[0]
    assert "blocks 2 (a), 3 (b) before block 4 (a); blocks 2 (a), 3 (b) before block 5 (b)" in whats(problems)[1]


def test_sleep_directly_after_waking_is_not_a_second_learning() -> None:
    assert not lifetime(("0.test", "a", 2), ("1.train", "a", 50), ("1.train/sleep", "a", 50), ("1.test", "a", 2))


def test_a_task_left_out_of_an_evaluation_makes_transfer_unattributable() -> None:
    problems = lifetime(
        ("0.test", "a b c", 2), ("1.train", "a", 50), ("1.test", "a b", 2), ("2.train", "b", 50), ("2.test", "a b c", 2)
    )
    assert len(whats(problems)) == 1
    assert "1 times: blocks 3 (a), 6 (b) before block 9 (c)" in whats(problems)[0]
