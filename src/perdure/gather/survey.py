"""Survey lifetimes: find them, score them in several processes, and collect the scores."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import NotALogError, PerdureError
from perdure.gather.find import Found, find_lifetimes, named_apart, unused_experts
from perdure.gather.joint import compare_with_joint, finals, is_joint, joint_accuracies, needing, place_of
from perdure.gather.model import ScoredLifetime, Survey, count_once
from perdure.gather.pool import parallel_map, process_count
from perdure.gather.worker import CurveHook, ScoreJob, ScoreResult, ScoreWorker, settle_sets
from perdure.lazy import pl
from perdure.log.model import Identity, Lifetime
from perdure.log.places import as_text, taskinfo_file
from perdure.log.read import Options, locate
from perdure.metrics.declare import METRICS, Threshold
from perdure.metrics.score import Score, Scorer
from perdure.settings import OPTIONS, Settings
from perdure.settings.presets import STANDARD
from perdure.text import plural

if TYPE_CHECKING:
    from perdure.gather.score_files import ScoreFile


Place = str | os.PathLike[str]
Source = Place | Lifetime
"""A path, or a lifetime in memory."""


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
    """Score every lifetime at or below `logs` in the same way.

    A lifetime that cannot be read is left out with the reason. If none can be read, that reason is raised.

    Parameters
    ----------
    logs
        Logs, folders of logs, tables, matrices, files of scores, or lifetimes in memory.
    experts
        Logs of single-task experts.
    settings
        How lifetimes are read and scored.
    look
        Returns what to keep of the curves of a lifetime, which are dropped otherwise.
    jobs
        Number of processes. By default one per core, and one for a few lifetimes.
    engine
        "ray" sends lifetimes to a Ray cluster.
    address
        The cluster: by default RAY_ADDRESS, or one that is started here.
    progress
        Called with the number of lifetimes that are done, and of all.
    """
    settings, joint_notes, joint_left_out = _with_joint(Settings.given_or_default(settings))
    given, experts = _sources(logs, settings.reading()), _sources(experts)
    if not given:
        raise NotALogError("no logs were given", _TAKEN)
    scorer = Scorer(settings)  # a misspelt setting fails here, before any log is read
    paths, score_files = _score_files([source for source in given if not isinstance(source, Lifetime)], settings)
    places = [source for source in given if not isinstance(source, Lifetime) and source not in paths]
    findings = find_lifetimes(
        places, [expert for expert in experts if not isinstance(expert, Lifetime)], settings.reading()
    )
    own_experts = findings.experts
    found = (*(_in_memory(source) for source in given if isinstance(source, Lifetime)), *findings.lifetimes)
    stated = _stated_experts(scorer) if not experts and not own_experts else ()
    job = ScoreJob(
        settings,
        experts=stated or tuple(expert if isinstance(expert, Lifetime) else os.fspath(expert) for expert in experts),
        own_experts=own_experts,
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

        results = score_on_ray(job, found, address, progress, jobs)
    else:
        results = parallel_map(ScoreWorker, job, found, count, progress, here=worker)
    lifetimes = _rename_apart(_compare_with_joint(job, list(zip(found, results, strict=True)), count))
    lifetimes += _scored_before(score_files, {lifetime.id for lifetime in lifetimes}, settings)
    counted = count_once(lifetimes)
    left_out = [pair for result in results for pair in result.left_out]
    left_out += [pair for file in score_files for pair in file.left_out]
    left_out += (*findings.left_out, *joint_left_out, *counted.copies)
    if not lifetimes:
        _raise_empty(left_out, worker.raised, len(own_experts))
    served = {name for result in results for name in result.experts_served}
    unserved = {name: why for result in results for name, why in result.experts_left_out}
    unserved |= dict(unused_experts(own_experts, (lifetime.run for lifetime in found)))
    left_out += [(as_text(name), as_text(why)) for name, why in unserved.items() if name not in served]
    written: dict[str, Threshold] = {name: bar for file in score_files for name, bar in file.bars.items()}
    expert_names = [_name_of(expert) for expert in (*job.experts, *(expert.path for expert in own_experts))]
    return Survey(
        lifetimes=counted.lifetimes,
        left_out=tuple(left_out),
        settings=described(settings, scorer, expert_names),
        preset=scorer.preset.name if found or not score_files else score_files[0].preset,
        metrics=scorer.metrics if found else {name: one for name, one in scorer.metrics.items() if name in written},
        settings_from=settings.sources(),
        written=written,
        name=", ".join(_name_of(source, brief=True) for source in given),
        notes=(
            *(f"experts as stated in {file}" for file in stated),
            *joint_notes,
            *findings.notes,
            *counted.notes,
            *(note for file in score_files for note in file.notes),
            *(_late_settings(settings) if score_files else ()),
        ),
    )


def _raise_empty(left_out: Sequence[tuple[str, str]], raised: PerdureError | None, experts: int) -> NoReturn:
    """Raise the error of a survey without a lifetime."""
    if len(left_out) == 1 and raised is not None:
        raise raised
    if not left_out:
        raise NotALogError(f"no lifetime among {experts} experts", "give logs of lifetimes as well")
    more = f" (and {len(left_out) - 1} more that cannot be scored)" if len(left_out) > 1 else ""
    raise NotALogError(f"{left_out[0][1]}{more}", "see perdure check")


def _score_files(places: Sequence[Place], settings: Settings) -> tuple[list[Place], list[ScoreFile]]:
    """Return the paths that are files of scores, and their content; a file that is given twice counts once."""
    if all(locate(place).is_dir() for place in places):
        return [], []
    from perdure.gather.score_files import is_score_file, read_score_file

    files = [place for place in places if is_score_file(locate(place))]
    distinct = {locate(file).resolve(): locate(file) for file in files}
    return files, [read_score_file(file, settings.metrics, settings.margins) for file in distinct.values()]


def score(
    log: Source | Frame, experts: Source | Sequence[Source] | Frame = (), settings: Settings | None = None
) -> Score:
    """Score one lifetime: compute every metric of the preset, compared with `experts` if given."""
    found = survey(log, experts, settings)
    if len(found.lifetimes) > 1:
        ids = ", ".join(lifetime.id for lifetime in found.lifetimes[:3])
        raise PerdureError(
            f"{len(found.lifetimes)} lifetimes ({ids}, …)", "perdure.survey takes several", file=_name_of(log)
        )
    left_out = (f"left out: {why if path in why else f'{path}: {why}'}" for path, why in found.left_out)
    return replace(found.scores[0], notes=(*found.scores[0].notes, *left_out))


def _with_joint(settings: Settings) -> tuple[Settings, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the settings with the accuracies of the joint learner's lifetimes if they were named, notes, left out."""
    place = place_of(settings.joint)
    if place is None:
        return settings, (), ()
    plain = settings.replace(joint=None, preset=STANDARD, metrics=(), margins={})
    found = survey(place, settings=plain, look=finals)
    joint = tuple(lifetime for lifetime in found.lifetimes if is_joint(lifetime.score.identity)) or found.lifetimes
    note = f"joint accuracies: the last evaluations of {plural(len(joint), 'lifetime')} at {place}"
    return settings.replace(joint=joint_accuracies(joint, place)), (as_text(note),), found.left_out


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
    return [(found.inside(name) if name else found, lifetime) for name, lifetime in result.lifetimes]


def described(settings: Settings, scorer: Scorer, experts: Sequence[str]) -> dict[str, Any]:
    """Return everything that decided the scores, as every output contains it."""
    return {**settings.as_json(scorer.prep), "experts": [as_text(expert) for expert in experts]}


def _stated_experts(scorer: Scorer) -> tuple[str, ...]:
    """Return the file that states the values of experts, if the preset uses it and it exists."""
    file = taskinfo_file()
    return (str(file),) if scorer.preset.taskinfo and file.is_file() else ()


def _sources(given: Any, options: Options | None = None) -> tuple[Source, ...]:
    """Return the sources that were given: paths, lifetimes, or the lifetimes of a table or a matrix."""
    if isinstance(given, str | os.PathLike | Lifetime):
        return (given,)
    if isinstance(given, list | tuple) and all(isinstance(item, str | os.PathLike | Lifetime) for item in given):
        return tuple(given)  # logs do not need the readers of tables
    from perdure.log.formats.table import frame_lifetimes, is_frame

    if isinstance(given, Mapping):
        given = _frame_of(given)
    if is_frame(given):
        return frame_lifetimes(given, options or Options())
    if isinstance(given, bytes) or not (isinstance(given, Iterable) or hasattr(given, "__array__")):
        raise PerdureError(f"no logs can be read from {given!r}", _TAKEN)
    if not hasattr(given, "__array__"):
        given = list(given)
        others = [type(item).__name__ for item in given if not isinstance(item, str | os.PathLike | Lifetime)]
        if not others:
            return tuple(given)
        if len(others) < len(given) or any(map(is_frame, given)):
            raise PerdureError(f"a list with a {others[0]} in it", "put tables together into one, and give it alone")
    from perdure.log.formats.matrix import matrix_lifetimes

    return matrix_lifetimes(given, options=options or Options())


def _frame_of(columns: Mapping[str, Any]) -> Any:
    try:
        return pl.DataFrame({name: item if isinstance(item, str) else list(item) for name, item in columns.items()})
    except (TypeError, ValueError, pl.exceptions.PolarsError) as problem:
        raise PerdureError(f"no table: {problem}", "give each column as an array, all of one length") from problem


def _name_of(source: Source | Frame, *, brief: bool = False) -> str:
    if isinstance(source, Lifetime):
        return as_text(source.path) if source.path else source.id
    if not isinstance(source, str | os.PathLike):
        return "table"
    return as_text(Path(source).resolve().name) if brief else as_text(os.fspath(source))


def _in_memory(lifetime: Lifetime) -> Found:
    place = as_text(lifetime.path) if lifetime.path else ""
    holder = lifetime.id.partition("#")[0] if lifetime.inside else ""  # the table or stack that holds several
    identity = Identity(lifetime.id, source=place, holder=holder, argument=(place or holder) if holder else "")
    return Found(lifetime.path or Path(), identity, typed=lifetime.id, lifetime=lifetime)


def _rename_apart(lifetimes: Sequence[tuple[Found, ScoredLifetime]]) -> list[ScoredLifetime]:
    """Return the lifetimes under ids that differ."""
    apart = named_apart([found for found, _ in lifetimes])
    return [
        lifetime if lifetime.id == found.identity.id else renamed(lifetime, found.identity.id)
        for found, (_, lifetime) in zip(apart, lifetimes, strict=True)
    ]


def _scored_before(files: Sequence[ScoreFile], taken: set[str], settings: Settings) -> list[ScoredLifetime]:
    """Return the lifetimes of files of scores, with the metrics that were asked for.

    An id that is taken has the file in front.
    """
    scores = [score for file in files for score in file.scores]
    counts = Counter(score.id for score in scores)
    ids = {METRICS.canonical(name) for name in settings.ids}
    lifetimes = []
    for score in scores:
        metrics = {name: measured for name, measured in score.metrics.items() if not ids or name in ids}
        lifetime = ScoredLifetime(replace(score, metrics=metrics))
        if counts[score.id] > 1 or score.id in taken:
            lifetime = renamed(lifetime, f"{score.identity.argument}#{score.id}")
        lifetimes.append(lifetime)
    return lifetimes


def _late_settings(settings: Settings) -> tuple[str, ...]:
    """Return a note on settings that cannot change scores that were made before."""
    late = [
        OPTIONS[name].flag for name in settings.given if name in OPTIONS and (OPTIONS[name].decides or name == "preset")
    ]
    return (f"scores made before are shown as they were made, whatever {', '.join(late)} says",) if late else ()


def renamed(lifetime: ScoredLifetime, name: str) -> ScoredLifetime:
    """Return the lifetime under another id."""
    score = lifetime.score
    return replace(lifetime, score=replace(score, identity=replace(score.identity, id=name)))
