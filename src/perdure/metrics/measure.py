"""Measure a metric in one lifetime: evaluate its formula at each site, and combine the values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Self

import msgspec
import numpy as np

from perdure.curves.experts import average_expert, compare_with_experts
from perdure.curves.model import Curve, Curves, Expert, ExpertComparison, Twin
from perdure.metrics.arithmetic import Aggregate, Average, NoValue, Value
from perdure.metrics.declare import Metric
from perdure.scenario.model import Scenario
from perdure.scenario.sites import LIFETIME, Key, Site, key_text
from perdure.stopping import Stopped
from perdure.text import join_first

_CURVES = (Curve, ExpertComparison, tuple[Curve, ...])
"""Role types that are prepared curves."""
_CONSTANT = "all its values are the same, so it carries no information"


class FormulaError(Exception):
    """A formula or its sites failed in a way they must not."""


_FLAG = r"(?s)\d+ of \d+ left out: (?P<why>.*)|(?P<about>.*) \(\d+ of \d+ values\)"


class Flag(str):
    """A remark on a metric's value, with the number of values it holds for."""

    about: str
    """The remark without the counts."""
    left_out: bool
    """Whether it is the reason for missing values."""

    def __new__(cls, text: str, about: str = "", *, left_out: bool = False) -> Self:
        flag = super().__new__(cls, text)
        flag.about, flag.left_out = about or text, left_out
        return flag

    @classmethod
    def of_some(cls, about: str, count: int, total: int) -> Self:
        """Return a remark that holds for some of the values only."""
        return cls(f"{about} ({count} of {total} values)", about)

    @classmethod
    def of_missing(cls, why: str, count: int, total: int) -> Self:
        """Return the reason why some values are missing."""
        return cls(f"{count} of {total} left out: {why}", f"left out: {why}", left_out=True)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a flag from a score file."""
        match = re.fullmatch(_FLAG, text)
        if match is None:
            return cls(text)
        if match["about"] is not None:
            return cls(text, match["about"])
        return cls(text, f"left out: {match['why']}", left_out=True)


class Context(msgspec.Struct, frozen=True):
    """Inputs of formulas besides the curves: baselines from the settings, and the way experts are averaged."""

    baselines: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """By name, e.g. `random_init` and `joint` (a number, or one per task)."""
    expert_average: Literal["metrics", "time"] = "metrics"
    weights: Mapping[str, float] = msgspec.field(default_factory=dict)
    """Task → its importance in means over tasks, 1 if it is missing."""


Adapter = Callable[[Curves, Site, Context], Any]


def _twin(curves: Curves, _site: Site, _context: Context) -> Twin:
    if curves.twin is None:
        raise NoValue("needs a stateless twin: set twin = true in the protocol")
    return curves.twin


ADAPTERS: dict[Any, Adapter] = {
    Curves: lambda curves, _site, _context: curves,
    Site: lambda _curves, site, _context: site,
    Context: lambda _curves, _site, context: context,
    Twin: _twin,
}
"""Role type → function that builds the argument. `Curve`, `Expert` and their tuples are built here."""


class Result(msgspec.Struct, frozen=True):
    """Value of one metric at one site, or None and the reason."""

    key: Key
    value: float | None
    why: str | None = None
    flags: tuple[str, ...] = ()
    expert: str | None = None
    """Mark of the expert that it is relative to."""


class OverItems(msgspec.Struct, frozen=True):
    """The uncertainty of one lifetime's value from the limited number of items of its evaluations.

    It does not include what another seed would change.
    """

    error: float
    """Standard error."""
    df: float | None = None
    """Degrees of freedom. None if the numbers of items are unknown."""
    items: float | None = None
    """The fewest items of an evaluation. None if unknown."""
    paired: bool = False
    """Whether evaluations of a task are compared item by item."""


class Failure(str):
    """The reason for a missing value whose formula failed, which is an error."""

    __slots__ = ()


class Measured(msgspec.Struct, frozen=True):
    """One metric of one lifetime: its value or the reason for its absence, and the values behind it."""

    value: float | None
    by: Mapping[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    """A task, or a pair written `a→b` → its values in order. A site without a value leaves its list shorter."""
    why: str | None = None
    flags: tuple[Flag, ...] = ()
    experts: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Task → the experts its values are relative to, in the order of the values; empty for other metrics."""
    at: Mapping[str, tuple[tuple[int, ...], ...]] = msgspec.field(default_factory=dict)
    """Key of `by` → the blocks that each of its values is read from; empty for formulas of the whole lifetime."""
    over_items: OverItems | None = None
    """Its uncertainty from the items of evaluations, if they have standard errors."""


class SiteCache:
    """Sites of metrics in one scenario, and the blocks that each site reads. Metrics and lifetimes share them."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._sites: dict[Any, tuple[Site, ...]] = {}
        self._blocks: dict[Any, tuple[tuple[int, ...], ...]] = {}

    def of(self, metric: Metric) -> tuple[Site, ...]:
        """Return the sites of a metric."""
        if metric.sites not in self._sites:
            try:
                self._sites[metric.sites] = tuple(metric.sites(self.scenario))
            except Exception as problem:
                raise FormulaError(
                    f"the sites of {metric.name} raised {type(problem).__name__}: {problem}"
                ) from problem
        return self._sites[metric.sites]

    def blocks(self, metric: Metric) -> tuple[tuple[int, ...], ...]:
        """Return the blocks whose curves the metric reads at each of its sites; none if it reads no curves."""
        roles = tuple(
            "learned" if kind is ExpertComparison else name for name, kind in metric.roles.items() if kind in _CURVES
        )
        key = (metric.sites, roles)
        if key not in self._blocks:
            self._blocks[key] = tuple(
                tuple(sorted({block for role in roles for block in site.blocks.get(role, ())}))
                for site in self.of(metric)
            )
        return self._blocks[key]


def measure(
    metric: Metric,
    curves: Curves,
    context: Context | None = None,
    *,
    sites: SiteCache | None = None,
    aggregate: Aggregate = "mean",
) -> Measured:
    """Evaluate the metric at all its sites in one lifetime, and combine the values.

    A formula that raises anything but `NoValue`, or returns a value that is not finite, is named in `why`: the other
    metrics of the lifetime are not affected. `sites` are those of the scenario, if they are known.
    """
    context, sites = context or Context(), sites or SiteCache(curves.scenario)
    found: tuple[Site, ...] = ()
    try:
        found = sites.of(metric)
        if not found:
            # Some sites know which evaluation is missing, and name it instead of the general need.
            missing = getattr(metric.sites, "missing", None)
            return Measured(None, why=(missing and missing(curves.scenario)) or f"needs {metric.needs}")
        with np.errstate(all="ignore"):
            results = [evaluate(metric, curves, site, context) for site in found]
            return _combine(metric, curves, found, results, sites.blocks(metric), aggregate, context.weights)
    except Exception as problem:  # a plug-in may do anything
        broken = isinstance(problem, FormulaError)
        why = str(problem) if broken else f"{metric.name} failed: {type(problem).__name__}: {problem}"
        return Measured(None, dict.fromkeys((key_text(site.key) for site in found), ()), Failure(why))


# --- one site ------------------------------------------------------------------------------------


def evaluate(metric: Metric, curves: Curves, site: Site, context: Context) -> tuple[Result, ...] | None:
    """Evaluate the formula at one site: one result, or one per expert; None if it needs an expert and has none."""
    roles = metric.roles
    experts: tuple[Expert, ...] = ()
    if metric.expert:
        experts = experts_at(curves, site, context)
        if not experts:
            return None
    try:
        arguments = {
            name: _argument(metric, name, kind, curves, site, context)
            for name, kind in roles.items()
            if name not in ("expert", "experts")
        }
    except NoValue as reason:
        return (Result(site.key, None, reason.why, site.flags),)
    if "experts" in roles:
        _check_role(metric, "experts", (tuple[Expert, ...],))
        arguments["experts"] = experts
    if "expert" not in roles:
        return (_call(metric, site, arguments),)
    _check_role(metric, "expert", (Curve, Expert, ExpertComparison))
    named: Sequence[tuple[str, Any]]
    if roles["expert"] is ExpertComparison:
        if site.task is None:
            raise FormulaError(
                f"{metric.name}: there is one joined curve per task, and its sites are of the whole lifetime"
            )
        pairs = compare_with_experts(curves, site.task, _blocks(metric, site, "learned"), context.expert_average)
        named = [(pair.expert, pair) for pair in pairs]
    elif roles["expert"] is Expert:
        named = [(expert.mark, expert) for expert in experts]
    else:
        named = [(expert.mark, expert.curve) for expert in experts if len(expert.curve)]
    return tuple(_call(metric, site, {**arguments, "expert": given}, mark) for mark, given in named) or None


def _argument(metric: Metric, name: str, kind: Any, curves: Curves, site: Site, context: Context) -> Any:
    """Return the argument of one role at a site."""
    if kind is Curve:
        return curves.over(_blocks(metric, site, name))
    if kind == tuple[Curve, ...]:
        return tuple(curves.over((index,)) for index in _blocks(metric, site, name))
    if kind not in ADAPTERS:
        known = _names((Curve, tuple[Curve, ...], *ADAPTERS))
        raise FormulaError(f"{metric.name}: the role {name!r} is annotated {kind}; a role is one of {known}")
    return ADAPTERS[kind](curves, site, context)


def _check_role(metric: Metric, name: str, allowed: Sequence[Any]) -> None:
    kind = metric.roles[name]
    if kind not in allowed:
        raise FormulaError(f"{metric.name}: the role {name!r} must be annotated {_names(allowed)}, not {kind}")


def _names(kinds: Sequence[Any]) -> str:
    return ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)


def _blocks(metric: Metric, site: Site, name: str) -> tuple[int, ...]:
    try:
        return site.blocks[name]
    except KeyError:
        raise FormulaError(
            f"{metric.name}: its sites have no role {name!r} (they have: {', '.join(site.blocks)}); "
            "name the formula's parameters after them"
        ) from None


def experts_at(curves: Curves, site: Site, context: Context) -> tuple[Expert, ...]:
    """Return the experts of the task measured at `site`; for the whole lifetime, of every learned task."""
    if site.task is None:
        learned = dict.fromkeys(block.task for block in curves.scenario.blocks if block.mode == "learn")
        return tuple(expert for task in learned for expert in curves.experts.get(task, ()) if len(expert.all_learning))
    experts = curves.experts.get(site.task, ())
    return (average_expert(experts),) if context.expert_average == "time" and len(experts) > 1 else experts


def _call(metric: Metric, site: Site, arguments: Mapping[str, Any], expert: str | None = None) -> Result:
    """Call the formula and check what it returns."""
    try:
        value = metric.formula(**arguments)
    except NoValue as reason:
        return Result(site.key, None, reason.why, site.flags, expert)
    except Stopped:
        raise
    except (Exception, SystemExit) as problem:  # a formula must not end the program either
        raise FormulaError(
            f"{metric.name} raised {type(problem).__name__}: {problem} (at {key_text(site.key)})"
        ) from problem
    flags = site.flags
    if isinstance(value, Value):
        flags, value = flags + tuple(value.flags), value.value
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise FormulaError(
            f"{metric.name} returned a {type(value).__name__}; expected a number, a Value, or NoValue raised "
            f"(at {key_text(site.key)})"
        ) from None
    if not math.isfinite(number):
        raise FormulaError(
            f"{metric.name} returned {number} (at {key_text(site.key)}); where there is no value it must raise NoValue"
        )
    if number <= 0 and metric.scale == "log":
        raise FormulaError(f"{metric.name} returned {number} (at {key_text(site.key)}), which has no logarithm")
    return Result(site.key, number, None, flags, expert)


# --- all sites -----------------------------------------------------------------------------------


def _combine(
    metric: Metric,
    curves: Curves,
    sites: Sequence[Site],
    results: Sequence[tuple[Result, ...] | None],
    blocks: Sequence[tuple[int, ...]],
    aggregate: Aggregate,
    weights: Mapping[str, float],
) -> Measured:
    """Combine the results at all sites. Constant tasks are shown and not counted."""
    by: dict[str, list[float]] = {}
    tasks: dict[str, str] = {}
    experts: dict[str, list[str]] = {}
    at: dict[str, list[tuple[int, ...]]] = {}
    flags: dict[str, int] = {}
    reasons: dict[str, dict[str, None]] = {}
    without: dict[str, None] = {}
    valued = missing = 0
    for site, found, read in zip(sites, results, blocks, strict=True):
        if found is None:
            without[site.task or "any task it learns"] = None
            continue
        key = key_text(site.key)
        values = by.setdefault(key, [])
        tasks[key] = site.key if isinstance(site.key, str) else site.key[1]
        for result in found:
            if result.value is None:
                missing += 1
                reasons.setdefault(result.why or _CONSTANT, {})[key] = None
                continue
            valued += 1
            values.append(result.value)
            if read:
                at.setdefault(key, []).append(read)
            if result.expert is not None:
                experts.setdefault(key, []).append(result.expert)
            for flag in result.flags:
                flags[flag] = flags.get(flag, 0) + 1
    shown = {key: tuple(values) for key, values in by.items()}
    if not valued and not missing:
        return Measured(None, shown, f"needs an expert for {join_first(without, 6)}")
    # A value as measured means something even if the task never changes.
    reads_curves = any(kind in _CURVES for kind in metric.roles.values())
    constant = curves.uninformative if reads_curves else frozenset[str]()
    counted = {key: values for key, values in by.items() if values and tasks[key] not in constant}
    remarks = [Flag(flag) if count == valued else Flag.of_some(flag, count, valued) for flag, count in flags.items()]
    if missing and valued:
        remarks.append(Flag.of_missing(_why(reasons, missing), missing, valued + missing))
    if left_out := sorted({tasks[key] for key, values in by.items() if values} & constant):
        remarks.append(Flag(f"constant, so not counted: {join_first(left_out, 6)}"))
    if without:
        remarks.append(Flag(f"no expert for {join_first(without, 6)}"))
    value, why = None, None
    if counted:
        value, more = _combined_value(metric, counted, aggregate, weights)
        remarks += more
    else:
        still = {_CONSTANT: dict.fromkeys(key for key, values in by.items() if values)} if valued else {}
        why = _why({**still, **reasons}, valued + missing)
    return Measured(
        value,
        shown,
        why,
        tuple(remarks),
        {key: tuple(marks) for key, marks in experts.items()},
        {key: tuple(places) for key, places in at.items()},
    )


def _combined_value(
    metric: Metric, values: Mapping[str, Sequence[float]], aggregate: Aggregate, weights: Mapping[str, float]
) -> tuple[float, tuple[Flag, ...]]:
    """Return the combination of the values of each key, and its flags."""
    logarithms = metric.scale == "log"
    averaged = [[math.log(number) for number in numbers] if logarithms else numbers for numbers in values.values()]
    made = metric.combine(averaged, combined_as(metric, values, aggregate, weights))
    value, flags = (made.value, made.flags) if isinstance(made, Value) else (made, ())
    if not math.isfinite(value):
        raise FormulaError(f"the values of {metric.name} combine to {value}")
    return math.exp(value) if logarithms else float(value), tuple(map(Flag, flags))


def combined_as(metric: Metric, keys: Iterable[str], aggregate: Aggregate, weights: Mapping[str, float]) -> Average:
    """Return the average by which a metric combines the values of tasks or pairs."""
    of_times = getattr(metric.sites, "of_times", False)  # its formula averages over tasks, at each of its sites
    return Average.over(keys, aggregate, {} if of_times else weights)


def restricted(
    metric: Metric,
    measured: Measured,
    tasks: frozenset[str],
    aggregate: Aggregate = "mean",
    weights: Mapping[str, float] = MappingProxyType({}),
) -> Measured:
    """Return a lifetime's metric over some of its tasks only, computed from the values behind it."""
    kept = {key: values for key, values in measured.by.items() if tasks.issuperset(key.split("→"))}
    experts = {task: marks for task, marks in measured.experts.items() if task in kept}
    counted = {key: values for key, values in kept.items() if values}
    if measured.value is None or not counted:
        why = measured.why or (f"no value of {', '.join(sorted(tasks))} alone" if tasks else "no task is left")
        return Measured(None, kept, why, measured.flags, experts)
    value, _ = _combined_value(metric, counted, aggregate, weights)
    at = {key: places for key, places in measured.at.items() if key in kept}
    return Measured(value, kept, None, measured.flags, experts, at)


def _why(reasons: Mapping[str, Mapping[str, None]], count: int) -> str:
    """Return why `count` sites have no value that counts; several reasons with the keys they hold for."""
    if len(reasons) == 1:
        ((why, keys),) = reasons.items()
        if count > 1 or set(keys) <= {key_text(LIFETIME)}:
            return why
    return "; ".join(f"{join_first(keys, 6)}: {why}" for why, keys in reasons.items())
