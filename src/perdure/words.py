"""The one way to write facts for people: numbers, intervals, p-values, counts and lists."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["listed"]


def listed(things: Iterable[object], last: str = "and") -> str:
    """`a, b and c`."""
    *first, end = [str(one) for one in things] or ["none"]
    return f"{', '.join(first)} {last} {end}" if first else end
