"""Survey lifetimes: find them, score them in several processes, and collect the scores."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import NotALogError, PerdureError
from perdure.gather.copies import count_once
from perdure.gather.find import Found, find_lifetimes, named_apart, unused_experts
from perdure.gather.joint import compare_with_joint, finals, is_joint, joint_accuracies, needing, place_of
from perdure.gather.model import ScoredLifetime, Survey
from perdure.gather.pool import parallel_map, process_count
from perdure.gather.worker import CurveHook, ScoreJob, ScoreResult, ScoreWorker, settle_sets
from perdure.lazy import pl
from perdure.log.model import Identity, Lifetime
from perdure.log.places import as_text, taskinfo_file
from perdure.log.read import Options, locate
from perdure.metrics.declare import METRICS, Threshold
from perdure.metrics.score import Score
from perdure.metrics.scorer import Scorer
from perdure.settings import OPTIONS, Settings
from perdure.settings.presets import STANDARD
from perdure.text import plural

if TYPE_CHECKING:
    from perdure.gather.score_files import ScoreFile


Place = str | os.PathLike[str]
Source = Place | Lifetime
"""What can be surveyed: a path, or a lifetime that was read before. Tables in memory hold lifetimes as those in files
do (Polars, pandas, Arrow, or arrays by the names of columns); lists and arrays of numbers are matrices."""


class InMemory(Protocol):
    """A table of Polars, pandas or Arrow."""

    @property
    def columns(self) -> Any: ...


Frame = InMemory | Mapping[str, Any] | npt.NDArray[Any]
"""A table in memory, its columns by name, or a matrix."""

_TAKEN = "give a path, a Lifetime, several of these, a table (or its columns by name), or a matrix of numbers"

_WORTH_A_POOL = 8  # fewer lifetimes are scored before a second process has started


def survey(
    logs: Source | Sequence[Source] | Frame,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    *,
    look: CurveHook | None = None,
    jobs: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Survey:
    """Every lifetime at or below `logs`, scored the same way: logs, tables, matrices, and scores made before.

    One that cannot be read is left out with the reason; where none can, that reason is raised.
    `look` says what to keep of each lifetime's curves, which else are dropped once they are scored.
    `progress` is told how many of how many are done. `jobs` is the number of processes; by default
    as many as there are cores, and one for a few lifetimes. With `engine` "ray" the lifetimes are sent to
    the cluster at `address`, at RAY_ADDRESS, or one started here.
    """
    settings, of_joint, without = _with_joint(Settings.given_or_default(settings))
    given, experts = _several(logs, settings.reading()), _several(experts)
    if not given:
        raise NotALogError("no logs were given", _TAKEN)
    scorer = Scorer(settings)  # what is misspelt fails here, before any log is read
    files, kept = _score_files([one for one in given if not isinstance(one, Lifetime)], settings)
    places = [one for one in given if not isinstance(one, Lifetime) and one not in files]
    there = find_lifetimes(places, [one for one in experts if not isinstance(one, Lifetime)], settings.reading())
    own, found = there.experts, (*(_in_memory(one) for one in given if isinstance(one, Lifetime)), *there.lifetimes)
    stated = _stated(scorer) if not experts and not own else ()
    job = ScoreJob(
        settings,
        experts=stated or tuple(one if isinstance(one, Lifetime) else os.fspath(one) for one in experts),
        own_experts=own,
        look=look,
        count=len(found),
    )
    worker = ScoreWorker(job)  # wrong experts fail here, before any lifetime is read
    count = process_count(len(found), jobs, _WORTH_A_POOL)
    settled = settle_sets(worker, found, count)
    if settled is not None:
        job = replace(job, settled=settled)
        worker = ScoreWorker(job, worker.experts)
    if engine == "ray" and found:
        from perdure.gather.on_ray import score_on_ray

        done = score_on_ray(job, found, address, progress, jobs)
    else:
        done = parallel_map(ScoreWorker, job, found, count, progress, here=worker)
    lives = _rename_apart(_compare_with_joint(job, list(zip(found, done, strict=True)), count))
    lives += _scored_before([score for one in kept for score in one.scores], {one.id for one in lives}, settings)
    once = count_once(lives)
    problems = [pair for one in done for pair in one.left_out] + [pair for one in kept for pair in one.left_out]
    problems += (*there.left_out, *without, *once.copies)
    if not lives and len(problems) == 1 and worker.raised is not None:
        raise worker.raised
    if not lives and not problems:
        raise NotALogError(f"no lifetime among {len(own)} experts", "give logs of lifetimes as well")
    if not lives:
        more = f" (and {len(problems) - 1} more that cannot be scored)" if len(problems) > 1 else ""
        raise NotALogError(f"{problems[0][1]}{more}", "see perdure check")
    served = {name for one in done for name in one.experts_served}
    unserved = {name: why for one in done for name, why in one.experts_left_out if name not in served}
    unserved |= {name: why for name, why in unused_experts(own, (one.run for one in found)) if name not in served}
    written: dict[str, Threshold] = {name: bar for one in kept for name, bar in one.bars.items()}
    return Survey(
        lifetimes=once.lifetimes,
        left_out=(*problems, *((as_text(name), as_text(why)) for name, why in unserved.items())),
        settings=described(settings, scorer, [_called(one) for one in (*job.experts, *(one.path for one in own))]),
        preset=scorer.preset.name if found or not kept else kept[0].preset,
        metrics=scorer.metrics if found else {key: one for key, one in scorer.metrics.items() if key in written},
        settings_from=settings.sources(),
        written=written,
        name=", ".join(_called(one, brief=True) for one in given),
        notes=(
            *(f"experts as stated in {one}" for one in stated),
            *of_joint,
            *there.notes,
            *once.notes,
            *(note for one in kept for note in one.notes),
            *(_unheeded(settings) if kept else ()),
        ),
    )


def _score_files(given: Sequence[Place], settings: Settings) -> tuple[list[Place], list[ScoreFile]]:
    """Those that hold scores made before, and these; a file that is given twice counts once."""
    if all(locate(one).is_dir() for one in given):
        return [], []
    from perdure.gather.score_files import is_score_file, read_score_file

    files = [one for one in given if is_score_file(locate(one))]
    once = {locate(one).resolve(): locate(one) for one in files}
    return files, [read_score_file(one, settings.metrics, settings.margins) for one in once.values()]


def score(
    log: Source | Frame, experts: Source | Sequence[Source] | Frame = (), settings: Settings | None = None
) -> Score:
    """Every metric of one lifetime, a log or one read before, beside its experts; as `survey`, for one."""
    found = survey(log, experts, settings)
    if len(found.lifetimes) > 1:
        ids = ", ".join(one.id for one in found.lifetimes[:3])
        raise PerdureError(
            f"{len(found.lifetimes)} lifetimes ({ids}, …)", "perdure.survey takes several", file=_called(log)
        )
    made = found.scores[0]
    left_out = (f"left out: {why if path in why else f'{path}: {why}'}" for path, why in found.left_out)
    return replace(made, notes=(*made.notes, *left_out))


def _with_joint(settings: Settings) -> tuple[Settings, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The settings with numbers for the joint learner where its lifetimes were named; notes on it, what is left out."""
    place = place_of(settings.joint)
    if place is None:
        return settings, (), ()
    plain = settings.replace(joint=None, preset=STANDARD, metrics=(), margins={})
    found = survey(place, settings=plain, look=finals)
    lives = tuple(one for one in found.lifetimes if is_joint(one.score.identity)) or found.lifetimes
    said = f"joint accuracies: the last evaluations of {plural(len(lives), 'lifetime')} at {place}"
    return settings.replace(joint=joint_accuracies(lives, place)), (as_text(said),), found.left_out


def _compare_with_joint(
    job: ScoreJob, places: Sequence[tuple[Found, ScoreResult]], count: int
) -> list[tuple[Found, ScoredLifetime]]:
    """Return every lifetime; if a joint learner is among them, the others are compared with it."""

    def score_again(
        found: Sequence[Found], settings: Settings, look: CurveHook | None
    ) -> list[Sequence[tuple[Found, ScoredLifetime]]]:
        wanted = replace(job, settings=settings, look=look)
        results = parallel_map(ScoreWorker, wanted, found, min(count, len(found)))
        return [_lifetimes_at(place, result) for place, result in zip(found, results, strict=True)]

    scored = [(found, _lifetimes_at(found, result)) for found, result in places]
    return compare_with_joint(scored, job.settings, needing(Scorer(job.settings).metrics), score_again)


def _lifetimes_at(found: Found, result: ScoreResult) -> list[tuple[Found, ScoredLifetime]]:
    """Return the lifetimes of a place, each with its own identity."""
    return [(found.inside(name) if name else found, life) for name, life in result.lifetimes]


def described(settings: Settings, scorer: Scorer, experts: Sequence[str]) -> dict[str, Any]:
    """Everything that decided the scores, as every output carries it."""
    return {**settings.as_json(scorer.prep), "experts": [as_text(one) for one in experts]}


def _stated(scorer: Scorer) -> tuple[str, ...]:
    """The file that states what experts achieve, for a preset that knows it and where it is."""
    file = taskinfo_file()
    return (str(file),) if scorer.preset.taskinfo and file.is_file() else ()


def _several(given: Any, options: Options | None = None) -> tuple[Source, ...]:
    """One path is a list of one, not of its letters; one matrix, or a stack of them, is what it tells of."""
    if isinstance(given, str | os.PathLike | Lifetime):
        return (given,)
    if isinstance(given, list | tuple) and all(isinstance(one, str | os.PathLike | Lifetime) for one in given):
        return tuple(given)  # what reads tables is not needed for logs
    from perdure.log.formats.table import frame_lifetimes, is_frame

    if isinstance(given, Mapping):
        given = _frame_of(given)
    if is_frame(given):
        return frame_lifetimes(given, options or Options())
    if isinstance(given, bytes) or not (isinstance(given, Iterable) or hasattr(given, "__array__")):
        raise PerdureError(f"no logs can be read from {given!r}", _TAKEN)
    if not hasattr(given, "__array__"):
        given = list(given)
        others = [type(one).__name__ for one in given if not isinstance(one, str | os.PathLike | Lifetime)]
        if not others:
            return tuple(given)
        if len(others) < len(given) or any(map(is_frame, given)):
            raise PerdureError(f"a list with a {others[0]} in it", "put tables together into one, and give it alone")
    from perdure.log.formats.matrix import matrix_lifetimes

    return matrix_lifetimes(given, options=options or Options())


def _frame_of(columns: Mapping[str, Any]) -> Any:
    try:
        return pl.DataFrame({name: one if isinstance(one, str) else list(one) for name, one in columns.items()})
    except (TypeError, ValueError, pl.exceptions.PolarsError) as problem:
        raise PerdureError(f"no table: {problem}", "give each column as an array, all of one length") from problem


def _called(one: Source | Frame, *, brief: bool = False) -> str:
    if isinstance(one, Lifetime):
        return as_text(one.path) if one.path else one.id
    if not isinstance(one, str | os.PathLike):
        return "table"
    return as_text(Path(one).resolve().name) if brief else as_text(os.fspath(one))


def _in_memory(lifetime: Lifetime) -> Found:
    place = as_text(lifetime.path) if lifetime.path else ""
    held = lifetime.id.partition("#")[0] if lifetime.inside else ""  # one of several, of a table or a stack
    who = Identity(lifetime.id, source=place, holder=held, argument=(place or held) if held else "")
    return Found(lifetime.path or Path(), who, typed=lifetime.id, lifetime=lifetime)


def _rename_apart(lives: Sequence[tuple[Found, ScoredLifetime]]) -> list[ScoredLifetime]:
    """Return the lifetimes under ids that differ."""
    apart = named_apart([found for found, _ in lives])
    return [
        life if life.id == found.identity.id else renamed(life, found.identity.id)
        for found, (_, life) in zip(apart, lives, strict=True)
    ]


def _scored_before(scores: Sequence[Score], taken: set[str], settings: Settings) -> list[ScoredLifetime]:
    """Lives of which only the scores are known, as far as they were asked for; where an id is taken, with the file."""
    again = Counter(one.id for one in scores)
    ids = {METRICS.canonical(one) for one in settings.ids}

    def told(one: Score) -> Score:
        who = one.identity
        clash = again[who.id] > 1 or who.id in taken
        asked = {name: found for name, found in one.metrics.items() if not ids or name in ids}
        named = replace(who, id=f"{who.argument}#{who.id}") if clash else who
        return replace(one, identity=named, metrics=asked)

    return [ScoredLifetime(told(one)) for one in scores]


def _unheeded(settings: Settings) -> tuple[str, ...]:
    """What cannot change scores that were made before."""
    late = [
        OPTIONS[name].flag for name in settings.given if name in OPTIONS and (OPTIONS[name].decides or name == "preset")
    ]
    return (f"scores made before are shown as they were made, whatever {', '.join(late)} says",) if late else ()


def renamed(life: ScoredLifetime, name: str) -> ScoredLifetime:
    """The lifetime under another id."""
    return replace(life, score=replace(life.score, identity=replace(life.score.identity, id=name)))
