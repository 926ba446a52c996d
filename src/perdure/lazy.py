"""What loads on first use: public names, so that importing a package costs nothing; Polars; and what may be absent.

A package's stub, `__init__.pyi`, says where each name is from, to type checkers and, read as text, to Python: one
statement for both. `from a.b import c as c` is a name; `d = c` after a bare import makes it public under another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["loading", "of_extra", "pl"]


def loading(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of the package at `file`, by the stub beside it."""
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:  # `pathlib` takes milliseconds
        found = _names(stub)

    def load(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, there = found[name]
        return getattr(import_module(module), there)

    return load, lambda: sorted(found), sorted(found)


class _Package:
    """A package that is imported when the first of its names is looked at."""

    def __init__(self, package: str) -> None:
        self.__package = package

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__package), name)
        setattr(self, name, found)  # the next look costs what a module's would
        return found


# Polars takes 0.2 s to import, most of what scoring one log takes, and scoring one log needs no table.
if TYPE_CHECKING:
    import polars as pl
else:
    pl = _Package("polars")


def of_extra(module: str, purpose: str, extra: str | None = None) -> Any:
    """A module of an optional package; where it is absent, `purpose` needs an extra, called like it unless named."""
    try:
        return import_module(module)
    except ImportError as problem:
        from perdure.errors import MissingExtra

        package = module.partition(".")[0]
        raise MissingExtra(package, extra or package, purpose) from problem


def _names(stub: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Public name → its module, and what it is called there."""
    homes: dict[str, str] = {}
    found: dict[str, tuple[str, str]] = {}
    for line in stub:
        match line.replace(",", "").split():
            case ["from", module, "import", there, "as", here]:
                found[here] = module, there
            case ["from", module, "import", *names]:
                homes |= dict.fromkeys(names, module)
            case [here, "=", there]:
                found[here] = homes[there], there
    return found
