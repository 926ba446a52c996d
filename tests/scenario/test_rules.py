"""Structure rules of the 2019 syllabus types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import UnknownNameError
from perdure.scenario.lint import lint

EXAMPLES = Path(__file__).parents[2] / "examples" / "syllabi"


def lifetime(*phases: tuple[str, str]) -> str:
    """Return a syllabus from `("1.train", "pong:0.1 breakout")` and so on: tasks with an optional width."""
    instructions: list[dict[str, Any]] = []
    for phase, tasks in phases:
        instructions.append({"$phase": phase})
        for text in tasks.split():
            task, _, width = text.partition(":")
            episode = {"$episode": task, **({"width": json.loads(width)} if width else {})}
            instructions.append({"$repeat": episode, "count": 50})
    return json.dumps({"instructions": instructions}, indent=1)


def problem_texts(text: str, kind: str, level: str = "error") -> list[str]:
    return [problem.what for problem in lint(text, kind=kind).problems if problem.level == level]


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("s003-continual", "CL"),
        ("s004-minigrid-continual", "CL"),
        ("ant-a", "ANT-A"),
        ("ant-b", "ANT-B"),
        ("s003-ant-c", "ANT-C"),
    ],
)
def test_the_published_examples_lint_clean_for_their_type(file: str, kind: str) -> None:
    report = lint((EXAMPLES / f"{file}.json").read_text(encoding="utf-8"))
    assert report.kind == kind
    assert [problem for problem in report.problems if problem.level != "advice"] == []


@pytest.mark.parametrize("kind", ["CL", "ANT-A", "ANT-B", "ANT-C"])
def test_the_types_of_2019_start_with_training(kind: str) -> None:
    text = lifetime(("0.test", "pong:1 pong:2"), ("1.train", "pong:1"), ("1.test", "pong:1"))
    assert any("this type starts with training" in what for what in problem_texts(text, kind))
    assert not any("starts with training" in problem.what for problem in lint(text).problems)


def test_cl_has_exactly_one_task() -> None:
    report = lint(lifetime(("1.train", "pong:1 pong:2 breakout:1"), ("1.test", "pong:1")), kind="cl")
    assert [(p.where, p.what) for p in report.problems if p.level == "error"] == [
        ("instructions[3]", "a second task, 'breakout'")
    ]


def test_cl_recommends_tests_and_variation() -> None:
    assert "no test phase" in problem_texts(lifetime(("1.train", "pong:1 pong:2")), "CL", "advice")
    assert problem_texts(lifetime(("1.train", "pong:1"), ("1.test", "pong:1")), "CL", "warning") == [
        "no parameter varies"
    ]
    assert not problem_texts(
        lifetime(("1.train", 'pong:{"$uniform":[0,1]}'), ("1.test", 'pong:{"$uniform":[0,1]}')), "CL", "warning"
    )


@pytest.mark.parametrize("kind", ["ANT-A", "ANT-B", "ANT-C"])
def test_adapting_to_new_tasks_needs_tests_and_tasks(kind: str) -> None:
    assert "no test phase" in problem_texts(lifetime(("1.train", "pong"), ("2.train", "breakout")), kind)
    assert "a single task, 'pong'" in problem_texts(lifetime(("1.train", "pong:1 pong:2"), ("1.test", "pong:1")), kind)


@pytest.mark.parametrize("kind", ["ANT-A", "ANT-B"])
@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ("pong:1 breakout pong:2", "a second parameter set of 'pong'"),
        ("pong:1 breakout:2", "'width' differs between 'pong' and 'breakout'"),
        ('pong:{"$uniform":[0,1]} breakout', "'pong' draws a parameter"),
    ],
)
def test_subtypes_a_and_b_vary_no_parameter(kind: str, tasks: str, words: str) -> None:
    text = lifetime(("1.train", tasks), ("1.test", tasks))
    assert any(words in what for what in problem_texts(text, kind))


def test_subtypes_a_and_b_may_fix_parameters() -> None:
    text = lifetime(
        ("1.train", "pong:1"),
        ("1.test", "pong:1 breakout:1"),
        ("2.train", "breakout:1"),
        ("2.test", "pong:1 breakout:1"),
    )
    assert problem_texts(text, "ANT-A") == problem_texts(text, "ANT-B") == []


def test_subtype_a_warns_if_an_earlier_task_is_not_tested() -> None:
    text = lifetime(("1.train", "pong"), ("1.test", "pong"), ("2.train", "breakout"), ("2.test", "breakout"))
    assert problem_texts(text, "ANT-A", "warning") == ["after learning 'breakout' there is no test of 'pong'"]


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ((("1.train", "a"), ("1.test", "a"), ("2.train", "b"), ("2.test", "a")), "after learning 'a'"),
        ((("1.train", "a"), ("1.test", "b"), ("2.train", "b"), ("2.test", "b")), "after learning 'b'"),
        ((("1.train", "a b"), ("1.test", "a b")), "after learning 'a', before the next task"),
    ],
)
def test_subtype_b_needs_the_tests_of_a_transfer_matrix(phases: tuple[tuple[str, str], ...], words: str) -> None:
    assert len(problem_texts(lifetime(*phases), "ANT-B")) == 1
    assert words in problem_texts(lifetime(*phases), "ANT-B")[0]


def test_subtype_c_varies_within_tasks_and_switches_the_order() -> None:
    varied = lifetime(("1.train", "a:1 a:2"), ("1.test", "b:1 b:2"), ("2.train", "b:1 b:2"), ("2.test", "a:1 a:2"))
    assert problem_texts(varied, "ANT-C") == []
    plain = lifetime(("1.train", "a"), ("1.test", "b"), ("2.train", "b"), ("2.test", "a"))
    assert problem_texts(plain, "ANT-C") == ["'a' has one parameter set", "'b' has one parameter set"]
    one_way = lifetime(("1.train", "a:1 a:2"), ("1.test", "b:1 b:2"))
    assert problem_texts(one_way, "ANT-C") == ["'b' is tested and never learned"]


def test_the_type_in_the_header_counts_unless_another_is_requested() -> None:
    text = lifetime(("1.train", "a b")).replace("{", '{"scenario_type": "cl",', 1)
    assert not lint(text).ok
    assert lint(text).kind == "CL"
    assert lint(text, kind="ANT-A").kind == "ANT-A"


def test_an_unknown_type_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ANT-A'"):
        lint(lifetime(("1.train", "a")), kind="ANT-AA")
