"""Registry[T]: objects by name, extended by the entry points of plug-ins."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any, Generic, TypeVar

from perdure.errors import PerdureError, UnknownNameError

T = TypeVar("T")


class _Deferred(str):
    """`module:attribute` of an object that is imported when it is needed."""

    __slots__ = ()


class Registry(Generic[T]):
    """Objects of one kind by name. Installed plug-ins are read on the first miss, or when all are listed."""

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._things: dict[str, T | _Deferred] = {}
        self._aliases: dict[str, str] = {}
        self._plugins_read = False

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}, {len(self._things)} known)"

    def add(self, name: str, entry: T) -> T:
        """Register `entry` under `name`. Refuse a name that is taken."""
        if not isinstance(self._things.get(name, _Deferred()), _Deferred):
            raise PerdureError(f"{self.kind} {name!r} is registered twice", "give one of them another name")
        self._things[name] = entry
        return entry

    def add_later(self, name: str, target: str) -> None:
        """Register `module:attribute`, which is imported when it is needed."""
        self._things[name] = _Deferred(target)

    def alias(self, name: str, known: str) -> None:
        """Add `name` as another name of the object registered as `known`. Only `known` is listed."""
        registered = not isinstance(self._things.get(name, _Deferred()), _Deferred)
        if registered or self._aliases.get(name.lower(), known) != known:
            raise PerdureError(f"{self.kind} {name!r} is registered already", f"choose another alias for {known!r}")
        self._aliases[name.lower()] = known

    def canonical(self, name: str) -> str:
        """Return the listed name of an object, if `name` is an alias of it or differs in case."""
        folded = name.lower()
        if name in self._things:
            return name
        return folded if folded in self._things else self._aliases.get(folded, name)

    def get(self, name: str) -> T:
        """Return the object under `name` or its alias. The error for an unknown name offers the nearest one."""
        name = self.canonical(name)
        if name not in self._things:
            self._read_plugins()
        if name not in self._things:
            raise UnknownNameError(self.kind, name, self._things)
        return self._load(name)

    def names(self) -> tuple[str, ...]:
        """Return all names, including plug-ins, in the order of registration."""
        self._read_plugins()
        return tuple(self._things)

    def __contains__(self, name: object) -> bool:
        """Return whether it is one of the names, including plug-ins."""
        return name in self.names()

    def __iter__(self) -> Iterator[T]:
        """Yield Perdure's own objects first. Plug-ins are read only if the caller continues."""
        return self.iter_except(())

    def iter_except(self, names: Collection[str]) -> Iterator[T]:
        """Yield all objects except those of these names, which need not be loaded."""
        builtin = tuple(self._things)
        yield from (self._load(name) for name in builtin if name not in names)
        self._read_plugins()
        yield from (self._load(name) for name in tuple(self._things) if name not in builtin)

    def _load(self, name: str) -> T:
        entry = self._things[name]
        if isinstance(entry, _Deferred):
            entry = self._things[name] = resolve_name(entry)
        return entry

    def _read_plugins(self) -> None:
        if self._plugins_read:
            return
        self._plugins_read = True
        for point in _installed().select(group=self.group):
            if point.name in self._things:
                continue
            try:
                self._things[point.name] = point.load()
            except Exception as problem:  # a plug-in may raise anything
                raise PerdureError(
                    f"the plug-in {point.value!r} ({self.group} {point.name!r}) cannot be loaded: "
                    f"{type(problem).__name__}: {problem}",
                    "repair or uninstall it",
                ) from problem


@cache
def _installed() -> Any:
    """Return the entry points of this environment, which several registries share."""
    return entry_points()
