"""What sites gave, and what they come to: one metric of one lifetime, with what a reader should know of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import itemgetter
from typing import Any, NamedTuple

from perdure.frozen import frozen
from perdure.metrics.engine.flag import Flag
from perdure.metrics.engine.metric import Aggregate, Metric, Value
from perdure.scenario.sites import LIFETIME, Key, Site, key_text

__all__ = ["Broken", "Gathered", "Measured", "Places", "Result", "restricted"]

_STILL = "all its values are the same, so it carries no information"


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


@frozen(slots=True)
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


class Gathered:
    """What the sites of one metric gave in one lifetime, as far as they were read."""

    def __init__(self) -> None:
        self.by: dict[str, list[float]] = {}
        self.tasks: dict[str, str] = {}
        self.beside: dict[str, list[str]] = {}
        self.at: dict[str, list[tuple[int, ...]]] = {}
        self.flags: dict[str, int] = {}
        """What is said of values, and of how many."""
        self.valued = 0
        self.missing = 0
        self.reasons: dict[str, dict[str, None]] = {}
        """Why there is no value → where."""
        self.without: dict[str, None] = {}
        """The tasks for which an expert is missing."""

    def add(self, site: Site, results: Sequence[Result] | None, place: tuple[int, ...]) -> None:
        """The results at one site, None where it lacks an expert; `place` are the blocks that they are read from."""
        if results is None:
            self.without[site.task or "any task it learns"] = None
            return
        for _, _, key, value, why, flags, expert in results:
            text = key_text(key)
            values = self.by.get(text)
            if values is None:
                values = self.by[text] = []
                self.tasks[text] = _task(key)
            if value is None:
                self.missing += 1
                self.reasons.setdefault(why or _STILL, {})[text] = None
                continue
            self.valued += 1
            values.append(value)
            if place:
                self.at.setdefault(text, []).append(place)
            if expert is not None:
                self.beside.setdefault(text, []).append(expert)
            for flag in flags:
                self.flags[flag] = self.flags.get(flag, 0) + 1

    def measured(self, metric: Metric, constant: frozenset[str], aggregate: Aggregate) -> Measured:
        """What they come to; `constant` tasks are shown and not counted."""
        by = {text: tuple(values) for text, values in self.by.items()}
        if not self.valued and not self.missing:
            return Measured(None, by, f"needs an expert for {_listed(tuple(self.without))}")
        counted = [values for text, values in self.by.items() if values and self.tasks[text] not in constant]
        said = tuple(self._said(constant))
        experts = {text: tuple(marks) for text, marks in self.beside.items()}
        read = {text: tuple(places) for text, places in self.at.items()}
        if not counted:
            still = {_STILL: dict.fromkeys(text for text, values in self.by.items() if values)} if self.valued else {}
            return Measured(None, by, _why({**still, **self.reasons}, self.valued + self.missing), said, experts, read)
        value, remarks = _value(metric, counted, aggregate)
        return Measured(value, by, None, (*said, *remarks), experts, read)

    def _said(self, constant: frozenset[str]) -> Iterator[Flag]:
        """What a reader of the value should know: the values' own flags, and how many are missing."""
        for flag, count in self.flags.items():
            yield Flag(flag) if count == self.valued else Flag.of_some(flag, count, self.valued)
        if self.missing and self.valued:
            yield Flag.of_missing(_why(self.reasons, self.missing), self.missing, self.valued + self.missing)
        still = sorted({self.tasks[text] for text, values in self.by.items() if values} & constant)
        if still:
            yield Flag(f"constant, so not counted: {_listed(tuple(still))}")
        if self.without:
            yield Flag(f"no expert for {_listed(tuple(self.without))}")


class Places:
    """Where metrics are read, for all lives that have a number at each place and nothing else to say."""

    def __init__(self, sites: Sequence[Site], blocks: Sequence[tuple[int, ...]]) -> None:
        """`blocks` are those whose curves are read at each site."""
        self.sites = sites
        self.blocks = blocks
        numbers: dict[str, list[int]] = {}
        for number, site in enumerate(sites):
            numbers.setdefault(key_text(site.key), []).append(number)
        self._picks: dict[str, Callable[[Sequence[Any]], tuple[Any, ...]]] = {
            text: itemgetter(*some) if len(some) > 1 else _only(some[0]) for text, some in numbers.items()
        }
        placed = {text: tuple(filter(None, pick(blocks))) for text, pick in self._picks.items()}
        self._at = {text: places for text, places in placed.items() if places}
        self._beside: dict[str, tuple[str, ...]] = {}

    def measured(self, metric: Metric, values: Sequence[float], aggregate: Aggregate) -> Measured:
        """What `Gathered` would say of the same values."""
        by: dict[str, tuple[float, ...]] = {text: pick(values) for text, pick in self._picks.items()}
        value, remarks = _value(metric, tuple(by.values()), aggregate)
        return Measured(value, by, None, remarks, self._beside, self._at)

    def without(self, why: str) -> Measured:
        """What `Gathered` would say where no place has a value, for one reason."""
        return Measured(None, dict.fromkeys(self._picks, ()), _why({why: dict.fromkeys(self._picks)}, len(self.sites)))


def _only(number: int) -> Callable[[Sequence[Any]], tuple[Any]]:
    return lambda values: (values[number],)


def _value(metric: Metric, counted: Sequence[Sequence[float]], aggregate: Aggregate) -> tuple[float, tuple[Flag, ...]]:
    """What the values of each key combine to, and what the combination says of it."""
    logarithms = metric.scale == "log"
    averaged = [[math.log(one) for one in values] for values in counted] if logarithms else counted
    made = metric.combine(averaged, aggregate)
    value, flags = (made.value, made.flags) if isinstance(made, Value) else (made, ())
    if not math.isfinite(value):
        raise Broken(f"the values of {metric.name} combine to {value}")
    return math.exp(value) if logarithms else float(value), tuple(map(Flag, flags))


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


def _why(reasons: Mapping[str, Mapping[str, None]], count: int) -> str:
    """Why so many sites have no value that counts, each reason with where it holds if there are several."""
    if len(reasons) == 1:
        ((why, keys),) = reasons.items()
        if count > 1 or set(keys) <= {key_text(LIFETIME)}:
            return why
    return "; ".join(f"{_listed(tuple(keys))}: {why}" for why, keys in reasons.items())


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
