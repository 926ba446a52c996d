"""Lifetimes of random values as journals and as tables: shared by the tests of roles and of duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import perdure

__all__ = ["BLOCKS", "as_journal", "as_table", "experience_values"]

BLOCKS = tuple(
    (mode, task)
    for mode, tasks in (("test", "ab"), ("train", "a"), ("test", "ab"), ("train", "b"), ("test", "ab"))
    for task in tasks
)
LENGTH = 6
"""Experiences in each block."""


def experience_values(seed: int, blocks: Sequence[tuple[str, str]] = BLOCKS) -> list[float]:
    """Return a random value for each experience, rounded so that a table holds it exactly."""
    rng = np.random.default_rng(seed)
    return [round(float(number), 6) for number in rng.normal(1.0, 0.2, len(blocks) * LENGTH)]


def as_journal(folder: Path, name: str, values: Sequence[float], **facts: Any) -> Path:
    """Write the values as a journal."""
    with perdure.Journal(folder, name, **facts) as journal:
        for number, value in enumerate(values):
            mode, task = BLOCKS[number // LENGTH]
            journal.log(block_num=number // LENGTH, exp_num=number, block_type=mode, task_name=task, reward=value)
    return folder / name


def as_table(
    file: Path, lifetimes: Iterable[tuple[Mapping[str, object], Sequence[float], Sequence[tuple[str, str]]]]
) -> Path:
    """Write lifetimes into a CSV: for each its identity columns, its values, and its blocks."""
    lines: list[str] = []
    for identity, values, blocks in lifetimes:
        lines = lines or [",".join((*identity, "task_name", "block_type", "reward"))]
        before = ",".join(map(str, identity.values()))
        lines += [
            f"{before},{blocks[at // LENGTH][1]},{blocks[at // LENGTH][0]},{value}" for at, value in enumerate(values)
        ]
    file.write_text("\n".join(lines) + "\n")
    return file
