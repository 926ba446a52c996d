"""The metrics of the 2019 framework, on values as measured.

Every curve is a moving average over eleven experiences, another odd number, or a share of the block (`--width`),
whose edges are discarded; a block shorter than that is its plain mean. The score of a syllabus is the mean over its
blocks. An error is compared as one, and shown as it was measured.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from perdure.classic import sites2019
from perdure.curves.arrays import Array, window_means
from perdure.curves.model import Curve, Curves, Expert, Preparation
from perdure.metrics.arithmetic import NoValue, Value, flat, ratio
from perdure.metrics.declare import ADAPTING, CONTINUAL, metric
from perdure.metrics.score import BlockSummary
from perdure.scenario import sites
from perdure.scenario.sites import Site
from perdure.settings import Settings
from perdure.settings.presets import FRAMEWORK_2019

PREP = Preparation(window="none", scale="none", recorded_bounds=False)

PRESET = FRAMEWORK_2019
declared_2019 = partial(metric, combine=flat, source="Metrics Framework, 5 Dec 2019", preset=PRESET)
_continual = partial(declared_2019, capability=CONTINUAL)
_ALPHA = 11
_WITHIN = 0.02
_ERROR = ("an error: lower is better",)

_AS_MEASURED = "it speaks of values as measured"
FIXES = {
    "window": "its moving average is flat; --width sets how long",
    "smooth_evaluation": "it averages evaluations as it does learning",
    "clamp": _AS_MEASURED,
    "scale": _AS_MEASURED,
    "bounds": _AS_MEASURED,
    "aggregate": "the score of a syllabus is a mean",
}


def refuses(_settings: Settings, prep: Preparation) -> str | None:
    """Refuse a moving average of an even length, which has no middle."""
    if prep.width is not None and prep.width >= 1 and prep.width % 2 == 0:
        return f"--width {prep.width} is even; its moving average has a middle, so give an odd number of experiences"
    return None


def _alpha(length: int, width: float | None) -> int:
    """Return the number of values in one mean: eleven, the width, or that share of the block."""
    if width is None:
        return _ALPHA
    return int(width) if width >= 1 else max(1, int(width * length))


def moving_average(values: Array, width: float | None = None) -> Array:
    """Return the means of `width` (default: 11) values in a row, without edges; the mean if there are fewer."""
    alpha = _alpha(len(values), width)
    if len(values) < alpha:
        return np.array([values.mean()])
    means: Array = window_means(values[np.newaxis, :], alpha)[0]
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
    reached = moving_average(later.values, life.prep.width) >= before - _WITHIN * abs(before)
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


def stated(expert: Expert, life: Curves) -> float:
    """Return an expert's saturation from `taskinfo/info.json` or from its log; higher is better."""
    return saturated(expert.all_learning, life) if expert.saturation is None else expert.saturation


@_continual(sites2019.every_block, unit="as measured", aliases=("GlobalMean",))
def global_perf(life: Curves) -> Value:
    r"""The mean of everything that was measured, in learning and in evaluation.

    $$\frac{1}{N} \sum_{k=1}^{N} x_k$$

    Weakness: tasks with rewards of different size, learning and evaluation are in one mean.
    """
    ways = set(life.directions.values())
    if len(ways) > 1:
        raise NoValue("errors and rewards have no common mean")
    return Value(float(life.as_logged.mean()), _ERROR if ways == {"lower"} else ())


@_continual(
    sites.each_learning_block,
    unit="as measured",
    answers=dict.fromkeys((CONTINUAL, ADAPTING), "How well does it do at its best while it learns?"),
    register=False,
)
def saturation(learned: Curve, site: Site, life: Curves) -> Value:
    r"""The highest moving average of a learning block; of an error the lowest.

    $$\mathrm{sat}(\text{learned}) = \max_k s_k$$

    Weakness: the highest of noisy values lies above their level, the further the longer the block.
    """
    return _shown(saturated(learned, life), site, life)


@_continual(
    sites.each_learning_block,
    unit="experiences",
    better="lower",
    answers={CONTINUAL: "How soon is it at its best?"},
)
def time_to_saturation(learned: Curve, life: Curves) -> float:
    r"""How many steps of the moving average it takes to reach its highest value, counted from 1.

    $$\operatorname{argmax}_k s_k$$

    Weakness: on a noisy plateau the highest value lies anywhere.
    """
    return steps_to_saturation(learned, life)


@_continual(
    sites.each_learning_block,
    unit="as measured",
    answers={CONTINUAL: "How fast does it learn?"},
    register=False,
)
def normalized_integral(learned: Curve, site: Site, life: Curves) -> Value:
    r"""The sum of a block's moving average, divided by the block's length in experiences.

    $$\frac{1}{n} \sum_k s_k$$

    The edges are discarded and the length is the block's own, as the document has it, so a constant
    block of 20 values gives half of its value. Blocks shorter than the window give their mean.

    Weakness: short blocks read too low, because the edges of the moving average are missing and their length is
    not.
    """
    smoothed = moving_average(learned.values, life.prep.width)
    whole = len(learned) >= _alpha(len(learned), life.prep.width)
    return _shown(float(smoothed.sum()) / (len(learned) if whole else 1), site, life)


@_continual(
    sites2019.learned_again,
    unit="experiences",
    better="lower",
    answers={CONTINUAL: "Does it adjust to a change of its environment, and how soon?"},
    register=False,
)
def recovery_time(previous: Curve, later: Curve, life: Curves) -> Value:
    r"""How many steps it takes, when a task is learned again, to come within 2 % of its earlier saturation.

    $$\min \lbrace k \ge 0 : s_k \ge \mathrm{sat}(\text{previous}) - 0.02\,|\mathrm{sat}(\text{previous})| \rbrace$$

    Learned again is a task with other parameters, too.

    Weakness: a noisy curve touches the target by chance before it has recovered; one that never does is cut off at
    the block's length.
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
    r"""How much higher a task saturates in evaluation than when it was learned with the same parameters.

    $$\mathrm{sat}(\text{test}) - \mathrm{sat}(\text{train})$$

    Weakness: a test is shorter than a training, and the highest of few values lies lower than that of many: what is
    kept in full reads as a loss.
    """
    return _shown(saturated(test, life) - saturated(train, life), site, life)


@_continual(sites2019.tested_after_learning, unit="experiences", better="lower")
def maintenance_on_test_time(test: Curve, train: Curve, life: Curves) -> float:
    r"""How many steps more a task takes to saturate in evaluation than when it was learned with the same parameters.

    $$\operatorname{argmax}_k s_k(\text{test}) - \operatorname{argmax}_k s_k(\text{train})$$

    Weakness: a short test cannot take long.
    """
    return steps_to_saturation(test, life) - steps_to_saturation(train, life)


@_continual(sites2019.tested_after_learning, unit="as measured")
def maintenance_on_test_mean(test: Curve, train: Curve, site: Site, life: Curves) -> Value:
    r"""How much higher the mean of a task is in evaluation than when it was learned with the same parameters.

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
    r"""How high a learning block saturates, relative to the expert of its task (`taskinfo/info.json`, or a log).

    $$\frac{\mathrm{sat}(\text{learned})}{\mathrm{sat}(\text{expert})}$$

    Weakness: experts count as known exactly, and a longer block saturates higher by chance. It depends on where the
    measure's zero lies.
    """
    return better_than(saturated(learned, life), stated(expert, life), life, site.task, learned.range)


def summaries(curves: Curves) -> tuple[BlockSummary, ...]:
    """Return every block's mean, end and saturation, as measured, evaluations included."""
    found: list[BlockSummary] = []
    for index, block in enumerate(curves.scenario.blocks):
        curve, sign = curves.over((index,)), curves.sign(block.task)
        best, steps = sign * saturated(curve, curves), steps_to_saturation(curve, curves)
        squares, lagged = curve.raw_deviations if block.mode == "evaluate" else (None, None)
        end = curve.terminal if block.mode == "learn" else curve.mean
        found.append(BlockSummary(index, block, sign * curve.mean, sign * end, best, steps, squares, lagged))
    return tuple(found)
