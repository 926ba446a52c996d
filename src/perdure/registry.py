"""Registry[T]: named things, found by name, extended by entry points."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any, Generic, TypeVar

from perdure.errors import PerdureError, UnknownName

__all__ = ["Registry"]

T = TypeVar("T")
_PACKAGES = (".dist-info", "egg-info", ".egg")  # what says of an installed package what it is; an egg has EGG-INFO


class Registry(Generic[T]):
    """Things of one kind by name; installed plug-ins are read on the first miss, or when all are listed."""

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._things: dict[str, T] = {}
        self._later: dict[str, str] = {}
        self._order: dict[str, None] = {}
        self._aliases: dict[str, str] = {}
        self._plugins_read = False

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}, {len(self._known())} known)"

    def add(self, name: str, thing: T) -> T:
        """Register `thing` under `name`; a name is taken once."""
        if name in self._things:
            raise PerdureError(f"{self.kind} {name!r} is registered twice", "give one of them another name")
        self._things[name] = thing
        self._order[name] = None
        return thing

    def add_later(self, name: str, target: str) -> None:
        """Register what `module:attribute` names, to be imported when it is asked for."""
        self._later[name] = target
        self._order[name] = None

    def alias(self, name: str, known: str) -> None:
        """Let `name` stand for the thing registered as `known`, which alone is listed."""
        if name in self._things or self._aliases.get(name.lower(), known) != known:
            raise PerdureError(f"{self.kind} {name!r} is registered already", f"choose another alias for {known!r}")
        self._aliases[name.lower()] = known

    def canonical(self, name: str) -> str:
        """The name under which a thing is listed, where `name` may be an alias of it, or in other capitals."""
        if name in self._things or name in self._later:
            return name
        folded = name.lower()
        return folded if folded in self._things else self._aliases.get(folded, name)

    def get(self, name: str) -> T:
        """The thing under `name` or its alias; an unknown name offers the nearest known one."""
        name = self.canonical(name)
        if name in self._later:
            self._load(name)
        if name not in self._things:
            self._read_plugins()
        try:
            return self._things[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._things) from None

    def names(self) -> tuple[str, ...]:
        """All names, plug-ins included, in order of registration."""
        self._read_plugins()
        return self._known()

    def __contains__(self, name: object) -> bool:
        """Whether it is one of the names, plug-ins included."""
        self._read_plugins()
        return name in self._things or name in self._later

    def __iter__(self) -> Iterator[T]:
        """Our own first; plug-ins are only looked for by those who ask further."""
        return self.besides(())

    def besides(self, names: Collection[str]) -> Iterator[T]:
        """All but those of these names, which need not be loaded."""
        known = self._known()
        for name in known:
            if name in names:
                continue
            self._load(name)
            yield self._things[name]
        self._read_plugins()
        yield from (self._things[name] for name in self._known() if name not in known)

    def _known(self) -> tuple[str, ...]:
        """Names in the order of their registration, which does not change when a thing is loaded."""
        there = {**self._things, **self._later}
        return (*(name for name in self._order if name in there), *(name for name in there if name not in self._order))

    def _load(self, name: str) -> None:
        target = self._later.get(name)
        if target is not None:
            module, _, attribute = target.partition(":")
            self._things[name] = getattr(import_module(module), attribute)
            self._later.pop(name, None)  # last, for threads that ask meanwhile

    def _read_plugins(self) -> None:
        if self._plugins_read:
            return
        self._plugins_read = True
        installed = _installed()
        for point in installed.select(group=self.group) if installed else ():
            if point.name in self._things or point.name in self._later:
                continue
            try:
                self._things[point.name] = point.load()
            except Exception as problem:  # a plug-in may raise anything; name it rather than hide it
                raise PerdureError(
                    f"the plug-in {point.value!r} ({self.group} {point.name!r}) cannot be loaded: "
                    f"{type(problem).__name__}: {problem}",
                    "repair or uninstall it",
                ) from problem


@cache
def _installed() -> Any:
    """Every entry point of this environment; None where none of them is ours. Several registries ask."""
    if not any(map(_has_points, sys.path)) and all(_looks_there(finder) for finder in sys.meta_path):
        return None
    from importlib.metadata import entry_points

    return entry_points()


def _has_points(place: str) -> bool:
    """Whether a package that is installed at `place` may have an entry point for one of our registries.

    Most environments have none, and `importlib.metadata` takes longer to load than a short log to score.
    """
    try:
        names = os.listdir(place or ".")
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False
    return any(name.lower().endswith(_PACKAGES) and _lists_points(place, name) for name in names)


def _lists_points(place: str, package: str) -> bool:
    if package.lower().endswith(".egg"):
        return True
    try:
        with open(os.path.join(place, package, "entry_points.txt"), "rb") as file:
            return b"[perdure." in file.read()
    except OSError:
        return False


def _looks_there(finder: Any) -> bool:
    """Whether what `finder` finds lies in the folders of `sys.path`, as far as it finds packages at all."""
    return finder is PathFinder or not hasattr(finder, "find_distributions")
