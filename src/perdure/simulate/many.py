"""Thousands of simulated lives at once: the five metrics of each, without a log or a table between.

The same definitions as `perdure.score` with bounds 0 … 1, written for whole arrays; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from perdure.curves.arrays import Array, mean, near, start, terminal
from perdure.curves.model import Range
from perdure.curves.prepare import scale, smooth
from perdure.metrics import METRICS
from perdure.metrics.efficiency import relative_performance, sample_efficiency
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.transfer import backward_transfer, forward_transfer
from perdure.scenario import sites
from perdure.scenario.model import Scenario
from perdure.simulate.learner import CEILING, IdealLearner, performance

__all__ = ["BOUNDS", "metric_values", "truth"]

BOUNDS = Range(0.0, CEILING, given=True)
_AT_ONCE = 20_000


def metric_values(
    learner: IdealLearner,
    scenario: Scenario,
    count: int,
    rng: np.random.Generator,
    expert: IdealLearner | None = None,
) -> dict[str, Array]:
    """PM, FT, BT, RP and SE of `count` lives; NaN where a life has no value.

    Each task has one expert, `expert` without noise or spread, as long as the task is learned.
    """
    beside = _expert_curves((expert or learner).without_noise().but(spread=0.0, failing=0.0), scenario)
    parts = [_values(learner, scenario, min(_AT_ONCE, count - done), rng, beside) for done in range(0, count, _AT_ONCE)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def truth(
    learner: IdealLearner,
    scenario: Scenario,
    expert: IdealLearner | None = None,
    lives: int = 1,
    seed: int = 0,
) -> dict[str, float]:
    """What the causes alone come to: the five metrics without noise, over `lives` draws of the traits.

    The same `expert` without noise stands beside it; without forgetting and transfer all are at their thresholds.
    """
    found = metric_values(learner.without_noise(), scenario, lives, np.random.default_rng(seed), expert)
    return {
        name: float(np.exp(np.log(values).mean()) if METRICS.get(name).scale == "log" else values.mean())
        if len(values)
        else np.nan
        for name, values in found.items()
    }


def _values(
    learner: IdealLearner, scenario: Scenario, count: int, rng: np.random.Generator, beside: dict[str, Array]
) -> dict[str, Array]:
    lived = performance(learner, scenario, count, rng)
    edges = np.cumsum([0, *(block.length or 0 for block in scenario.blocks)])
    blocks = [lived[:, edges[at] : edges[at + 1]] for at in range(len(scenario.blocks))]
    means = [scale(block.mean(axis=1), BOUNDS) if block.shape[1] else block for block in blocks]
    joined: dict[str, list[Array]] = {}
    for index in scenario.where("learn"):
        joined.setdefault(scenario.blocks[index].task, []).append(blocks[index])
    pairs = [_pair(np.concatenate(parts, axis=1), beside[task]) for task, parts in joined.items()]
    return {
        performance_maintenance.name: _over_tasks(
            (str(site.key), means[site.blocks["evaluation"][0]] - means[site.blocks["reference"][0]])
            for site in sites.since_learning(scenario)
        ),
        forward_transfer.name: np.exp(_firsts(scenario, sites.around_learning_another, means)),
        backward_transfer.name: np.exp(_firsts(scenario, sites.around_learning_another_later, means)),
        relative_performance.name: np.exp(_mean([_log(mean(own)) - _log(mean(other)) for own, other in pairs])),
        sample_efficiency.name: np.exp(_mean([_efficiency(own, other) for own, other in pairs])),
    }


def _pair(own: Array, expert: Array) -> tuple[Array, Array]:
    """Learners and the one expert, a row each, cut to the shorter, then smoothed and scaled."""
    length = min(own.shape[1], expert.shape[1])
    one, other = (scale(smooth(curve[:, :length], np.array([0, length]), (0,)), BOUNDS) for curve in (own, expert))
    return one, other


def _expert_curves(expert: IdealLearner, scenario: Scenario) -> dict[str, Array]:
    from perdure.simulate.lifetimes import experts

    found: dict[str, Array] = {}
    for one in experts(expert, scenario):
        passage = one.passage()
        found[passage.scenario.blocks[0].task] = passage.values[None, :]
    return found


def _over_tasks(values: Iterator[tuple[str, Array]]) -> Array:
    """The mean of each task's values, then over tasks."""
    by_task: dict[str, list[Array]] = {}
    for task, value in values:
        by_task.setdefault(task, []).append(value)
    return _mean([np.mean(of_one, axis=0) for of_one in by_task.values()])


def _log(means: Array) -> Array:
    """Of a mean; one below the scale's minimum counts as 1."""
    return np.asarray(np.log(np.maximum(means, 1.0)))


def _firsts(scenario: Scenario, where: Callable[[Scenario], Iterator[sites.Site]], means: list[Array]) -> Array:
    """The logarithm of the first ratio of each ordered pair, averaged over pairs."""
    first: dict[sites.Key, Array] = {}
    for site in where(scenario):
        before, after = means[site.blocks["before"][0]], means[site.blocks["after"][0]]
        first.setdefault(site.key, _log(after) - _log(before))
    return _mean(list(first.values()))


def _efficiency(own: Array, expert: Array) -> Array:
    """The logarithm, by the target that is common to each learner and the expert."""
    height, base = ((part(own) + part(expert)) / 2 for part in (terminal, start))
    target = near(base + 0.9 * (height - base))
    heights = _log(terminal(own)) - _log(terminal(expert))
    return np.asarray(heights + np.log(_reached(expert, target) / _reached(own, target)))


def _reached(curve: Array, target: Array) -> Array:
    there = curve >= target[:, None]
    return np.asarray(np.where(there.any(axis=1), there.argmax(axis=1) + 1.0, curve.shape[1] + 1.0))


def _mean(columns: list[Array]) -> Array:
    """The mean over columns of what is there, life by life."""
    if not columns:
        return np.empty(0)
    stacked = np.stack(columns)
    there = ~np.isnan(stacked)
    total = np.where(there, stacked, 0.0).sum(axis=0)
    counted = there.sum(axis=0)
    return np.asarray(np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0))
