"""Preparation, Curve, Expert and Curves: one lifetime on a comparable scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import (
    LOWEST,
    SCALED,
    Array,
    Moments,
    Range,
    Scale,
    Window,
    deviations,
    gathered,
    mean,
    moments,
    near,
    start,
    terminal,
)
from perdure.errors import MetricError, UnknownNameError
from perdure.log.model import Direction, Passage
from perdure.scenario.model import Scenario, Variants, variant_mode

if TYPE_CHECKING:
    from perdure.curves.experts import ExpertLog


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "window": get_args(Window),
    "scale": get_args(Scale),
}


class Preparation(msgspec.Struct, frozen=True):
    """Settings of the preparation that makes values comparable: smooth, then clamp, then scale.

    Attributes
    ----------
    window
        Shape of the smoothing window.
    width
        Width of the window in experiences, or below 1 a share of the block. None is a fifth of the block, at most 100.
    smooth_evaluation
        Whether evaluation blocks are smoothed too.
    clamp
        Whether values are clipped at the 10th and 90th percentile, or at the bounds.
    scale
        Scale by the range of each task, by that of the run, or not.
    bounds
        Task → (min, max) as measured. None takes them from the log's scenario, or else from the data.
    recorded_bounds
        Whether bounds in the log's manifest count as given. l2metrics ignores them.
    named_bounds
        Whether a measure called accuracy or acc has bounds 0 … 1, or 0 … 100 if a value exceeds 1, unless others are
        known. Presets of papers take them from the data.
    variants
        Meaning of a task: the label (``"name"`` or ``"aware"``), the label with its parameters (``"params"``), or the
        task without its variant (``"agnostic"``). None is the default of each lifetime's source.
    noise
        Standard deviation of noise that is added to the learner's prepared values, to test its influence.
    noise_seed
        Seed of the noise.
    alignment
        ``"lagging"`` shifts even windows by half an experience and odd ones by one, as l2metrics does.
    unit
        Unit that is smoothed and counted. l2metrics counts rows, also if several belong to one experience.
    matching
        Match experts and bounds to tasks by the whole name, or by a common prefix as l2metrics does.
    suffix
        Underscore after which a variant starts.
    keep_constant
        Whether a task whose values never change counts in lifetime means.
    """

    window: Window = "flat"
    width: float | None = None
    smooth_evaluation: bool = False
    clamp: bool = False
    scale: Scale = "task"
    bounds: Mapping[str, tuple[float, float]] | None = None
    recorded_bounds: bool = True
    named_bounds: bool = True
    variants: Variants | None = None
    noise: float = 0.0
    noise_seed: int = 0
    alignment: Literal["centred", "lagging"] = "centred"
    unit: Literal["experience", "row"] = "experience"
    matching: Literal["whole", "prefix"] = "whole"
    suffix: Literal["last", "first"] = "last"
    keep_constant: bool = False

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise UnknownNameError(name, str(getattr(self, name)), known)
        if self.variants is not None:
            msgspec.structs.force_setattr(self, "variants", variant_mode(self.variants))
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


RangeKey = tuple[str, str, str]
"""Measure, direction and task; an empty task if all tasks share a range."""


class CommonRanges(msgspec.Struct, frozen=True):
    """Ranges of values over several lifetimes and their experts, for tasks without bounds."""

    spans: Mapping[RangeKey, Range]
    count: int
    """Number of lifetimes."""


class Curve(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Prepared values in order, of one block or of several joined. Only an expert's curve can be empty.

    Attributes
    ----------
    values
        The values, smoothed and scaled.
    raw
        The values of the same experiences, scaled but not smoothed.
    range
        Width of the task's range on the prepared scale, used to recognise tiny denominators.
    floor
        Lowest value of the scale. Values may be lower if bounds are given. None for values as measured.
    """

    values: Array
    raw: Array
    range: float = SCALED
    floor: float | None = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """Mean of all values: the performance in an evaluation block."""
        return mean(self.values)

    @cached_property
    def terminal(self) -> float:
        """Mean of the last tenth, from index `9n div 10` on."""
        return terminal(self.values)

    @cached_property
    def peak(self) -> float:
        """Largest value."""
        return float(self.values.max())

    @cached_property
    def until_peak(self) -> int:
        """Number of experiences until the largest value is reached, up to rounding, counted from 1."""
        return int((self.values >= near(self.peak)).argmax()) + 1

    @cached_property
    def total(self) -> float:
        """Sum of all values."""
        return float(self.values.sum())

    @cached_property
    def slope(self) -> float:
        """Least-squares slope over the index; 0 for a single value."""
        return moments(self.values).slope

    @cached_property
    def raw_start(self) -> float:
        """Mean of the first tenth, at least one value, not smoothed."""
        return start(self.raw)

    @cached_property
    def raw_moments(self) -> Moments:
        """Moments of the values that are not smoothed, from which slopes are computed."""
        return moments(self.raw)

    @cached_property
    def raw_deviations(self) -> tuple[float, float]:
        """Sums of squared deviations from the mean, and of products of neighbouring ones; not smoothed."""
        return deviations(self.raw)

    def first(self, count: int) -> Curve:
        """Return the first `count` experiences, as a view."""
        return Curve(self.values[:count], self.raw[:count], self.range, self.floor)

    def reached(self, target: float) -> int | None:
        """Return the 0-based index at which the curve first reaches `target`, up to rounding; None if never."""
        at_least = self.values >= near(target)
        index = int(at_least.argmax())
        return index if at_least[index] else None


class Expert(msgspec.Struct, frozen=True, eq=False):
    """Performance of a learner of one task only, on the scale of the lifetime that it is compared with."""

    id: str
    task: str
    curve: Curve
    """Its wake learning blocks, joined."""
    last: Curve
    """Its last learning block."""
    all_learning: Curve
    """Its learning blocks, wake and sleep, joined."""
    numbers: Callable[[], npt.NDArray[np.int64]]
    """Returns the experience numbers of `all_learning`."""
    saturation: float | None = None
    """Saturation stated in `taskinfo/info.json` if there is no log; the curves are then empty."""
    seconds: float | None = None
    """Time between its experiences, summed over learning blocks; None without timestamps."""
    intervals: int = 0
    """Number of intervals in `seconds`."""
    mark: str = ""
    """Its id and a digest of its values: the name of the expert in results."""
    elapsed: float | None = None
    """Time from its first to its last experience of any kind; None without timestamps."""
    experiences: int = 0
    """Number of its learning experiences."""
    learner_seconds: float | None = None
    """Seconds that it acts and learns per learning experience; None if they are not logged."""


class ExpertComparison(msgspec.Struct, frozen=True):
    """A learner and one expert of a task, over the length that both have."""

    expert: str
    """The expert's mark, the same in all lifetimes that are compared with it."""
    length: int
    mean: float
    expert_mean: float
    start: float
    """Mean of the first tenth."""
    expert_start: float
    end: float
    """Mean of the last tenth."""
    expert_end: float
    late: float
    """Mean of the tenth before the last."""
    expert_late: float
    reached: int
    """First experience, counted from 1, at the target common to the learner and all experts of the task; `length` + 1
    if it is never reached."""
    expert_reached: int
    range: float
    """Width of the task's range on the prepared scale."""
    floor: float | None
    """Lowest value of the scale; None for values as measured."""


class Twin(msgspec.Struct, frozen=True):
    """The same lifetime run by a learner that starts from scratch in every block."""

    means: tuple[float, ...]
    """Mean of each block, on the scale of the lifetime."""
    seconds: float | None
    """Time between its learning experiences, summed; None without timestamps."""
    intervals: int


def range_key(task: str, passage: Passage, directions: Mapping[str, Direction], prep: Preparation) -> RangeKey:
    """Return the key of the range of a task's values in `CommonRanges`."""
    measure = str(passage.measures.get(task, passage.measure))
    return measure, directions[task], "" if prep.scale == "run" else task


class Curves(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """One lifetime on a comparable scale.

    Block `i` of `scenario` owns `values[starts[i]:starts[i + 1]]`.
    """

    lifetime: str
    passage: Passage
    prep: Preparation
    directions: Mapping[str, Direction]
    """Task → which values of its measure are better."""
    values: Array
    """Smoothed, clamped, scaled."""
    raw: Array
    """Clamped and scaled, not smoothed."""
    measured: Array
    """As measured, negated if lower is better."""
    starts: npt.NDArray[np.int64]
    ranges: Mapping[str, Range]
    """Task → the range its values were scaled by."""
    clamps: Mapping[str, Range] = msgspec.field(default_factory=dict)
    """Task → the range its values were clamped to."""
    noise: Array | None = None
    """Noise added to the prepared values."""
    experts: Mapping[str, tuple[Expert, ...]] = msgspec.field(default_factory=dict)
    expert_logs: Mapping[str, Sequence[ExpertLog]] = msgspec.field(default_factory=dict)
    """Task → its experts as measured; they are compared with the learner over equal lengths."""
    notes: tuple[str, ...] = ()
    twin: Twin | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario of the blocks that count."""
        return self.passage.scenario

    @property
    def as_logged(self) -> Array:
        """The values as measured, in the direction in which they were logged."""
        signs = [self.sign(block.task) for block in self.scenario.blocks]
        logged: Array = self.measured * np.repeat(signs, np.diff(self.starts))
        return logged

    def sign(self, task: str) -> float:
        """Return −1 if the values of a task were negated so that higher is better, else 1."""
        return -1.0 if self.directions.get(task) == "lower" else 1.0

    @cached_property
    def uninformative(self) -> frozenset[str]:
        """Tasks whose values are all the same."""
        if self.prep.keep_constant or self.prep.scale == "none":
            return frozenset()
        return frozenset(task for task, span in self.ranges.items() if span.constant)

    @cached_property
    def _blocks(self) -> dict[int, Curve]:
        return {}

    def over(self, blocks: Sequence[int]) -> Curve:
        """Return the curve of the blocks, joined. The curve of a single block is kept, with all it computes."""
        if len(blocks) != 1:
            return self._joined(blocks)
        (block,) = blocks
        if block not in self._blocks:
            self._blocks[block] = self._joined(blocks)
        return self._blocks[block]

    def _joined(self, blocks: Sequence[int]) -> Curve:
        width = self.width(self.scenario.blocks[blocks[0]].task)
        return Curve(
            gathered(self.values, self.starts, blocks), gathered(self.raw, self.starts, blocks), width, self.floor
        )

    def measured_over(self, blocks: Sequence[int]) -> Array:
        """Return the values of the blocks as measured (higher is better), joined."""
        return gathered(self.measured, self.starts, blocks)

    def measured_mean(self, block: int) -> float:
        """Return the mean of one block's values as measured."""
        return mean(self.measured_over((block,)))

    def range_key(self, task: str) -> RangeKey:
        """Return the key of a task's range: lifetimes that share it are scaled by one range."""
        return range_key(task, self.passage, self.directions, self.prep)

    def width(self, task: str) -> float:
        """Return the width of a task's range on the prepared scale."""
        return SCALED if self.prep.scale != "none" else self.ranges[task].high - self.ranges[task].low

    @property
    def floor(self) -> float | None:
        """Lowest value of the scale; None for values as measured."""
        return None if self.prep.scale == "none" else LOWEST
