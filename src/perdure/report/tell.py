"""One lifetime told: read, scored and sketched in one pass, many of them in several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perdure.curves.build import curves as curves_of
from perdure.curves.build import expert_logs
from perdure.curves.experts import ExpertLog, Experts, seconds_learning
from perdure.errors import PerdureError
from perdure.log.model import Direction, Lifetime
from perdure.log.read import read
from perdure.metrics.accuracy import curves_of as matrix_curves
from perdure.metrics.many import Found
from perdure.metrics.pool import processes, worked
from perdure.metrics.score import Score, Scorer
from perdure.metrics.serving import Serving
from perdure.metrics.settings import Settings
from perdure.report.sketch import Sketch, sketch

__all__ = ["COLUMNS", "Done", "How", "Teller", "Told", "told_all"]

COLUMNS = 1200
"""How many columns of pixels a single lifetime is thinned to."""
_WORTH_A_POOL = 12  # fewer lifetimes are told before a second process has started


@dataclass(frozen=True, eq=False)
class Told:
    """One lifetime: its score, what can be seen of it, and where it came from."""

    score: Score
    sketch: Sketch
    manifest: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    complete: bool | None = None
    seconds: tuple[float | None, int] = (None, 0)
    """The time between its learning experiences, summed, and how many intervals that is; None without timestamps."""

    @property
    def id(self) -> str:
        """The lifetime's name."""
        return self.score.id


class Teller:
    """Settings and experts made ready once, to score and sketch any number of lifetimes."""

    def __init__(self, settings: Settings | None = None, experts: Experts | None = None) -> None:
        self.scorer = Scorer(settings, experts)
        self._logs: dict[tuple[str, Direction], tuple[ExpertLog, ...]] = {}

    def tell(self, lifetime: Lifetime, pixels: int = COLUMNS) -> Told:
        """One lifetime scored and sketched."""
        score = self.scorer.score(lifetime)
        measured = score.measure
        direction: Direction = "lower" if self.scorer.settings.lower_is_better else lifetime.measures[measured]
        experts = self._experts(measured, direction)
        prepared = curves_of(lifetime, self.scorer.prep, experts, measure=measured, direction=direction)
        return Told(
            score,
            sketch(prepared, columns=pixels),
            lifetime.manifest,
            lifetime.info,
            lifetime.complete,
            seconds_learning(prepared.passage),
        )

    def tell_matrix(self, found: Found) -> Told:
        """An accuracy matrix scored and sketched."""
        matrix = self.scorer.matrix_in(found.path)
        score = self.scorer.score_matrix(found.id, matrix)
        return Told(score, sketch(matrix_curves(matrix, found.id)))

    def _experts(self, measure: str, direction: Direction) -> tuple[ExpertLog, ...]:
        if (measure, direction) not in self._logs:
            given = self.scorer.experts
            found, _ = expert_logs(given.lifetimes, measure, direction, self.scorer.prep, given.saturations)
            self._logs[measure, direction] = found
        return self._logs[measure, direction]


@dataclass(frozen=True)
class How:
    """What every process needs to know before it tells its first lifetime."""

    settings: Settings
    experts: tuple[str, ...]
    """Given, so they serve every lifetime."""
    columns: Mapping[str, str]
    pixels: int
    own_experts: tuple[str, ...] = ()
    """Found among the lifetimes; those of a run folder serve its lifetimes alone."""


@dataclass(frozen=True)
class Done:
    """A lifetime told, or the reason why it is not; and which experts served so far."""

    told: Told | None
    why: str | None = None
    served: tuple[str, ...] = ()
    unserved: tuple[tuple[str, str], ...] = ()


class _Worker:
    """What one process keeps between lifetimes."""

    def __init__(self, how: How) -> None:
        self.how = how
        self.serving = Serving(how.experts, how.own_experts)
        self.tellers: dict[Path | None, Teller] = {}

    def __call__(self, found: Found) -> Done:
        try:
            teller = self._teller(found.run)
            told = self._told(found, teller)
        except PerdureError as problem:
            return Done(None, str(problem))
        return Done(told, None, tuple(teller.scorer.served), tuple(teller.scorer.left_out.items()))

    def _teller(self, run: Path | None) -> Teller:
        if run not in self.tellers:
            self.tellers[run] = Teller(self.how.settings, self.serving.of(run))
        return self.tellers[run]

    def _told(self, found: Found, teller: Teller) -> Told:
        if found.matrix:
            return teller.tell_matrix(found)
        lifetime = read(found.path, columns=self.how.columns)
        if found.id and not lifetime.manifest.get("id"):
            lifetime = replace(lifetime, id=found.id)
        return teller.tell(lifetime, self.how.pixels)


def told_all(
    how: How, found: Sequence[Found], jobs: int | None = None, progress: Callable[[int, int], None] | None = None
) -> list[Done]:
    """Every lifetime told, in order; `progress` hears how many of how many are done."""
    return worked(_Worker, how, found, processes(len(found), jobs, _WORTH_A_POOL), progress)
