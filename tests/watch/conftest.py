"""Runs to watch are those that reports are made of, or are written block by block while they are watched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.reports.conftest import run_folder, told, two_runs

import perdure
from perdure.errors import PerdureError
from perdure.scenario.model import Block, Scenario

__all__ = ["LENGTH", "Clock", "Writer", "run_folder", "told", "two_runs"]

PLAN = [("test", "a"), ("train", "a"), ("test", "a"), ("train", "b"), ("test", "a")]
LENGTH = 30


class Writer:
    """A lifetime that is written block by block, announced in its manifest."""

    def __init__(self, into: Path, name: str) -> None:
        blocks = [Block("learn" if kind == "train" else "evaluate", task, LENGTH) for kind, task in PLAN]
        self.journal = perdure.Journal(
            into, name, ["reward"], learner="toy", seed=1, scenario=Scenario.of("plan", blocks)
        )
        self.at = 0
        self.path = into / name

    def block(self, number: int, count: int = LENGTH) -> None:
        kind, task = PLAN[number]
        self.journal.log_many(
            block_num=number,
            exp_num=np.arange(self.at, self.at + count),
            block_type=kind,
            task_name=task,
            reward=np.linspace(0.1, 0.9, count) + number / 10,
        )
        self.at += count


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path / "logs", "life-0")
    yield made
    with contextlib.suppress(PerdureError):  # its folder may have been removed under it
        made.journal.close()


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
