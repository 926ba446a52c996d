"""Syllabi of 2019 and the split digits of New et al. 2022 run unchanged."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from perdure.errors import PerdureError
from perdure.scenario.parameters import episodes as parameters
from perdure.scenario.syllabus import read_syllabus
from perdure.tasks.catalogue import task_kind
from perdure.tasks.datasets import Answered, Dataset
from perdure.tasks.episodes import Episodes
from perdure.tasks.interface import BatchTask

SYLLABI = Path(__file__).parents[2] / "examples" / "syllabi"
RUNNABLE = (
    "s003-annotated",
    "s003-continual",
    "s003-ant-c",
    "ant-a",
    "ant-b",
    "additions",
    "s004-minigrid-continual",
    "s000-table1-splitmnist",
    "s000-table2-splitmnist",
)


@pytest.mark.parametrize("name", RUNNABLE)
def test_every_block_of_the_syllabus_can_be_run(name: str) -> None:
    if "minigrid" in name and find_spec("minigrid") is None:
        pytest.skip("minigrid is not installed")
    scenario = read_syllabus(SYLLABI / f"{name}.json").scenario
    tasks = {task.label: task for task in scenario.tasks}
    blocks_run = 0
    for position, block in enumerate(scenario.blocks):
        task = tasks[block.task]
        first = list(itertools.islice(parameters(block, position, 3), 2))
        if isinstance(task_kind(task), BatchTask):
            answers: list[Answered] = []
            dataset = Dataset(task, [(item, seed) for seed, item in enumerate(first)], block.mode, answers.append)
            dataset.reset()
            done = False
            while not done:
                batch, done, _ = dataset.next_batch()
                dataset.get_labels(batch["id"], np.zeros(len(batch["inputs"])))
            assert len(answers) == len(first)
        else:
            with Episodes(task, 3) as episodes:
                for seed, item in enumerate(first):
                    episode = episodes.begin(item, seed)
                    episode.action_space.seed(seed)
                    episode.reset()
                    while not episode.ended:
                        episode.step(episode.action_space.sample())
                    assert np.isfinite(episode.log_info()["reward"])
        blocks_run += 1
    assert blocks_run == len(scenario.blocks)


def test_an_unknown_task_is_named() -> None:
    scenario = read_syllabus(SYLLABI / "s000-table1-carla.json").scenario
    with pytest.raises(PerdureError, match="unknown task or environment 'Task-1-navigate'"):
        task_kind(scenario.tasks[0])
