"""The preset l2metrics-3.1: values of l2metrics 3.1 to 1e-9, quirks included, for checking old results.

Nothing here is recommended. It differs from `standard`: windows lag, rows are not averaged before they are smoothed,
any sleeping block hides the wake evaluations, there is one transfer value for all tasks learned between two
evaluations, saturation is smoothed a second time and counted from 0, and a learner that fails counts as an efficiency
of 0.
"""

# ruff: noqa: D403 - the docstrings of sites complete "the scenario needs …"

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, dot, smooth
from perdure.curves.model import Curves, Expert, Preparation
from perdure.metrics.arithmetic import NoValue, first_of_each
from perdure.metrics.declare import Metric, metric
from perdure.metrics.measure import ADAPTERS
from perdure.metrics.presets import Preset
from perdure.metrics.score import BlockSummary
from perdure.metrics.slopes import theil_sen
from perdure.scenario import sites
from perdure.scenario.model import Scenario
from perdure.scenario.sites import Site
from perdure.settings import Settings
from perdure.settings.presets import L2METRICS_31 as _NAME

_SOURCE = "l2metrics 3.1"

PREP = Preparation(
    alignment="lagging",
    unit="row",
    matching="prefix",
    suffix="first",
    keep_constant=True,
    recorded_bounds=False,
    named_bounds=False,
    variants="name",
)


def _refuse(settings: Settings, _prep: Preparation) -> str | None:
    """Refuse the settings that l2metrics does not have."""
    if settings.measures:
        return "l2metrics scores one measure for all tasks; give --measure NAME, or take another preset"
    if settings.variants == "params":
        return "l2metrics knows tasks by their names alone; --variants is name or agnostic here"
    return None


# --- blocks as l2metrics sees them ----------------------------------------------------------------


class Regimes:
    """The blocks of one lifetime with the summaries of l2metrics."""

    def __init__(self, curves: Curves) -> None:
        self.curves = curves
        self.scenario = curves.scenario
        self.numbers = curves.passage.rows["exp_num"].to_numpy()
        count = len(self.scenario.blocks)
        self.series = [by_experience(*self.rows((index,))) for index in range(count)]
        self.terminal = np.array([self._terminal(index) for index in range(count)])
        self.mean = np.array([float(curves.over((index,)).values.mean()) for index in range(count)])

    def rows(self, blocks: tuple[int, ...]) -> tuple[Array, npt.NDArray[np.int64]]:
        """Return the prepared values of the blocks, row by row, and their experience numbers."""
        starts = self.curves.starts
        spans = [slice(starts[index], starts[index + 1]) for index in blocks]
        return self.curves.over(blocks).values, np.concatenate([self.numbers[span] for span in spans])

    def _terminal(self, index: int) -> float:
        series = self.series[index]
        first = 9 * len(series) // 10 if self.scenario.blocks[index].mode == "learn" else 0
        return float(series[first:].mean())


def by_experience(values: Array, numbers: npt.NDArray[np.int64]) -> Array:
    """Return the mean of each experience number, in their order; the rows themselves if no number repeats."""
    if len(numbers) < 2 or bool((numbers[1:] > numbers[:-1]).all()):
        return values
    unique, inverse = np.unique(numbers, return_inverse=True)
    if len(unique) == len(numbers):
        return values
    return np.bincount(inverse, weights=values) / np.bincount(inverse)


def saturation_of(series: Array) -> tuple[float, int]:
    """Return the maximum of the series, smoothed once more, and its first index, counted from 0."""
    smoothed = smooth(series, np.array([0, len(series)]), (0,), alignment="lagging")
    index = int(smoothed.argmax())
    return float(smoothed[index]), index


_REGIMES: WeakKeyDictionary[Curves, Regimes] = WeakKeyDictionary()


def _regimes(curves: Curves) -> Regimes:
    if curves not in _REGIMES:
        _REGIMES[curves] = Regimes(curves)
    return _REGIMES[curves]


ADAPTERS[Regimes] = lambda curves, _site, _context: _regimes(curves)


def summarise(curves: Curves) -> tuple[BlockSummary, ...]:
    """Return l2metrics' summary of each block: evaluation blocks saturate too, and indices count from 0."""
    regimes = _regimes(curves)
    visible = set(_visible(curves.scenario))
    summaries: list[BlockSummary] = []
    for index, block in enumerate(curves.scenario.blocks):
        peak, peak_index = saturation_of(regimes.series[index])
        counts = block.mode == "learn" or index in visible
        mean = float(regimes.mean[index]) if counts else None
        summaries.append(BlockSummary(index, block, mean, float(regimes.terminal[index]), peak, peak_index))
    return tuple(summaries)


# --- sites ---------------------------------------------------------------------------------------


def _visible(scenario: Scenario) -> tuple[int, ...]:
    """Return the evaluations that count: only those while asleep, as soon as any block sleeps, even a learning one."""
    asleep = any(block.subtype == "sleep" for block in scenario.blocks)
    return tuple(
        index for index in scenario.where("evaluate") if not asleep or scenario.blocks[index].subtype == "sleep"
    )


def evaluations_seen(scenario: Scenario) -> Iterator[Site]:
    """an evaluation block (a sleep one, if any block sleeps)"""
    for index in _visible(scenario):
        yield Site(scenario.blocks[index].task, {"at": (index,)})


def learning_seen(scenario: Scenario) -> Iterator[Site]:
    """a learning block"""
    for index in scenario.where("learn"):
        yield Site(scenario.blocks[index].task, {"at": (index,)})


def maintained(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated at least twice between two of its learning blocks, or after the last"""
    visible = set(_visible(scenario))
    learned: dict[str, int] = {}
    reference: dict[str, int] = {}
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn":
            learned[block.task] = index
            reference.pop(block.task, None)
        elif index in visible and block.task in learned:
            if block.task in reference:
                yield Site(
                    block.task,
                    {"at": (index,), "reference": (reference[block.task],), "learning": (learned[block.task],)},
                )
            else:
                reference[block.task] = index


def _transfers(scenario: Scenario, *, forward: bool) -> Iterator[Site]:
    """Yield consecutive evaluations of a task with another learned between them.

    There is one site for each pair of evaluations: of several tasks learned in between, the one whose first block is
    the last takes it.
    """
    blocks, visible = scenario.blocks, set(_visible(scenario))
    counted = [index for index, block in enumerate(blocks) if block.mode == "learn" or index in visible]
    appearance = {task: rank for rank, task in enumerate(dict.fromkeys(blocks[index].task for index in counted))}
    first_learned: dict[str, int] = {}
    for index in scenario.where("learn"):
        first_learned.setdefault(blocks[index].task, index)
    learning: list[int] = []
    previous: dict[str, tuple[int, int]] = {}
    for index in counted:
        task = blocks[index].task
        if blocks[index].mode == "learn":
            learning.append(index)
            continue
        if task in previous:
            before, count = previous[task]
            learned_at = first_learned.get(task, len(blocks))
            between = [block for block in learning[count:] if blocks[block].task != task]
            sources = {blocks[block].task for block in between if (block < learned_at) == forward}
            if sources:
                source = max(sources, key=appearance.__getitem__)
                yield Site((source, task), {"before": (before,), "after": (index,)})
        previous[task] = (index, len(learning))


def transferred_forward(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated before and after another is learned, before it is learned itself"""
    return _transfers(scenario, forward=True)


def transferred_backward(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated before and after another is learned, once it has been learned itself"""
    return _transfers(scenario, forward=False)


def recoveries(scenario: Scenario) -> Iterator[Site]:
    """two recoveries: a task learned three times while awake, or two learned twice"""
    pairs = tuple(sites.between_learning_blocks(scenario))
    yield from pairs if len(pairs) > 1 else ()


# --- formulas ------------------------------------------------------------------------------------


def _recovery(life: Regimes, previous: int, later: int) -> float:
    reached = life.series[later] >= life.terminal[previous]
    index = int(reached.argmax())
    return index if reached[index] else len(life.curves.over((later,))) + 1


_declared = partial(metric, source=_SOURCE, preset=_NAME, register=False)
_ratio_at = partial(
    _declared,
    combine=first_of_each,
    unit="ratio",
    threshold=1,
    headline="log",
    condition="Transfer and Adaptation",
)
_contrast_at = partial(_declared, combine=first_of_each, unit="contrast", threshold=0)


@_declared(sites.learning_again_and_again, unit="experiences per block", threshold=0)
def performance_recovery(life: Regimes, site: Site) -> float:
    """Measure how much faster a task recovers each time it is learned again (minus the Theil–Sen slope)."""
    blocks = site.blocks["learned"]
    return -theil_sen([_recovery(life, previous, later) for previous, later in pairwise(blocks)]) + 0.0


@_declared(recoveries, unit="experiences", better="lower")
def recovery_time(life: Regimes, site: Site) -> float:
    """Count the experiences until a task that is learned again is as good as before."""
    return _recovery(life, site.blocks["previous"][0], site.blocks["later"][0])


@_declared(learning_seen, unit="points")
def mean_learning_performance(life: Regimes, site: Site) -> float:
    """Measure the mean performance in learning, over rows."""
    return float(life.mean[site.blocks["at"][0]])


@_declared(evaluations_seen, unit="points")
def mean_evaluation_performance(life: Regimes, site: Site) -> float:
    """Measure the mean performance in evaluations, over rows."""
    return float(life.mean[site.blocks["at"][0]])


@_declared(maintained, unit="points", threshold=0, headline="log", condition="Continuous Learning")
def performance_maintenance(life: Regimes, site: Site) -> float:
    """Measure how much of a task's evaluation performance is kept (mrlep)."""
    return float(life.terminal[site.blocks["at"][0]] - life.terminal[site.blocks["reference"][0]])


@_declared(maintained, unit="points", threshold=0, variant_of=performance_maintenance)
def performance_maintenance_terminal(life: Regimes, site: Site) -> float:
    """Measure how much of the performance at the end of learning is kept (mrtlp)."""
    return float(life.terminal[site.blocks["at"][0]] - life.terminal[site.blocks["learning"][0]])


def _transfer_ratio(life: Regimes, site: Site) -> float:
    """Measure how much learning one task lifts another: the evaluation after divided by the one before.

    Weakness: of several tasks learned in between, one takes the value, and an evaluation from before the task was
    learned may be the one before.
    """
    before, after = (life.terminal[site.blocks[name][0]] for name in ("before", "after"))
    if before == 0:
        raise NoValue("the evaluation before is 0")
    return float(after / before)


def _transfer_contrast(life: Regimes, site: Site) -> float:
    """Measure how much learning one task lifts another, as a contrast from −1 to 1.

    Weakness: of several tasks learned in between, one takes the value, and an evaluation from before the task was
    learned may be the one before.
    """
    before, after = (life.terminal[site.blocks[name][0]] for name in ("before", "after"))
    if before + after == 0:
        raise NoValue("the evaluations before and after add up to 0")
    return float((after - before) / (before + after))


@_declared(sites.each_task_learned, unit="ratio", threshold=1, headline="log", condition="Scalability")
def relative_performance(life: Regimes, site: Site, expert: Expert) -> float:
    """Measure the performance while learning a task, relative to an expert, sleep included."""
    learned = life.curves.over(site.blocks["learned"]).values
    shared = min(len(learned), len(expert.all_learning))
    reference = expert.all_learning.values[:shared].sum()
    if not shared or reference == 0:
        raise NoValue("the expert's performance adds up to 0")
    return float(learned[:shared].sum() / reference)


@_declared(sites.each_task_learned, unit="ratio", threshold=1, headline="log", condition="Scalability")
def sample_efficiency(life: Regimes, site: Site, expert: Expert) -> float:
    r"""Measure how high and how soon a task's learning saturates, smoothed twice and counted from 0.

    $$\frac{\max_k L_k}{\max_k E_k} \cdot \frac{\operatorname{argmax}_k E_k}{\operatorname{argmax}_k L_k}$$

    Weakness: a learner that fails counts as 0, and one that is best at once has no value; on a noisy plateau the
    highest value can be anywhere.
    """
    if not len(expert.all_learning):
        raise NoValue("a stated saturation is no learning curve; the task needs the log of an expert")
    values, numbers = life.rows(site.blocks["learned"])
    peak, index = saturation_of(by_experience(values, numbers))
    if index == 0:
        raise NoValue("saturation is not achieved")
    expert_peak, expert_index = saturation_of(by_experience(expert.all_learning.values, expert.numbers()))
    if expert_index == 0:
        raise NoValue("the expert's saturation is not achieved")
    if peak < 0.2 * expert_peak or _falls(values, numbers):
        return 0.0
    if expert_peak == 0:
        raise NoValue("the expert saturates at 0")
    return peak / expert_peak * (expert_index / index)


def _falls(values: Array, numbers: npt.NDArray[np.int64]) -> bool:
    """Return whether the least-squares slope of the rows over their experience numbers is negative."""
    return bool(dot(numbers - numbers.mean(), values - values.mean()) < 0)


_forward = _ratio_at(transferred_forward, name="forward_transfer")(_transfer_ratio)
_backward = _ratio_at(transferred_backward, name="backward_transfer")(_transfer_ratio)

METRICS: dict[str, Metric] = {
    metric_.name: metric_
    for metric_ in (
        performance_recovery,
        recovery_time,
        mean_learning_performance,
        mean_evaluation_performance,
        performance_maintenance,
        performance_maintenance_terminal,
        _forward,
        _contrast_at(transferred_forward, name="forward_transfer_contrast", variant_of=_forward)(_transfer_contrast),
        _backward,
        _contrast_at(transferred_backward, name="backward_transfer_contrast", variant_of=_backward)(_transfer_contrast),
        relative_performance,
        sample_efficiency,
    )
}

NAMES: Mapping[str, str] = {
    "perf_recovery": "performance_recovery",
    "avg_train_perf": "mean_learning_performance",
    "avg_eval_perf": "mean_evaluation_performance",
    "perf_maintenance_mrlep": "performance_maintenance",
    "perf_maintenance_mrtlp": "performance_maintenance_terminal",
    "forward_transfer_ratio": "forward_transfer",
    "backward_transfer_ratio": "backward_transfer",
    "forward_transfer_contrast": "forward_transfer_contrast",
    "backward_transfer_contrast": "backward_transfer_contrast",
    "ste_rel_perf": "relative_performance",
    "sample_efficiency": "sample_efficiency",
}
"""The id of each of l2metrics' numbers of a lifetime, in the order of its table."""

L2METRICS_31 = Preset(
    _NAME,
    "The reference implementation within 1e-9, quirks included, for checking old results.",
    PREP,
    lambda: METRICS,
    summarise,
    "l2metrics 3.1.0",
    refuses=_refuse,
    names=NAMES,
)
