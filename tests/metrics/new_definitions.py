"""The headline metrics of lifetimes and of comparisons as definitions §2, §3 and §7 state them, from the text alone.

Nothing of `perdure` is used. Values are NumPy arrays whose last axis counts experiences; every leading axis counts
lives that share a scenario, so that the same lines serve one life worked by hand and a thousand drawn at once.
Left out, because no null needs them: clamping, windows other than flat, `--scale run`, medians.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

__all__ = [
    "Interval",
    "Life",
    "Part",
    "against_experts",
    "experts_fail",
    "holm",
    "learning_of_systems",
    "of_difference",
    "of_lives",
    "reached",
    "smoothed",
    "verdict",
    "word_of_maintenance",
    "words_of_comparison",
]

Array = npt.NDArray[np.float64]
Bounds = Mapping[str, tuple[float, float]]

ROUNDING = {"points": 1e-7, "log": 1e-9}
"""Differences of this size count as none (§7)."""


# --- §2: preparation ------------------------------------------------------------------------------


def smoothed(values: Array) -> Array:
    """A flat centred window of `min(n div 5, 100)`; half weight at the ends where it is even; edges reflected."""
    count = values.shape[-1]
    width = min(count // 5, 100)
    if width < 3:
        return values
    half = width // 2
    weights = np.ones(2 * half + 1)
    if width % 2 == 0:
        weights[[0, -1]] = 0.5
    padded = np.concatenate([values[..., half:0:-1], values, values[..., -2 : -2 - half : -1]], axis=-1)
    total = np.zeros_like(values)
    for shift, weight in enumerate(weights):
        total = total + weight * padded[..., shift : shift + count]
    return np.asarray(total / width)


@dataclass(frozen=True)
class Part:
    """A block: its mode, its task, one value per experience (higher is better), and its subtype."""

    mode: str
    task: str
    values: Array
    subtype: str = "wake"


def tenth(curve: Array) -> Array:
    """`TLP`: the mean of the values from index `9n div 10` on."""
    return np.asarray(curve[..., 9 * curve.shape[-1] // 10 :].mean(axis=-1))


def first_tenth(curve: Array) -> Array:
    """The mean of the first `max(1, m div 10)` values."""
    return np.asarray(curve[..., : max(1, curve.shape[-1] // 10)].mean(axis=-1))


def reached(curve: Array, target: Array) -> Array:
    """The first experience, counted from 1, at which the curve reaches the target; m + 1 where it never does."""
    near = np.asarray(target) - 1e-9 * np.maximum(1.0, np.abs(target))
    there = curve >= near[..., None]
    return np.asarray(np.where(there.any(axis=-1), there.argmax(axis=-1) + 1.0, curve.shape[-1] + 1.0))


# --- §3: the metrics ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Life:
    """One life, or many of one scenario at once, and for each task its experts (each a list of learning blocks)."""

    parts: Sequence[Part]
    experts: Mapping[str, Sequence[Sequence[Part]]] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=dict)
    """Of the tasks whose bounds are given."""

    @cached_property
    def tasks(self) -> list[str]:
        """By first learning block, then never-learned tasks by first evaluation."""
        learned = [part.task for part in self.parts if part.mode == "learn"]
        return list(dict.fromkeys(learned + [part.task for part in self.parts]))

    @cached_property
    def ranges(self) -> dict[str, tuple[Array, Array]]:
        """Given bounds, or the span of smoothed learning values, the experts' too, and of evaluations."""
        found: dict[str, tuple[Array, Array]] = {}
        for task in self.tasks:
            if task in self.bounds:
                found[task] = (np.asarray(self.bounds[task][0]), np.asarray(self.bounds[task][1]))
                continue
            own = [
                smoothed(part.values) if part.mode == "learn" else part.values
                for part in self.parts
                if part.task == task
            ]
            theirs = [
                smoothed(part.values)
                for expert in self.experts.get(task, ())
                for part in expert
                if part.mode == "learn"
            ]
            low, high = own[0].min(axis=-1), own[0].max(axis=-1)
            for values in own + theirs:
                low, high = np.minimum(low, values.min(axis=-1)), np.maximum(high, values.max(axis=-1))
            found[task] = (low, high)
        return found

    def scaled(self, task: str, values: Array) -> Array:
        """On the scale 1 to 101; a constant task is 1 throughout."""
        low, high = (np.asarray(one)[..., None] for one in self.ranges[task])
        wide = high > low
        return np.where(wide, 100 * (values - low) / np.where(wide, high - low, 1.0), 0.0) + 1.0

    def counts(self, task: str, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Whether a task carries information: a constant one is left out of lifetime means."""
        low, high = self.ranges[task]
        return np.broadcast_to(np.asarray(high > low) | (task in self.bounds), shape)

    @cached_property
    def evaluations(self) -> dict[str, list[int]]:
        """Each task's evaluation blocks that metrics read: only sleep ones where there are any."""
        seen = [at for at, part in enumerate(self.parts) if part.mode == "evaluate"]
        asleep = [at for at in seen if self.parts[at].subtype == "sleep"]
        return {task: [at for at in asleep or seen if self.parts[at].task == task] for task in self.tasks}

    def learnings(self, task: str) -> list[int]:
        """Where the task is learned."""
        return [at for at, part in enumerate(self.parts) if part.mode == "learn" and part.task == task]

    @cached_property
    def worth(self) -> dict[int, Array]:
        """`EP` of each evaluation block."""
        return {
            at: self.scaled(part.task, part.values).mean(axis=-1)
            for at, part in enumerate(self.parts)
            if part.mode == "evaluate"
        }

    def over(self, by: Mapping[object, tuple[str, Array]]) -> Array | None:
        """The mean over tasks or pairs of those that carry information; NaN for a life in which none does."""
        if not by:
            return None
        values = np.stack([np.asarray(value) for _, value in by.values()])
        counted = np.stack([self.counts(task, np.shape(value)) for task, value in by.values()])
        number = counted.sum(axis=0)
        total = np.where(counted, values, 0.0).sum(axis=0)
        return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))

    def maintenance(self) -> Array | None:
        """PM: `EP(e) − EP(r)`, mean per task, then over tasks."""
        by: dict[object, tuple[str, Array]] = {}
        for task in self.tasks:
            lost: list[Array] = []
            for here in self.evaluations[task]:
                before = [at for at in self.learnings(task) if at < here]
                if before:
                    reference = next(at for at in self.evaluations[task] if at > before[-1])
                    if reference != here:
                        lost.append(self.worth[here] - self.worth[reference])
            if lost:
                by[task] = (task, np.mean(lost, axis=0))
        return self.over(by)

    def transfer(self, *, backward: bool) -> Array | None:
        """Ln FT or ln BT: the first site of each ordered pair, averaged over pairs."""
        first: dict[object, tuple[str, Array]] = {}
        for task in self.tasks:
            for before, after in pairwise(self.evaluations[task]):
                between = [at for at in range(before, after) if self.parts[at].mode == "learn"]
                sources = {self.parts[at].task for at in between}
                if len(sources) != 1 or task in sources:
                    continue
                if any(at < between[0] for at in self.learnings(task)) == backward:
                    ratio = np.log(guarded(self.worth[after])) - np.log(guarded(self.worth[before]))
                    first.setdefault((*sources, task), (task, ratio))
        return self.over(first)

    def final_performance(self) -> Array | None:
        """Mean over practised tasks of the last evaluation after the last learning block, minus 1."""
        by: dict[object, tuple[str, Array]] = {}
        for task in self.tasks:
            learnings, evaluations = self.learnings(task), self.evaluations[task]
            if learnings and evaluations and evaluations[-1] > learnings[-1]:
                by[task] = (task, self.worth[evaluations[-1]] - 1.0)
        return self.over(by)

    def joined(self, task: str) -> Array:
        """The raw values of the task's wake learning blocks, one after the other."""
        return _joined(self.parts, task)

    def rises(self, task: str) -> tuple[Array, Array | None]:
        """The end of the joined curve, scaled only, minus its first tenth and minus the evaluation before."""
        curve = self.scaled(task, self.joined(task))
        first = self.evaluations[task][:1]
        known = first and first[0] < self.learnings(task)[0]
        return tenth(curve) - first_tenth(curve), tenth(curve) - self.worth[first[0]] if known else None

    def expert_rises(self, task: str) -> Array:
        """The same of each expert (last axis), from its first tenth."""
        curves = [self.scaled(task, _joined(expert, task)) for expert in self.experts[task]]
        return np.stack([tenth(curve) - first_tenth(curve) for curve in curves], axis=-1)

    def beside_experts(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Ln RP and ln SE of each task, by expert (last axis)."""
        performance: dict[str, Array] = {}
        efficiency: dict[str, Array] = {}
        for task in self.tasks:
            if self.experts.get(task) and any(
                part.mode == "learn" and part.task == task and part.subtype == "wake" for part in self.parts
            ):
                pairs = [self._pair(task, _joined(expert, task)) for expert in self.experts[task]]
                performance[task] = np.stack([_relative(*pair) for pair in pairs], axis=-1)
                efficiency[task] = _efficiencies(pairs)
        return performance, efficiency

    def _pair(self, task: str, expert: Array) -> tuple[Array, Array]:
        """Learner and expert joined, cut to the shorter, then smoothed once, then scaled."""
        own = self.joined(task)
        shared = min(own.shape[-1], expert.shape[-1])
        one, other = (self.scaled(task, smoothed(curve[..., :shared])) for curve in (own, expert))
        return np.broadcast_arrays(one, other)  # type: ignore[return-value]

    def over_experts(self, by_task: Mapping[str, Array]) -> Array | None:
        """The mean over experts, then over tasks: the logarithm of a life's RP or SE."""
        return self.over({task: (task, values.mean(axis=-1)) for task, values in by_task.items()})


def guarded(mean: Array) -> Array:
    """A mean below 1, which given bounds allow, counts as 1."""
    return np.maximum(mean, 1.0)


def _joined(parts: Sequence[Part], task: str) -> Array:
    return np.concatenate(
        [part.values for part in parts if part.mode == "learn" and part.task == task and part.subtype == "wake"],
        axis=-1,
    )


def _relative(learner: Array, expert: Array) -> Array:
    return np.asarray(np.log(guarded(learner.mean(axis=-1))) - np.log(guarded(expert.mean(axis=-1))))


def _efficiencies(pairs: Sequence[tuple[Array, Array]]) -> Array:
    """Ln SE against each expert, by one target common to the learner and all experts of the task."""

    def common(part: object) -> Array:
        own = np.mean([part(learner) for learner, _ in pairs], axis=0)  # type: ignore[operator]
        return np.asarray(np.mean([own, *(part(expert) for _, expert in pairs)], axis=0))  # type: ignore[operator]

    height, base = common(tenth), common(first_tenth)
    target = base + 0.9 * (height - base)
    return np.stack(
        [
            np.log(guarded(tenth(learner)))
            - np.log(guarded(tenth(expert)))
            + np.log(reached(expert, target))
            - np.log(reached(learner, target))
            for learner, expert in pairs
        ],
        axis=-1,
    )


def learning_of_systems(systems: Sequence[Sequence[Life]]) -> tuple[list[list[Array]], list[list[Array]]]:
    """Ln learning performance and ln learning speed by system and life; NaN speed where the reference did not learn."""
    performance: list[list[dict[object, tuple[str, Array]]]] = [[{} for _ in lives] for lives in systems]
    speed: list[list[dict[object, tuple[str, Array]]]] = [[{} for _ in lives] for lives in systems]
    learned: list[Array] = []
    for task in [task for task in systems[0][0].tasks if systems[0][0].learnings(task)]:
        curves = [[life.joined(task) for life in lives] for lives in systems]
        experts = [[[_joined(one, task) for one in life.experts.get(task, ())] for life in lives] for lives in systems]
        length = min(curve.shape[-1] for own in curves for curve in own)
        short = min([length, *(one.shape[-1] for lives in experts for each in lives for one in each)])
        by_experts = all(any(lives) for lives in experts)
        read = experts if by_experts else [[[curve] for curve in own] for own in curves]
        ends: list[Array] = []  # by system: first and last tenth
        for lives, own in zip(systems, read, strict=True):
            alike = by_experts and all(
                one.experts is lives[0].experts and one.bounds is lives[0].bounds for one in lives
            )
            each_life: list[Array] = []
            for life, each in list(zip(lives, own, strict=True))[: 1 if alike else None]:
                prepared = [life.scaled(task, smoothed(one[..., :short])) for one in each]
                if prepared:
                    each_life.append(np.mean([[first_tenth(one), tenth(one)] for one in prepared], axis=0))
            ends.append(np.mean(each_life, axis=0))
        begin, end = np.mean(ends, axis=0)
        learned.append(end > begin)
        for at, lives in enumerate(systems):
            for number, life in enumerate(lives):
                whole, cut = (life.scaled(task, smoothed(curves[at][number][..., :count])) for count in (length, short))
                performance[at][number][task] = (task, np.log(guarded(whole.mean(axis=-1))))
                time = reached(cut, begin + 0.9 * (end - begin))
                speed[at][number][task] = (task, np.log(guarded(tenth(cut))) - np.log(time))
    known = np.where(np.all(learned, axis=0), 0.0, np.nan)
    heights, speeds = (
        [
            [np.asarray(life.over(by)) for life, by in zip(lives, own, strict=True)]
            for lives, own in zip(systems, found, strict=True)
        ]
        for found in (performance, speed)
    )
    return heights, [[known + values for values in side] for side in speeds]


# --- §7: the verdict ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """An estimate with its two-sided interval and its degrees of freedom; every field may hold many groups."""

    mean: Array
    variance: Array
    freedom: Array
    level: Array | float = 0.95
    parts: tuple[tuple[Array, Array | float], ...] = ()
    """Variances with their degrees of freedom, whose t quantiles are averaged; else `freedom` has the quantile."""

    def quantile(self, chance: Array | float) -> Array:
        """The t exceeded with 1 − `chance`."""
        if not self.parts:
            return np.asarray(stdtrit(np.maximum(self.freedom, 1e-9), chance))
        return np.asarray(sum(part * stdtrit(freedom, chance) for part, freedom in self.parts) / self.variance)

    @property
    def half(self) -> Array:
        """Half its width."""
        quantile = self.quantile(0.5 + self.level / 2)
        return np.asarray(np.where(self.variance > 0, quantile * np.sqrt(self.variance), 0.0))

    @property
    def low(self) -> Array:
        return np.asarray(self.mean - self.half)

    @property
    def high(self) -> Array:
        return np.asarray(self.mean + self.half)

    def p(self, against: float = 0.0) -> Array:
        """Two-sided, the dual of the interval."""
        away = np.abs(self.mean - against)
        t = np.divide(away, np.sqrt(self.variance), out=np.full(np.shape(away), np.inf), where=self.variance > 0)
        t = np.where(np.isnan(away), np.nan, t)
        if not self.parts:
            return np.asarray(np.where(away == 0, 1.0, 2 * stdtr(np.maximum(self.freedom, 1e-9), -t)))
        low, high = np.zeros(np.shape(away)), np.full(np.shape(away), 0.5)
        for _ in range(80):  # the level at which the interval touches
            middle = (low + high) / 2
            touches = self.quantile(1 - middle) > t
            low, high = np.where(touches, middle, low), np.where(touches, high, middle)
        return np.asarray(np.where(away == 0, 1.0, 2 * high))


def of_lives(values: Array) -> Interval:
    """The mean over lives (last axis), each counting once."""
    count = values.shape[-1]
    variance = values.var(axis=-1, ddof=1) / count
    return Interval(values.mean(axis=-1), variance, np.full(variance.shape, count - 1.0))


def against_experts(by_task: Sequence[Array]) -> Interval:
    """RP or SE on the log scale, lives × experts crossed within each task (last two axes): experts are a sample.

    Variance = var of life means / n + `Σ_t s_t²/(k_t T²)`; Satterthwaite over lives and every task. With 3 or 4 lives
    the quantiles of lives and of experts, these by Satterthwaite over tasks, are averaged by their variances.
    """
    lives, terms = _crossed(by_task)
    count = lives.shape[-1]
    found = _satterthwaite(lives.mean(axis=-1), [(_variance(lives), count - 1), *terms])
    if count > 4:
        return found
    experts = _satterthwaite(lives.mean(axis=-1), terms)
    return replace(found, parts=((_variance(lives), count - 1.0), (experts.variance, experts.freedom)))


def unlearned(rises: Sequence[Array], margin: float = 5.0) -> Array:
    """Whether a task is *not learned* or *unclear*, by one or two rises over lives or experts (last axis)."""
    level = 0.975 if len(rises) == 2 else 0.95
    ends = [replace(of_lives(values), level=level).low for values in rises]
    learned = np.any([low > 0 for low in ends], axis=0)
    below = np.all([of_lives(values).high < margin for values in rises], axis=0)
    # From one rise: "no gain seen", which is neither.
    unlearned_tasks: Array = ~learned if len(rises) == 2 else ~learned & ~below
    return unlearned_tasks


def experts_fail(lives: Sequence[Life]) -> Array:
    """Whether a task with 3 or 4 experts is *not learned* or *unclear*, over the lives or over the experts."""
    failing = [np.zeros(1, dtype=bool)]
    for task, experts in lives[0].experts.items():
        if len(experts) in (3, 4) and lives[0].learnings(task):
            own = list(zip(*(life.rises(task) for life in lives), strict=True))
            known = [one for one in own if all(value is not None for value in one)]
            failing.append(unlearned([lives[0].expert_rises(task)]))
            if len(lives) >= 3:
                failing.append(unlearned([np.stack(one, axis=-1) for one in known]))
    any_failing: Array = np.any(np.broadcast_arrays(*failing), axis=0)
    return any_failing


def of_difference(ours: Array, theirs: Array, *, paired: bool) -> Interval:
    """Two systems, values by life: paired t or Welch, with weighted quantiles where one side has twice the lives."""
    middle = ours.mean(axis=-1) - theirs.mean(axis=-1)
    if paired:
        return _satterthwaite(middle, [(_variance(ours - theirs), ours.shape[-1] - 1)])
    sides = [(_variance(values), values.shape[-1] - 1) for values in (ours, theirs)]
    found = _satterthwaite(middle, sides)
    counts = sorted((ours.shape[-1], theirs.shape[-1]))
    return found if counts[1] < 2 * counts[0] else replace(found, parts=tuple((part, float(df)) for part, df in sides))


def words_of_comparison(
    ours: Mapping[str, Array], theirs: Mapping[str, Array], margins: Mapping[str, float], *, paired: bool
) -> dict[str, npt.NDArray[np.str_]]:
    """*better, worse, no worse, no better, as good, undecided* by metric: Holm, then the margin at 1 − .05/K."""
    found = {name: of_difference(ours[name], theirs[name], paired=paired) for name in ours}
    p_values = np.stack([one.p() for one in found.values()], axis=-1)
    differs = holm(p_values) < 0.05
    family = np.isfinite(p_values).sum(axis=-1)
    words: dict[str, npt.NDArray[np.str_]] = {}
    for at, (name, one) in enumerate(found.items()):
        wide = replace(one, level=np.asarray(1 - 0.05 / np.maximum(family, 1)))
        no_worse, no_better = wide.low > -margins[name], wide.high < margins[name]
        decided = [differs[..., at] & (one.mean > 0), differs[..., at], no_worse & no_better, no_worse, no_better]
        words[name] = np.select(decided, ["better", "worse", "as good", "no worse", "no better"], "undecided")
    return words


def _crossed(by_task: Sequence[Array]) -> tuple[Array, list[tuple[Array, int]]]:
    """Each life's mean over experts and tasks, and each task's part of the variance with its degrees of freedom."""
    tasks = len(by_task)
    lives = np.mean([values.mean(axis=-1) for values in by_task], axis=0)
    terms = [(_variance(values.mean(axis=-2)) / tasks**2, max(values.shape[-1] - 1, 1)) for values in by_task]
    return lives, terms


def _variance(values: Array) -> Array:
    """Of the mean over the last axis; unknown where that counts one."""
    count = values.shape[-1]
    return values.var(axis=-1, ddof=1) / count if count > 1 else np.full(values.shape[:-1], np.nan)


def _satterthwaite(mean: Array, terms: Sequence[tuple[Array, int]]) -> Interval:
    variance = np.sum([part for part, _ in terms], axis=0)
    below = np.sum([part**2 / freedom for part, freedom in terms], axis=0)
    freedom = np.divide(variance**2, below, out=np.ones_like(variance), where=below > 0)
    return Interval(np.asarray(mean), variance, freedom)


def verdict(found: Interval, *, margin: float = 0.0, rounding: float = ROUNDING["log"]) -> npt.NDArray[np.int64]:
    """1 *met*: the interval lies above 0 less the margin; −1 *not met*: below it; else 0, *undecided*."""
    met, not_met = found.low > -margin + rounding, found.high < -margin - rounding
    return np.asarray(met.astype(np.int64) - not_met.astype(np.int64))


def word_of_maintenance(found: Interval, margin: float = 5.0) -> npt.NDArray[np.str_]:
    """*gains, keeps, forgets, loses, undecided*, by where the interval lies to 0 and −margin."""
    none = ROUNDING["points"]
    return np.select(
        [found.low > none, found.low > -margin + none, found.high < -margin - none, found.high < -none],
        ["gains", "keeps", "forgets", "loses"],
        "undecided",
    )


def holm(p_values: Array) -> Array:
    """Holm's adjustment over the last axis; NaN for a metric that cannot be tested, which costs the others nothing."""
    order = np.argsort(p_values, axis=-1, kind="stable")
    count = np.isfinite(p_values).sum(axis=-1, keepdims=True)
    factors = count - np.arange(p_values.shape[-1])
    stepped = np.maximum.accumulate(np.take_along_axis(p_values, order, -1) * factors, axis=-1)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), -1)
    return adjusted
