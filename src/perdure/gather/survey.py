"""The survey: find, identify, give experts, read, verify, draw curves and score, once, in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perdure.curves.model import Curves
from perdure.errors import NotALog, PerdureError
from perdure.gather.find import Found, find_lifetimes, named_apart
from perdure.gather.model import Life, Survey
from perdure.gather.processes import processes, worked
from perdure.gather.serving import Serving, idle
from perdure.log.model import Identity, Lifetime
from perdure.log.places import as_text
from perdure.log.read import lifetimes
from perdure.metrics.declare import Bar
from perdure.metrics.score import Score, Scorer
from perdure.metrics.settings import Settings

__all__ = ["Done", "How", "Look", "Source", "Surveyor", "described", "renamed", "score", "survey"]

Source = str | os.PathLike[str] | Lifetime
"""What can be surveyed: a path, or a lifetime that was read before."""
Look = Callable[[Curves, int], Any]
"""What is to be kept of a lifetime's curves, given how many lifetimes there are; it must survive a pickle."""

_WORTH_A_POOL = 8  # fewer lifetimes are scored before a second process has started


def survey(
    logs: Source | Sequence[Source],
    experts: Source | Sequence[Source] = (),
    settings: Settings | None = None,
    *,
    look: Look | None = None,
    jobs: int | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Survey:
    """Every lifetime at or below `logs`, scored the same way: logs, tables, matrices, and scores made before.

    One that cannot be read is left out with the reason; where none can, that reason is raised.
    `look` says what to keep of each lifetime's curves, which else are dropped once they are scored.
    `progress` is told how many of how many are done. `jobs` is the number of processes; by default
    as many as there are cores, and one for a few lifetimes.
    """
    from perdure.gather.score_files import is_score_file, read_score_file

    settings = settings or Settings()
    given, experts = _several(logs), _several(experts)
    scorer = Scorer(settings)  # what is misspelt fails here, before any log is read
    files = [Path(one) for one in given if not isinstance(one, Lifetime) and is_score_file(Path(one))]
    kept = [read_score_file(one, settings.metrics, settings.margins) for one in files]
    places = [one for one in given if not isinstance(one, Lifetime) and Path(one) not in files]
    found, own = find_lifetimes(places, [one for one in experts if not isinstance(one, Lifetime)])
    found = (*(_in_memory(one) for one in given if isinstance(one, Lifetime)), *found)
    how = How(
        settings,
        experts=tuple(one if isinstance(one, Lifetime) else os.fspath(one) for one in experts),
        own_experts=tuple(map(str, own)),
        columns=dict(columns or settings.columns),
        look=look,
        count=len(found),
    )
    surveyor = Surveyor(how)  # what is wrong with experts that were given fails here
    count = processes(len(found), jobs, _WORTH_A_POOL)
    done = worked(Surveyor, how, found, count, progress, here=surveyor) if found else []
    lives = _told_apart([pair for one in done for pair in one.lives])
    lives += [Life(score) for one in kept for score in one.scores]
    problems = [pair for one in done for pair in one.left_out] + [pair for one in kept for pair in one.left_out]
    if not lives and len(problems) == 1 and surveyor.raised is not None:
        raise surveyor.raised
    if not lives:
        why = problems[0][1] if problems else f"no lifetime among {len(own)} experts"
        raise NotALog(why if len(problems) < 2 else f"{why} (and {len(problems) - 1} more that cannot be scored)")
    served = {name for one in done for name in one.experts_served}
    unserved = {name: why for one in done for name, why in one.experts_left_out if name not in served}
    unserved |= {name: why for name, why in idle(own, (one.run for one in found)) if name not in served}
    written: dict[str, Bar] = {name: bar for one in kept for name, bar in one.bars.items()}
    return Survey(
        lives=tuple(lives),
        left_out=(*problems, *((as_text(name), as_text(why)) for name, why in unserved.items())),
        settings=described(settings, scorer, [_called(one) for one in (*how.experts, *how.own_experts)], how.columns),
        preset=scorer.preset.name if found or not kept else kept[0].preset,
        metrics=scorer.metrics if found else {key: one for key, one in scorer.metrics.items() if key in written},
        settings_from=settings.sources(),
        written=written,
        name=", ".join(_called(one, brief=True) for one in given),
    )


def score(
    log: Source,
    experts: Source | Sequence[Source] = (),
    preset: str = "standard",
    measure: str | None = None,
    *,
    metrics: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    **more: Any,
) -> Score:
    """Every metric of one lifetime, a log or one read before, beside its experts.

    `more` are the further fields of `Settings`, e.g. `lower_is_better=True`.
    """
    named = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    found = survey(log, experts, Settings(preset=preset, measure=measure, metrics=named, **more), columns=columns)
    if len(found.lives) > 1:
        ids = ", ".join(one.id for one in found.lives[:3])
        raise PerdureError(f"{_called(log)}: {len(found.lives)} lifetimes ({ids}, …); perdure.survey takes several")
    made = found.scores[0]
    return replace(made, notes=(*made.notes, *(f"expert left out: {why}" for _, why in found.left_out)))


def described(settings: Settings, scorer: Scorer, experts: Sequence[str], columns: Mapping[str, str]) -> dict[str, Any]:
    """Everything that decided the scores, as every output carries it."""
    return {
        **settings.as_json(scorer.prep),
        "experts": [as_text(one) for one in experts],
        "columns": dict(columns),
    }


def _several(given: Source | Sequence[Source]) -> tuple[Source, ...]:
    """One path is a list of one, not of its letters."""
    return (given,) if isinstance(given, str | os.PathLike | Lifetime) else tuple(given)


def _called(one: Source, *, brief: bool = False) -> str:
    if isinstance(one, Lifetime):
        return as_text(one.path) if one.path else one.id
    return as_text(Path(one).resolve().name) if brief else as_text(os.fspath(one))


def _in_memory(lifetime: Lifetime) -> Found:
    who = Identity(lifetime.id, source=as_text(lifetime.path) if lifetime.path else "")
    return Found(lifetime.path or Path(), who, typed=lifetime.id, lifetime=lifetime)


def _told_apart(lives: Sequence[tuple[Found, Life]]) -> list[Life]:
    """The lives under ids that differ."""
    apart = named_apart([found for found, _ in lives])
    return [
        life if life.id == found.identity.id else renamed(life, found.identity.id)
        for found, (_, life) in zip(apart, lives, strict=True)
    ]


def renamed(life: Life, name: str) -> Life:
    """The lifetime under another id."""
    return replace(life, score=replace(life.score, identity=replace(life.score.identity, id=name)))


# --- the work ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class How:
    """What every process needs to know before it scores its first lifetime."""

    settings: Settings
    experts: tuple[str | Lifetime, ...] = ()
    """Given, so they serve every lifetime."""
    own_experts: tuple[str, ...] = ()
    """Found among the lifetimes; those of a run folder serve its lifetimes alone."""
    columns: Mapping[str, str] = field(default_factory=dict)
    look: Look | None = None
    count: int = 1
    """How many lifetimes, or files of them, there are."""
    cache: bool = True
    """Whether a Parquet copy may be kept beside a log."""


@dataclass(frozen=True)
class Done:
    """The lifetimes of one place, told, and what was left out; and which experts served so far."""

    lives: tuple[tuple[Found, Life], ...]
    left_out: tuple[tuple[str, str], ...] = ()
    experts_left_out: tuple[tuple[str, str], ...] = ()
    experts_served: tuple[str, ...] = ()


class Surveyor:
    """What one process keeps between lifetimes: the experts, read and smoothed once."""

    def __init__(self, how: How) -> None:
        self.how = how
        self.serving = Serving(how.experts, how.own_experts, cache=how.cache)
        self._scorers: dict[Path | None, Scorer] = {}
        self.raised: PerdureError | None = None
        """The last reason for leaving something out, as it was raised."""

    def __call__(self, found: Found) -> Done:
        """Every lifetime there, told; those that cannot be are left out with the reason."""
        lives: list[tuple[Found, Life]] = []
        left_out: list[tuple[str, str]] = []
        served: tuple[str, ...] = ()
        unserved: tuple[tuple[str, str], ...] = ()
        try:
            scorer = self.scorer(found.run)
            for one, lifetime in self._read(found, scorer):
                try:
                    lives.append((one, self.told(one, lifetime, scorer)))
                except Exception as problem:
                    left_out.append((one.identity.source or one.identity.id, self._why(one, problem)))
            served, unserved = tuple(scorer.served), tuple(scorer.left_out.items())
        except Exception as problem:
            left_out.append((found.identity.source or found.identity.id, self._why(found, problem)))
        # What goes to another process is what is known of the place, not what was read from it.
        kept = tuple((replace(one, lifetime=None), life) for one, life in lives)
        return Done(kept, tuple(left_out), unserved, served)

    def scorer(self, run: Path | None) -> Scorer:
        """The scorer of a run folder's lifetimes, with its own experts and those given."""
        if run not in self._scorers:
            self._scorers[run] = Scorer(self.how.settings, self.serving.of(run))
        return self._scorers[run]

    def told(self, found: Found, lifetime: Lifetime, scorer: Scorer) -> Life:
        """One lifetime scored, and looked at where that was asked for."""
        made, curves = scorer.scored(lifetime, found.identity)
        if self.how.look is None:
            return Life(made)
        return Life(made, self.how.look(curves, self.how.count), lifetime.manifest, lifetime.info)

    def _read(self, found: Found, scorer: Scorer) -> Iterator[tuple[Found, Lifetime]]:
        if found.lifetime is not None:
            yield found, found.lifetime
            return
        options = replace(scorer.settings.reading(), columns=self.how.columns, cache=self.how.cache)
        for one in lifetimes(found.path, options, found.part):
            yield (found.inside(one.inside) if one.inside else found), one

    def _why(self, found: Found, problem: Exception) -> str:
        if isinstance(problem, PerdureError):
            self.raised = problem
            return as_text(str(problem))
        if os.environ.get("PERDURE_TRACEBACK"):
            raise problem
        return as_text(f"{found.path}: internal error: {type(problem).__name__}: {problem}")
