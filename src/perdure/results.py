"""Mixins of results: tables, pandas, JSON, and their display in notebooks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from perdure.lazy import pl

CHECKSUM = "checksum"


def sealed(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a JSON document with their checksum, by which a later change is noticed."""
    return {**facts, CHECKSUM: checksum_of(facts)}


def checksum_of(facts: Mapping[str, Any]) -> str:
    """Return the checksum of a JSON document, however its text is laid out; ValueError for NaN and infinity."""
    made = hashlib.sha256()
    for name in sorted(facts):
        # Item by item: the text of ten thousand lifetimes is never held as a whole.
        items = facts[name] if isinstance(facts[name], list | tuple) else [facts[name]]
        for part in (name, len(items), *items):
            made.update(json.dumps(part, allow_nan=False, sort_keys=True, default=str).encode())
            made.update(b"\n")
    return made.hexdigest()


class Shown:
    """A result that notebooks display."""

    def _repr_html_(self) -> str:
        # Results of early stages are shown with parts of later ones, which are imported on demand.
        from perdure.notebook import shown

        return shown(self)


class Tabular(Shown):
    """A result with a table and a JSON form."""

    def __bool__(self) -> bool:
        # An empty result is true: a check without problems is not a failure.
        return True

    def as_json(self) -> dict[str, Any]:
        """Return the whole result as one JSON object: its fields, and those of the records in it."""
        return dict(msgspec.to_builtins(self))

    def table(self) -> pl.DataFrame:
        """Return the result as a Polars data frame."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the result as a pandas data frame; pandas must be installed."""
        try:
            import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            from perdure.errors import PerdureError

            raise PerdureError("pandas is not installed here", "pip install pandas, or use .table()") from None
        return pd.DataFrame(self.table().to_dict(as_series=False))

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the whole result as JSON text."""
        return json.dumps(self.as_json(), ensure_ascii=False, allow_nan=False, indent=indent, default=str)
