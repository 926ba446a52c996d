"""Scoring many lifetimes: found below folders, in parallel, a bad one left out and named."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from perdure.curves.experts import Experts, read_experts
from perdure.errors import NotALog, PerdureError
from perdure.log.matrix import looks_like_matrix, read_matrix
from perdure.log.read import find, locate, read
from perdure.metrics.declare import Metric
from perdure.metrics.score import Score, Scorer
from perdure.metrics.settings import Settings

__all__ = ["Found", "Scores", "find_lifetimes", "score_many"]

_WORTH_A_POOL = 8  # fewer lifetimes are scored before a second process has started
_ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Found:
    """A lifetime that is to be scored: where it lies, and what it is called there."""

    path: Path
    id: str
    matrix: bool = False


@dataclass(frozen=True)
class Scores:
    """Many lifetimes scored the same way, in the order of their paths."""

    lifetimes: tuple[Score, ...]
    left_out: tuple[tuple[str, str], ...]
    """Path and reason of everything that was given and not scored."""
    settings: Mapping[str, Any] = field(hash=False)
    preset: str
    metrics: Mapping[str, Metric] = field(hash=False)
    """The declarations behind the ids."""

    def as_json(self) -> dict[str, Any]:
        """Everything as one JSON object, as `score.schema.json` describes it."""
        from perdure import __version__

        return {
            "perdure": __version__,
            "preset": self.preset,
            "settings": dict(self.settings),
            "left_out": [{"path": path, "why": why} for path, why in self.left_out],
            "lifetimes": [one.as_json() for one in self.lifetimes],
        }


def find_lifetimes(logs: Sequence[str | os.PathLike[str]]) -> tuple[tuple[Found, ...], tuple[Path, ...]]:
    """The lifetimes at or below `logs`, and the experts among them, which are no lives.

    A lifetime below a folder is called by its path from there. Two of the same name are called by
    their whole paths.
    """
    lives: list[Found] = []
    experts: list[Path] = []
    for log in logs:
        place = locate(log)
        if looks_like_matrix(place):
            lives.append(Found(place, place.name, matrix=True))
            continue
        below = list(find(place))
        if not below and place.is_dir():
            matrices = sorted(one for one in place.iterdir() if looks_like_matrix(one))
            lives.extend(Found(one, one.name, matrix=True) for one in matrices)
            below = []
            if matrices:
                continue
        if not below:
            below = [place]  # the readers say best what is wrong with it
        for path in below:
            if path != place and _is_expert(path, place):
                experts.append(path)
            else:
                lives.append(Found(path, path.relative_to(place).as_posix() if path != place else ""))
    again = Counter(one.id for one in lives if one.id)
    named = (replace(one, id=str(one.path)) if again[one.id] > 1 else one for one in lives)
    return tuple(named), tuple(experts)


def _is_expert(path: Path, run: Path) -> bool:
    """Whether a lifetime below `run` is an expert: it lies in `experts/` beside `lives/`, or its manifest says so."""
    if path.relative_to(run).parts[0] == "experts" and (run / "lives").is_dir():
        return True
    try:
        manifest = msgspec.json.decode((path / "manifest.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(manifest, dict) and manifest.get("role") == "expert"


def _without(lives: Sequence[Found], experts: Sequence[str | os.PathLike[str]]) -> tuple[Found, ...]:
    """The lives less those found below a folder that were given as experts too."""
    places = {locate(path).resolve() for path in experts}
    return tuple(
        one
        for one in lives
        if not (one.id and not one.matrix and places & {one.path.resolve(), *one.path.resolve().parents})
    )


def _distinct(scores: Sequence[Score], lives: Sequence[Found]) -> tuple[Score, ...]:
    """The scores with ids that differ: where two manifests name the same one, by their paths."""
    again = Counter(one.id for one in scores)
    return tuple(
        replace(one, id=str(found.path)) if again[one.id] > 1 else one for one, found in zip(scores, lives, strict=True)
    )


def score_many(
    logs: Sequence[str | os.PathLike[str]],
    experts: Sequence[str | os.PathLike[str]] = (),
    settings: Settings | None = None,
    *,
    jobs: int | None = None,
    keep_prepared: bool = False,
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Scores:
    """Every lifetime at or below `logs`, scored the same way.

    One that cannot be read is left out with the reason; where none can, that reason is raised.
    `progress` is told how many of how many are done. `jobs` is the number of processes; by default
    as many as there are cores, and one for a few lifetimes.
    """
    settings = settings or Settings()
    lives, own_experts = find_lifetimes(logs)
    lives = _without(lives, experts)
    expert_paths = [*experts, *own_experts]
    scorer = Scorer(settings)  # what is misspelt fails here, before any process starts
    how = _How(settings, tuple(str(path) for path in expert_paths), keep_prepared, dict(columns or {}))
    count = min(jobs or _cores(), len(lives)) if jobs or len(lives) >= _WORTH_A_POOL else 1
    done = _in_processes(how, lives, count, progress) if count > 1 else _here(how, lives, progress)
    scored = [(one.score, found) for one, found in zip(done, lives, strict=True) if one.score is not None]
    scores = _distinct([one for one, _ in scored], [found for _, found in scored])
    problems = [(str(found.path), one.why) for found, one in zip(lives, done, strict=True) if one.why is not None]
    if not scores:
        why = problems[0][1] if problems else f"no lifetime among {len(own_experts)} experts"
        raise NotALog(why if len(problems) < 2 else f"{why} (and {len(problems) - 1} more that cannot be scored)")
    served = {name for one in done for name in one.experts_served}
    unserved = {name: why for one in done for name, why in one.experts_left_out if name not in served}
    described = {**settings.as_json(scorer.prep), "experts": [str(path) for path in expert_paths]}
    return Scores(scores, (*problems, *unserved.items()), described, scorer.preset.name, scorer.metrics)


# --- the work ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _How:
    settings: Settings
    experts: tuple[str, ...]
    keep_prepared: bool
    columns: Mapping[str, str]


@dataclass(frozen=True)
class _Done:
    score: Score | None
    why: str | None
    experts_left_out: tuple[tuple[str, str], ...] = ()
    experts_served: tuple[str, ...] = ()


class _Worker:
    """What one process keeps between lifetimes: the experts, read and smoothed once."""

    def __init__(self, how: _How) -> None:
        self.how = how
        self.scorer = Scorer(how.settings, read_experts(how.experts) if how.experts else Experts())

    def score(self, found: Found) -> _Done:
        try:
            made = self._scored(found)
        except PerdureError as problem:
            return _Done(None, str(problem))
        except Exception as problem:
            if os.environ.get("PERDURE_TRACEBACK"):
                raise
            return _Done(None, f"{found.path}: internal error: {type(problem).__name__}: {problem}")
        return _Done(made, None, tuple(self.scorer.left_out.items()), tuple(self.scorer.served))

    def _scored(self, found: Found) -> Score:
        if found.matrix:
            settings = self.how.settings
            matrix = read_matrix(
                found.path, transposed=settings.transposed, unit=settings.unit, as_given=settings.as_given
            )
            return self.scorer.score_matrix(found.id, matrix)
        lifetime = read(found.path, columns=self.how.columns)
        if found.id and not lifetime.manifest.get("id"):
            lifetime = replace(lifetime, id=found.id)
        return self.scorer.score(lifetime, keep_prepared=self.how.keep_prepared)


def _here(how: _How, lives: Sequence[Found], progress: Callable[[int, int], None] | None) -> list[_Done]:
    worker = _Worker(how)
    done: list[_Done] = []
    for found in lives:
        done.append(worker.score(found))
        if progress:
            progress(len(done), len(lives))
    return done


_worker: _Worker | None = None


def _start(how: _How) -> None:
    global _worker  # noqa: PLW0603 - a process of the pool is given its experts once
    _worker = _Worker(how)


def _score_one(found: Found) -> _Done:
    assert _worker is not None
    return _worker.score(found)


def _in_processes(
    how: _How, lives: Sequence[Found], count: int, progress: Callable[[int, int], None] | None
) -> list[_Done]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    # Experts that cannot be found are an error of the call, and said before the pool hides it.
    for path in how.experts:
        locate(path)
    done: dict[int, _Done] = {}
    with (
        _environment(_ONE_THREAD),
        ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start, (how,)) as pool,
    ):
        waiting = {pool.submit(_score_one, found): at for at, found in enumerate(lives)}
        for future in as_completed(waiting):
            at = waiting[future]
            try:
                done[at] = future.result()
            except BrokenProcessPool:
                done[at] = _Done(None, f"{lives[at].path}: its process died, perhaps for want of memory; use --jobs 1")
            if progress:
                progress(len(done), len(lives))
    return [done[at] for at in range(len(lives))]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Processes started inside see `settings`; one thread each, or they would fight for the cores."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
