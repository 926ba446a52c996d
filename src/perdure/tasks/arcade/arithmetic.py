"""The operations in which one game (plain numbers) and many (arrays) differ; the rules are written over them.

`batched/tasks/arcade.py` has them a third time, for games that are compiled.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Arithmetic(Protocol):
    """What the rules of a game need beside + − × ÷ and comparison; `c ^ True` says "not" in both."""

    def each(self, chances: Any, value: Any) -> Any:
        """`value` in each of the games whose chances these are."""
        ...

    def ones(self, chances: Any, number: Any) -> Any:
        """A table of so many ones for each of the games whose chances these are."""
        ...

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """`yes` where the condition holds, else `no`."""
        ...

    def clip(self, value: Any, low: Any, high: Any) -> Any:
        """`value`, no less than `low` and no more than `high`."""
        ...

    def any(self, condition: Any) -> Any:
        """Whether the condition holds in any game, so that what is rare need not be worked out for none."""
        ...

    def whole(self, value: Any) -> Any:
        """`value` without its fraction; it is not negative."""
        ...

    def take(self, table: Any, index: Any) -> Any:
        """Each game's own entry of its own table."""
        ...

    def without(self, table: Any, index: Any, condition: Any) -> Any:
        """The tables, with 0 at each game's index where the condition holds."""
        ...


class _One:
    def each(self, chances: Any, value: Any) -> Any:  # noqa: ARG002
        return value

    def ones(self, chances: Any, number: Any) -> Any:  # noqa: ARG002
        return (1,) * number

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        return yes if condition else no

    def clip(self, value: Any, low: Any, high: Any) -> Any:
        return low if value < low else high if value > high else value

    def any(self, condition: Any) -> Any:
        return condition

    def whole(self, value: Any) -> Any:
        return int(value)

    def take(self, table: Any, index: Any) -> Any:
        return table[index]

    def without(self, table: Any, index: Any, condition: Any) -> Any:
        return (*table[:index], 0, *table[index + 1 :]) if condition else table


class _Many:
    def each(self, chances: Any, value: Any) -> Any:
        return np.full(len(chances), value)

    def ones(self, chances: Any, number: Any) -> Any:
        return np.ones((len(chances), number), dtype=np.int64)

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        return np.where(condition, yes, no)

    def clip(self, value: Any, low: Any, high: Any) -> Any:
        return np.minimum(np.maximum(value, low), high)

    def any(self, condition: Any) -> Any:
        return condition.any()

    def whole(self, value: Any) -> Any:
        return np.asarray(value).astype(np.int64)

    def take(self, table: Any, index: Any) -> Any:
        return table[np.arange(len(table)), index]

    def without(self, table: Any, index: Any, condition: Any) -> Any:
        rows = np.flatnonzero(condition)
        if not len(rows):
            return table
        changed = table.copy()
        changed[rows, np.asarray(index)[rows]] = 0
        return changed


ONE: Arithmetic = _One()
MANY: Arithmetic = _Many()
