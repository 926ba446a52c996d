"""The metrics of the 2019 framework, on values as measured.

Every curve is a moving average over eleven experiences, or another odd number (`--width`), whose edges
are discarded; a block shorter than that is its plain mean. The score of a syllabus is the mean over its blocks.
"""

# ruff: noqa: D403 - the docstrings of sites complete "the scenario needs …"

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perdure.curves.model import Array, Curve, Curves, Expert, Prep
from perdure.curves.prepare import window_means
from perdure.metrics.arithmetic import ratio
from perdure.metrics.combine import flat
from perdure.metrics.declare import Metric, Value, metric
from perdure.scenario import sites
from perdure.scenario.model import Scenario
from perdure.scenario.parameters import set_text
from perdure.scenario.sites import Site, visible_evaluations
from perdure.settings import Settings

__all__ = ["FIXES", "FRAMEWORK_2019", "PREP", "moving_average", "refuses", "tested_after_learning"]

PREP = Prep(window="none", scale="none", recorded_bounds=False, variants="name")

_ALPHA = 11
_WITHIN = 0.02
_SOURCE = "Metrics Framework, 5 Dec 2019"
_CAPABILITY = "continual learning"
_PRESET = "framework-2019"

_AS_MEASURED = "it speaks of values as measured"
FIXES = {
    "window": "its moving average is flat; --width sets how long",
    "smooth_evaluation": "it averages evaluations as it does learning",
    "clamp": _AS_MEASURED,
    "scale": _AS_MEASURED,
    "bounds": _AS_MEASURED,
    "aggregate": "the score of a syllabus is a mean",
}


def refuses(_settings: Settings, prep: Prep) -> str | None:
    """A moving average of an even length has no middle."""
    if prep.width is not None and prep.width % 2 == 0:
        return f"--width {prep.width} is even; its moving average has a middle, so give an odd number of experiences"
    return None


def moving_average(values: Array, width: int | None = None) -> Array:
    """The mean of each `width` values in a row (eleven), edges discarded; the plain mean where there are fewer."""
    alpha = width or _ALPHA
    if len(values) < alpha:
        return np.array([values.mean()])
    means: Array = window_means(values[np.newaxis, :], alpha)[0]
    return means


def tested_after_learning(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated after it was learned with the same parameters"""
    learned: dict[tuple[str, str], int] = {}
    visible = set(visible_evaluations(scenario))
    for index, block in enumerate(scenario.blocks):
        which = (block.task, set_text(block.params))
        if block.mode == "learn":
            learned[which] = index
        elif index in visible and which in learned:
            yield Site(block.task, {"test": (index,), "train": (learned[which],)})


def _saturation(curve: Curve, life: Curves) -> float:
    return float(moving_average(curve.values, life.prep.width).max())


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="as measured",
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
    register=False,
)
def saturation(learned: Curve, life: Curves) -> float:
    """The highest moving average of a learning block."""
    return _saturation(learned, life)


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="experiences",
    better="lower",
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
)
def time_to_saturation(learned: Curve, life: Curves) -> float:
    """How many steps of the moving average it takes to reach its highest value, counted from 1."""
    return int(moving_average(learned.values, life.prep.width).argmax()) + 1


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="as measured",
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
    register=False,
)
def normalized_integral(learned: Curve, life: Curves) -> float:
    """The sum of a block's moving average, divided by the block's length in experiences.

    The edges are discarded and the length is the block's own, as the document has it, so a constant
    block of 20 values gives half of its value. Blocks shorter than the window give their mean.
    """
    smoothed = moving_average(learned.values, life.prep.width)
    return float(smoothed.sum()) / (len(learned) if len(learned) >= (life.prep.width or _ALPHA) else 1)


@metric(
    sites.between_learning_blocks,
    combine=flat,
    unit="experiences",
    better="lower",
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
    register=False,
)
def recovery_time(previous: Curve, later: Curve, life: Curves) -> Value:
    """How many steps it takes, when a task is learned again, to come within 2 % of its earlier saturation."""
    before = _saturation(previous, life)
    smoothed = moving_average(later.values, life.prep.width)
    reached = smoothed >= before - _WITHIN * abs(before)
    index = int(reached.argmax())
    if reached[index]:
        return Value(index)
    return Value(len(later) + 1, ("never recovered, counted as one more than the block's length",))


@metric(
    tested_after_learning,
    combine=flat,
    unit="as measured",
    threshold=0,
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
)
def maintenance_on_test(test: Curve, train: Curve, life: Curves) -> float:
    """How much higher a task saturates in evaluation than when it was learned with the same parameters."""
    return _saturation(test, life) - _saturation(train, life)


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="ratio",
    threshold=1,
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
)
def ste_relative(learned: Curve, expert: Expert, life: Curves) -> float:
    """How high a learning block saturates, beside the expert of its task (`taskinfo/info.json`, or a log)."""
    beside = _saturation(expert.all_learning, life) if expert.saturation is None else expert.saturation
    return ratio(_saturation(learned, life), beside, learned.range)


FRAMEWORK_2019: dict[str, Metric] = {
    one.name: one
    for one in (
        saturation,
        time_to_saturation,
        normalized_integral,
        recovery_time,
        maintenance_on_test,
        ste_relative,
    )
}
