"""Scoring many lifetimes: found below folders, in parallel, a bad one left out and named."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import NotALog, PerdureError
from perdure.log.places import as_text
from perdure.log.read import find, locate, read
from perdure.metrics.declare import Metric
from perdure.metrics.pool import processes, worked
from perdure.metrics.score import Score, Scorer
from perdure.metrics.serving import Serving, idle, run_of
from perdure.metrics.settings import Settings

__all__ = ["Found", "Scores", "describe", "find_lifetimes", "score_many"]

_WORTH_A_POOL = 8  # fewer lifetimes are scored before a second process has started


@dataclass(frozen=True)
class Found:
    """A lifetime that is to be scored: where it lies, and what it is called there."""

    path: Path
    id: str
    matrix: bool = False
    run: Path | None = None
    """The run folder whose `lives/` holds it: the experts found in it serve this lifetime, and no other's do."""


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


def find_lifetimes(
    logs: Sequence[str | os.PathLike[str]], given: Sequence[str | os.PathLike[str]] = ()
) -> tuple[tuple[Found, ...], tuple[Path, ...]]:
    """The lifetimes at or below `logs`, and the experts among them, which are no lives.

    What lies there and was also `given` as an expert is no life either. A lifetime below a folder is
    called by its path from there. Two of the same name are called by their whole paths.
    """
    lives: list[Found] = []
    experts: list[Path] = []
    for log in logs:
        place = locate(log)
        if _is_matrix(place):
            lives.append(Found(place, as_text(place.name), matrix=True))
            continue
        below = list(find(place))
        if not below and place.is_dir():
            matrices = sorted(one for one in place.iterdir() if _is_matrix(one))
            lives.extend(Found(one, as_text(one.name), matrix=True) for one in matrices)
            below = []
            if matrices:
                continue
        if not below:
            below = [place]  # the readers say best what is wrong with it
        for path in below:
            if path != place and _is_expert(path, place):
                experts.append(path)
            else:
                name = as_text(path.relative_to(place).as_posix()) if path != place else ""
                lives.append(Found(path, name, run=run_of(path)))
    again = Counter(one.id for one in lives if one.id)
    named = (replace(one, id=as_text(one.path)) if again[one.id] > 1 else one for one in lives)
    return _without(tuple(named), given), tuple(experts)


def _is_matrix(path: Path) -> bool:
    if not path.is_file():
        return False
    from perdure.log.matrix import looks_like_matrix  # most logs are folders, and need none of it

    return looks_like_matrix(path)


def _is_expert(path: Path, place: Path) -> bool:
    """Whether a lifetime below `place` is an expert: it lies in `experts/` beside `lives/`, or its manifest says so."""
    if path.relative_to(place).parts[0] == "experts" and (place / "lives").is_dir():
        return True
    try:
        manifest = msgspec.json.decode((path / "manifest.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(manifest, dict) and manifest.get("role") == "expert"


def _without(lives: Sequence[Found], experts: Sequence[str | os.PathLike[str]]) -> tuple[Found, ...]:
    """The lives less those found below a folder that were given as experts too."""
    places = {locate(path).resolve() for path in experts}

    resolved = cache(Path.resolve)  # many lives share their folder

    def among_experts(path: Path) -> bool:
        # No link was followed below a folder, so a life is where its parent is.
        whole = resolved(path.parent) / path.name
        return not places.isdisjoint((whole, *whole.parents))

    return tuple(one for one in lives if not one.id or one.matrix or not among_experts(one.path))


def _several(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Sequence[str | os.PathLike[str]]:
    """One path is a list of one, not of its letters."""
    return (paths,) if isinstance(paths, str | os.PathLike) else paths


def _distinct(scores: Sequence[Score], lives: Sequence[Found]) -> tuple[Score, ...]:
    """The scores with ids that differ: where two manifests name the same one, by their paths."""
    again = Counter(one.id for one in scores)
    return tuple(
        replace(one, id=as_text(found.path)) if again[one.id] > 1 else one
        for one, found in zip(scores, lives, strict=True)
    )


def score_many(
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    experts: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
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
    logs, experts = _several(logs), _several(experts)
    lives, own_experts = find_lifetimes(logs, experts)
    scorer = Scorer(settings)  # what is misspelt fails here, before any process starts
    how = _How(settings, tuple(map(str, experts)), tuple(map(str, own_experts)), keep_prepared, dict(columns or {}))
    done = worked(_Worker, how, lives, processes(len(lives), jobs, _WORTH_A_POOL), progress)
    scored = [(one.score, found) for one, found in zip(done, lives, strict=True) if one.score is not None]
    scores = _distinct([one for one, _ in scored], [found for _, found in scored])
    problems = [
        (as_text(found.path), as_text(one.why)) for found, one in zip(lives, done, strict=True) if one.why is not None
    ]
    if not scores:
        why = problems[0][1] if problems else f"no lifetime among {len(own_experts)} experts"
        raise NotALog(why if len(problems) < 2 else f"{why} (and {len(problems) - 1} more that cannot be scored)")
    served = {name for one in done for name in one.experts_served}
    unserved = {as_text(name): as_text(why) for one in done for name, why in one.experts_left_out if name not in served}
    unserved |= {
        as_text(name): as_text(why) for name, why in idle(own_experts, (one.run for one in lives)) if name not in served
    }
    described = describe(settings, scorer, (*how.experts, *how.own_experts), how.columns)
    return Scores(scores, (*problems, *unserved.items()), described, scorer.preset.name, scorer.metrics)


def describe(settings: Settings, scorer: Scorer, experts: Sequence[str], columns: Mapping[str, str]) -> dict[str, Any]:
    """Everything that decided the scores, as every output carries it."""
    return {
        **settings.as_json(scorer.prep),
        "experts": [as_text(one) for one in experts],
        "columns": dict(columns),
    }


# --- the work ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _How:
    settings: Settings
    experts: tuple[str, ...]
    """Given, so they serve every lifetime."""
    own_experts: tuple[str, ...]
    """Found among the lifetimes."""
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
        self.serving = Serving(how.experts, how.own_experts)
        self.scorers: dict[Path | None, Scorer] = {}

    def __call__(self, found: Found) -> _Done:
        try:
            scorer = self._scorer(found.run)
            made = self._scored(found, scorer)
        except PerdureError as problem:
            return _Done(None, str(problem))
        except Exception as problem:
            if os.environ.get("PERDURE_TRACEBACK"):
                raise
            return _Done(None, f"{found.path}: internal error: {type(problem).__name__}: {problem}")
        return _Done(made, None, tuple(scorer.left_out.items()), tuple(scorer.served))

    def _scorer(self, run: Path | None) -> Scorer:
        if run not in self.scorers:
            self.scorers[run] = Scorer(self.how.settings, self.serving.of(run))
        return self.scorers[run]

    def _scored(self, found: Found, scorer: Scorer) -> Score:
        if found.matrix:
            return scorer.score_matrix(found.id, scorer.matrix_in(found.path))
        lifetime = read(found.path, columns=self.how.columns)
        if found.id and not lifetime.manifest.get("id"):
            lifetime = replace(lifetime, id=found.id)
        return scorer.score(lifetime, keep_prepared=self.how.keep_prepared)
