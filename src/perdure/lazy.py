"""Modules that are imported on first use: Polars, and packages of extras."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["import_extra", "pl"]


class _Package:
    """A package that is imported on the first access to one of its names."""

    def __init__(self, package: str) -> None:
        self.__package = package

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__package), name)
        setattr(self, name, value)  # so that the next access is as fast as that of a module
        return value


# Polars takes 0.2 s to import, most of the time of scoring one log, which needs no table.
if TYPE_CHECKING:
    import polars as pl
else:
    pl = _Package("polars")


def import_extra(module: str, purpose: str, extra: str | None = None) -> Any:
    """Import a module of an optional package. If it is missing, raise an error that names the extra for `purpose`.

    The extra has the name of the package by default.
    """
    try:
        return import_module(module)
    except ImportError as problem:
        from perdure.errors import MissingExtraError

        package = module.partition(".")[0]
        raise MissingExtraError(package, extra or package, purpose) from problem
