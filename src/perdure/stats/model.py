"""Decision, Estimate and Group: the results of statistics over lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, UnsetType, field

from perdure import __version__
from perdure.gather.model import SCHEMA
from perdure.lazy import pl
from perdure.metrics.declare import AveragedAs, Threshold
from perdure.metrics.score import DEFINITIONS
from perdure.results import LeftOutLifetime, Tabular
from perdure.settings.presets import STANDARD
from perdure.text import digits_width, percent, plural

Array = npt.NDArray[np.float64]
Verdict = Literal["met", "not met", "undecided"]
Tails = Literal["two", "one"]


class Withheld(StrEnum):
    """The reason why nothing is decided, whatever the interval."""

    AVERAGED = "undecided: experts averaged first"
    MEDIANS = "undecided: medians over tasks"
    UNKNOWN = "undecided: experts not in the table"
    NOT_HELD = "undecided: no lifetime has experts of every task"
    FEW_HELD = "undecided: too few lifetimes have experts of every task"
    PARTLY = "undecided: experts partly shared"
    FEW_EXPERTS = "undecided: too few experts"
    FAILING = "undecided: experts fail, run 10"


LearnedState = Literal["learned", "not learned", "unclear", "no gain seen after the first tenth"]
"""Whether the lifetimes of a group learned a task."""

LEVEL = 0.95
"""The default level of intervals."""


class Decision(Struct, frozen=True):
    """The estimate of one metric, its interval, and the verdict.

    Everything that prints a verdict prints it from here, so that one question has one answer.
    """

    mean: float | None = None
    """The mean over lifetimes in the metric's unit: for ratios the geometric one."""
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    """Of the interval."""
    over: Literal["lifetimes", "items"] = "lifetimes"
    """The source of the spread behind the interval: for one lifetime, the items of its evaluations."""
    sd: float | None = None
    """Over lifetimes, with ddof 1; of logarithms if `scale` is log."""
    scale: AveragedAs = "linear"
    margin: float = 0.0
    """By how much the threshold may be missed, in the metric's unit."""
    verdict: Verdict | None = None
    """None if the metric is not a headline metric or has no threshold."""
    word: str | None = None
    says: str | None = None
    """The meaning of the word for these lifetimes."""
    against: float | None = None
    """The value that t, p and the other tests compare with."""
    t: float | None = None
    """Positive on the better side of `against`."""
    df: float | None = None
    """Degrees of freedom, by Satterthwaite if experts are a sample. None if t quantiles are averaged: for 3 or 4
    lifetimes with shared experts."""
    p: float | None = None
    tails: Tails = "two"
    lifetimes_for_90_percent: int | None = None
    """Size of a new group that decides an undecided metric with a chance of 90 % if the true effect equals the
    estimate; with experts, of as many new ones. None if more than 1,000 are needed."""
    above: float | None = None
    """The share of lifetimes beyond the threshold minus its margin."""
    above_count: int | None = None
    sign_p: float | None = None
    """Of the sign test, for information; `rank_p` of the signed-rank test. None with shared experts."""
    rank_p: float | None = None
    lives_alone: bool = True
    """False if the choice of experts adds to the spread: then there are no tests of lifetimes only."""
    notes: tuple[str, ...] = ()
    """Reasons for an undecided verdict, and caveats."""
    remarks: tuple[str, ...] = ()
    """Further facts about a decision, such as few experts."""

    @property
    def width(self) -> float | None:
        """The width that sets the digits of the mean."""
        return digits_width(self.mean, self.low, self.high, ratio=self.scale == "log")

    @property
    def interval_name(self) -> str:
        """The level of the interval, and its source if that is not lifetimes."""
        return f"{percent(self.level)} interval" + (" over items, one seed" if self.over == "items" else "")

    @property
    def note(self) -> str | None:
        """Notes and remarks in one text."""
        return "; ".join((*self.notes, *self.remarks)) or None

    @property
    def withheld(self) -> Withheld | None:
        """The reason why there is no verdict whatever the interval; None if there may be one."""
        return next((note for note in self.notes if isinstance(note, Withheld)), None)


class Flagged(Struct, frozen=True):
    """A flag that the values of a metric carry, and the number of lifetimes whose values do."""

    flag: str
    n: int


class InterquartileMean(Struct, frozen=True):
    """The interquartile mean and its bootstrap interval, which is missing if experts add to the spread."""

    value: float
    low: float | None = None
    high: float | None = None


class Estimate(Decision, frozen=True, kw_only=True):
    """The decision about one metric of a group, with robust means and the reasons for missing values.

    Attributes
    ----------
    metric
        Id of the metric.
    group
        Name of the group.
    n
        Number of lifetimes with a value.
    missing
        Number of lifetimes without a value.
    median
        Median over lifetimes.
    iqm
        Interquartile mean over lifetimes, with its interval.
    bar
        Threshold of the metric.
    absent
        Reason that most lifetimes without a value give.
    flags
        Flags of the lifetimes' values, with the number of lifetimes.

    Examples
    --------
    >>> (group, *_) = perdure.groups(perdure.survey("logs"))
    >>> estimate = group.estimates["performance_maintenance"]
    >>> estimate.n, estimate.low <= estimate.mean <= estimate.high
    (4, True)
    """

    JSON: ClassVar = (
        *(
            "n",
            "missing",
            "mean",
            "sd",
            "scale",
            "low",
            "high",
            "level",
            "over",
            "median",
            "iqm",
            "threshold:bar.threshold",
        ),
        *("margin", "t", "df", "p", "tails", "against", "above", "above_count", "sign_p", "rank_p", "verdict"),
        *("word", "says", "lifetimes_for_90_percent", "why", "flags"),
    )

    metric: str
    group: str
    n: int
    missing: int
    median: float | None = None
    iqm: InterquartileMean | None = None
    bar: Threshold = field(default_factory=Threshold)
    absent: str | None = None
    flags: tuple[Flagged, ...] = ()

    @property
    def why(self) -> str | None:
        """The reason for a missing number, or for a verdict that needs a remark."""
        notes = [self.note] if self.note else []
        if self.missing:
            absent = f": {self.absent}" if self.absent else ""
            notes.append(f"{self.missing} of {self.missing + self.n} lifetimes have no value{absent}")
        return "; ".join(notes) or None

    @property
    def lacking(self) -> str:
        """The reason for a missing value: the one that its lifetimes give, or another that is known."""
        return (self.missing and self.absent) or self.why or "no value"


class SpreadParts(Struct, frozen=True):
    """The parts of the variance of one metric between lifetimes, on the scale of its interval. They add up to `total`.

    A part that cannot be estimated is None, and is then contained in `seed`.
    """

    total: float
    seed: float = 0.0
    """The rest, which differs from seed to seed."""
    order: float | None = None
    """Of the order of tasks. `why` gives the reason if it is None."""
    evaluations: float | None = None
    """Of evaluation blocks, which have a limited number of evaluations."""
    experts: float | None = None
    """Of experts, if every lifetime has its own."""
    shared_experts: float | None = None
    """The variance that shared experts add to the mean. They move all lifetimes together: it is no part of `total`."""
    lifetimes: tuple[int, ...] = ()
    """Number of lifetimes of each order. An order with one lifetime does not count for `order` and `total`."""
    share: float | None = None
    """The order's share of the total, from 0 to 1."""
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    """Of the interval of `share`."""
    why: str | None = None


class Document(Tabular, Struct, frozen=True, kw_only=True):
    """A result that is a JSON file by itself."""

    perdure: str = __version__
    """The version that wrote it."""
    schema: int = SCHEMA
    """The form of this JSON."""
    definitions: int = DEFINITIONS
    """The edition of the definitions that the values follow."""
    settings: Mapping[str, Any] | UnsetType = UNSET
    """Every setting by its name, as `score.schema.json` describes them."""
    settings_from: Mapping[str, str] | UnsetType = UNSET
    """Every setting to where its value came from."""


class Group(Tabular, Struct, frozen=True):
    """Lifetimes that may be pooled, with the estimate of each metric.

    Attributes
    ----------
    group
        Name of the group, by the properties that its lifetimes share.
    n
        Number of lifetimes that count.
    estimates
        Metric → its estimate, with interval and verdict.
    lives
        Ids of the lifetimes that count.
    learner
        Learner of all of them.
    scenario_type
        Scenario type of all of them.
    protocol
        Protocol of all of them.
    measure
        Measure that was scored.
    unit
        Unit of an accuracy matrix.
    direction
        Which values of the measure are better.
    bounds
        Task → its bounds, if they are known beforehand.
    preset
        Preset of the scores.
    notes
        Allowed differences between the lifetimes.
    left_out
        Lifetimes of the group that do not count, with the reason.
    learned
        Task → whether the lifetimes learned it. Empty for fewer than 3 lifetimes, and where gains are not known.
    stated
        Task weights and the measures of single metrics, if they were set.
    maintenance_over_learned_tasks
        Performance maintenance without the tasks that were not learned. None if all were, or none is known not to be.
    learned_only
        The group without lifetimes in which a task was never learned. None without the setting `learned`.
    spread
        Headline metric → the parts of its variance between lifetimes. None unless their order of tasks differs.
    """

    JSON: ClassVar = (
        *("group", "n", "learner", "scenario_type", "protocol", "measure", "unit", "direction", "preset", "notes"),
        *("lives", "left_out:excluded", "metrics:estimates", "learned", "stated"),
        *("maintenance_over_learned_tasks", "learned_only", "spread"),
    )

    group: str
    n: int
    estimates: Mapping[str, Estimate]
    lives: tuple[str, ...] = ()
    learner: str | None = None
    scenario_type: str | None = None
    protocol: str | None = None
    measure: str | None = None
    unit: str | None = None
    direction: str = "higher"
    bounds: Mapping[str, tuple[float, float]] = {}
    preset: str = STANDARD
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    learned: Mapping[str, LearnedState] = {}
    stated: tuple[str, ...] = ()
    maintenance_over_learned_tasks: Estimate | None = None
    learned_only: Group | None = None
    spread: Mapping[str, SpreadParts] | None = None

    def __repr__(self) -> str:
        known = sum(one.n > 0 for one in self.estimates.values())
        return f"Group({self.group!r}, {plural(self.n, 'lifetime')}, {known} of {len(self)} metrics)"

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates.values())

    def table(self) -> pl.DataFrame:
        """Return one row per metric: estimate, interval, verdict and p, or the reason for a missing value."""
        kinds = {"metric": pl.String(), "n": pl.Int64(), **dict.fromkeys(("mean", "sd", "low", "high"), pl.Float64())}
        kinds |= {"verdict": pl.String(), "word": pl.String(), "p": pl.Float64()}
        rows = [{**{name: getattr(one, name) for name in kinds}, "why": None if one.n else one.lacking} for one in self]
        return pl.DataFrame(rows, schema={**kinds, "why": pl.String()})

    @property
    def excluded(self) -> tuple[LeftOutLifetime, ...]:
        """Lifetimes that do not count."""
        return tuple(LeftOutLifetime(name, why) for name, why in self.left_out)
