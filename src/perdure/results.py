"""What results share: a table, pandas, JSON, and how they look in a notebook."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from perdure.lazy import pl

__all__ = ["CHECKSUM", "Shown", "Tabular", "checksum_of", "sealed"]

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
    """What displays itself in a notebook."""

    def _repr_html_(self) -> str:
        # What is said of a result is made of rooms above its own, so it is looked up when somebody looks.
        from perdure.notebook import shown

        return shown(self)


class Tabular(Shown):
    """A result that is a table to those who work with tables, and JSON to machines."""

    def __bool__(self) -> bool:
        # A result is one, also where it holds nothing: a check without problems is no failure.
        return True

    def as_json(self) -> dict[str, Any]:
        """The whole result as one JSON object."""
        raise NotImplementedError

    def table(self) -> pl.DataFrame:
        """The result as a Polars table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The table for pandas, which is not among what Perdure needs."""
        try:
            import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            from perdure.errors import PerdureError

            raise PerdureError("pandas is not installed here", "pip install pandas, or use .table()") from None
        return pd.DataFrame(self.table().to_dict(as_series=False))

    def to_json(self, *, indent: int | None = 2) -> str:
        """The whole result as JSON text."""
        return json.dumps(self.as_json(), ensure_ascii=False, allow_nan=False, indent=indent, default=str)
