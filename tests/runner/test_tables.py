"""Scenario tables of New et al. 2022 and Baker et al. 2023, and the hundred tasks: the files run as the papers
describe.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from tests.command import run_learner

import perdure
from perdure.runner.plan import RunPlan
from perdure.runner.protocol import parse_protocol, read_protocol
from perdure.scenario.lint import lint
from perdure.scenario.syllabus import syllabus_text
from perdure.settings import Settings

PROTOCOLS = Path(__file__).parents[2] / "examples" / "protocols"


@pytest.mark.parametrize("name", ["s000-table1", "s001-table-b16"])
def test_every_scenario_of_a_table_lints_clean(name: str) -> None:
    for job in RunPlan(read_protocol(PROTOCOLS / f"{name}.toml")).lives:
        assert [problem for problem in lint(syllabus_text(job.syllabus)).problems if problem.level == "error"] == []


def test_condensed_and_dispersed_are_those_of_the_appendix() -> None:
    """Baker et al. 2023, App. B.1: once each in full, or three superblocks with every variant once, a third as long."""
    condensed, dispersed = (
        [block for block in job.syllabus.scenario.blocks if block.mode == "learn"]
        for job in RunPlan(read_protocol(PROTOCOLS / "s001-table-b16.toml")).lives[:2]
    )
    variants = {block.task for block in condensed}
    assert len(variants) == len(condensed) == 6, "two tasks of three variants, each learned once"
    assert [block.length for block in condensed] == [60] * 6
    assert [block.length for block in dispersed] == [20] * 18
    superblocks = [[block.task for block in dispersed[index : index + 6]] for index in (0, 6, 12)]
    assert all(set(superblock) == variants for superblock in superblocks)


def test_the_table_has_the_lifetimes_and_experts_that_verdicts_need() -> None:
    plan = RunPlan(read_protocol(PROTOCOLS / "s001-table-b16.toml"))
    assert (plan.protocol.lifetimes, plan.protocol.experts) == (8, 5)
    assert sum(job.experiences for job in plan.jobs) < 20_000, "it must end within two minutes on two cores"


def test_the_single_task_table_is_scored_as_one_task(tmp_path: Path) -> None:
    protocol = read_protocol(PROTOCOLS / "s000-table1.toml").with_lifetimes(1)
    result = run_learner(protocol, tmp_path, workers=0)
    assert not result.failed
    score = perdure.score(result.finished_lives[0], settings=Settings(variants=protocol.score["variants"]))
    assert score.tasks == ("task-1-zero-one",)
    assert len(score.metrics["recovery_time"].by["task-1-zero-one"]) == 2
    assert score["droop"] is not None
    assert score["performance_recovery"] is not None


def test_a_shorter_sequence_of_the_hundred_tasks_gives_its_metrics(tmp_path: Path) -> None:
    example = runpy.run_path(str(PROTOCOLS / "hundred_tasks.py"))
    assert len(parse_protocol(example["protocol"]()).scenarios[0].syllabus(0).scenario.tasks) == 100
    short = parse_protocol(example["protocol"](tasks=4, learn=6))
    assert not run_learner(short, tmp_path, workers=0).failed
    (score,) = perdure.survey(tmp_path, settings=perdure.Settings(metrics=example["METRICS"])).scores
    assert score.why == {}
