"""Estimate and Group: what statistics over lifetimes gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from perdure.metrics.declare import Bar

__all__ = ["LEVEL", "Array", "Estimate", "Group", "Verdict"]

Array = npt.NDArray[np.float64]
Verdict = Literal["met", "not met", "undecided"]

LEVEL = 0.95
"""Of intervals, unless asked otherwise."""


@dataclass(frozen=True)
class Estimate:
    """What the lifetimes of one group say about one metric."""

    metric: str
    group: str
    n: int
    """Lifetimes with a value."""
    missing: int
    """Lifetimes without one."""
    mean: float | None = None
    sd: float | None = None
    """With ddof = 1."""
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    median: float | None = None
    iqm: float | None = None
    iqm_low: float | None = None
    iqm_high: float | None = None
    bar: Bar = field(default_factory=Bar)
    t: float | None = None
    """Positive on the better side of the threshold."""
    p: float | None = None
    """One-tailed: how likely so large a t is at the threshold."""
    above: float | None = None
    """The share of lifetimes beyond the threshold."""
    above_count: int | None = None
    sign_p: float | None = None
    verdict: Verdict | None = None
    """None where the metric has no threshold."""
    why: str | None = None
    """What kept a number from being given, or the verdict from being plain."""
    note: str | None = None
    """The part of `why` that is about the verdict."""
    absent: str | None = None
    """The part of `why` that is about the lifetimes without a value: the reason that most of them give."""

    def as_json(self) -> dict[str, Any]:
        """The estimate as one JSON object; what is not known is null."""
        return {
            "n": self.n,
            "missing": self.missing,
            "mean": self.mean,
            "sd": self.sd,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "median": self.median,
            "iqm": None if self.iqm is None else {"value": self.iqm, "low": self.iqm_low, "high": self.iqm_high},
            "threshold": self.bar.threshold,
            "margin": self.bar.margin,
            "t": self.t,
            "p": self.p,
            "above": self.above,
            "above_count": self.above_count,
            "sign_p": self.sign_p,
            "verdict": self.verdict,
            "why": self.why,
        }


@dataclass(frozen=True)
class Group:
    """Lifetimes that may be pooled, and what each metric comes to over them."""

    group: str
    """Its name: what its lifetimes have in common."""
    n: int
    estimates: Mapping[str, Estimate] = field(hash=False)
    lives: tuple[str, ...] = ()
    learner: str | None = None
    scenario_type: str | None = None
    protocol: str | None = None
    measure: str | None = None
    unit: str | None = None
    preset: str = "standard"
    notes: tuple[str, ...] = ()
    """What its lifetimes may differ in, and do."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Lifetimes of this group that do not count, with the reason."""
    learned_only: Group | None = None
    """The same without lifetimes in which a task was never learned; None where no guard was asked for."""

    def as_json(self) -> dict[str, Any]:
        """The group as one JSON object."""
        return {
            "group": self.group,
            "n": self.n,
            "learner": self.learner,
            "scenario_type": self.scenario_type,
            "protocol": self.protocol,
            "measure": self.measure,
            "unit": self.unit,
            "preset": self.preset,
            "notes": list(self.notes),
            "lives": list(self.lives),
            "left_out": [{"id": name, "why": why} for name, why in self.left_out],
            "metrics": {name: one.as_json() for name, one in self.estimates.items()},
            "learned_only": self.learned_only.as_json() if self.learned_only else None,
        }
