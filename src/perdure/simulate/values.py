"""Values of the headline metrics in simulated lifetimes, with and without noise."""

from __future__ import annotations

import numpy as np

from perdure.curves.arrays import Array
from perdure.curves.experts import Experts
from perdure.curves.model import Preparation
from perdure.metrics.efficiency import relative_performance, sample_efficiency
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.score import Scorer
from perdure.metrics.transfer import backward_transfer, forward_transfer
from perdure.scenario.model import Scenario
from perdure.settings import Settings
from perdure.simulate.learner import CEILING, IdealLearner, performance
from perdure.simulate.lifetimes import as_lifetimes, experts

_METRICS = (
    performance_maintenance,
    forward_transfer,
    backward_transfer,
    relative_performance,
    sample_efficiency,
)
_NAMES = tuple(metric.name for metric in _METRICS)


def metric_values(
    learner: IdealLearner,
    scenario: Scenario,
    count: int,
    rng: np.random.Generator,
    expert: IdealLearner | None = None,
) -> dict[str, Array]:
    """Return PM, FT, BT, RP and SE of `count` lifetimes with bounds 0 … 1; NaN if a lifetime has no value.

    The expert of each task is `expert` without noise or spread, and learns the task for the same length. A metric
    without a value in any lifetime has an empty array.
    """
    task_expert = (expert or learner).without_noise().but(spread=0.0, failing=0.0)
    bounds = {task.label: (0.0, CEILING) for task in scenario.tasks}
    scorer = Scorer(Settings(metrics=_NAMES, prep=Preparation(bounds=bounds)), Experts(experts(task_expert, scenario)))
    lifetimes = as_lifetimes(learner, scenario, performance(learner, scenario, count, rng))
    scores = [scorer.score(lifetime) for lifetime in lifetimes]
    columns = {name: np.array([score.value(name) for score in scores], dtype=np.float64) for name in _NAMES}
    return {name: values if not np.isnan(values).all() else values[:0] for name, values in columns.items()}


def truth(
    learner: IdealLearner,
    scenario: Scenario,
    expert: IdealLearner | None = None,
    lives: int = 1,
    seed: int = 0,
) -> dict[str, float]:
    """Return the five metrics without noise, averaged over `lives` draws of the traits.

    They are compared with the same `expert` without noise. Without forgetting and transfer all are at their
    thresholds.
    """
    values_by_metric = metric_values(learner.without_noise(), scenario, lives, np.random.default_rng(seed), expert)
    means: dict[str, float] = {}
    for metric in _METRICS:
        values = values_by_metric[metric.name]
        if not len(values):
            means[metric.name] = np.nan
        else:
            means[metric.name] = float(np.exp(np.log(values).mean()) if metric.scale == "log" else values.mean())
    return means
