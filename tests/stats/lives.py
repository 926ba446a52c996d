"""Scored lifetimes made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perdure.stats.model import Bar, Pool, ScoredLife

BARS = {
    "performance_maintenance": Bar(0.0),
    "forward_transfer": Bar(1.0),
    "recovery_time": Bar(None, better="lower"),
}


def life(name: str, **facts: Any) -> ScoredLife:
    values = facts.pop("values", {"performance_maintenance": 1.0})
    return ScoredLife(name, values, **facts)


def lives(
    values: Sequence[float | None], metric: str = "performance_maintenance", **facts: Any
) -> tuple[ScoredLife, ...]:
    return tuple(
        life(f"life-{at:03d}", values={metric: value}, seed=at, order=("a", "b"), **facts)
        for at, value in enumerate(values)
    )


def normal(mean: float, sd: float, n: int, seed: int = 0) -> list[float]:
    return [float(one) for one in np.random.default_rng(seed).normal(mean, sd, n)]


def pool(*given: ScoredLife, **facts: Any) -> Pool:
    return Pool("pool", given, BARS, **facts)
