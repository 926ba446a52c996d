"""The metrics of the 2019 framework, computed on values as measured, and its preset.

Every curve is a moving average over eleven experiences, another odd number, or a share of the block (`--width`),
without edges; the curve of a shorter block is its plain mean. The score of a syllabus is the mean over its blocks. An
error is compared as an error, and shown as it was measured.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from statistics import fmean

import numpy as np

from perdure.classic import sites2019
from perdure.curves.arrays import Array, window_means
from perdure.curves.model import Curve, Curves, Expert, Preparation
from perdure.metrics.arithmetic import NoValue, Value, flat, ratio
from perdure.metrics.declare import ADAPTING, CONTINUAL, Metric, VerdictWords, metric
from perdure.metrics.presets import Preset
from perdure.metrics.score import BlockSummary
from perdure.scenario import sites
from perdure.scenario.sites import Site
from perdure.settings import Settings
from perdure.settings import presets as names

PREP = Preparation(window="none", scale="none", recorded_bounds=False)

_SOURCE = "Metrics Framework, 5 Dec 2019"
_declared = partial(metric, combine=flat, source=_SOURCE, preset=names.FRAMEWORK_2019)
_continual = partial(_declared, capability=CONTINUAL)
_adapting = partial(_declared, capability=ADAPTING)
_WIDTH = 11
_TOLERANCE = 0.02
_ERROR = ("an error: lower is better",)

_AS_MEASURED = "it speaks of values as measured"
_FIXES = {
    "window": "its moving average is flat; --width sets how long",
    "smooth_evaluation": "it averages evaluations as it does learning",
    "clamp": _AS_MEASURED,
    "scale": _AS_MEASURED,
    "bounds": _AS_MEASURED,
    "aggregate": "the score of a syllabus is a mean",
}


def _refuse(_settings: Settings, prep: Preparation) -> str | None:
    """Refuse a moving average of an even length, which has no middle."""
    if prep.width is not None and prep.width >= 1 and prep.width % 2 == 0:
        return f"--width {prep.width} is even; its moving average has a middle, so give an odd number of experiences"
    return None


def _window(length: int, width: float | None) -> int:
    """Return the number of values in one mean: eleven, the width, or that share of the block."""
    if width is None:
        return _WIDTH
    return int(width) if width >= 1 else max(1, int(width * length))


def moving_average(values: Array, width: float | None = None) -> Array:
    """Return the means of `width` (default: 11) values in a row, without edges; the mean if there are fewer."""
    window = _window(len(values), width)
    if len(values) < window:
        return np.array([values.mean()])
    means: Array = window_means(values[np.newaxis, :], window)[0]
    return means


def saturated(curve: Curve, life: Curves) -> float:
    """Return the best moving average, higher is better."""
    return float(moving_average(curve.values, life.prep.width).max())


def steps_to_saturation(curve: Curve, life: Curves) -> int:
    """Return the step of the moving average, counted from 1, at which it is best."""
    return int(moving_average(curve.values, life.prep.width).argmax()) + 1


def recovered(previous: Curve, later: Curve, life: Curves) -> int | None:
    """Return the step of `later`, from 0, at which it is within 2 % of the saturation of `previous`."""
    before = saturated(previous, life)
    reached = moving_average(later.values, life.prep.width) >= before - _TOLERANCE * abs(before)
    index = int(reached.argmax())
    return index if reached[index] else None


def _shown(value: float, site: Site, life: Curves) -> Value:
    """Return a level or a difference of levels as it was measured: an error is not negated."""
    lower = site.task is not None and life.sign(site.task) < 0
    return Value(-value + 0.0, _ERROR) if lower else Value(value)


def better_than(own: float, other: float, life: Curves, task: str | None, extent: float) -> float:
    """Return `own / other`, both such that higher is better; for errors `other / own` as measured."""
    if task is not None and life.sign(task) < 0:
        return ratio(-other, -own, extent)
    return ratio(own, other, extent)


def _relative(curve: Curve, expert: Expert, site: Site, life: Curves) -> float:
    """Return a saturation relative to the expert's, from `taskinfo/info.json` or from its log."""
    best = saturated(expert.all_learning, life) if expert.saturation is None else expert.saturation
    return better_than(saturated(curve, life), best, life, site.task, curve.range)


# --- one task ------------------------------------------------------------------------------------


@_continual(sites2019.every_block, unit="as measured", aliases=("GlobalMean",))
def global_perf(life: Curves) -> Value:
    r"""Measure the mean of all values, in learning and in evaluation.

    $$\frac{1}{N} \sum_{k=1}^{N} x_k$$

    Weakness: tasks with rewards of different size, learning and evaluation are in one mean.
    """
    directions = set(life.directions.values())
    if len(directions) > 1:
        raise NoValue("errors and rewards have no common mean")
    return Value(float(life.as_logged.mean()), _ERROR if directions == {"lower"} else ())


@_continual(
    sites.each_learning_block,
    unit="as measured",
    answers=dict.fromkeys((CONTINUAL, ADAPTING), "How well does it do at its best while it learns?"),
    register=False,
)
def saturation(learned: Curve, site: Site, life: Curves) -> Value:
    r"""Measure the highest moving average of a learning block; of an error the lowest.

    $$\mathrm{sat}(\text{learned}) = \max_k s_k$$

    Weakness: the highest of noisy values is above their level, more so in a longer block.
    """
    return _shown(saturated(learned, life), site, life)


@_continual(
    sites.each_learning_block,
    unit="experiences",
    better="lower",
    answers={CONTINUAL: "How soon is it at its best?"},
)
def time_to_saturation(learned: Curve, life: Curves) -> float:
    r"""Count the steps of the moving average until its highest value, from 1.

    $$\operatorname{argmax}_k s_k$$

    Weakness: on a noisy plateau the highest value can be anywhere.
    """
    return steps_to_saturation(learned, life)


@_continual(
    sites.each_learning_block,
    unit="as measured",
    answers={CONTINUAL: "How fast does it learn?"},
    register=False,
)
def normalized_integral(learned: Curve, site: Site, life: Curves) -> Value:
    r"""Measure the sum of a block's moving average, divided by the block's length in experiences.

    $$\frac{1}{n} \sum_k s_k$$

    The edges are discarded and the length is the block's own, as the document has it, so a constant
    block of 20 values gives half of its value. Blocks shorter than the window give their mean.

    Weakness: short blocks read too low, because the edges of the moving average are missing and their length is
    not.
    """
    smoothed = moving_average(learned.values, life.prep.width)
    has_window = len(learned) >= _window(len(learned), life.prep.width)
    return _shown(float(smoothed.sum()) / (len(learned) if has_window else 1), site, life)


@_continual(
    sites2019.learned_again,
    unit="experiences",
    better="lower",
    answers={CONTINUAL: "Does it adjust to a change of its environment, and how soon?"},
    register=False,
)
def recovery_time(previous: Curve, later: Curve, life: Curves) -> Value:
    r"""Count the steps until a task that is learned again comes within 2 % of its earlier saturation.

    $$\min \lbrace k \ge 0 : s_k \ge \mathrm{sat}(\text{previous}) - 0.02\,|\mathrm{sat}(\text{previous})| \rbrace$$

    Learned again is a task with other parameters, too.

    Weakness: a noisy curve reaches the target by chance before it has recovered; a block that never recovers counts
    with its length.
    """
    index = recovered(previous, later, life)
    if index is not None:
        return Value(index)
    return Value(len(later) + 1, ("never recovered, counted as one more than the block's length",))


@_continual(
    sites2019.tested_after_learning,
    unit="as measured",
    answers={
        CONTINUAL: "Does it keep earlier parameters after it was trained on new ones?",
        ADAPTING: "Does it keep earlier tasks after it was trained on new ones?",
    },
)
def maintenance_on_test(test: Curve, train: Curve, site: Site, life: Curves) -> Value:
    r"""Measure how much higher a task saturates in evaluation than when it was learned with the same parameters.

    $$\mathrm{sat}(\text{test}) - \mathrm{sat}(\text{train})$$

    Weakness: a test is shorter than a training, and the highest of few values is below that of many: a task
    that is kept in full reads as a loss.
    """
    return _shown(saturated(test, life) - saturated(train, life), site, life)


@_continual(sites2019.tested_after_learning, unit="experiences", better="lower")
def maintenance_on_test_time(test: Curve, train: Curve, life: Curves) -> float:
    r"""Count how many steps more a task takes to saturate in evaluation than when it was learned alike.

    $$\operatorname{argmax}_k s_k(\text{test}) - \operatorname{argmax}_k s_k(\text{train})$$

    Weakness: a short test cannot take long.
    """
    return steps_to_saturation(test, life) - steps_to_saturation(train, life)


@_continual(sites2019.tested_after_learning, unit="as measured")
def maintenance_on_test_mean(test: Curve, train: Curve, site: Site, life: Curves) -> Value:
    r"""Measure how much higher the mean of a task is in evaluation than in learning with the same parameters.

    $$\overline{\text{test}} - \overline{\text{train}}$$

    Weakness: the training includes the time before anything was learned, so that a gain is no sign of keeping.
    """
    return _shown(test.mean - train.mean, site, life)


@_continual(
    sites.each_learning_block,
    unit="ratio",
    threshold=1,
    answers=dict.fromkeys((CONTINUAL, ADAPTING), "How does it compare with a learner of that task alone?"),
)
def ste_relative(learned: Curve, expert: Expert, site: Site, life: Curves) -> float:
    r"""Measure the saturation of a learning block relative to the expert (`taskinfo/info.json`, or a log).

    $$\frac{\mathrm{sat}(\text{learned})}{\mathrm{sat}(\text{expert})}$$

    Weakness: experts count as known exactly, and a longer block saturates higher by chance. It depends on the
    measure's zero.
    """
    return _relative(learned, expert, site, life)


# --- transfer between tasks ----------------------------------------------------------------------


@_adapting(
    sites2019.evaluated_before_learned,
    unit="ratio",
    answers={ADAPTING: "How well does it do a task that it only knows another of?"},
    words=VerdictWords(pairs="a task not learned yet, beside its expert"),
)
def ste_forward_transfer(test: Curve, expert: Expert, site: Site, life: Curves) -> float:
    r"""Measure the saturation of a task not yet learned, after another was learned, relative to its expert.

    $$\frac{\mathrm{sat}(\text{test})}{\mathrm{sat}(\text{expert})}$$

    Weakness: there is no evaluation before: a task that is easy from the start reads as transfer. A short test
    saturates lower than an expert's long training.
    """
    return _relative(test, expert, site, life)


@_adapting(
    sites2019.evaluated_after_both,
    unit="ratio",
    answers={ADAPTING: "How well does it still do a task after it learned another?"},
    words=VerdictWords(pairs="a task learned before, beside its expert"),
)
def ste_reverse_transfer(test: Curve, expert: Expert, site: Site, life: Curves) -> float:
    r"""Measure the saturation of a learned task after another was learned, relative to its expert.

    $$\frac{\mathrm{sat}(\text{test})}{\mathrm{sat}(\text{expert})}$$

    Weakness: there is no evaluation before, so that a task forgotten and a task never learned read the same.
    """
    return _relative(test, expert, site, life)


@_adapting(
    sites2019.first_learning_of_each_set,
    unit="ratio",
    answers={ADAPTING: "Does it learn a task sooner than a learner of that task alone?"},
)
def time_to_learn_gain(learned: Curve, expert: Expert, life: Curves) -> Value:
    r"""Measure how many times as long an expert takes to saturate as the learner at first learning.

    $$\frac{\operatorname{argmax}_k s_k(\text{expert})}{\operatorname{argmax}_k s_k(\text{learned})}$$

    Weakness: on a noisy plateau the highest value can be anywhere, and a learner that saturates low saturates soon.
    """
    if expert.saturation is not None:
        raise NoValue("info.json states no times; it needs a log of the expert")
    times = steps_to_saturation(expert.all_learning, life) / steps_to_saturation(learned, life)
    uneven = len(expert.all_learning) != len(learned)
    return Value(times, ("learner and expert learned for different lengths",) if uneven else ())


@_adapting(sites2019.recovered_after_another, unit="ratio")
def transfer_of_recovery(site: Site, life: Curves) -> Value:
    r"""Measure how many times as fast a task recovers from parameter changes as the task learned before it.

    $$\frac{\operatorname{mean}(1 + R(\text{before}))}{\operatorname{mean}(1 + R(\text{after}))}$$

    Steps are counted from 1; a block that never recovers counts as one more than its length.

    Weakness: two different tasks are compared: the one that is easier recovers faster, whatever was carried over.
    Exchange them in other lifetimes.
    """
    return _recovery(site, life)


@_adapting(sites2019.maintained_after_another, unit="ratio")
def transfer_of_maintenance(site: Site, life: Curves) -> float:
    r"""Measure how much more of its saturation a task keeps in evaluation than the task learned before it.

    $$\frac{K(\text{after})}{K(\text{before})}, \quad K = \operatorname{mean}
    \frac{\mathrm{sat}(\text{tests})}{\mathrm{sat}(\text{learned})}$$

    Weakness: two different tasks are compared: the one that is easier is kept better, whatever was carried over.
    """
    return _maintenance(site, life)


@_adapting(
    sites2019.learned_after_another,
    unit="ratio",
    answers={ADAPTING: "Does it cope with changes better once it has learned another task?"},
)
def transfer_of_continual_learning(site: Site, life: Curves) -> float | Value:
    r"""Measure how much better the second task recovers and is maintained than the first: the mean of both.

    $$\frac{1}{2} \left( \frac{\operatorname{mean}(1 + R(\text{before}))}{\operatorname{mean}(1 + R(\text{after}))}
    + \frac{K(\text{after})}{K(\text{before})} \right)$$

    Weakness: two different tasks are compared, as in its two parts.
    """
    return _maintenance(site, life) if "after_tests" in site.blocks else _recovery(site, life)


def _recovery(site: Site, life: Curves) -> Value:
    means: list[float] = []
    flags: tuple[str, ...] = ()
    for name in ("before", "after"):
        times: list[int] = []
        for previous, later in pairwise(life.over((index,)) for index in site.blocks[name]):
            steps = recovered(previous, later, life)
            if steps is None:
                steps, flags = len(later) + 1, ("a block never recovered",)
            times.append(1 + steps)
        means.append(fmean(times))
    return Value(means[0] / means[1], flags)


def _maintenance(site: Site, life: Curves) -> float:
    def share_kept(test: int, train: int) -> float:
        tested, trained = life.over((test,)), life.over((train,))
        task = life.scenario.blocks[train].task
        return better_than(saturated(tested, life), saturated(trained, life), life, task, trained.range)

    before, after = (
        fmean(map(share_kept, site.blocks[f"{name}_tests"], site.blocks[name])) for name in ("before", "after")
    )
    if before <= 0:
        raise NoValue("nothing of what was learned before is left in evaluation, so that no ratio to it means anything")
    return after / before


# --- preset --------------------------------------------------------------------------------------


def summarise(curves: Curves) -> tuple[BlockSummary, ...]:
    """Return every block's mean, end and saturation, as measured, evaluations included."""
    summaries: list[BlockSummary] = []
    for index, block in enumerate(curves.scenario.blocks):
        curve, sign = curves.over((index,)), curves.sign(block.task)
        best, steps = sign * saturated(curve, curves), steps_to_saturation(curve, curves)
        squares, lagged = curve.raw_deviations if block.mode == "evaluate" else (None, None)
        end = curve.terminal if block.mode == "learn" else curve.mean
        summaries.append(BlockSummary(index, block, sign * curve.mean, sign * end, best, steps, squares, lagged))
    return tuple(summaries)


FRAMEWORK_2019 = Preset(
    names.FRAMEWORK_2019,
    "The metrics of December 2019, on values as measured: each curve a moving average over eleven experiences.",
    PREP,
    lambda: {name: value for name, value in globals().items() if isinstance(value, Metric)},
    summarise,
    _SOURCE,
    _FIXES,
    _refuse,
    decides=False,
    taskinfo=True,
)
