"""The published syllabi of 2019 run unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import perdure
from perdure.runner.lifetime import lead, run_lifetime
from perdure.scenario.syllabus import Syllabus, read_syllabus

SYLLABI = Path(__file__).parents[2] / "examples" / "syllabi"
GAMES = ("additions", "ant-a", "ant-b", "s003-annotated", "s003-ant-c", "s003-continual", "s004-minigrid-continual")
PICTURES = ("s000-table1-splitmnist", "s000-table2-splitmnist")


class Still:
    """A learner that always does the same."""

    def act(self, observation: Any) -> Any:
        import numpy as np

        return np.zeros(len(observation), dtype=int) if getattr(observation, "ndim", 1) == 3 else 0


def shorten(syllabus: Syllabus) -> Syllabus:
    """Return the same blocks, two experiences or a few hundred steps long."""
    blocks = tuple(replace(block, length=None if block.length is None else 2) for block in syllabus.scenario.blocks)
    steps = tuple(None if step is None else 300 for step in syllabus.steps)
    return replace(syllabus, scenario=replace(syllabus.scenario, blocks=blocks), steps=steps)


@pytest.mark.parametrize("name", [*GAMES, *PICTURES])
def test_every_block_of_a_published_syllabus_can_be_run(tmp_path: Path, name: str) -> None:
    if "minigrid" in name:
        pytest.importorskip("minigrid")
    syllabus = read_syllabus(SYLLABI / f"{name}.json")
    learner = Still()
    lead(run_lifetime(shorten(syllabus), tmp_path, name, learner=learner), learner)
    lifetime = perdure.read(tmp_path / name)
    assert lifetime.complete
    assert [block.task for block in lifetime.scenario.blocks] == [block.task for block in syllabus.scenario.blocks]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "episodes"), [("s003-annotated", 20_060), ("s003-continual", 15_500)])
def test_a_published_syllabus_runs_in_full(tmp_path: Path, name: str, episodes: int) -> None:
    learner = Still()
    lead(run_lifetime(SYLLABI / f"{name}.json", tmp_path, name, learner=learner), learner)
    assert perdure.read(tmp_path / name).experiences.height == episodes
