"""Compact: a lifetime's metrics and blocks as numbers in arrays, and what they are of, which lifetimes have in common.

Ten thousand lifetimes may be kept, and most of what is said of one is said of the others too: which metrics have
sites and where, and why there is no value. That is held once, and of each lifetime its numbers alone.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from itertools import accumulate, chain, compress
from operator import attrgetter
from typing import Any, Self, TypeVar, cast, overload
from weakref import WeakValueDictionary

from perdure.frozen import frozen
from perdure.metrics.engine.blocks import BlockSummary
from perdure.metrics.engine.measured import Measured
from perdure.scenario.model import Block

_Value = TypeVar("_Value")

__all__ = ["Common", "CompactBlocks", "CompactMetrics", "same"]


def same(value: _Value) -> _Value:
    """One object for all that are equal to the last digit: notes, orders, bounds are those of other lifetimes too."""
    try:
        told = marshal.dumps(cast("Any", value), _WITHOUT_REFERENCES)
    except ValueError:
        return value  # an object of its own, which knows best what it is equal to
    if len(told) > _SHORT:
        return value
    if len(_recent) > _RECENT:
        _recent.clear()
    held: _Value = _recent.setdefault(told, value)
    return held


_SHORT = 1 << 14  # longer ones are seldom alike, and would be kept when nobody needs them
_RECENT = 256
_WITHOUT_REFERENCES = 2  # later versions tell equal texts apart that are one object in one place, and two in another
_recent: dict[bytes, Any] = {}


class Common:
    """What is held once: made again, also from a pickle, it is the one that is there."""

    __slots__ = ("__weakref__",)

    @classmethod
    def of(cls, *parts: Any) -> Self:
        """The one that has these parts."""
        made = cls(*parts)
        held: Self = _held.setdefault((cls, parts), made)  # by its parts: by itself, it would hold itself for ever
        return held

    def __reduce__(self) -> Any:
        return type(self).of, tuple(getattr(self, name) for name in self.__slots__)


_held: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()


@frozen(slots=True)
class _Form(Common):
    """Everything of one metric but its numbers."""

    told: Measured
    """Without a value, and with none behind it: the whole, where there are no numbers."""
    counts: tuple[int, ...]
    """How many values are behind it, key by key; none at all where no key has any."""
    valued: bool
    keys: tuple[tuple[str, ...], ...]
    """In order, as dictionaries are equal in any."""


@frozen(slots=True)
class _Blocks(Common):
    """Everything of the blocks of a lifetime but their numbers."""

    blocks: tuple[Block, ...]
    said: tuple[tuple[str, ...], ...]
    """Which numbers there are of each, by the names of what they say."""
    ends: tuple[int, ...]
    """How many there are up to each, and up to the end."""


def _form(one: Measured) -> _Form:
    counts, keys = tuple(map(len, one.by.values())), (tuple(one.by), tuple(one.experts), tuple(one.at))
    if one.value is None and not any(counts):
        return _Form.of(one, (), False, keys)
    told = Measured(None, dict.fromkeys(one.by, ()), one.why, one.flags, one.experts, one.at)
    return _Form.of(told, counts, one.value is not None, keys)


@lru_cache(maxsize=64)
def _places(names: tuple[str, ...]) -> dict[str, int]:
    """Where each metric stands."""
    return {name: at for at, name in enumerate(names)}


class CompactMetrics(Mapping[str, Measured]):
    """The metrics of one lifetime by their ids, as a dictionary has them."""

    __slots__ = ("_forms", "_numbers", "_places")

    def __init__(self, metrics: Mapping[str, Measured]) -> None:
        self._places = _places(tuple(metrics))
        self._forms = tuple(map(_form, metrics.values()))
        own = [0.0 if one.value is None else one.value for one in metrics.values()]
        behind = [values for one in metrics.values() for values in one.by.values()]
        self._numbers = array("d", [*own, *chain.from_iterable(behind)])
        """The value of each, then those behind them."""

    def __getstate__(self) -> Any:
        return self._places, self._forms, self._numbers

    def __setstate__(self, state: Any) -> None:
        places, self._forms, self._numbers = state
        self._places = _places(tuple(places))

    def __getitem__(self, name: str) -> Measured:
        at = self._places[name]
        form = self._forms[at]
        told = form.told
        if not form.valued and not form.counts:
            return told
        value = self._numbers[at] if form.valued else None
        return Measured(value, _Behind(self, at), told.why, told.flags, told.experts, told.at)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))

    def value(self, name: str) -> float | None:
        """The value of a metric, None where there is none; sooner than by way of all that is known of it."""
        at = self._places.get(name)
        return self._numbers[at] if at is not None and self._forms[at].valued else None

    def behind(self, at: int) -> dict[str, tuple[float, ...]]:
        """Key → the values behind the metric that stands there."""
        first = len(self) + sum(sum(form.counts) for form in self._forms[:at])
        found: dict[str, tuple[float, ...]] = {}
        for key, count in zip(self._forms[at].told.by, self._forms[at].counts, strict=True):
            found[key] = tuple(self._numbers[first : first + count])
            first += count
        return found


class _Behind(Mapping[str, tuple[float, ...]]):
    """The values behind one metric, looked up when somebody looks: most want the metric's own alone."""

    __slots__ = ("_at", "_found", "_metrics")

    def __init__(self, metrics: CompactMetrics, at: int) -> None:
        self._metrics, self._at = metrics, at
        self._found: dict[str, tuple[float, ...]] | None = None

    def _all(self) -> dict[str, tuple[float, ...]]:
        if self._found is None:
            self._found = self._metrics.behind(self._at)
        return self._found

    def __reduce__(self) -> Any:
        return dict, (self._all(),)

    def __getitem__(self, key: str) -> tuple[float, ...]:
        return self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


_SAID = tuple(one.name for one in fields(BlockSummary) if one.name not in ("index", "block"))
_NUMBERS = attrgetter(*_SAID)


class CompactBlocks(Sequence[BlockSummary]):
    """What is said of the blocks of one lifetime, as a tuple has it."""

    __slots__ = ("_blocks", "_numbers")

    def __init__(self, blocks: Sequence[BlockSummary]) -> None:
        numbers = [_NUMBERS(one) for one in blocks]
        said = tuple(_said(tuple(one is not None for one in each)) for each in numbers)
        ends = tuple(accumulate(map(len, said), initial=0))
        self._blocks = _Blocks.of(tuple(one.block for one in blocks), said, ends)
        self._numbers = array("d", [one for each in numbers for one in each if one is not None])

    def __getstate__(self) -> Any:
        return self._blocks, self._numbers

    def __setstate__(self, state: Any) -> None:
        self._blocks, self._numbers = state

    @overload
    def __getitem__(self, at: int) -> BlockSummary: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[BlockSummary, ...]: ...
    def __getitem__(self, at: int | slice) -> BlockSummary | tuple[BlockSummary, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(len(self))[at])
        at = range(len(self))[at]
        one = self._blocks
        numbers = self._numbers[one.ends[at] : one.ends[at + 1]]
        facts: dict[str, Any] = {"mean": None, "terminal": None, **dict(zip(one.said[at], numbers, strict=True))}
        if "experiences_to_saturation" in facts:
            facts["experiences_to_saturation"] = int(facts["experiences_to_saturation"])
        return BlockSummary(at, one.blocks[at], **facts)

    def __len__(self) -> int:
        return len(self._blocks.blocks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@cache
def _said(known: tuple[bool, ...]) -> tuple[str, ...]:
    """What is said of a block: the names of those that are known."""
    return tuple(compress(_SAID, known))
