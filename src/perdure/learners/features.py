"""Features: an observation as a few rows of a table, so that a sum of their entries is its value.

A small box of numbers is cut into bins, each number alone and each pair together (coarse coding; Sutton
and Barto 2018, §9.5). Anything else is one row of its own, found by hashing: a table with collisions.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

ROWS = 4096
"""The rows of every table, whatever the task, so that tasks can share one."""

_ALONE, _PAIRED = 12, 6
_MOST_NUMBERS = 12

Encoder = Callable[[Any], npt.NDArray[np.int64]]


def encoder_for(space: Any) -> Encoder:
    """How observations of a Gymnasium space become rows."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box) and len(space.shape) == 1 and space.shape[0] <= _MOST_NUMBERS:
        return _binned(space)
    return _hashed


def _binned(space: Any) -> Encoder:
    low = np.where(np.isfinite(space.low) & (space.low > -1e6), space.low, -10.0).astype(np.float64)
    high = np.where(np.isfinite(space.high) & (space.high < 1e6), space.high, 10.0).astype(np.float64)
    unit = 1.0 / np.maximum(high - low, 1e-12)
    size = len(low)
    first, second = np.triu_indices(size, 1)
    alone_at = np.arange(size) * _ALONE
    paired_at = size * _ALONE + np.arange(len(first)) * _PAIRED**2
    almost_one = 1.0 - 1e-9

    def rows(observation: Any) -> npt.NDArray[np.int64]:
        place = np.minimum(np.maximum((observation - low) * unit, 0.0), almost_one)
        coarse = (place * _PAIRED).astype(np.int64)
        alone = (place * _ALONE).astype(np.int64) + alone_at
        return np.concatenate((alone, coarse[first] * _PAIRED + coarse[second] + paired_at))

    return rows


def _hashed(observation: Any) -> npt.NDArray[np.int64]:
    """One row, by what the observation consists of; text, such as a mission, counts like numbers."""
    return np.array([zlib.crc32(_bytes(observation)) % ROWS])


def _bytes(observation: Any) -> bytes:
    if isinstance(observation, dict):
        return b"".join(key.encode() + _bytes(observation[key]) for key in sorted(observation))
    if isinstance(observation, tuple):
        return b"".join(map(_bytes, observation))
    return observation.encode() if isinstance(observation, str) else np.asarray(observation).tobytes()
