"""One lifetime told: read, scored and sketched in one pass, many of them in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from perdure.curves.build import curves as curves_of
from perdure.curves.build import expert_logs
from perdure.curves.experts import ExpertLog, Experts, read_experts, seconds_learning
from perdure.errors import PerdureError
from perdure.log.matrix import read_matrix
from perdure.log.model import Direction, Lifetime
from perdure.log.read import locate, read
from perdure.metrics.accuracy import curves_of as matrix_curves
from perdure.metrics.many import Found
from perdure.metrics.score import Score, Scorer
from perdure.metrics.settings import Settings
from perdure.report.sketch import Sketch, sketch

__all__ = ["COLUMNS", "Done", "How", "Teller", "Told", "told_all"]

COLUMNS = 1200
"""How many columns of pixels a single lifetime is thinned to."""
_WORTH_A_POOL = 12  # fewer lifetimes are told before a second process has started
_ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
        settings = self.scorer.settings
        matrix = read_matrix(found.path, transposed=settings.transposed, unit=settings.unit, as_given=settings.as_given)
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
    columns: Mapping[str, str]
    pixels: int


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
        self.teller = Teller(how.settings, read_experts(how.experts) if how.experts else Experts())

    def tell(self, found: Found) -> Done:
        try:
            told = self._told(found)
        except PerdureError as problem:
            return Done(None, str(problem))
        scorer = self.teller.scorer
        return Done(told, None, tuple(scorer.served), tuple(scorer.left_out.items()))

    def _told(self, found: Found) -> Told:
        if found.matrix:
            return self.teller.tell_matrix(found)
        lifetime = read(found.path, columns=self.how.columns)
        if found.id and not lifetime.manifest.get("id"):
            lifetime = replace(lifetime, id=found.id)
        return self.teller.tell(lifetime, self.how.pixels)


_worker: _Worker | None = None


def _start(how: How) -> None:
    global _worker  # noqa: PLW0603 - a process of the pool is given its experts once
    _worker = _Worker(how)


def _tell_one(found: Found) -> Done:
    assert _worker is not None
    return _worker.tell(found)


def told_all(
    how: How, found: Sequence[Found], jobs: int | None = None, progress: Callable[[int, int], None] | None = None
) -> list[Done]:
    """Every lifetime told, in order; `progress` hears how many of how many are done."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(jobs or cores, len(found)) if jobs or len(found) >= _WORTH_A_POOL else 1
    if count > 1:
        return _in_processes(how, found, count, progress)
    worker = _Worker(how)
    done: list[Done] = []
    for one in found:
        done.append(worker.tell(one))
        if progress:
            progress(len(done), len(found))
    return done


def _in_processes(
    how: How, found: Sequence[Found], count: int, progress: Callable[[int, int], None] | None
) -> list[Done]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    # Experts that cannot be found are an error of the call, and said before the pool hides it.
    for path in how.experts:
        locate(path)
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    done: dict[int, Done] = {}
    try:
        with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start, (how,)) as pool:
            waiting = {pool.submit(_tell_one, one): at for at, one in enumerate(found)}
            for future in as_completed(waiting):
                at = waiting[future]
                try:
                    done[at] = future.result()
                except BrokenProcessPool:
                    done[at] = Done(None, f"{found[at].path}: its process died, perhaps for want of memory")
                if progress:
                    progress(len(done), len(found))
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return [done[at] for at in range(len(found))]
