"""Prep, Curve, Curves: a lifetime made comparable, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import (
    Array,
    Moments,
    deviations,
    mean,
    moments,
    near,
    peak,
    slope,
    start,
    terminal,
    total,
    until_peak,
)
from perdure.curves.beside import Beside
from perdure.errors import MetricError, UnknownName
from perdure.frozen import frozen
from perdure.log.model import Direction, Passage
from perdure.scenario.model import Scenario
from perdure.scenario.variants import Variants, mode

if TYPE_CHECKING:
    from perdure.curves.prepared import Prepared
    from perdure.curves.twin import Twin

__all__ = [
    "LOWEST",
    "SCALED",
    "Among",
    "Curve",
    "Curves",
    "Expert",
    "Prep",
    "Range",
    "Ranges",
    "Scale",
    "Variants",
    "Window",
]

LOWEST, SCALED = 1.0, 100.0
"""A task's range is mapped onto 1 … 101, `LOWEST` and `SCALED` beyond it: 100 wide, so that differences are points of a
hundred, and from 1 on, so that ratios to what was worst exist; as l2metrics does."""
_NO_WIDTH = 1e-12  # of a range, beside its values
Window = Literal["flat", "hanning", "hamming", "bartlett", "blackman", "none"]
Scale = Literal["task", "run", "none"]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "window": get_args(Window),
    "scale": get_args(Scale),
}


@frozen
class Prep:
    """How raw values become comparable: smooth, then clamp, then scale."""

    window: Window = "flat"
    width: float | None = None
    """In experiences, or below 1 as a share of the block; None is a fifth of the block, at most 100."""
    smooth_evaluation: bool = False
    clamp: bool = False
    scale: Scale = "task"
    bounds: Mapping[str, tuple[float, float]] | None = field(default=None, hash=False)
    """Task → (min, max) as measured; None takes them from the log's scenario, and from the data where it has none."""
    recorded_bounds: bool = True
    """Whether bounds that the scenario in the log's manifest gives to a task count as given; l2metrics knew none."""
    variants: Variants | None = None
    """What is a task: the label (`name`, or `aware`), the label with its parameters (`params`), or the task without
    its variant (`agnostic`); None is each lifetime's own way."""
    noise: float = 0.0
    """Standard deviation of the noise added to the learner's prepared values, to see how much it matters."""
    noise_seed: int = 0
    alignment: Literal["centred", "lagging"] = "centred"
    """`lagging` is l2metrics': half an experience late for even windows, one for odd ones."""
    unit: Literal["experience", "row"] = "experience"
    """What is smoothed and counted; l2metrics counts rows, also where several share an experience."""
    matching: Literal["whole", "prefix"] = "whole"
    """How experts and bounds are matched to tasks; l2metrics falls back to a common beginning."""
    suffix: Literal["last", "first"] = "last"
    """After which underscore a variant starts."""
    keep_constant: bool = False
    """Whether a task whose values never change counts in lifetime means."""

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise UnknownName(name, str(getattr(self, name)), known)
        if self.variants is not None:
            object.__setattr__(self, "variants", mode(self.variants))
        if self.width is not None and not (0 < self.width < 1 or (self.width >= 1 and self.width == int(self.width))):
            raise MetricError(
                f"the window's width is {self.width}",
                "expected one experience or more, or a share of the block below 1",
            )
        if not (isfinite(self.noise) and self.noise >= 0):
            raise MetricError(f"the noise is {self.noise:g}", "expected a standard deviation, finite and 0 or more")
        for task, (low, high) in (self.bounds or {}).items():
            if not (isfinite(low) and isfinite(high) and low <= high):
                raise MetricError(
                    f"the bounds of {task!r} are {low:g} to {high:g}", "expected finite numbers, low to high"
                )


@frozen
class Range:
    """The span of one task's values before scaling, and whether it was given or found."""

    low: float
    high: float
    given: bool = False

    @property
    def constant(self) -> bool:
        """Whether there is nothing to scale: every value is the same, up to rounding."""
        return bool(self.high - self.low <= _NO_WIDTH * max(abs(self.low), abs(self.high)))

    any_constant = constant


@frozen(eq=False)
class Ranges:
    """The ranges of one task in several lives, as columns that stand beside their rows of values."""

    low: Array
    high: Array

    @classmethod
    def of(cls, ranges: Sequence[Range]) -> Range | Ranges:
        """One range where all are the same: then one array serves every life."""
        first = ranges[0]
        if all(one is first or one == first for one in ranges):
            return first
        low, high = np.array([(one.low, one.high) for one in ranges]).T[:, :, np.newaxis]
        return cls(low, high)

    @cached_property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Where there is nothing to scale."""
        return self.high - self.low <= _NO_WIDTH * np.maximum(np.abs(self.low), np.abs(self.high))

    @cached_property
    def any_constant(self) -> bool:
        """Whether that is so anywhere."""
        return bool(self.constant.any())


@frozen(eq=False)
class Curve:
    """Prepared values in order, of one block or of several stitched together. Never empty, save an expert's."""

    values: Array
    raw: Array
    """The same experiences scaled but not smoothed."""
    range: float = SCALED
    """The width of the task's range on the prepared scale; guards against tiny denominators use it."""
    floor: float | None = None
    """Where the scale begins, which given bounds do not keep values from passing; None for values as measured."""

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """The mean of all values: what an evaluation block is worth."""
        return float(self._told("mean", mean))

    @cached_property
    def terminal(self) -> float:
        """The mean of the last tenth, from index `9n div 10` on."""
        return float(self._told("terminal", terminal))

    @cached_property
    def peak(self) -> float:
        """The largest value."""
        return float(self._told("peak", peak))

    @cached_property
    def until_peak(self) -> int:
        """How many experiences it takes to reach the largest value, up to rounding, counted from 1."""
        return int(self._told("until_peak", until_peak))

    @cached_property
    def total(self) -> float:
        """The sum of all values."""
        return float(self._told("total", total))

    @cached_property
    def slope(self) -> float:
        """The least-squares slope over the index; 0 for a single value."""
        return float(self._told("slope", slope))

    @cached_property
    def raw_start(self) -> float:
        """The mean of the first tenth, which is one value or more, not smoothed."""
        return float(self._told("raw_start", start, raw=True))

    @cached_property
    def raw_moments(self) -> Moments:
        """What slopes of the values that are not smoothed take from these."""
        return Moments(*self._raw_moments)

    @cached_property
    def _raw_moments(self) -> tuple[float, ...]:
        return tuple(self._told("_raw_moments", moments, raw=True))

    @cached_property
    def raw_deviations(self) -> tuple[float, ...]:
        """The squared deviations from the mean, and the products of neighbouring ones, summed; not smoothed."""
        return tuple(self._told("raw_deviations", deviations, raw=True))

    def _told(self, _name: str, of: Callable[[Array], Any], *, raw: bool = False) -> Any:
        """What `of` says of the values, for the property of that name."""
        found = of(self.raw if raw else self.values)
        return tuple(map(float, found)) if isinstance(found, tuple) else found.tolist()

    def first(self, count: int) -> Curve:
        """The first `count` experiences, as a view."""
        return Curve(self.values[:count], self.raw[:count], self.range, self.floor)

    def reached(self, target: float) -> int | None:
        """The 0-based index at which the curve first reaches `target`, up to rounding; None if never."""
        known: dict[float, int | None] = self.__dict__.setdefault("_reached", {})
        if target not in known:  # three metrics of recovery ask the same
            at_least = self.values >= near(target)
            index = int(at_least.argmax())
            known[target] = index if at_least[index] else None
        return known[target]


@frozen(eq=False)
class Expert:
    """What a learner of one task alone achieved there, on the scale of the lifetime it is compared with."""

    id: str
    task: str
    curve: Curve
    """Its wake learning blocks, stitched."""
    last: Curve
    """Its last learning block."""
    all_learning: Curve
    """Its learning blocks, wake and sleep, stitched."""
    numbers: Callable[[], npt.NDArray[np.int64]]
    """Gives the experience numbers of `all_learning`."""
    saturation: float | None = None
    """Where no log exists, the saturation that `taskinfo/info.json` states; the curves are then empty."""
    seconds: float | None = None
    """The time between its experiences, summed over learning blocks; None without timestamps."""
    intervals: int = 0
    """How many times between experiences `seconds` sums."""
    mark: str = ""
    """What it is called wherever values beside it are told apart: its id, and what it measured as a digest."""
    elapsed: float | None = None
    """The time from its first to its last experience of any kind; None without timestamps."""
    experiences: int = 0
    """How many learning experiences it had."""


class BesideExperts(Protocol):
    """Lives of the same blocks and their experts, as measured."""

    def beside(
        self, task: str, blocks: tuple[int, ...], average: Literal["metrics", "time"]
    ) -> Sequence[tuple[Beside, ...]]:
        """The blocks of every life beside each expert of the task."""
        ...


class Among(Protocol):
    """Lives of the same blocks, prepared as one array; a row each."""

    def over(self, blocks: tuple[int, ...]) -> Sequence[Curve]:
        """The blocks stitched together, of every life."""
        ...

    def measured_means(self, block: int) -> Sequence[float]:
        """The mean of one block's values as measured, of every life."""
        ...


@frozen(eq=False)
class Curves:
    """One lifetime on a comparable scale, cut into blocks by `starts`.

    Block `i` of `scenario` owns `values[starts[i]:starts[i + 1]]`.
    """

    lifetime: str
    passage: Passage
    prep: Prep
    directions: Mapping[str, Direction]
    """Task → whether higher is better there, as its measure has it."""
    prepared: Prepared = field(repr=False)
    """Its values, block by block."""
    starts: npt.NDArray[np.int64]
    ranges: Mapping[str, Range]
    """Task → the range its values were scaled by."""
    experts: Mapping[str, tuple[Expert, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    among: Among | None = field(default=None, repr=False)
    """The lives of the same blocks that were prepared with it; what is asked of one is then computed for all."""
    row: int = 0
    """Which of them it is."""
    joined: BesideExperts | None = field(default=None, repr=False)
    """The same lives as measured, to be compared with experts; None where nothing was learned."""
    twin: Twin | None = None
    """The same life by a learner that starts anew in every block."""

    @property
    def scenario(self) -> Scenario:
        """The blocks as lived."""
        return self.passage.scenario

    @property
    def values(self) -> Array:
        """Smoothed, clamped, scaled."""
        return self.prepared.values

    @property
    def raw(self) -> Array:
        """Clamped and scaled, not smoothed."""
        return self.prepared.raw

    @property
    def measured(self) -> Array:
        """As measured, negated where lower is better."""
        return self.prepared.measured

    @cached_property
    def as_logged(self) -> Array:
        """The values as measured, in the direction in which they were logged."""
        signs = [self.sign(block.task) for block in self.scenario.blocks]
        logged: Array = self.measured * np.repeat(signs, np.diff(self.starts))
        return logged

    def sign(self, task: str) -> float:
        """−1 where the values of a task were turned so that higher is better, else 1."""
        return -1.0 if self.directions.get(task) == "lower" else 1.0

    @cached_property
    def uninformative(self) -> frozenset[str]:
        """The tasks that carry no information, because all their values are the same."""
        if self.prep.keep_constant or self.prep.scale == "none":
            return frozenset()
        return frozenset(task for task, one in self.ranges.items() if one.constant)

    def over(self, blocks: Sequence[int]) -> Curve:
        """The blocks stitched together; a single block is a view, and what it computes is kept."""
        if self.among is not None:
            return self.among.over(tuple(blocks))[self.row]
        if len(blocks) != 1:
            return self._stitched(blocks)
        kept = self.prepared.curves
        found = kept.get(blocks[0])
        if found is None:
            found = kept[blocks[0]] = self._stitched(blocks)
        return found

    def _stitched(self, blocks: Sequence[int]) -> Curve:
        values, raw = self.prepared.over(blocks)
        return Curve(values, raw, self.extent(blocks), None if self.prep.scale == "none" else LOWEST)

    def beside(
        self, task: str, blocks: Sequence[int], average: Literal["metrics", "time"] = "metrics"
    ) -> tuple[Beside, ...]:
        """The blocks joined, beside each expert of `task`."""
        return self.joined.beside(task, tuple(blocks), average)[self.row] if self.joined else ()

    def measured_over(self, blocks: Sequence[int]) -> Array:
        """The values as measured (higher is better) of the blocks, stitched."""
        return self.prepared.measured_over(blocks)

    def measured_mean(self, block: int) -> float:
        """The mean of one block's values as measured."""
        if self.among is not None:
            return self.among.measured_means(block)[self.row]
        means = self.prepared.means
        if block not in means:
            means[block] = float(mean(self.measured_over((block,))))
        return means[block]

    def extent(self, blocks: Sequence[int]) -> float:
        """The width of the range of the blocks' tasks on the prepared scale."""
        if self.prep.scale != "none":
            return SCALED
        found = [self.ranges[self.scenario.blocks[index].task] for index in blocks[:1]]
        return found[0].high - found[0].low if found else 0.0
