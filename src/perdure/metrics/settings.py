"""Everything that decides a score beside the data, in one place that every output carries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from perdure.curves.model import Prep
from perdure.errors import UnknownName
from perdure.log.accuracy import Baseline, Unit
from perdure.log.orientation import Rows
from perdure.metrics.declare import Aggregate

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """How lifetimes are scored; what is None comes from the preset or the log."""

    preset: str = "standard"
    measure: str | None = None
    prep: Prep | None = None
    metrics: tuple[str, ...] = ()
    """Ids, which restrict what is scored, and Python files, which add to it."""
    aggregate: Aggregate = "mean"
    expert_average: Literal["metrics", "time"] = "metrics"
    lower_is_better: bool = False
    """Whether the measure is lower-better, whatever the log says."""
    margins: Mapping[str, float] = field(default_factory=dict, hash=False)
    learned: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Task → the performance, as measured, at which it counts as learned."""
    random_init: Baseline | None = field(default=None, hash=False)
    joint: Baseline | None = field(default=None, hash=False)
    unit: Unit | None = None
    """Of accuracy matrices."""
    rows: Rows | None = None
    """What the rows of accuracy matrices are, where their cells do not tell."""
    as_given: bool = False

    def __post_init__(self) -> None:
        given: object = self.metrics
        if isinstance(given, str):  # one name is a list of one, not of its letters
            object.__setattr__(self, "metrics", (given,))
        if self.aggregate not in get_args(Aggregate):
            raise UnknownName("aggregate", str(self.aggregate), get_args(Aggregate))

    def as_json(self, prep: Prep) -> dict[str, Any]:
        """Every setting by the name of its flag, with the preparation as it was really done."""
        steps = dataclasses.asdict(prep)
        counted = steps.pop("unit")
        bounds = {task: {"min": low, "max": high} for task, (low, high) in (prep.bounds or {}).items()}
        return {
            "measure": self.measure,
            "metrics": list(self.metrics),
            **steps,
            "counted": counted,
            "bounds": bounds if prep.bounds is not None else None,
            "aggregate": self.aggregate,
            "expert_average": self.expert_average,
            "lower_is_better": self.lower_is_better,
            "margins": dict(self.margins),
            "learned": dict(self.learned),
            "random_init": _plain(self.random_init),
            "joint": _plain(self.joint),
            "unit": self.unit,
            "rows": self.rows,
            "as_given": self.as_given,
        }


def _plain(baseline: Baseline | None) -> Any:
    if isinstance(baseline, Mapping):
        return dict(baseline)
    if baseline is None or isinstance(baseline, int | float):
        return baseline
    return list(baseline)
