"""What sites gave, and what they come to: one metric of one lifetime, with what a reader should know of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from perdure.metrics.engine.declare import LIFETIME, Aggregate, Key, Metric, Value, key_text
from perdure.metrics.engine.flag import Flag

__all__ = ["Broken", "Measured", "Result", "combined", "restricted", "shared"]


class Broken(Exception):
    """A formula or its sites failed in a way they must not."""


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
    expert: str | None = None
    """Beside which expert."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of one lifetime: its value or the reason for its absence, and the values behind it."""

    value: float | None
    by: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    """A task, or a pair written `a→b`, to its values in order; a site without a value leaves its list shorter."""
    why: str | None = None
    flags: tuple[Flag, ...] = ()
    experts: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """A task to the experts its values stand beside, in the order of the values; empty for other metrics."""
    at: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict, hash=False)
    """A key of `by` to the blocks that each of its values is read from, in their order; empty where a formula takes
    the lifetime as a whole."""


def _task(key: Key) -> str:
    return key if isinstance(key, str) else key[1]


def combined(
    metric: Metric,
    results: Sequence[Result],
    places: Sequence[tuple[int, ...]],
    without: tuple[str, ...],
    constant: frozenset[str],
    aggregate: Aggregate,
) -> Measured:
    """The results of one metric in one lifetime as its value; `constant` tasks are shown and not counted.

    `places` are the blocks that each result is read from. `without` names the tasks for which an expert is missing.
    """
    by: dict[str, list[float]] = {}
    task: dict[str, str] = {}
    beside: dict[str, list[str]] = {}
    at: dict[str, list[tuple[int, ...]]] = {}
    silent = not constant and not without  # whether there is nothing to say about the values
    for (_, _, key, value, _, flags, expert), place in zip(results, places, strict=True):
        text = key_text(key)
        if text not in by:
            by[text] = []
            task[text] = _task(key)
        if value is None:
            silent = False
        else:
            by[text].append(value)
            if place:
                at.setdefault(text, []).append(place)
            if expert is not None:
                beside.setdefault(text, []).append(expert)
        silent = silent and not flags
    counted = [values for text, values in by.items() if values and task[text] not in constant]
    frozen = {text: tuple(values) for text, values in by.items()}
    if not results:
        return Measured(None, frozen, f"needs an expert for {_listed(without)}")
    said = () if silent else tuple(_flags(results, without, constant))
    experts = {text: tuple(marks) for text, marks in beside.items()}
    read = {text: tuple(places) for text, places in at.items()}
    if not counted:
        return Measured(None, frozen, _why(results), said, experts, read)
    value, remarks = _value(metric, counted, aggregate)
    return Measured(value, frozen, None, (*said, *remarks), experts, read)


def _value(metric: Metric, counted: Sequence[Sequence[float]], aggregate: Aggregate) -> tuple[float, tuple[Flag, ...]]:
    """What the values of each key combine to, and what the combination says of it."""
    logarithms = metric.scale == "log"
    averaged = [[math.log(one) for one in values] for values in counted] if logarithms else counted
    made = metric.combine(averaged, aggregate)
    value, flags = (made.value, made.flags) if isinstance(made, Value) else (made, ())
    if not math.isfinite(value):
        raise Broken(f"the values of {metric.name} combine to {value}")
    return math.exp(value) if logarithms else float(value), tuple(map(Flag, flags))


def shared(measured: Measured, other: Measured) -> Measured:
    """The same, holding the very objects of another life where they are equal: ten thousand lives may be kept."""
    if measured.value is None and measured == other:
        return other
    return Measured(
        measured.value,
        measured.by,
        other.why if measured.why == other.why else measured.why,
        other.flags if measured.flags == other.flags else measured.flags,
        other.experts if measured.experts == other.experts else measured.experts,
        other.at if measured.at == other.at else measured.at,
    )


def restricted(metric: Metric, measured: Measured, tasks: frozenset[str], aggregate: Aggregate = "mean") -> Measured:
    """What a lifetime's metric comes to over some of its tasks alone, from the values behind it."""
    kept = {key: values for key, values in measured.by.items() if tasks.issuperset(key.split("→"))}
    experts = {task: marks for task, marks in measured.experts.items() if task in kept}
    counted = [values for values in kept.values() if values]
    if measured.value is None or not counted:
        why = measured.why or f"no value of {', '.join(sorted(tasks))} alone"
        return Measured(None, kept, why, measured.flags, experts)
    value, _ = _value(metric, counted, aggregate)
    at = {key: places for key, places in measured.at.items() if key in kept}
    return Measured(value, kept, None, measured.flags, experts, at)


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


def _flags(results: Sequence[Result], without: tuple[str, ...], constant: frozenset[str]) -> Iterator[Flag]:
    """What a reader of the value should know: the values' own flags, and how many are missing."""
    own: dict[str, int] = {}
    for one in results:
        if one.value is not None:
            for flag in one.flags:
                own[flag] = own.get(flag, 0) + 1
    total = sum(one.value is not None for one in results)
    for flag, count in own.items():
        yield Flag(flag) if count == total else Flag.of_some(flag, count, total)
    missing = [one for one in results if one.value is None]
    if missing and total:
        yield Flag.of_missing(_why(missing), len(missing), len(results))
    still = sorted({_task(one.key) for one in results if one.value is not None} & constant)
    if still and total:
        yield Flag(f"constant, so not counted: {_listed(tuple(still))}")
    if without and results:
        yield Flag(f"no expert for {_listed(without)}")


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
