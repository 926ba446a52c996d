"""The uncertainty of one lifetime's value that comes from the limited number of items of its evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from perdure.curves.model import Curves
from perdure.log.accuracy_matrix import AccuracyMatrix, Array, MatrixPassage, extremes
from perdure.metrics.arithmetic import flat
from perdure.metrics.declare import Metric
from perdure.metrics.matrix import Change
from perdure.metrics.measure import Context, OverItems, SiteCache, combined_as, evaluate
from perdure.scenario.sites import Site, key_text

_SMALL = 1e-6
"""Step, in points of 1, from an evaluation whose standard error is unknown or 0."""


def over_items(metric: Metric, curves: Curves, context: Context, sites: SiteCache) -> OverItems | None:
    """Return the uncertainty of a metric's value from the items of the evaluations that it is read from.

    The formula's slope in each evaluation, over one standard error to either side, weights that evaluation. Items of
    different tasks are independent. None if an evaluation that counts has no standard error, for metrics that lead no
    table, and for values that are not means over their sites.
    """
    passage = curves.passage
    if not isinstance(passage, MatrixPassage) or not passage.matrix.errors or metric.combine is not flat:
        return None
    if metric.headline != "matrix" and Change not in metric.roles.values():
        return None
    matrix, found = passage.matrix, sites.of(metric)
    weights: dict[str, Array] = {}
    shares = combined_as(metric, [key_text(site.key) for site in found], "mean", context.weights).shares(len(found))
    for site, share in zip(found, shares, strict=True):
        for task, column in dict.fromkeys(_cells(curves, site)):
            slope = _slope(metric, curves, site, context, task, column) * share
            weights.setdefault(task, np.zeros(len(matrix.tasks) + 1))[column] += slope
    variance = below = 0.0
    fewest, paired = math.inf, True
    for task, weight in weights.items():
        used = np.flatnonzero(np.abs(weight) > _SMALL)
        if not len(used):
            continue
        errors = matrix.errors.get(task)
        if errors is None or np.isnan(errors.covariance[used, used]).any():
            return None
        part = float(weight[used] @ errors.covariance[np.ix_(used, used)] @ weight[used])
        variance += part
        below += part**2 / max(errors.items - 1, 1)
        fewest = min(fewest, errors.items)
        paired = paired and (errors.paired or len(used) < 2)
    df = variance**2 / below if below > 0 else math.inf
    finite = [number if math.isfinite(number) else None for number in (df, fewest)]
    return OverItems(math.sqrt(max(variance, 0.0)), finite[0], finite[1], paired)


def _cells(curves: Curves, site: Site) -> Iterator[tuple[str, int]]:
    """Yield task and column of the evaluations that a site may read: its own, and those before any learning."""
    for index in (index for blocks in site.blocks.values() for index in blocks):
        block = curves.scenario.blocks[index]
        yield block.task, (block.group or 0) // 2
        yield block.task, 0


def _slope(metric: Metric, curves: Curves, site: Site, context: Context, task: str, column: int) -> float:
    """Return the slope of the formula at a site in one evaluation."""
    passage = curves.passage
    assert isinstance(passage, MatrixPassage)
    errors = passage.matrix.errors.get(task)
    variance = float(errors.covariance[column, column]) if errors is not None else math.nan
    step = math.sqrt(variance) if variance > 0 else _SMALL
    values: list[float] = []
    for sign in (1, -1):
        moved = replace(passage, matrix=_moved(passage.matrix, task, column, sign * step))
        results = evaluate(metric, replace(curves, passage=moved), site, context) or ()
        values += [result.value for result in results if result.value is not None]
    return (values[0] - values[1]) / (2 * step) if len(values) == 2 else 0.0


def _moved(matrix: AccuracyMatrix, task: str, column: int, step: float) -> AccuracyMatrix:
    """Return a matrix with one evaluation changed; a missing one stays missing."""
    if task in matrix.others:
        row = matrix.others[task].copy()
        row[column] += step
        return replace(matrix, others={**matrix.others, task: row})
    values = matrix.values.copy()
    values[matrix.row[task], column] += step
    return replace(matrix, cells=values, **extremes(values))
