"""Stateless twins: they run next to a lifetime if a protocol asks for them, and are compared with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.command import run_learner

import perdure
from perdure.runner.protocol import parse_protocol

PROTOCOL = {
    "name": "twins",
    "seed": 1,
    "lifetimes": 1,
    "experts": 0,
    "twin": True,
    "learner": {"use": "naive"},
    "scenarios": [{"layout": "condensed", "tasks": ["zero-one", "two-three"], "learn": 12, "evaluate": 3}],
    "tasks": {"zero-one": {"bounds": [0, 1]}, "two-three": {"bounds": [0, 1]}},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("twins")
    result = run_learner(parse_protocol(PROTOCOL), into, workers=0)
    assert not result.failed
    assert [job.id for job in result.plan.twins if result.folder.is_finished(job)] == ["life-000-twin"]
    return into


def blocks_of(path: Path) -> list[tuple[str, str, float]]:
    """Return the mode, task and mean accuracy of each block, computed from the rows."""
    rows = perdure.read(path).experiences
    return [
        (part["block_type"][0], part["task_name"][0], float(np.mean(part["accuracy"].to_list())))
        for part in rows.partition_by("block_num", maintain_order=True)
    ]


def test_gain_is_the_mean_difference_in_evaluations_of_learned_tasks_in_points(run: Path) -> None:
    lifetime, twin = blocks_of(run / "lives" / "life-000"), blocks_of(run / "twins" / "life-000-twin")
    assert [item[:2] for item in lifetime] == [item[:2] for item in twin], "the same scenario"
    learned: set[str] = set()
    gains: list[float] = []
    for (mode, task, mine), (_, _, its) in zip(lifetime, twin, strict=True):
        if mode == "train":
            learned.add(task)
        elif task in learned:
            gains.append(100 * (mine - its))  # bounds of 0 and 1 give a scale of 100 points
    assert len(gains) == 3
    (score,) = perdure.survey(run).scores
    assert score["twin_gain"] == pytest.approx(np.mean(gains))
    assert score.identity.role == "life", "a twin is not a separate lifetime"


def test_cost_is_seconds_per_learning_experience_compared_with_the_twin(run: Path) -> None:
    def seconds(path: Path) -> float:
        rows = perdure.read(path).experiences.filter(pl.col("block_type") == "train")
        times = rows.with_columns(pl.col("timestamp").str.to_datetime("%Y%m%dT%H%M%S%.f"))
        spans = [
            (part["timestamp"][-1] - part["timestamp"][0]).total_seconds()
            for part in times.partition_by("block_num", maintain_order=True)
        ]
        return float(sum(spans)) / (rows.height - len(spans))

    (score,) = perdure.survey(run).scores
    mine, its = seconds(run / "lives" / "life-000"), seconds(run / "twins" / "life-000-twin")
    assert score["twin_cost"] == pytest.approx(mine / its, rel=1e-6)


def test_without_a_twin_the_reason_names_the_option(run: Path) -> None:
    score = perdure.score(run / "lives" / "life-000")
    assert "twin = true" in score.why["twin_gain"]
    assert "twin = true" in score.why["twin_cost"]


def test_a_twin_knows_nothing_of_the_block_before(run: Path) -> None:
    """In an evaluation the twin equals its untrained state: evaluating twice gives the same result twice."""
    from perdure.runner.lifetime import Stateless

    seen: list[object] = []

    class Remembering:
        def __init__(self) -> None:
            self.blocks = 0

        def act(self, observation: np.ndarray) -> np.ndarray:
            return np.zeros(len(observation), dtype=int)

        def learn(self, experience: object) -> None:
            self.blocks += 1

        def block_started(self, situation: object) -> None:
            seen.append(self.blocks)

    from perdure.runner.lifetime import lead, run_lifetime
    from perdure.runner.plan import RunPlan

    job = RunPlan(parse_protocol(PROTOCOL)).twins[0]

    lead(run_lifetime(job.syllabus, run / "more", "life", learner="remembering"), Stateless(Remembering))
    assert seen == [0] * len(job.syllabus.scenario.blocks)


def test_adding_twins_does_not_change_the_protocols_identity() -> None:
    assert parse_protocol(PROTOCOL).digest == parse_protocol({**PROTOCOL, "twin": False}).digest
