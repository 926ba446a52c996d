"""Scored lifetimes made up for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs
from msgspec.structs import replace

from perdure.gather.model import ScoredLifetime, Survey
from perdure.log.model import Identity
from perdure.metrics.declare import Threshold
from perdure.metrics.measure import Measured
from perdure.metrics.score import Score

BARS = {
    "performance_maintenance": Threshold(0.0, headline="log"),
    "forward_transfer": Threshold(1.0, headline="log"),
    "recovery_time": Threshold(None, better="lower"),
}
_WHO = frozenset(one.name for one in structs.fields(Identity))


def measured(values: Mapping[str, float | None], why: Mapping[str, str] | None = None) -> dict[str, Measured]:
    return {
        name: Measured(values.get(name), why=(why or {}).get(name) if values.get(name) is None else None)
        for name in (*values, *(one for one in why or () if one not in values))
    }


def life(name: str, **facts: Any) -> Score:
    metrics = measured(facts.pop("values", {"performance_maintenance": 1.0}), facts.pop("why", None))
    who = {key: facts.pop(key) for key in tuple(facts) if key in _WHO}
    return Score(Identity(name, **{"source": name, **who}), metrics, **facts)


def altered(score: Score, **facts: Any) -> Score:
    """The same lifetime with some facts changed, wherever they are kept."""
    if "values" in facts or "why" in facts:
        facts["metrics"] = measured(facts.pop("values", score.values), facts.pop("why", score.why))
    who = {key: facts.pop(key) for key in tuple(facts) if key in _WHO}
    return replace(score, identity=replace(score.identity, **who), **facts)


def lives(values: Sequence[float | None], metric: str = "performance_maintenance", **facts: Any) -> tuple[Score, ...]:
    return tuple(
        life(f"life-{at:03d}", values={metric: value}, seed=at, order=("a", "b"), **facts)
        for at, value in enumerate(values)
    )


def beside_experts(
    tables: Mapping[str, np.ndarray], metric: str = "relative_performance", experts: Any = None, **facts: Any
) -> tuple[Score, ...]:
    """Lives held against experts: of each task lives × experts, on logarithms; `experts(life, task)` names them."""
    count = len(next(iter(tables.values())))
    made = []
    for at in range(count):
        by = {task: tuple(float(one) for one in np.exp(table[at])) for task, table in tables.items()}
        value = float(np.exp(np.mean([table[at].mean() for table in tables.values()])))
        named = {} if experts is None else {task: tuple(experts(at, task)) for task in tables}
        found = Measured(value, by, experts=named)
        made.append(Score(Identity(f"life-{at:03d}", seed=at, source=f"{at}"), {metric: found}, **facts))
    return tuple(made)


def normal(mean: float, sd: float, n: int, seed: int = 0) -> list[float]:
    return [float(one) for one in np.random.default_rng(seed).normal(mean, sd, n)]


def pool(*given: Score, bars: Mapping[str, Threshold] = BARS, name: str = "pool", **facts: Any) -> Survey:
    """A survey of lifetimes that only their scores are known of."""
    settings = {"learned": {"a": 1.0}} if facts.pop("guarded", False) else {}
    left_out = facts.pop("left_out", ())
    return Survey(
        tuple(map(ScoredLifetime, given)), left_out, settings, "standard", {}, written=bars, name=name, **facts
    )
