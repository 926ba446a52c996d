"""Lint: it reports problems and the metrics that a scenario can answer, and never crashes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ScenarioError
from perdure.scenario.compose import compose
from perdure.scenario.lint import LintReport, lint
from perdure.scenario.model import Scenario
from perdure.scenario.sites import around_later_learning, around_learning_another, since_learning

EXAMPLES = Path(__file__).parents[2] / "examples" / "syllabi"


@dataclass(frozen=True)
class Place:
    key: str | tuple[str, str]


@dataclass(frozen=True)
class Fake:
    """The part of a metric that lint needs."""

    name: str
    sites: Any
    needs: str = "something"
    expert: bool = False


FORWARD = Fake("forward_transfer", around_learning_another)
BACKWARD = Fake("backward_transfer", around_later_learning)
MAINTENANCE = Fake("performance_maintenance", since_learning)
THREE = (FORWARD, BACKWARD, MAINTENANCE)


def example(name: str) -> LintReport:
    return lint((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"), metrics=THREE, place=name)


@pytest.mark.parametrize(("name", "experiences"), [("s000-table1-carla", 25_000), ("s000-table1-splitmnist", 2_500)])
def test_table_1_of_new_2022_only_learns_and_is_not_eligible_for_transfer(name: str, experiences: int) -> None:
    facts = example(name).as_json()
    assert (facts["blocks"], facts["learning_experiences"], facts["evaluation_experiences"]) == (3, experiences, 0)
    assert {metric: match["sites"] for metric, match in facts["metrics"].items()} == {
        "forward_transfer": 0,
        "backward_transfer": 0,
        "performance_maintenance": 0,
    }
    assert facts["metrics"]["forward_transfer"]["why"] == "needs something"


@pytest.mark.parametrize(("name", "experiences"), [("s000-table2-carla", 15_600), ("s000-table2-splitmnist", 3_060)])
def test_table_2_of_new_2022_gives_one_forward_and_one_backward_transfer(name: str, experiences: int) -> None:
    facts = example(name).as_json()
    first, second = facts["tasks"]
    assert (facts["experiences"], facts["blocks"], facts["ok"], facts["problems"]) == (experiences, 8, True, [])
    assert facts["metrics"]["forward_transfer"] == {"sites": 1, "keys": [f"{first}→{second}"], "why": None}
    assert facts["metrics"]["backward_transfer"] == {"sites": 1, "keys": [f"{second}→{first}"], "why": None}


def test_the_json_has_the_documented_keys() -> None:
    facts = example("s003-annotated").as_json()
    assert list(facts) == [
        "ok",
        "name",
        "blocks",
        "experiences",
        "learning_experiences",
        "evaluation_experiences",
        "phases",
        "tasks",
        "problems",
        "metrics",
    ]
    assert (facts["ok"], facts["name"], facts["blocks"], facts["experiences"]) == (True, "s003-annotated", 10, 20_060)
    assert facts["phases"] == ["1.train", "1.test", "2.train", "2.test"]
    assert set(facts["problems"][0]) == {"level", "where", "what", "fix"}
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.stem)
def test_every_shipped_syllabus_has_neither_error_nor_warning(file: Path) -> None:
    report = example(file.stem)
    assert [str(problem) for problem in report.problems if problem.level != "advice"] == []


def test_experiences_are_null_if_steps_are_counted() -> None:
    facts = example("additions").as_json()
    assert facts["experiences"] is None
    assert facts["learning_experiences"] is None
    assert facts["evaluation_experiences"] == 120


def test_problems_are_in_order_of_severity_with_their_paths() -> None:
    text = '{"instructions": [\n{"$phase": "1.train"},\n{"$repeat": {"$episode": "a"}, "count": 3},\n{"$oops": 1}]}'
    report = lint(text)
    assert [(problem.level, problem.where) for problem in report.problems] == [
        ("error", "instructions[2]"),
        ("warning", "instructions[1]"),
        ("advice", "instructions"),
    ]
    assert not report.ok


def test_a_composed_syllabus_is_linted_like_its_file() -> None:
    report = lint(compose("condensed", ["a", "b", "c"], learn=100, evaluate=10), metrics=THREE)
    assert report.ok
    assert {name: match.sites for name, match in report.metrics.items()} == {
        "forward_transfer": 3,
        "backward_transfer": 3,
        "performance_maintenance": 3,
    }


def test_sites_are_counted_and_their_keys_listed_once() -> None:
    def sites(scenario: Scenario) -> Iterator[Place]:
        yield Place(("a", "b"))
        yield Place("a")
        yield Place("a")

    report = lint(compose("single", ["a"], learn=20, evaluate=5), metrics=(Fake("x", sites),))
    assert report.as_json()["metrics"]["x"] == {"sites": 3, "keys": ["a→b", "a"], "why": None}


def test_sites_report_the_missing_blocks() -> None:
    class Sites:
        def __call__(self, scenario: Scenario) -> Iterator[Place]:
            return iter(())

        def missing(self, scenario: Scenario) -> str:
            return f"{scenario.tasks[0].label} is not evaluated"

    report = lint(compose("single", ["a"], learn=20, evaluate=0), metrics=(Fake("x", Sites()),))
    assert report.metrics["x"].why == "a is not evaluated"


def test_sites_that_raise_are_named_and_do_not_affect_other_metrics() -> None:
    def broken(scenario: Scenario) -> Iterator[Place]:
        raise KeyError("oops")

    report = lint(compose("condensed", ["a", "b"], learn=20, evaluate=5), metrics=(Fake("bad", broken), FORWARD))
    assert report.metrics["bad"].why == "its sites cannot be found: KeyError: 'oops'"
    assert report.metrics["forward_transfer"].sites == 1


words = st.sampled_from(
    ["$phase", "$repeat", "$episode", "$info", "$variant", "count", "steps", "subtype", "w", "$uniform", "x/y", "$oops"]
)
scalars = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        2.5,
        1e999,
        10**12,
        10**30,
        "1.train",
        "1.test",
        "0.test",
        "2.train",
        "Pong",
        "",
        "\ud800",
        "a_b",
        "sleep",
    ]
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4), max_leaves=25
)
headers = st.dictionaries(
    st.sampled_from(["name", "tasks", "scenario_type", "input_file", "scenario", "complexity", "odd", "instructions"]),
    values,
    max_size=4,
)


@given(headers, st.none() | st.lists(values, max_size=6), st.sampled_from([None, "CL", "ANT-A", "ANT-B", "ANT-C"]))
def test_lint_never_crashes(header: dict[str, Any], instructions: list[Any] | None, kind: str | None) -> None:
    value = {**header, **({} if instructions is None else {"instructions": instructions})}
    try:
        facts = lint(json.dumps(value), kind=kind, metrics=THREE).as_json()
    except ScenarioError:
        return
    assert facts["ok"] == all(problem["level"] != "error" for problem in facts["problems"])
    json.dumps(facts, allow_nan=False, ensure_ascii=False).encode()


episodes = st.fixed_dictionaries(
    {"$episode": st.sampled_from(["a", "b", 3])}, optional={"$variant": st.sampled_from(["x", "y_z"]), "w": values}
)
repeats = st.recursive(
    episodes | values,
    lambda inner: st.fixed_dictionaries(
        {"$repeat": inner | st.lists(inner, max_size=3), "count": scalars | st.integers(1, 9)}
    ),
    max_leaves=5,
)
phases = st.fixed_dictionaries({"$phase": st.sampled_from(["0.test", "1.train", "1.test", "2.train", "3.test"])})


@given(st.lists(phases | repeats, max_size=12), st.sampled_from([None, "CL", "ANT-A", "ANT-B", "ANT-C"]))
def test_lint_never_crashes_on_an_almost_valid_syllabus(instructions: list[Any], kind: str | None) -> None:
    report = lint(json.dumps({"instructions": instructions}, indent=1), kind=kind, metrics=THREE)
    assert all(problem.where.partition("[")[0] in ("instructions", "") for problem in report.problems)


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_lint_never_crashes_on_any_text(text: str | bytes) -> None:
    with suppress(ScenarioError):
        lint(text)
