"""Several systems at once: letters that two systems share unless they differ, over all pairs and the whole family."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import Any

from msgspec import Struct

from perdure.metrics.engine.metric import Bar
from perdure.metrics.engine.score import Score
from perdure.stats.compare import compare_lives
from perdure.stats.model import LEVEL
from perdure.stats.multiple import holm
from perdure.stats.pairing import Want


class Letters(Struct, frozen=True):
    """Who differs from whom in one scenario type and measure."""

    scenario_type: str | None
    measure: str | None
    tests: int
    """Pairs × metrics, which Holm's adjustment ran over."""
    by_metric: Mapping[str, Mapping[str, str]]
    """Metric → system → its letters; two that share none differ."""
    learner: str | None = None
    """Whose scenario types are compared, where they are the systems."""

    @property
    def told(self) -> str:
        """What a table says under it."""
        return (
            f"two systems that share no letter differ, after Holm over all {self.tests} tests (pairs × metrics); "
            "the p-values of each pair are adjusted over its own metrics alone"
        )

    def as_json(self) -> dict[str, Any]:
        """The letters as one JSON object."""
        return {
            "learner": self.learner,
            "scenario_type": self.scenario_type,
            "measure": self.measure,
            "tests": self.tests,
            "metrics": {metric: dict(found) for metric, found in self.by_metric.items()},
        }


def lettered(
    systems: Mapping[str, Sequence[Score]], bars: Mapping[str, Bar], *, paired: Want = "auto", level: float = LEVEL
) -> Letters:
    """Every two systems over their family; Holm's adjustment runs over pairs × metrics."""
    tests: list[tuple[str, tuple[str, str], float]] = []
    for one, other in combinations(systems, 2):
        # Pairs that were asked for may hold for some systems only.
        want: Want = "auto" if paired == "yes" else paired
        found = compare_lives(systems[one], systems[other], bars, names=(one, other), paired=want, level=level)
        tests += [(metric, (one, other), it.p) for metric, it in found.tested.items() if it.p is not None]
    adjusted = holm([p for *_, p in tests])
    apart: dict[str, set[tuple[str, str]]] = {metric: set() for metric, *_ in tests}
    for (metric, two, _), p in zip(tests, adjusted, strict=True):
        if p < 1 - level:
            apart[metric].add(two)
    first = next(life for lives in systems.values() for life in lives)
    return Letters(
        first.scenario_type,
        first.measure,
        len(tests),
        {metric: letters_of(tuple(systems), differing) for metric, differing in apart.items()},
    )


def letters_of(names: Sequence[str], differing: Collection[tuple[str, str]]) -> dict[str, str]:
    """A compact letter display: two names share a letter unless they differ (Piepho 2004, insert and absorb)."""
    columns: list[frozenset[str]] = [frozenset(names)]
    for one, other in differing:
        split: list[frozenset[str]] = []
        for column in columns:
            split += [column - {one}, column - {other}] if {one, other} <= column else [column]
        columns = [
            column
            for at, column in enumerate(split)
            if not any(column < more or (column == more and at > before) for before, more in enumerate(split))
        ]
    columns.sort(key=lambda column: [names.index(name) for name in sorted(column, key=names.index)])
    called = [ascii_lowercase[at] if at < 26 else f"({at + 1})" for at in range(len(columns))]
    return {
        name: "".join(letter for letter, column in zip(called, columns, strict=True) if name in column)
        for name in names
    }
