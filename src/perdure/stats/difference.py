"""What a comparison of two systems says: a difference in each metric, and what each is by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from perdure.stats.model import LEVEL
from perdure.stats.pairing import Pairing

DifferenceScale = Literal["difference", "ratio"]


class Difference(Struct, frozen=True):
    """One metric of a system against a baseline; None is what could not be said, and `why` says why."""

    metric: str
    n: int
    baseline_n: int
    """The same as n where lifetimes are paired."""
    paired: bool = False
    scale: DifferenceScale = "difference"
    """Whether `difference` is system minus baseline, or system over baseline (then 1 is none)."""
    mean: float | None = None
    baseline_mean: float | None = None
    """Of ratios the geometric mean."""
    sd: float | None = None
    baseline_sd: float | None = None
    """Of logarithms where `scale` is ratio."""
    difference: float | None = None
    """As measured: positive, or above 1, is larger, not necessarily better."""
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    test: str | None = None
    statistic: float | None = None
    df: float | None = None
    p: float | None = None
    """Two-sided, the interval's dual."""
    p_holm: float | None = None
    """Adjusted over the family, whatever of it is shown."""
    family: int = 0
    """How many headline metrics were tested, because both could answer them."""
    word: str | None = None
    """better, worse, likely better, likely worse, undecided; None for what is exploratory."""
    rank_p: float | None = None
    permutation_p: float | None = None
    """Beside the test and never deciding: rank and permutation tests, neither adjusted."""
    improvement: float | None = None
    """How likely a lifetime of the system does better than one of the baseline; ties count half."""
    cliffs_delta: float | None = None
    hedges_g: float | None = None
    """Both effect sizes are positive where the system does better."""
    order: float | None = None
    """Almost stochastic order: below 0.5 the system is almost always better. None unless asked for."""
    better: str = "higher"
    why: str | None = None

    @property
    def ahead(self) -> float:
        """How far the system is ahead, on the scale that decides."""
        if self.difference is None:
            return 0.0
        away = math.log(self.difference) if self.scale == "ratio" else self.difference
        return away if self.better == "higher" else -away

    @property
    def width(self) -> float | None:
        """The interval's width."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def told_apart(self) -> bool:
        """Whether the adjusted test tells the systems apart."""
        return self.word in ("better", "worse")

    def as_json(self) -> dict[str, Any]:
        """The difference as one JSON object."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "metric"}


class Summary(Struct, frozen=True):
    """One metric of one system by itself, on the scale that decides brought back."""

    n: int
    mean: float | None
    sd: float | None


class Comparison(Struct, frozen=True):
    """A system against a baseline over all metrics they share."""

    system: str
    baseline: str
    scenario_type: str | None
    measure: str | None
    pairing: Pairing
    differences: Mapping[str, Difference]
    """What is shown."""
    alone: Mapping[str, tuple[Summary, Summary]] = {}
    """Metric → what each of the two is by itself, over all its lifetimes, with or without a partner."""
    only_in: Mapping[str, tuple[str, ...]] = {}
    """System → metrics that the other has no value of."""
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    tested: Mapping[str, Difference] = {}
    """The family, whatever of it is shown."""
    learner: str | None = None
    """Whose scenario types are compared, where they are the systems."""

    def as_json(self) -> dict[str, Any]:
        """The comparison as one JSON object, with the result of each metric in words."""
        from perdure.stats.sentences import sentence

        return {
            "system": self.system,
            "baseline": self.baseline,
            "learner": self.learner,
            "scenario_type": self.scenario_type,
            "measure": self.measure,
            "paired": self.pairing.paired,
            "pairing": self.pairing.told,
            "n": len(self.pairing.ours),
            "baseline_n": len(self.pairing.theirs),
            "family": list(self.tested),
            "metrics": {
                name: {**one.as_json(), "sentence": sentence(one, self.system, self.baseline)}
                for name, one in self.differences.items()
            },
            "only_in": {name: list(metrics) for name, metrics in self.only_in.items()},
            "left_out": [{"id": name, "why": why} for name, why in self.left_out],
            "notes": list(self.notes),
        }
