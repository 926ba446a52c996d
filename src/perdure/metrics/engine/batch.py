"""Many lifetimes at once: neighbours that share their blocks are measured metric by metric.

Formulas are the same, and so is every value, flag and reason: what is shared is the walk to the sites and
what curves compute of themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.curves.model import Curves
from perdure.metrics.engine.declare import Aggregate, Context, Metric
from perdure.metrics.engine.measure import Measured, Sites, measure_all

__all__ = ["measured_together"]


def measured_together(
    lives: Sequence[Curves], metrics: Mapping[str, Metric], context: Context, aggregate: Aggregate
) -> list[dict[str, Measured]]:
    """Every metric of each of several lives that share their blocks."""
    sites = Sites(lives[0].scenario, metrics.values())
    by_metric = [measure_all(one, lives, context, sites=sites, aggregate=aggregate) for one in metrics.values()]
    return [dict(zip(metrics, of_one, strict=True)) for of_one in zip(*by_metric, strict=True)] or [{} for _ in lives]
