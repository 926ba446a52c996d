"""Variants: every distinct parameter set of a task is one (definitions §1)."""

from __future__ import annotations

import json
from typing import Any

from perdure.scenario.document import SyllabusProblem
from perdure.scenario.model import Block, Scenario, Task, apply_variants
from perdure.scenario.syllabus import parse_syllabus


def read_labels(*episodes: dict[str, Any], **header: Any) -> tuple[list[str], tuple[SyllabusProblem, ...]]:
    instructions = [{"$phase": "1.train"}, *episodes]
    syllabus, problems = parse_syllabus(json.dumps({**header, "instructions": instructions}))
    return [block.task for block in syllabus.scenario.blocks], problems


def pong(variant: str | None = None, **params: Any) -> dict[str, Any]:
    return {"$episode": "Pong", **({"$variant": variant} if variant else {}), **params}


def test_a_task_with_one_unnamed_set_has_no_suffix() -> None:
    assert read_labels(pong(w=1), {"$episode": "Breakout"})[0] == ["pong", "breakout"]


def test_unnamed_sets_are_numbered_in_order_of_appearance() -> None:
    assert read_labels(pong(w=3), pong(w=1), pong(w=3), pong())[0] == ["pong_v1", "pong_v2", "pong_v1", "pong_v3"]


def test_a_named_set_keeps_its_name_in_lower_case() -> None:
    assert read_labels(pong("Wide", w=3), pong(w=1), pong("v1", w=5), pong(w=2))[0] == [
        "pong_wide",
        "pong_v2",
        "pong_v1",
        "pong_v3",
    ]


def test_an_unnamed_set_that_equals_a_named_one_is_that_variant() -> None:
    labels, problems = read_labels(pong(w=3), pong("wide", w=3), pong(w=1))
    assert labels == ["pong_wide", "pong_v1"]
    assert not problems


def test_sets_are_compared_by_value_and_not_by_order_or_spelling() -> None:
    assert read_labels(pong(a=1, b=2), pong(b=2, a=1.0))[0] == ["pong"]
    assert read_labels(pong(a=1), pong(a=True), pong(a="1"), pong(a=[1]), pong(a={"x": 1}), pong(a=None))[0] == [
        f"pong_v{number}" for number in range(1, 7)
    ]


def test_a_distribution_is_one_set() -> None:
    drawn = {"$uniform": [0, 1]}
    assert read_labels(pong(w=drawn), pong(w=drawn))[0] == ["pong"]
    assert read_labels(pong(w=drawn), pong(w=0.5))[0] == ["pong_v1", "pong_v2"]


def test_names_without_parameters_are_separate_variants() -> None:
    assert read_labels(pong("a"), pong("b"), pong())[0] == ["pong_a", "pong_b", "pong_v1"]


def test_names_fold_case() -> None:
    assert read_labels({"$episode": "Pong"}, {"$episode": "PONG"})[0] == ["pong"]


def test_one_name_for_two_sets_is_an_error() -> None:
    _, problems = read_labels(pong("wide", w=1), pong("wide", w=2))
    assert [(problem.level, problem.where) for problem in problems] == [("error", "instructions[2]")]
    assert "two parameter sets" in problems[0].what


def test_two_tasks_with_the_same_label_in_a_log_are_an_error() -> None:
    _, problems = read_labels(
        pong("wide"), {"$episode": "pong_wide", "$variant": "x"}, {"$episode": "pong", "$variant": "v"}
    )
    assert not [problem for problem in problems if problem.level == "error"]
    _, problems = read_labels(pong("wide"), {"$episode": "pong_wide"})
    assert "both logged as 'pong_wide'" in next(problem.what for problem in problems if problem.level == "error")


def test_an_underscore_in_a_task_without_variants_is_a_warning() -> None:
    _, problems = read_labels({"$episode": "my_task"})
    assert [problem.level for problem in problems] == ["warning"]
    assert not read_labels({"$episode": "my_task", "$variant": "a"})[1]


def test_declared_variants_bring_their_parameters() -> None:
    tasks = {"pong": {"variants": {"wide": {"w": 3}}}}
    labels, problems = read_labels(pong("wide"), pong(w=3), pong("wide", w=3), tasks=tasks)
    assert labels == ["pong_wide"]
    assert not problems
    assert "is not among those" in read_labels(pong("wdie"), tasks=tasks)[1][0].what


def test_a_scenario_without_variants_joins_only_blocks_of_one_number() -> None:
    tasks = [Task("pong", "wide"), Task("pong", "slim")]
    result = [
        Block("learn", "pong_wide", 3, group=0),
        Block("learn", "pong_slim", 4, group=1),
        Block("evaluate", "pong_wide", 1, group=2),
        Block("evaluate", "pong_slim", None, group=2),
    ]
    variants = apply_variants(Scenario.of("s", result, tasks), "agnostic")
    assert [task.label for task in variants.tasks] == ["pong"]
    assert [(block.mode, block.task, block.length) for block in variants.blocks] == [
        ("learn", "pong", 3), ("learn", "pong", 4), ("evaluate", "pong", None)
    ]  # fmt: skip


def test_a_scenario_by_parameters_has_a_task_for_each_set() -> None:
    result = [Block("learn", "pong", 1, {"w": w}, group=index) for index, w in enumerate((1, 2, 1.0))]
    result.append(Block("learn", "pong_v1", 1, group=3))
    variants = apply_variants(Scenario.of("s", result), "params")
    assert [block.task for block in variants.blocks] == ["pong_v2", "pong_v3", "pong_v2", "pong_v1"]
    assert variants.tasks[0] == Task("pong", "v2", params={"w": 1})
    assert apply_variants(Scenario.of("s", result), "aware") == Scenario.of("s", result)
