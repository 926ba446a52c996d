"""A small life, and any life, written to disk for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from msgspec.structs import replace

import perdure
from perdure.log.formats.table import frame_lifetimes
from perdure.log.model import Lifetime
from perdure.log.read import Options

__all__ = ["LIFE", "table", "written"]

LIFE = [
    ("test", "a_1", [1.0, 2.0]),
    ("test", "b_1", [2.0, 2.0]),
    ("train", "a_1", [1.0, 2.0, 3.0, 4.0]),
    ("test", "a_1", [4.0, 4.0]),
    ("test", "b_1", [3.0, 3.0]),
    ("train", "b_1", [2.0, 5.0]),
    ("test", "a_1", [3.0, 4.0]),
    ("test", "b_1", [5.0, 5.0]),
]


def written(folder: Path, name: str, blocks: Sequence[tuple[str, str, Sequence[float | None]]], **more: Any) -> Path:
    """A lifetime on disk, block by block."""
    with perdure.Journal(folder, name, measures=["reward"], **more) as journal:
        number = 0
        for block, (mode, task, rewards) in enumerate(blocks):
            for reward in rewards:
                journal.log(
                    block_num=block, exp_num=number, block_type=mode, task_name=task, task_params={}, reward=reward
                )
                number += 1
    return folder / name


def table(name: str, blocks: Sequence[tuple[str, str, Sequence[float]]], **more: Any) -> Lifetime:
    """A lifetime in memory, block by block."""
    rows = [(number, mode, task, value) for number, (mode, task, values) in enumerate(blocks) for value in values]
    columns = {
        "block_num": [row[0] for row in rows],
        "exp_num": list(range(len(rows))),
        "block_type": [row[1] for row in rows],
        "task_name": [row[2] for row in rows],
        "reward": [float(row[3]) for row in rows],
    }
    (lifetime,) = frame_lifetimes(pl.DataFrame(columns), Options())
    return replace(lifetime, id=name, **more)
