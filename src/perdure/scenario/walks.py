"""Walking through a scenario block by block: where further blocks come, the earlier ones are not walked again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import TypeVar

from msgspec import Struct

from perdure.scenario.model import Block, Scenario

__all__ = ["LIFETIME", "Key", "Site", "Walk", "at_the_end", "key_text", "walked"]

Key = str | tuple[str, str]

LIFETIME = "whole lifetime"
"""The key of a site that is not about one task; no task label holds a space."""


class Site(Struct, frozen=True):
    """One place where a metric can be read: a task or an ordered pair, and the blocks by role."""

    key: Key
    blocks: Mapping[str, tuple[int, ...]]
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


_Walk = TypeVar("_Walk", bound=Walk)


def walked(kind: type[Walk]) -> Callable[[Scenario], Iterator[Site]]:
    """The sites that a kind of walk finds in a scenario; what is said of the walk is said of them."""

    def sites(scenario: Scenario) -> Iterator[Site]:
        walk = kind()
        return chain(_steps(walk, scenario), walk.end())

    sites.__doc__, sites.__name__, sites.__qualname__ = kind.__doc__, kind.__name__.strip("_"), kind.__qualname__
    return sites


def at_the_end(kind: type[_Walk], scenario: Scenario) -> _Walk:
    """What a walk through the whole scenario remembers."""
    walk = kind()
    _steps(walk, scenario)
    return walk


def _steps(walk: Walk, scenario: Scenario) -> list[Site]:
    """The sites that are known once a walk has met all blocks."""
    found: list[Site] = []
    for index, block in enumerate(scenario.blocks):
        if not scenario.asleep or block.mode == "learn" or block.subtype == "sleep":
            found += walk.step(index, block)
    return found
