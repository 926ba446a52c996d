"""A protocol from end to end in Python: `run` gives the results of `perdure run`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from tests.cli.verbs import run_verb

import perdure
from perdure.errors import ProtocolError

PROTOCOL = """
name = "small"
seed = 5
lifetimes = 2
experts = 1

[[learners]]
use = "q-learning"

[[learners]]
use = "{second}"
name = "other"

[[scenarios]]
layout = "condensed"
tasks = ["pong:wide", "pong:narrow"]
learn = 8
evaluate = 4

[tasks.pong]
params = {{ points = 1, steps = 30 }}
variants = {{ wide = {{ "bot/paddle/width" = 0.4 }}, narrow = {{ "bot/paddle/width" = 0.2 }} }}
"""


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    file = tmp_path / "protocol.toml"
    file.write_text(PROTOCOL.format(second="q-learning-per-task"))
    return file


def facts(*arguments: object) -> dict[str, Any]:
    """Return the JSON of a `perdure run` command."""
    result = run_verb("run", *arguments, "--workers", 0, "--json", "-", "--quiet")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def read_json(evaluation: perdure.Evaluation) -> Any:
    return json.loads(evaluation.to_json())


@pytest.mark.parametrize("learner", [None, "q-learning-independent"])
def test_python_and_the_command_line_give_the_same_results(protocol: Path, tmp_path: Path, learner: str | None) -> None:
    into = tmp_path / "run"
    result = perdure.run(protocol, into, learner=learner, workers=0)
    assert result.whole
    assert len(result.lived) == (8 if learner is None else 4)
    assert result.report == str(into / "report.html")
    assert Path(result.report).stat().st_size > 10_000
    # Costs are measured in seconds, so both results must come from the same lifetime.
    again = perdure.run(protocol, into, learner=learner, workers=0)
    named = [] if learner is None else ["--learner", learner]
    assert read_json(again) == facts(protocol, "--into", into, *named)
    assert again.lived == ()
    assert [group.as_json() for group in again.groups] == [group.as_json() for group in result.groups]


def test_a_prepared_protocol_matches_the_dry_run_and_writes_nothing(protocol: Path, tmp_path: Path) -> None:
    prepared = perdure.prepare_protocol(tomllib.loads(protocol.read_text()), tmp_path / "run", workers=0)
    assert prepared.titles == ("q-learning", "other")
    assert read_json(prepared.evaluated(())) == facts(protocol, "--into", tmp_path / "run", "--dry-run")
    assert not (tmp_path / "run").exists()


def test_a_problem_of_the_last_learner_is_reported_before_the_first_lifetime(protocol: Path, tmp_path: Path) -> None:
    protocol.write_text(PROTOCOL.format(second="q-learning-per-tas"))
    with pytest.raises(ProtocolError, match="did you mean 'q-learning-per-task'"):
        perdure.run(protocol, tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()


def test_a_shard_is_not_scored_and_learner_names_are_folders(protocol: Path, tmp_path: Path) -> None:
    part = perdure.run(protocol, tmp_path / "run", workers=0, shard="1/2")
    assert part.whole
    assert (part.survey, part.report) == (None, None)
    assert part.groups == ()
    left = set(part.missing)
    assert {name.partition("/")[0] for name in left} == {"q-learning", "other"}
    rest = perdure.run(protocol, tmp_path / "run", workers=0, score=False)
    assert set(rest.lived) == left
    assert rest.survey is None
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_failing_learner_is_named_and_the_other_is_scored(protocol: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def __init__(self, seed): pass\n"
        "    def act(self, observation): raise RuntimeError('no idea')\n"
    )
    protocol.write_text(PROTOCOL.format(second="mine:Mine"))
    result = perdure.run(protocol, tmp_path / "run", workers=0)
    assert not result.whole
    assert all(name.startswith("other/") and "no idea" in why for name, why in result.failed.items())
    assert result.failed
    assert {group.learner for group in result.groups} == {"q-learning"}
    assert result.table().filter(finished=False)["learner"].unique().to_list() == ["other"]
    assert "no idea" in result._repr_html_()
    assert repr(result).startswith("Evaluation('small', 2 learners, 4 lived, ")
    assert len(result) == len(list(result)) == 2


@pytest.mark.parametrize("lifetimes", [None, 4])
def test_the_cost_of_a_plan_is_the_sum_over_its_lifetimes_and_experts(protocol: Path, lifetimes: int | None) -> None:
    plan = perdure.plan(2.0)
    cost = perdure.estimate_cost(plan, protocol, lifetimes=lifetimes, experts=3).cost
    assert cost is not None
    count = lifetimes or plan.exact or 0
    # A lifetime learns two variants for 8 experiences each, and has six evaluations of 4; an expert learns one variant.
    assert (cost.lives, cost.life_experiences) == (count, count * (2 * 8 + 6 * 4))
    assert (cost.experts, cost.expert_experiences) == (6, 6 * 8)
    how = [
        "--k",
        2,
        "--protocol",
        protocol,
        "--experts-per-task",
        3,
        *(["--lifetimes", lifetimes] if lifetimes else []),
    ]
    assert json.loads(run_verb("plan", *how, "--json", "-").stdout)["cost"] == to_builtins(cost)


@pytest.mark.parametrize("few", [0, 2])
def test_a_protocol_is_linted_scenario_by_scenario(protocol: Path, few: int) -> None:
    protocol.write_text(protocol.read_text().replace("experts = 1", f"experts = {few}"))
    problems = perdure.lint_protocol(protocol)
    assert problems.ok
    assert list(problems.scenarios) == ["condensed"]
    assert [problem.ok for problem in problems] == [True] * len(problems)
    assert problems.table()["scenario"].unique().to_list() == ["condensed"]
    assert problems.as_json() == json.loads(run_verb("lint", protocol, "--json", "-").stdout)
    assert problems.few_experts
    assert problems.few_experts.startswith("no experts" if few == 0 else "2 experts per task")


def test_a_learner_that_a_protocol_lacks_is_refused(protocol: Path, tmp_path: Path) -> None:
    (one, _) = perdure.prepare_protocol(protocol, tmp_path / "run").runs
    with pytest.raises(ProtocolError, match="'q-learning-per-task' for a protocol that has its learner; give its file"):
        perdure.prepare_protocol(one.plan.protocol, tmp_path / "run", learner="q-learning-per-task")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"q-learning"', '"q-learnin"', "nothing was run: unknown learner 'q-learnin'; did you mean"),
        ("pong", "pongg", "nothing was run: the task 'pongg_wide': unknown task"),
        ("seed = 5", 'seed = 5\nscore = { preset = "none" }', "[score]: unknown preset 'none'"),
        ("seed = 5", "seed = 5\ntwin = true", "nothing was run: the batched engine does not support twins"),
    ],
)
def test_a_problem_of_a_protocol_is_reported_with_its_file(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(PROTOCOL.format(second="q-learning-per-task").replace(before, after))
    with pytest.raises(perdure.PerdureError) as caught:
        perdure.prepare_protocol(file, tmp_path / "run", engine="batched" if "twin" in after else "local")
    assert str(caught.value).startswith(f"{file}: {message}")
    assert caught.value.file == str(file)


def test_a_line_that_is_not_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "x"\nlifetimes = = 3\n')
    with pytest.raises(ProtocolError, match="not TOML: Invalid value; mend it there") as caught:
        perdure.prepare_protocol(file, tmp_path / "run")
    assert (caught.value.file, caught.value.line) == (str(file), 2)


def test_the_score_of_one_learner_is_stored_with_its_run_or_marked_as_missing(protocol: Path, tmp_path: Path) -> None:
    unscored = perdure.run(protocol, tmp_path / "run", learner="q-learning", workers=0, score=False)
    assert unscored.as_json()["score"] is None
    scored = perdure.run(protocol, tmp_path / "run", learner="q-learning", workers=0)
    assert scored.lived == ()
    assert scored.scored is not None
    assert scored.as_json()["score"] == scored.scored.as_json()
