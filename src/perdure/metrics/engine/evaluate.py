"""Evaluating: what a formula gives at sites, of one life or of several that share their blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import Any

from perdure.curves.beside import Beside
from perdure.curves.model import Curves, Expert
from perdure.curves.twin import Twin
from perdure.metrics.engine.measured import Broken, Result
from perdure.metrics.engine.metric import NO_TWIN, Context, Metric, NoValue, Value
from perdure.metrics.engine.roles import Over, Plan, blocks_of, experts_at, in_order, plan_of
from perdure.scenario.sites import Site, key_text
from perdure.stopping import Stopped

__all__ = ["Found", "evaluate", "everywhere", "results_of", "throughout"]

_Given = float | Result
Found = _Given | tuple[_Given, ...] | Exception | None
"""What one life gave at one site: a number of which nothing else is to be said, or one result, or one per expert; None
where it has no expert; or why it failed."""


def evaluate(
    metric: Metric, curves: Curves, site: Site, context: Context, plan: Plan | None = None
) -> tuple[Result, ...] | None:
    """The metric at one site: one result, or one per expert; None where it needs an expert and has none.

    `plan` is what builds the formula's arguments, for those who ask at many sites.
    """
    return results_of(metric, curves, site, _evaluated(metric, curves, site, context, plan or plan_of(metric)))


def results_of(metric: Metric, curves: Curves, site: Site, found: Found) -> tuple[Result, ...] | None:
    """What was found, in full."""
    if isinstance(found, float):
        return (Result(curves.lifetime, metric.name, site.key, found, None, site.flags),)
    return (found,) if isinstance(found, Result) else found  # type: ignore[return-value]


def everywhere(metric: Metric, lives: Sequence[Curves], site: Site, context: Context, plan: Plan) -> list[Found]:
    """The metric at one site of each life; one in which it fails leaves the others alone."""
    columns: list[Sequence[Any]] = []
    if not metric.expert:
        try:
            columns = [build.each(lives, site) for _, build in plan if isinstance(build, Over)]
        except Exception as problem:  # sites may name blocks that are not there
            return [problem] * len(lives)
    if not columns or len(columns) < len(plan):
        return [_tried(metric, curves, site, context, plan) for curves in lives]
    return _row_by_row(metric, zip(lives, repeat(site)), columns)


def _row_by_row(metric: Metric, where: Iterable[tuple[Curves, Site]], columns: Sequence[Sequence[Any]]) -> list[Found]:
    """What the formula gives at each place, or how it failed; `columns` are its arguments there, role by role."""
    formula = in_order(metric)
    found: list[Found] = []
    for (curves, site), row in zip(where, zip(*columns, strict=True), strict=True):
        try:
            found.append(_called(metric, curves, site, formula, row))
        except Exception as problem:
            found.append(problem)
    return found


def throughout(
    metric: Metric, curves: Curves, found: Sequence[Site], context: Context, plan: Plan
) -> Sequence[Found] | NoValue:
    """The metric at every site of one life, which may be many; why it has none where that is the same at all."""
    columns: list[list[Any]] = []
    if not metric.expert:
        with suppress(Exception):  # a site may have no such role or block; each then says so for itself
            columns = [build.along(curves, found) for _, build in plan if isinstance(build, Over)]
            if curves.twin is None and Twin in metric.roles.values():
                return NoValue(NO_TWIN)
    if not columns or len(columns) < len(plan):
        return [_tried(metric, curves, site, context, plan) for site in found]
    return _row_by_row(metric, zip(repeat(curves), found), columns)


def _tried(metric: Metric, curves: Curves, site: Site, context: Context, plan: Plan) -> Found:
    """The metric at one site of one life, or why it failed."""
    try:
        return _evaluated(metric, curves, site, context, plan)
    except Exception as problem:
        return problem


def _evaluated(metric: Metric, curves: Curves, site: Site, context: Context, plan: Plan) -> Found:
    experts: tuple[Expert, ...] = ()
    if metric.expert:
        experts = experts_at(curves, site, context)
        if not experts:
            return None
    try:
        common = {name: build(curves, site, context) for name, build in plan if build}
    except NoValue as reason:
        return Result(curves.lifetime, metric.name, site.key, None, reason.why, site.flags)
    kinds = metric.roles
    if "experts" in kinds:
        common["experts"] = experts
    if "expert" not in kinds:
        return _called(metric, curves, site, partial(metric.formula, **common))
    named: Iterable[tuple[str, Any]]
    if kinds["expert"] is Beside:
        if site.task is None:
            raise Broken(f"{metric.name}: there is one joined curve per task, and its sites are of the whole lifetime")
        beside = curves.beside(site.task, blocks_of(metric, site, "learned"), context.expert_average)
        named = ((one.expert, one) for one in beside)
    elif kinds["expert"] is Expert:
        named = ((one.mark, one) for one in experts)
    else:
        named = ((one.mark, one.curve) for one in experts if len(one.curve))
    return (
        tuple(
            _called(metric, curves, site, partial(metric.formula, **common, expert=one), expert=mark)
            for mark, one in named
        )
        or None
    )


def _called(
    metric: Metric,
    curves: Curves,
    site: Site,
    formula: Callable[..., float | Value],
    arguments: Sequence[Any] = (),
    expert: str | None = None,
) -> float | Result:
    """What the formula gives with its arguments there; the number alone where nothing else is to be said of it."""
    try:
        given = formula(*arguments)
    except NoValue as reason:
        return Result(curves.lifetime, metric.name, site.key, None, reason.why, site.flags, expert)
    except Stopped:
        raise
    except (Exception, SystemExit) as problem:  # a formula must not end the program either
        raise Broken(f"{metric.name} raised {type(problem).__name__}: {problem} (at {key_text(site.key)})") from problem
    flags = site.flags
    if isinstance(given, Value):
        flags, given = flags + tuple(given.flags), given.value
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise Broken(
            f"{metric.name} returned a {type(given).__name__}; expected a number, a Value, or NoValue raised "
            f"(at {key_text(site.key)})"
        ) from None
    if not math.isfinite(number):
        raise Broken(
            f"{metric.name} returned {number} (at {key_text(site.key)}); where there is no value it must raise NoValue"
        )
    if number <= 0 and metric.scale == "log":
        raise Broken(f"{metric.name} returned {number} (at {key_text(site.key)}), which has no logarithm")
    if not flags and expert is None:
        return number
    return Result(curves.lifetime, metric.name, site.key, number, None, flags, expert)
