"""The metrics of the 2019 framework, on values as measured.

Every curve is a moving average over eleven experiences whose edges are discarded; a block shorter
than that is its plain mean. The score of a syllabus is the mean over its blocks.
"""

# ruff: noqa: D403 - the docstrings of sites complete "the scenario needs …"

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perdure.curves.model import Array, Curve, Expert, Prep
from perdure.curves.prepare import window_means
from perdure.metrics.arithmetic import ratio
from perdure.metrics.combine import flat
from perdure.metrics.declare import Metric, Value, metric
from perdure.scenario import sites
from perdure.scenario.model import Scenario
from perdure.scenario.parameters import set_text
from perdure.scenario.sites import Site, visible_evaluations

__all__ = ["FRAMEWORK_2019", "PREP", "moving_average", "tested_after_learning"]

PREP = Prep(window="none", scale="none", recorded_bounds=False, variants="name")

_ALPHA = 11
_WITHIN = 0.02
_SOURCE = "Metrics Framework, 5 Dec 2019"
_CAPABILITY = "continual learning"
_PRESET = "framework-2019"


def moving_average(values: Array) -> Array:
    """The mean of each eleven values in a row, edges discarded; the plain mean where there are fewer."""
    if len(values) < _ALPHA:
        return np.array([values.mean()])
    means: Array = window_means(values[np.newaxis, :], _ALPHA)[0]
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


def _saturation(curve: Curve) -> float:
    return float(moving_average(curve.values).max())


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="as measured",
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
    register=False,
)
def saturation(learned: Curve) -> float:
    """The highest moving average of a learning block."""
    return _saturation(learned)


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="experiences",
    better="lower",
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
)
def time_to_saturation(learned: Curve) -> float:
    """How many steps of the moving average it takes to reach its highest value, counted from 1."""
    return int(moving_average(learned.values).argmax()) + 1


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="as measured",
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
    register=False,
)
def normalized_integral(learned: Curve) -> float:
    """The sum of a block's moving average, divided by the block's length in experiences.

    The edges are discarded and the length is the block's own, as the document has it, so a constant
    block of 20 values gives half of its value. Blocks shorter than the window give their mean.
    """
    smoothed = moving_average(learned.values)
    return float(smoothed.sum()) / (len(learned) if len(learned) >= _ALPHA else 1)


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
def recovery_time(previous: Curve, later: Curve) -> Value:
    """How many steps it takes, when a task is learned again, to come within 2 % of its earlier saturation."""
    before = _saturation(previous)
    smoothed = moving_average(later.values)
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
def maintenance_on_test(test: Curve, train: Curve) -> float:
    """How much higher a task saturates in evaluation than when it was learned with the same parameters."""
    return _saturation(test) - _saturation(train)


@metric(
    sites.each_learning_block,
    combine=flat,
    unit="ratio",
    threshold=1,
    capability=_CAPABILITY,
    source=_SOURCE,
    preset=_PRESET,
)
def ste_relative(learned: Curve, expert: Expert) -> float:
    """How high a learning block saturates, beside the expert of its task (`taskinfo/info.json`, or a log)."""
    beside = _saturation(expert.all_learning) if expert.saturation is None else expert.saturation
    return ratio(_saturation(learned), beside, learned.range)


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
