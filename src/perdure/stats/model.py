"""Decision, Estimate and Group: what statistics over lifetimes gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from perdure.lazy import pl
from perdure.metrics.engine.metric import AveragedAs, Bar
from perdure.results import Tabular
from perdure.settings.presets import STANDARD
from perdure.words import plural

__all__ = ["LEVEL", "Array", "Decision", "Estimate", "Group", "Tails", "Verdict", "Withheld"]

Array = npt.NDArray[np.float64]
Verdict = Literal["met", "not met", "undecided"]
Tails = Literal["two", "one"]


class Withheld(StrEnum):
    """Why nothing is decided, whatever the interval."""

    AVERAGED = "undecided: experts averaged first"
    MEDIANS = "undecided: medians over tasks"
    UNKNOWN = "undecided: experts not in the table"
    NOT_HELD = "undecided: no lifetime has experts of every task"
    FEW_HELD = "undecided: too few lifetimes have experts of every task"
    PARTLY = "undecided: experts partly shared"
    FEW_EXPERTS = "undecided: too few experts"


LEVEL = 0.95
"""Of intervals, unless asked otherwise."""


class Decision(Struct, frozen=True):
    """What lifetimes say about one metric: the estimate, its interval, and whether that decides anything.

    Everything that prints a verdict prints it from here, so that one question has one answer.
    """

    estimate: float | None = None
    """The mean over lifetimes on the metric's own scale: of ratios the geometric one."""
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    """Of the interval."""
    sd: float | None = None
    """Over lifetimes, with ddof 1; of logarithms where `scale` is log."""
    scale: AveragedAs = "linear"
    margin: float = 0.0
    """By how much the threshold may be missed, in the metric's unit."""
    verdict: Verdict | None = None
    """None where nothing is to be decided: no headline metric, or no threshold."""
    word: str | None = None
    says: str = ""
    """What the word means here, in words."""
    against: float | None = None
    """The value that t, p and the tests beside them are held against."""
    t: float | None = None
    """Positive on the better side of `against`."""
    freedom: float | None = None
    p: float | None = None
    tails: Tails = "two"
    more: int | None = None
    """About how many more lifetimes would decide it if mean and spread stay the same as they are."""
    above: float | None = None
    """The share of lifetimes beyond the threshold less its margin."""
    above_count: int | None = None
    sign_p: float | None = None
    """Of the sign test, beside p and never deciding; `rank_p` of the signed-rank test. None beside shared experts."""
    rank_p: float | None = None
    lives_alone: bool = True
    """False where the choice of experts adds to the spread: then tests of the lives alone are not given."""
    notes: tuple[str, ...] = ()
    """What kept it from being decided, or from being plain."""
    flags: tuple[str, ...] = ()

    @property
    def width(self) -> float | None:
        """The interval's width, by which its numbers are written."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def withheld(self) -> Withheld | None:
        """Why there is no verdict whatever the interval; None where there may be one."""
        return next((note for note in self.notes if isinstance(note, Withheld)), None)


class Estimate(Struct, frozen=True):
    """What the lifetimes of one group say about one metric."""

    metric: str
    group: str
    n: int
    """Lifetimes with a value."""
    missing: int
    """Lifetimes without one."""
    decision: Decision = field(default_factory=Decision)
    median: float | None = None
    iqm: float | None = None
    iqm_low: float | None = None
    iqm_high: float | None = None
    bar: Bar = field(default_factory=Bar)
    absent: str | None = None
    """The reason that most lifetimes without a value give."""
    carried: tuple[tuple[str, int], ...] = ()
    """What lifetimes' values carry, and how many lifetimes' do."""

    @property
    def mean(self) -> float | None:
        """The estimate."""
        return self.decision.estimate

    @property
    def sd(self) -> float | None:
        """Over lifetimes, of logarithms where they are averaged so."""
        return self.decision.sd

    @property
    def low(self) -> float | None:
        """The interval's lower end."""
        return self.decision.low

    @property
    def high(self) -> float | None:
        """The interval's upper end."""
        return self.decision.high

    @property
    def width(self) -> float | None:
        """The interval's width."""
        return self.decision.width

    @property
    def level(self) -> float:
        """Of the interval."""
        return self.decision.level

    @property
    def t(self) -> float | None:
        """Positive on the better side of what it is held against."""
        return self.decision.t

    @property
    def sign_p(self) -> float | None:
        """Of the sign test beside it."""
        return self.decision.sign_p

    @property
    def p(self) -> float | None:
        """The interval's dual."""
        return self.decision.p

    @property
    def verdict(self) -> Verdict | None:
        """None where nothing is to be decided."""
        return self.decision.verdict

    @property
    def word(self) -> str | None:
        """The verdict in a word of the metric's own."""
        return self.decision.word

    @property
    def above(self) -> float | None:
        """The share of lifetimes beyond the threshold less its margin."""
        return self.decision.above

    @property
    def above_count(self) -> int | None:
        """How many are beyond it."""
        return self.decision.above_count

    @property
    def note(self) -> str | None:
        """What is to be known of the verdict."""
        return "; ".join((*self.decision.notes, *self.decision.flags)) or None

    @property
    def why(self) -> str | None:
        """What kept a number from being given, or the verdict from being plain."""
        notes = [self.note] if self.note else []
        if self.missing:
            absent = f": {self.absent}" if self.absent else ""
            notes.append(f"{self.missing} of {self.missing + self.n} lifetimes have no value{absent}")
        return "; ".join(notes) or None

    @property
    def lacking(self) -> str:
        """Why there is no value: the reason that its lifetimes give, or what else is known."""
        return (self.missing and self.absent) or self.why or "no value"

    def as_json(self) -> dict[str, Any]:
        """The estimate as one JSON object; what is not known is null."""
        made = self.decision
        return {
            "n": self.n,
            "missing": self.missing,
            "mean": made.estimate,
            "sd": made.sd,
            "scale": made.scale,
            "low": made.low,
            "high": made.high,
            "level": made.level,
            "median": self.median,
            "iqm": None if self.iqm is None else {"value": self.iqm, "low": self.iqm_low, "high": self.iqm_high},
            "threshold": self.bar.threshold,
            "margin": made.margin,
            "t": made.t,
            "df": made.freedom,
            "p": made.p,
            "tails": made.tails,
            "against": made.against,
            "above": made.above,
            "above_count": made.above_count,
            "sign_p": made.sign_p,
            "rank_p": made.rank_p,
            "verdict": made.verdict,
            "word": made.word,
            "says": made.says or None,
            "more_lifetimes": made.more,
            "why": self.why,
            "flags": [{"flag": flag, "n": count} for flag, count in self.carried],
        }


class Group(Tabular, Struct, frozen=True):
    """Lifetimes that may be pooled, and what each metric comes to over them."""

    group: str
    """Its name: what its lifetimes have in common."""
    n: int
    estimates: Mapping[str, Estimate]
    lives: tuple[str, ...] = ()
    learner: str | None = None
    scenario_type: str | None = None
    protocol: str | None = None
    measure: str | None = None
    unit: str | None = None
    direction: str = "higher"
    """Which values of the measure are better."""
    bounds: Mapping[str, tuple[float, float]] = {}
    """Task → its bounds, if they are known beforehand."""
    preset: str = STANDARD
    notes: tuple[str, ...] = ()
    """What its lifetimes may differ in, and do."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Lifetimes of this group that do not count, with the reason."""
    learned_only: Group | None = None
    """The same without lifetimes in which a task was never learned; None where no guard was asked for."""

    def __repr__(self) -> str:
        known = sum(one.n > 0 for one in self.estimates.values())
        return f"Group({self.group!r}, {plural(self.n, 'lifetime')}, {known} of {len(self)} metrics)"

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates.values())

    def table(self) -> pl.DataFrame:
        """One row per metric: its estimate, interval, verdict and p, or why it has none."""
        kinds = {"metric": pl.String(), "n": pl.Int64(), **dict.fromkeys(("mean", "sd", "low", "high"), pl.Float64())}
        rows = [
            (
                one.metric,
                one.n,
                one.mean,
                one.sd,
                one.low,
                one.high,
                one.verdict,
                one.word,
                one.p,
                None if one.n else one.lacking,
            )
            for one in self
        ]
        more = {"verdict": pl.String(), "word": pl.String(), "p": pl.Float64(), "why": pl.String()}
        return pl.DataFrame(rows, schema={**kinds, **more}, orient="row")

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
            "direction": self.direction,
            "preset": self.preset,
            "notes": list(self.notes),
            "lives": list(self.lives),
            "left_out": [{"id": name, "why": why} for name, why in self.left_out],
            "metrics": {name: one.as_json() for name, one in self.estimates.items()},
            "learned_only": self.learned_only.as_json() if self.learned_only else None,
        }
