"""Tally: systems × metrics compared with their thresholds, and the number that are met.

The form of Tables 14 and F.19 of Baker et al. 2023, with the tail that the thresholds ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct

from perdure.metrics.declare import Threshold
from perdure.metrics.score import Score
from perdure.settings.presets import STANDARD
from perdure.stats.decide import decide, is_judged
from perdure.stats.model import LEVEL, Decision, Group, Verdict
from perdure.text import initials


class MetCount(Struct, frozen=True):
    """How many thresholds are met, of how many."""

    met: int
    of: int


class Judged(Struct, frozen=True):
    """One metric of one system, tested against its threshold."""

    mean: float | None
    sd: float | None
    threshold: float | None
    t: float | None
    p: float | None
    verdict: Verdict | None


class TallyRow(Struct, frozen=True):
    """One system: the decision about each metric."""

    JSON: ClassVar = ("system", "n", "metrics:judged")

    system: str
    n: int
    decisions: Mapping[str, Decision]
    """Metric → decision, of those that have a value."""

    @property
    def judged(self) -> dict[str, Judged]:
        """Metric → the numbers of its decision."""
        return {
            name: Judged(one.mean, one.sd, one.against, one.t, one.p, one.verdict)
            for name, one in self.decisions.items()
        }


class Tally(Struct, frozen=True):
    """One row per system, one column per headline metric."""

    JSON: ClassVar = ("met:total.met", "of:total.of", "metrics:by_metric", "systems:rows")

    preset: str
    rows: tuple[TallyRow, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that any system has a value of, in the order of tables."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.decisions))

    def met(self, *, system: str | None = None, metric: str | None = None) -> tuple[int, int]:
        """Return the number met and the number with a value: of all, of a system, or of a metric."""
        found = [
            decision.verdict
            for row in self.rows
            for name, decision in row.decisions.items()
            if system in (None, row.system) and metric in (None, name)
        ]
        return found.count("met"), len(found)

    @property
    def told(self) -> str:
        """Text below the tables."""
        met, of = self.met()
        called = ", ".join(f"{initials(name)} {name}" for name in self.metrics if initials(name) != name)
        equal = any(decision.t is None for row in self.rows for decision in row.decisions.values())
        without = " No t where a single lifetime, or lifetimes that are all equal, have no spread." if equal else ""
        said = f"{met} of {of} met; p is one-tailed, of a mean above the threshold.{without}"
        return f"{said} {called}." if called else said

    @property
    def total(self) -> MetCount:
        """The count over all systems and metrics."""
        return MetCount(*self.met())

    @property
    def by_metric(self) -> dict[str, MetCount]:
        """Metric → the count over all systems."""
        return {name: MetCount(*self.met(metric=name)) for name in self.metrics}


def tally_of_systems(
    systems: Mapping[str, Sequence[Score]], bars: Mapping[str, Threshold], level: float = LEVEL
) -> Tally | None:
    """Decide each system's metrics; None for `standard`, whose p-values answer different questions."""
    rows: list[TallyRow] = []
    for system, lives in systems.items():
        judged = {name: decide(lives, name, bar, level) for name, bar in bars.items() if is_judged(bar, lives)}
        rows.append(TallyRow(system, len(lives), _valued(judged)))
    first = next((life.preset for lives in systems.values() for life in lives), STANDARD)
    return _tally(first, rows)


def tally_of_groups(groups: Sequence[Group]) -> Tally | None:
    """Return the tally of groups that are decided; None for a single group, which has its own table."""
    if len(groups) < 2:
        return None
    rows = []
    for group in groups:
        judged = {name: one for name, one in group.estimates.items() if one.verdict is not None}
        rows.append(TallyRow(group.group, group.n, _valued(judged)))
    return _tally(groups[0].preset, rows)


def _tally(preset: str, rows: Sequence[TallyRow]) -> Tally | None:
    made = Tally(preset, tuple(row for row in rows if row.decisions))
    return made if preset != STANDARD and made.metrics else None


def _valued(judged: Mapping[str, Decision]) -> dict[str, Decision]:
    return {name: one for name, one in judged.items() if one.mean is not None}
