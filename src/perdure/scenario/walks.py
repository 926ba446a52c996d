"""Walking through a scenario block by block: where further blocks come, the earlier ones are not walked again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, Self, TypeVar

from perdure.frozen import frozen
from perdure.scenario.model import Block, Scenario, sleeps

__all__ = ["LIFETIME", "Key", "Site", "Walk", "at_the_end", "key_text", "walked"]

Key = str | tuple[str, str]

LIFETIME = "whole lifetime"
"""The key of a site that is not about one task; no task label holds a space."""


@frozen(slots=True)
class Site:
    """One place where a metric can be read: a task or an ordered pair, and the blocks by role."""

    key: Key
    blocks: Mapping[str, tuple[int, ...]] = field(hash=False)
    flags: tuple[str, ...] = ()
    """What a reader of the value should know about this place, in words."""

    @property
    def task(self) -> str | None:
        """The task that is measured here (the second of a pair); None for the whole lifetime."""
        if isinstance(self.key, tuple):
            return self.key[1]
        return None if self.key == LIFETIME else self.key


@lru_cache(maxsize=1 << 14)  # the same text for the same key: many lives carry it
def key_text(key: Key) -> str:
    """A task's label, or `a→b` for an ordered pair."""
    return key if isinstance(key, str) else "→".join(key)


class Walk(ABC):
    """What is remembered on the way: in plain fields, lists, sets, and dicts of these.

    It meets every learning block and every evaluation that metrics read: the sleep ones where there are any, else all.
    """

    @abstractmethod
    def step(self, index: int, block: Block) -> Iterable[Site]:
        """The sites that are known once this block was met."""

    def end(self) -> Iterable[Site]:
        """The sites that are known only once all were."""
        return ()

    def copied(self) -> Self:
        """The same, to be led on by itself."""
        made = copy(self)
        vars(made).update({name: _copied(one) for name, one in vars(self).items()})
        return made


_Walk = TypeVar("_Walk", bound=Walk)


@dataclass
class _Begun:
    """How far a walk came through blocks that have ended, and the sites on its way."""

    walk: Any
    asleep: bool = False
    passed: int = 0
    last: Block | None = None
    found: list[Site] = field(default_factory=list)

    def leads_to(self, blocks: tuple[Block, ...]) -> bool:
        """Whether its blocks are the first of these. Blocks are handed on together, so the last one tells."""
        return self.passed < len(blocks) and (not self.passed or blocks[self.passed - 1] is self.last)


def walked(kind: type[Walk]) -> Callable[[Scenario], Iterator[Site]]:
    """The sites that a kind of walk finds in a scenario; what is said of the walk is said of them."""

    def sites(scenario: Scenario) -> Iterator[Site]:
        begun = _begun(kind, scenario)
        walk = begun.walk.copied()
        further = _steps(walk, scenario.blocks, begun.passed, begun.asleep)
        return chain(tuple(begun.found), further, walk.end())

    sites.__doc__, sites.__name__, sites.__qualname__ = kind.__doc__, kind.__name__.strip("_"), kind.__qualname__
    return sites


def at_the_end(kind: type[_Walk], scenario: Scenario) -> _Walk:
    """What a walk through the whole scenario remembers."""
    begun = _begun(kind, scenario)
    walk: _Walk = begun.walk.copied()
    _steps(walk, scenario.blocks, begun.passed, begun.asleep)
    return walk


def _begun(kind: type[Walk], scenario: Scenario) -> _Begun:
    """The walk at its beginning or, where further blocks come, before the last block, which may not have ended."""
    walks, blocks = scenario.walks, scenario.blocks
    if walks is None or not blocks:
        return _Begun(kind(), scenario.asleep)
    begun: _Begun | None = walks.get(kind)
    if begun is None or not begun.leads_to(blocks):
        begun = _Begun(kind())
    if not begun.asleep and any(map(sleeps, blocks[begun.passed :])):
        begun = _Begun(kind(), asleep=True)  # now other evaluations are read
    begun.found += _steps(begun.walk, blocks[:-1], begun.passed, begun.asleep)
    begun.passed = len(blocks) - 1
    begun.last = blocks[begun.passed - 1] if begun.passed else None
    walks[kind] = begun
    return begun


def _steps(walk: Walk, blocks: tuple[Block, ...], first: int, asleep: bool) -> list[Site]:
    """The sites that are known once a walk has met these blocks, from the first one on."""
    found: list[Site] = []
    step = walk.step  # a hundred thousand times
    for index, block in enumerate(blocks[first:], start=first):
        if not asleep or block.mode == "learn" or block.subtype == "sleep":
            found += step(index, block)
    return found


def _copied(one: Any) -> Any:
    if isinstance(one, dict):
        return {name: list(value) if isinstance(value, list) else value for name, value in one.items()}
    return one.copy() if isinstance(one, list | set) else one
