"""A small life, and any life, written to disk for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import perdure

__all__ = ["LIFE", "written"]

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
