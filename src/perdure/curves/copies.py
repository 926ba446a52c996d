"""Copies: the same values in the same blocks, in whatever form and under whatever name they are given again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.scenario.model import Block

__all__ = ["differ", "digest_of", "many_differ"]

_ENOUGH = 20  # different values, which two lifetimes do not have by chance
_GLANCE = 1 << 10  # values of which nearly always enough differ


def digest_of(blocks: Sequence[Block], starts: npt.NDArray[np.int64], values: Array) -> str:
    """Return a digest of the mode, task and values of every block; nothing if fewer than 20 values differ."""
    if not many_differ(values):
        return ""
    made = hashlib.blake2b(repr([(block.mode, block.task) for block in blocks]).encode(), digest_size=16)
    made.update(starts.astype("<i8").tobytes())
    made.update((values + 0.0).astype("<f8").tobytes())  # a table may hold 0.0 where a journal holds -0.0
    return made.hexdigest()


def many_differ(values: Array) -> bool:
    """Return whether so many values differ that the same ones elsewhere are a copy."""
    if len(np.unique(values[:_GLANCE])) >= _ENOUGH:
        return True
    return len(values) > _GLANCE and len(np.unique(values)) >= _ENOUGH


def differ(first: object, second: object) -> bool:
    """Return whether two learners, or two seeds, are both recorded and not the same."""
    return None not in (first, second) and first != second
