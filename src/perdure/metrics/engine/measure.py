"""Measuring: one metric at all its sites, in one lifetime or in several that share blocks, and what they come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from perdure.curves.model import Curves
from perdure.metrics.engine.evaluate import Found, evaluate, everywhere, results_of, throughout
from perdure.metrics.engine.measured import Broken, Gathered, Measured, Places, Result, restricted
from perdure.metrics.engine.metric import Aggregate, Context, Metric, NoValue
from perdure.metrics.engine.roles import CURVES, plan_of, read_at, roles_read
from perdure.scenario.model import Scenario
from perdure.scenario.sites import Site, key_text

__all__ = [
    "Broken",
    "Measured",
    "Result",
    "Sites",
    "evaluate",
    "measure",
    "measure_all",
    "measured_together",
    "restricted",
]


_NOTHING: frozenset[str] = frozenset()


class Sites:
    """The sites of one scenario, each generator walked once however many metrics share it.

    `asked` are the metrics that will be asked for, each once: sites are let go with the last that reads them.
    Without it they are kept, for other lives that went through the same blocks.
    """

    def __init__(self, scenario: Scenario, asked: Iterable[Metric] = ()) -> None:
        self.scenario = scenario
        self._found: dict[Any, tuple[Site, ...]] = {}
        self._places: dict[Any, dict[tuple[str, ...], Places]] = {}
        self._awaited = Counter(metric.sites for metric in asked)

    def of(self, metric: Metric) -> tuple[Site, ...]:
        """Where `metric` can be read."""
        found = self._found.get(metric.sites)
        if found is None:
            found = self._found[metric.sites] = tuple(metric.sites(self.scenario))
        self._awaited[metric.sites] -= 1
        if not self._awaited[metric.sites]:
            del self._found[metric.sites]
        return found

    def places(self, metric: Metric, found: Sequence[Site]) -> Places:
        """The sites found for `metric`, as places of values; those of metrics that read the same roles are the same."""
        roles, known = roles_read(metric), self._places.setdefault(metric.sites, {})
        if roles not in known:
            known[roles] = Places(found, read_at(roles, found))
        if not self._awaited[metric.sites]:
            del self._places[metric.sites]
        return known[roles]

    def fit(self, scenario: Scenario) -> bool:
        """Whether another scenario has the same sites, seen at a glance."""
        mine = self.scenario
        return mine.blocks is scenario.blocks and mine.tasks is scenario.tasks and mine.info == scenario.info


def measure(
    metric: Metric,
    curves: Curves,
    context: Context | None = None,
    *,
    sites: Sites | None = None,
    aggregate: Aggregate = "mean",
) -> Measured:
    """The metric at all its sites in one lifetime, and their combination.

    A formula that raises anything but `NoValue`, or gives a value that is not finite, is named in
    `why`: the other metrics of the lifetime are not touched by it.
    """
    return measure_all(metric, (curves,), context, sites=sites, aggregate=aggregate)[0]


def measure_all(
    metric: Metric,
    lives: Sequence[Curves],
    context: Context | None = None,
    *,
    sites: Sites | None = None,
    aggregate: Aggregate = "mean",
) -> list[Measured]:
    """The metric in each of several lifetimes that share their blocks, and so their sites."""
    context = context or Context()
    scenario = lives[0].scenario
    sites = sites or Sites(scenario)
    found: tuple[Site, ...] = ()
    try:
        found = _walk(metric, sites)
        if not found:
            # Some sites know which evaluation is missing, and say it better than the general need.
            missing = getattr(metric.sites, "missing", None)
            why = (missing and missing(scenario)) or f"needs {metric.needs}"
            return [Measured(None, why=why)] * len(lives)
        plan = plan_of(metric)
        places = sites.places(metric, found)
    except Exception as problem:
        return [_failed(metric, found, problem)] * len(lives)
    with np.errstate(all="ignore"):
        by_life: Iterable[Sequence[Found] | NoValue]
        if len(lives) == 1:
            by_life = (throughout(metric, lives[0], found, context, plan),)
        else:
            by_life = zip(*(everywhere(metric, lives, site, context, plan) for site in found), strict=True)
        return [_come_to(metric, *one, places, aggregate) for one in zip(lives, by_life, strict=True)]


def _come_to(
    metric: Metric, curves: Curves, row: Sequence[Found] | NoValue, places: Places, aggregate: Aggregate
) -> Measured:
    """What the sites gave in one lifetime, and what they come to."""
    if isinstance(row, NoValue):
        return places.without(row.why)
    try:
        left_out = _left_out(metric, curves)
        if not left_out and set(map(type, row)) == {float}:
            return places.measured(metric, row, aggregate)  # type: ignore[arg-type]
        gathered = Gathered()
        for site, place, here in zip(places.sites, places.blocks, row, strict=True):
            if isinstance(here, Exception):
                raise here
            gathered.add(site, results_of(metric, curves, site, here), place)
        return gathered.measured(metric, left_out, aggregate)
    except Exception as problem:
        return _failed(metric, places.sites, problem)


def _failed(metric: Metric, found: Sequence[Site], problem: Exception) -> Measured:
    """What is said where sites name no block, a formula or a combination fails: a plug-in may do anything."""
    why = str(problem) if isinstance(problem, Broken) else f"{metric.name} failed: {type(problem).__name__}: {problem}"
    return Measured(None, dict.fromkeys((key_text(site.key) for site in found), ()), why)


def _walk(metric: Metric, sites: Sites) -> tuple[Site, ...]:
    try:
        return sites.of(metric)
    except Exception as problem:
        raise Broken(f"the sites of {metric.name} raised {type(problem).__name__}: {problem}") from problem


def _left_out(metric: Metric, curves: Curves) -> frozenset[str]:
    """The tasks that do not count because they never change; a value as measured means something even there."""
    constant = curves.uninformative
    return constant if constant and any(kind in CURVES for kind in metric.roles.values()) else _NOTHING


def measured_together(
    lives: Sequence[Curves],
    metrics: Mapping[str, Metric],
    context: Context,
    aggregate: Aggregate,
    sites: Sites | None = None,
) -> list[dict[str, Measured]]:
    """Every metric of each of several lives that share their blocks.

    Formulas are the same, and so is every value, flag and reason: what is shared is the walk to the sites and
    what curves compute of themselves. `sites` are those of lives before.
    """
    sites = sites or Sites(lives[0].scenario, metrics.values())
    by_metric = [measure_all(one, lives, context, sites=sites, aggregate=aggregate) for one in metrics.values()]
    return [dict(zip(metrics, of_one, strict=True)) for of_one in zip(*by_metric, strict=True)] or [{} for _ in lives]
