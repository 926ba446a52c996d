"""Public names that load on first use, so that importing a package costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["loading"]


def loading(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package: module of it → the names that it gives, by spaces.

    A name that is public under another is written `there:here`.
    """
    found = {
        each.rpartition(":")[2]: (f"{package}.{module}", each.partition(":")[0])
        for module, names in homes.items()
        for each in names.split()
    }

    def load(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, there = found[name]
        return getattr(import_module(module), there)

    return load, lambda: sorted(found), sorted(found)
