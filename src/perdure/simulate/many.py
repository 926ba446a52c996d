"""Thousands of simulated lives at once: the five metrics of each, without a log or a table between.

The same definitions as `perdure.score` with bounds 0 … 1, written for whole arrays; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from perdure.curves.model import Array, Range
from perdure.curves.prepare import scale, smooth
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
    return {name: float(np.nanmean(values)) if len(values) else np.nan for name, values in found.items()}


def _values(
    learner: IdealLearner, scenario: Scenario, count: int, rng: np.random.Generator, beside: dict[str, Array]
) -> dict[str, Array]:
    lived = performance(learner, scenario, count, rng)
    edges = np.cumsum([0, *(block.length or 0 for block in scenario.blocks)])
    blocks = [lived[:, edges[at] : edges[at + 1]] for at in range(len(scenario.blocks))]
    means = [scale(block.mean(axis=1), BOUNDS) if block.shape[1] else block for block in blocks]
    stitched: dict[str, list[Array]] = {}
    for index in scenario.where("learn"):
        stitched.setdefault(scenario.blocks[index].task, []).append(_smoothed(blocks[index]))
    curves = {task: np.concatenate(parts, axis=1) for task, parts in stitched.items()}
    return {
        "performance_maintenance": _over_tasks(
            (str(site.key), means[site.blocks["evaluation"][0]] - means[site.blocks["reference"][0]])
            for site in sites.since_learning(scenario)
        ),
        "forward_transfer": _firsts(scenario, sites.around_learning_another, means),
        "backward_transfer": _firsts(scenario, sites.around_learning_another_later, means),
        "relative_performance": _mean([curve.sum(axis=1) / beside[task].sum() for task, curve in curves.items()]),
        "sample_efficiency": _mean([_efficiency(curve, beside[task]) for task, curve in curves.items()]),
    }


def _smoothed(rows: Array) -> Array:
    """Each row smoothed as a learning block of its own, and scaled."""
    count, length = rows.shape
    starts = np.arange(count + 1, dtype=np.int64) * length
    return scale(smooth(rows.ravel(), starts, range(count)).reshape(rows.shape), BOUNDS)


def _expert_curves(expert: IdealLearner, scenario: Scenario) -> dict[str, Array]:
    from perdure.simulate.lifetimes import experts

    found: dict[str, Array] = {}
    for one in experts(expert, scenario):
        passage = one.passage()
        found[passage.scenario.blocks[0].task] = _smoothed(passage.values[None, :])[0]
    return found


def _over_tasks(values: Iterator[tuple[str, Array]]) -> Array:
    """The mean of each task's values, then over tasks."""
    by_task: dict[str, list[Array]] = {}
    for task, value in values:
        by_task.setdefault(task, []).append(value)
    return _mean([np.mean(of_one, axis=0) for of_one in by_task.values()])


def _firsts(scenario: Scenario, where: Callable[[Scenario], Iterator[sites.Site]], means: list[Array]) -> Array:
    """The first ratio of each ordered pair, averaged over pairs; none where a ratio means nothing."""
    first: dict[sites.Key, Array] = {}
    for site in where(scenario):
        before, after = means[site.blocks["before"][0]], means[site.blocks["after"][0]]
        sound = (before > 1e-7) & (after >= 0)
        value = np.divide(after, before, out=np.full_like(before, np.nan), where=sound)
        first[site.key] = np.where(np.isnan(first[site.key]), value, first[site.key]) if site.key in first else value
    return _mean(list(first.values()))


def _efficiency(curve: Array, beside: Array) -> Array:
    index = np.arange(curve.shape[1]) - (curve.shape[1] - 1) / 2
    peak = curve.max(axis=1)
    reached = (curve >= (peak - 1e-9 * np.maximum(1.0, np.abs(peak)))[:, None]).argmax(axis=1) + 1
    best = float(beside.max())
    expert_reached = int((beside >= best - 1e-9 * max(1.0, abs(best))).argmax()) + 1
    sound = (curve @ index >= 0) & (reached > 1) & (peak >= 0.2 * best)
    return np.where(sound & (expert_reached > 1), peak / best * expert_reached / reached, np.nan)


def _mean(columns: list[Array]) -> Array:
    """The mean over columns of what is there, life by life."""
    if not columns:
        return np.empty(0)
    stacked = np.stack(columns)
    there = ~np.isnan(stacked)
    total = np.where(there, stacked, 0.0).sum(axis=0)
    counted = there.sum(axis=0)
    return np.asarray(np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0))
