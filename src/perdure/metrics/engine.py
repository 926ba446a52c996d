"""Measuring: one metric at all its sites in one lifetime, and what they come to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from perdure.curves.model import Curve, Curves, Expert
from perdure.metrics.declare import ADAPTERS, LIFETIME, Aggregate, Context, Key, Metric, NoValue, Site, Value, key_text
from perdure.scenario.model import Scenario

__all__ = [
    "Broken",
    "Measured",
    "Result",
    "Sites",
    "averaged",
    "evaluate",
    "experts_at",
    "measure",
    "measure_all",
    "restricted",
]


class Result(NamedTuple):
    """What one metric gave at one site: a value, or None and the reason.

    A tuple, because dozens are made for every metric of every life.
    """

    lifetime: str
    metric: str
    key: Key
    value: float | None
    why: str | None = None
    flags: tuple[str, ...] = ()


_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Measured:
    """One metric of one lifetime: its value or the reason for its absence, and the values behind it."""

    value: float | None
    by: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    """A task, or a pair written `a→b`, to its values in order; a site without a value leaves its list shorter."""
    why: str | None = None
    flags: tuple[str, ...] = ()


class Sites:
    """The sites of one scenario, each generator walked once however many metrics share it."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._found: dict[Any, tuple[Site, ...]] = {}

    def of(self, metric: Metric) -> tuple[Site, ...]:
        """Where `metric` can be read."""
        if metric.sites not in self._found:
            self._found[metric.sites] = tuple(metric.sites(self.scenario))
        return self._found[metric.sites]


class Broken(Exception):
    """A formula or its sites failed in a way they must not."""


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
    found: tuple[Site, ...] = ()
    try:
        found = _walk(metric, sites or Sites(scenario))
        if not found:
            # Some sites know which evaluation is missing, and say it better than the general need.
            missing = getattr(metric.sites, "missing", None)
            why = (missing and missing(scenario)) or f"needs {metric.needs}"
            return [Measured(None, why=why)] * len(lives)
        plan, reads_curves = _plan(metric), _reads_curves(metric)
    except Exception as problem:
        return [_failed(metric, found, problem)] * len(lives)
    measured: list[Measured] = []
    with np.errstate(all="ignore"):
        for curves in lives:
            try:
                results: list[Result] = []
                without: list[str] = []
                for site in found:
                    here = evaluate(metric, curves, site, context, plan)
                    if here is None:
                        without.append(site.task or "any task it learns")
                    else:
                        results += here
                left_out = curves.uninformative if reads_curves else _NOTHING
                measured.append(_combined(metric, results, tuple(dict.fromkeys(without)), left_out, aggregate))
            except Exception as problem:
                measured.append(_failed(metric, found, problem))
    return measured


def _failed(metric: Metric, found: Sequence[Site], problem: Exception) -> Measured:
    """What is said where sites name no block, a formula or a combination fails: a plug-in may do anything."""
    why = str(problem) if isinstance(problem, Broken) else f"{metric.name} failed: {type(problem).__name__}: {problem}"
    return Measured(None, dict.fromkeys((key_text(site.key) for site in found), ()), why)


def _walk(metric: Metric, sites: Sites) -> tuple[Site, ...]:
    try:
        return sites.of(metric)
    except Exception as problem:
        raise Broken(f"the sites of {metric.name} raised {type(problem).__name__}: {problem}") from problem


def evaluate(
    metric: Metric, curves: Curves, site: Site, context: Context, plan: _Plan | None = None
) -> tuple[Result, ...] | None:
    """The metric at one site: one result, or one per expert; None where it needs an expert and has none.

    `plan` is what builds the formula's arguments, for those who ask at many sites.
    """
    experts: tuple[Expert, ...] = ()
    if metric.expert:
        experts = experts_at(curves, site, context)
        if not experts:
            return None
    try:
        common = {name: build(curves, site, context) for name, build in plan or _plan(metric) if build}
    except NoValue as reason:
        return (Result(curves.lifetime, metric.name, site.key, None, reason.why, site.flags),)
    kinds = metric.roles
    if "experts" in kinds:
        common["experts"] = experts
    if "expert" not in kinds:
        return (_called(metric, curves, site, common),)
    each = experts if kinds["expert"] is Expert else tuple(one.curve for one in experts if len(one.curve))
    return tuple(_called(metric, curves, site, {**common, "expert": one}) for one in each) or None


def _called(metric: Metric, curves: Curves, site: Site, arguments: Mapping[str, Any]) -> Result:
    try:
        given = metric.formula(**arguments)
    except NoValue as reason:
        return Result(curves.lifetime, metric.name, site.key, None, reason.why, site.flags)
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
    return Result(curves.lifetime, metric.name, site.key, number, None, flags)


# --- roles ---------------------------------------------------------------------------------------

_Build = Callable[[Curves, Site, Context], Any]
_Plan = tuple[tuple[str, _Build | None], ...]
_plans: WeakKeyDictionary[Metric, _Plan] = WeakKeyDictionary()


def _plan(metric: Metric) -> _Plan:
    """Each role with what builds it; None for the experts, which are counted out one by one."""
    if metric not in _plans:
        _plans[metric] = tuple((name, _builder(metric, name, kind)) for name, kind in metric.roles.items())
    return _plans[metric]


def _builder(metric: Metric, name: str, kind: Any) -> _Build | None:
    if name in ("expert", "experts"):
        allowed = (Curve, Expert) if name == "expert" else (tuple[Expert, ...],)
        if kind not in allowed:
            raise Broken(f"{metric.name}: the role {name!r} must be annotated {_names(allowed)}, not {kind}")
        return None
    if kind is Curve:
        return lambda curves, site, _context: curves.over(_blocks(metric, site, name))
    if kind == tuple[Curve, ...]:
        return lambda curves, site, _context: tuple(curves.over((index,)) for index in _blocks(metric, site, name))
    if kind not in ADAPTERS:
        known = _names((Curve, tuple[Curve, ...], *ADAPTERS))
        raise Broken(f"{metric.name}: the role {name!r} is annotated {kind}; a role is one of {known}")
    return ADAPTERS[kind]


def _blocks(metric: Metric, site: Site, name: str) -> tuple[int, ...]:
    try:
        return site.blocks[name]
    except KeyError:
        raise Broken(
            f"{metric.name}: its sites have no role {name!r} (they have: {', '.join(site.blocks)}); "
            "name the formula's parameters after them"
        ) from None


def _names(kinds: Sequence[Any]) -> str:
    return ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)


def experts_at(curves: Curves, site: Site, context: Context) -> tuple[Expert, ...]:
    """The experts of the task measured at `site`; of every learned task, for the whole lifetime."""
    if site.task is not None:
        experts = curves.experts.get(site.task, ())
    else:
        learned = dict.fromkeys(block.task for block in curves.scenario.blocks if block.mode == "learn")
        return tuple(one for task in learned for one in curves.experts.get(task, ()) if len(one.all_learning))
    if context.expert_average == "time" and len(experts) > 1:
        return (averaged(experts),)
    return experts


def averaged(experts: Sequence[Expert]) -> Expert:
    """One expert whose curve is the experts' mean, all cut to the shortest (l2metrics' deprecated option)."""
    logged = [one for one in experts if len(one.all_learning)]
    if len(logged) < 2:
        return logged[0] if logged else experts[0]

    def mean(pick: Callable[[Expert], Curve]) -> Curve:
        curves = [pick(one) for one in logged]
        shortest = min(len(curve) for curve in curves)
        return Curve(
            np.mean([curve.values[:shortest] for curve in curves], axis=0),
            np.mean([curve.raw[:shortest] for curve in curves], axis=0),
            curves[0].range,
        )

    whole = mean(lambda one: one.all_learning)
    return replace(
        logged[0],
        id="mean of " + ", ".join(one.id for one in logged),
        curve=mean(lambda one: one.curve),
        last=mean(lambda one: one.last),
        all_learning=whole,
        numbers=np.arange(len(whole)),
    )


# --- combination ---------------------------------------------------------------------------------


def _reads_curves(metric: Metric) -> bool:
    """Whether it reads prepared curves; a value as measured means something even where it never changes."""
    return any(kind in (Curve, tuple[Curve, ...]) for kind in metric.roles.values())


def _task(key: Key) -> str:
    return key if isinstance(key, str) else key[1]


def _combined(
    metric: Metric,
    results: Sequence[Result],
    without: tuple[str, ...],
    constant: frozenset[str],
    aggregate: Aggregate,
) -> Measured:
    by: dict[str, list[float]] = {}
    task: dict[str, str] = {}
    silent = not constant and not without  # whether there is nothing to say about the values
    for _, _, key, value, _, flags in results:
        text = key_text(key)
        if text not in by:
            by[text] = []
            task[text] = _task(key)
        if value is None:
            silent = False
        else:
            by[text].append(value)
        silent = silent and not flags
    counted = [values for text, values in by.items() if values and task[text] not in constant]
    frozen = {text: tuple(values) for text, values in by.items()}
    if not results:
        return Measured(None, frozen, f"needs an expert for {_listed(without)}")
    said = () if silent else tuple(_flags(results, without, constant))
    if not counted:
        return Measured(None, frozen, _why(results), said)
    value = metric.combine(tuple(counted), aggregate)
    if not math.isfinite(value):
        raise Broken(f"the values of {metric.name} combine to {value}")
    return Measured(float(value), frozen, None, said)


def restricted(metric: Metric, measured: Measured, tasks: frozenset[str], aggregate: Aggregate = "mean") -> Measured:
    """What a lifetime's metric comes to over some of its tasks alone, from the values behind it."""
    kept = {key: values for key, values in measured.by.items() if tasks.issuperset(key.split("→"))}
    counted = [values for values in kept.values() if values]
    if measured.value is None or not counted:
        return Measured(None, kept, measured.why or f"no value of {', '.join(sorted(tasks))} alone", measured.flags)
    return Measured(float(metric.combine(tuple(counted), aggregate)), kept, None, measured.flags)


def _why(results: Sequence[Result]) -> str:
    """The reasons why these sites have no value that counts, each with where it holds if there are several."""
    reasons: dict[str, list[str]] = {}
    for one in results:
        why = one.why or "all its values are the same, so it carries no information"
        reasons.setdefault(why, []).append(key_text(one.key))
    whole = {key_text(LIFETIME)}
    if len(reasons) == 1 and (len(results) > 1 or set(*reasons.values()) <= whole):
        return next(iter(reasons))
    return "; ".join(f"{_listed(tuple(dict.fromkeys(keys)))}: {why}" for why, keys in reasons.items())


def _flags(results: Sequence[Result], without: tuple[str, ...], constant: frozenset[str]) -> Iterator[str]:
    """What a reader of the value should know: the values' own flags, and how many are missing."""
    own: dict[str, int] = {}
    for one in results:
        if one.value is not None:
            for flag in one.flags:
                own[flag] = own.get(flag, 0) + 1
    total = sum(one.value is not None for one in results)
    for flag, count in own.items():
        yield flag if count == total else f"{flag} ({count} of {total} values)"
    missing = [one for one in results if one.value is None]
    if missing and total:
        yield f"{len(missing)} of {len(results)} left out: {_why(missing)}"
    still = sorted({_task(one.key) for one in results if one.value is not None} & constant)
    if still and total:
        yield f"constant, so not counted: {_listed(tuple(still))}"
    if without and results:
        yield f"no expert for {_listed(without)}"


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
