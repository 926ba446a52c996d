"""Runs to watch: the runs of the report tests, and lifetimes that are written block by block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.reports.conftest import gather_run, run_folder, two_runs

import perdure
from perdure.errors import PerdureError
from perdure.scenario.model import Block, Scenario

__all__ = ["LENGTH", "Clock", "Writer", "gather_run", "run_folder", "two_runs"]

PLAN = [("test", "a"), ("train", "a"), ("test", "a"), ("train", "b"), ("test", "a")]
LENGTH = 30


class Writer:
    """Lifetime that is written block by block, as its manifest plans."""

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
    live_writer = Writer(tmp_path / "logs", "life-0")
    yield live_writer
    with contextlib.suppress(PerdureError):  # a test may have removed its folder
        live_writer.journal.close()


class Clock:
    """Clock that a test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
