"""Survey lifetimes: find them, score them in several processes, and collect the scores."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, Unpack

import numpy.typing as npt
from msgspec.structs import replace

from perdure.curves.arrays import Array
from perdure.errors import NotALogError, PerdureError, UnknownNameError
from perdure.gather.find import FoundLog, find_lifetimes, unused_experts, with_distinct_ids
from perdure.gather.joint_learner import compare_with_joint, final_accuracies, is_joint, joint_accuracies
from perdure.gather.model import ScoredLifetime, Survey, count_once
from perdure.gather.names import name_lifetimes
from perdure.gather.pool import parallel_map, process_count
from perdure.gather.worker import CurveHook, ScoreJob, ScoreResult, ScoreWorker, settle_ranges, settle_sets
from perdure.lazy import pl
from perdure.log.accuracy_matrix import AccuracyMatrix
from perdure.log.model import Identity, Lifetime
from perdure.log.places import as_text, taskinfo_file
from perdure.log.read import Options, locate
from perdure.metrics.declare import METRICS, Threshold
from perdure.metrics.presets import PRESETS
from perdure.metrics.score import Score, Scorer
from perdure.scenario.model import Task
from perdure.settings import OPTIONS, Settings, settings_from
from perdure.settings.model import SettingsByName
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


Frame = InMemory | Mapping[str, Any] | npt.NDArray[Any] | AccuracyMatrix | Sequence[AccuracyMatrix]
"""A table in memory, its columns by name, or a matrix."""
Sources = Source | Sequence[Source] | Frame

_ACCEPTED_LOGS = "give a path, a Lifetime, several of these, a table (or its columns by name), or a matrix of numbers"

_MIN_FOR_POOL = 8  # one process scores fewer lifetimes before a second one has started


def survey(
    logs: Sources,
    experts: Sources = (),
    settings: Settings | None = None,
    *,
    look: CurveHook | None = None,
    learning: bool = True,
    jobs: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **by_name: Unpack[SettingsByName],
) -> Survey:
    """Score every lifetime at or below `logs` in the same way.

    A lifetime that cannot be read is left out, with the reason in `Survey.left_out`.

    Parameters
    ----------
    logs
        Paths of logs, folders, tables, accuracy matrices or files of scores; lifetimes; a data frame; or an array.
    experts
        Logs of single-task experts. A run folder brings its own.
    settings
        Settings made before, for example by `settings_for`.
    look
        Function of the curves of each lifetime; `Survey` keeps its result.
    learning
        Keep the learning curves, by which `compare` measures how much and how fast learners learn.
    jobs
        Number of processes. By default one per core, and one for a few lifetimes.
    engine
        Score in processes on this machine, or on a Ray cluster.
    address
        Address of the Ray cluster. By default `RAY_ADDRESS`, or a cluster started on this machine.
    progress
        Called with the number of lifetimes that are done and the number of all.
    **by_name
        Fields of `Settings`, for example ``measure="reward"`` or ``preset="l2metrics-3.1"``.

    Returns
    -------
    Survey
        The score of each lifetime, in the order in which they were given.

    Raises
    ------
    LogError
        If no lifetime can be scored.
    PerdureError
        If a setting is unknown or does not fit.

    Examples
    --------
    >>> survey = perdure.survey("logs", measure="accuracy")
    >>> len(survey)
    8
    >>> survey.table().columns[:3]
    ['lifetime', 'learner', 'seed']

    `groups` gives means, intervals and verdicts over the lifetimes of each learner:

    >>> group = perdure.groups(survey)[0]
    >>> estimate = group.estimates["performance_maintenance"]
    >>> estimate.word in ("gains", "keeps", "loses", "forgets", "undecided")
    True
    """
    settings, joint_notes, joint_left_out = _with_joint(settings_from(settings, survey, **by_name))
    given, experts = _sources(logs, settings.reading()), _sources(experts)
    if not given:
        raise NotALogError("no logs were given", _ACCEPTED_LOGS)
    scorer = Scorer(settings)  # a misspelt setting fails here, before any log is read
    paths, score_files = _score_files([source for source in given if not isinstance(source, Lifetime)], settings)
    places = [source for source in given if not isinstance(source, Lifetime) and source not in paths]
    _refuse_preset(settings, score_files)
    findings = find_lifetimes(
        places, [expert for expert in experts if not isinstance(expert, Lifetime)], settings.reading()
    )
    own_experts = findings.experts
    found = (*(_log_in_memory(source) for source in given if isinstance(source, Lifetime)), *findings.lifetimes)
    stated = _stated_experts(scorer) if not experts and not own_experts else ()
    job = ScoreJob(
        settings,
        experts=stated or tuple(expert if isinstance(expert, Lifetime) else os.fspath(expert) for expert in experts),
        own_experts=own_experts,
        look=look,
        learning=learning,
        count=len(found),
    )
    worker = ScoreWorker(job)  # wrong experts fail here, before any lifetime is read
    count = process_count(len(found), jobs, _MIN_FOR_POOL)
    for field, settle in (("settled", settle_sets), ("common", settle_ranges)):
        settled = settle(worker, found, count)
        if settled is not None:
            job = replace(job, **{field: settled})
            worker = ScoreWorker(job, worker.experts)
    if engine == "ray" and found:
        from perdure.gather.on_ray import score_on_ray

        results = score_on_ray(job, found, address, progress, jobs)
    else:
        results = parallel_map(ScoreWorker, job, found, count, progress, worker=worker)
    if learning:
        results = _share_expert_curves(results)
    _refuse_unknown_tasks(settings.weights, [life.score for result in results for _, life in result.lifetimes])
    as_found = [(log, _members(log, result)) for log, result in zip(found, results, strict=True)]
    scored, seeds = _with_names(as_found)
    lifetimes = _with_distinct_ids(_compare_with_joint(job, scored, count))
    lifetimes += _lifetimes_in(score_files, {lifetime.id for lifetime in lifetimes}, settings)
    counted = count_once(lifetimes)
    left_out = [pair for result in results for pair in result.left_out]
    left_out += [pair for file in score_files for pair in file.left_out]
    left_out += (*findings.left_out, *joint_left_out, *counted.copies)
    if not lifetimes:
        _refuse_folders_of_scores(places)
        _raise_empty(left_out, worker.raised, len(own_experts))
    served = {name for result in results for name in result.experts_served}
    unserved = {name: why for result in results for name, why in result.experts_left_out}
    # A file of experts alone is among the logs, but has no lifetimes for them to serve.
    runs = (log.run for log, result in zip(found, results, strict=True) if result.lifetimes or result.left_out)
    unserved |= dict(unused_experts(own_experts, runs))
    left_out += [(as_text(name), as_text(why)) for name, why in unserved.items() if name not in served]
    written: dict[str, Threshold] = {name: bar for file in score_files for name, bar in file.bars.items()}
    if not found and score_files and score_files[0].preset in PRESETS:
        settings = settings.replace(preset=score_files[0].preset)
        scorer = Scorer(settings)
    expert_names = [_name_of(expert) for expert in (*job.experts, *(str(expert.path) for expert in own_experts))]
    return Survey(
        lifetimes=counted.lifetimes,
        left_out=tuple(left_out),
        settings=describe_settings(settings, scorer, expert_names),
        preset=score_files[0].preset if score_files and not found else scorer.preset.name,
        metrics=scorer.metrics
        if found
        else {name: metric for name, metric in scorer.metrics.items() if name in written},
        settings_from=settings.sources(),
        written=written,
        name=", ".join(_name_of(source, brief=True) for source in given),
        notes=(
            *(f"experts as stated in {file}" for file in stated),
            *joint_notes,
            *findings.notes,
            *((f"seeds come from names of files or folders: {plural(seeds, 'lifetime')}",) if seeds else ()),
            *counted.notes,
            *(note for file in score_files for note in file.notes),
            *(_note_unused_settings(settings) if score_files else ()),
        ),
    )


def _refuse_unknown_tasks(weights: Mapping[str, float], scores: Sequence[Score]) -> None:
    """Refuse weights of tasks that no lifetime has."""
    tasks = dict.fromkeys(name for score in scores for task in score.tasks for name in (task, Task.parse(task).name))
    for name in weights if scores else ():
        if name not in tasks:
            raise UnknownNameError("task in --weight", name, tasks)


def _share_expert_curves(results: Sequence[ScoreResult]) -> list[ScoreResult]:
    """Return the results with one copy of each expert's curve, of those that the processes sent."""
    by_values: dict[bytes, Array] = {}
    by_copy: dict[int, Array] = {}

    def shared(values: Array) -> Array:
        if id(values) not in by_copy:
            by_copy[id(values)] = by_values.setdefault(blake2b(values.tobytes()).digest(), values)
        return by_copy[id(values)]

    def with_shared(lifetime: ScoredLifetime) -> ScoredLifetime:
        curves = {task: tuple(map(shared, copies)) for task, copies in lifetime.score.expert_learning.items()}
        return replace(lifetime, score=replace(lifetime.score, expert_learning=curves))

    return [
        replace(result, lifetimes=tuple((name, with_shared(lifetime)) for name, lifetime in result.lifetimes))
        for result in results
    ]


def _raise_empty(left_out: Sequence[tuple[str, str]], raised: PerdureError | None, experts: int) -> NoReturn:
    """Raise the error of a survey without a lifetime."""
    if len(left_out) == 1 and raised is not None:
        raise raised
    if not left_out:
        raise NotALogError(f"no lifetime among {experts} experts", "give logs of lifetimes as well")
    rest = f" (and {len(left_out) - 1} more that cannot be scored)" if len(left_out) > 1 else ""
    raise NotALogError(f"{left_out[0][1]}{rest}", "see perdure check")


def _score_files(places: Sequence[Place], settings: Settings) -> tuple[list[Place], list[ScoreFile]]:
    """Return the paths that are files of scores, and the content of each file once."""
    if all(locate(place).is_dir() for place in places):
        return [], []
    from perdure.gather.score_files import is_score_file, read_score_file

    files = [place for place in places if is_score_file(locate(place))]
    distinct = {locate(file).resolve(): locate(file) for file in files}
    return files, [read_score_file(file, settings.metrics, settings.margins) for file in distinct.values()]


def _refuse_folders_of_scores(places: Sequence[Place]) -> None:
    """Refuse a folder with files of scores, such as the results of l2metrics, and name one of them."""
    from perdure.gather.score_files import is_score_file

    for place in map(locate, places):
        files = sorted(place.iterdir(), key=lambda file: (file.suffix, file.name)) if place.is_dir() else ()
        if file := next(filter(is_score_file, files), None):
            raise PerdureError("a folder of scores, not of logs", f"give the file: {as_text(file)}", file=place)


def score(
    log: Source | Frame, experts: Sources = (), settings: Settings | None = None, **by_name: Unpack[SettingsByName]
) -> Score:
    """Score one lifetime: compute every metric of the preset.

    Parameters
    ----------
    log
        Path of a log, a `Lifetime`, an accuracy matrix or a data frame that holds one lifetime. Use `survey` for
        several.
    experts
        Logs of single-task experts. Needed for relative performance and sample efficiency.
    settings
        Settings made before, for example by `settings_for`.
    **by_name
        Fields of `Settings`, for example ``measure="reward"`` or ``window="none"``.

    Returns
    -------
    Score
        A value, or the reason why there is none, for each metric.

    Raises
    ------
    LogError
        If the log cannot be read or fails verification.
    PerdureError
        If it holds several lifetimes, or a setting is unknown.

    Examples
    --------
    >>> score = perdure.score("logs/naive-0", measure="accuracy", window="none")
    >>> score.value("performance_maintenance") < 0  # it forgets
    True
    """
    result = survey(log, experts, settings_from(settings, score, **by_name), learning=False)
    if len(result.lifetimes) > 1:
        ids = ", ".join(lifetime.id for lifetime in result.lifetimes[:3])
        raise PerdureError(
            f"{len(result.lifetimes)} lifetimes ({ids}, …)", "perdure.survey takes several", file=_name_of(log)
        )
    left_out = (f"left out: {why if path in why else f'{path}: {why}'}" for path, why in result.left_out)
    return replace(result.scores[0], notes=(*result.scores[0].notes, *left_out))


def _with_joint(settings: Settings) -> tuple[Settings, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Replace the path of a joint learner by its accuracies; return the settings, notes and logs left out."""
    if not isinstance(settings.joint, str | os.PathLike):
        return settings, (), ()
    place = os.fspath(settings.joint)
    plain = settings.replace(joint=None, preset=STANDARD, metrics=(), margins={})
    result = survey(place, settings=plain, look=final_accuracies, learning=False)
    joint = tuple(lifetime for lifetime in result.lifetimes if is_joint(lifetime.score.identity)) or result.lifetimes
    note = f"joint accuracies: the last evaluations of {plural(len(joint), 'lifetime')} at {place}"
    return settings.replace(joint=joint_accuracies(joint, place)), (as_text(note),), result.left_out


def _with_names(
    scored: Sequence[tuple[FoundLog, Sequence[tuple[FoundLog, ScoredLifetime]]]],
) -> tuple[list[tuple[FoundLog, Sequence[tuple[FoundLog, ScoredLifetime]]]], int]:
    """Name the learners from paths, where they are not recorded; return the number of seeds that were read as well."""
    before = [lifetime for _, members in scored for _, lifetime in members]
    after = name_lifetimes(before)
    named = iter(after)
    seeds = sum(one.score.seed != other.score.seed for one, other in zip(before, after, strict=True))
    return [(log, [(member, next(named)) for member, _ in members]) for log, members in scored], seeds


def _compare_with_joint(
    job: ScoreJob, scored: Sequence[tuple[FoundLog, Sequence[tuple[FoundLog, ScoredLifetime]]]], count: int
) -> list[tuple[FoundLog, ScoredLifetime]]:
    """Return every lifetime, compared with the joint learner among them, if there is one."""

    def score_again(
        logs: Sequence[FoundLog], settings: Settings, look: CurveHook | None
    ) -> list[Sequence[tuple[FoundLog, ScoredLifetime]]]:
        job_again = replace(job, settings=settings, look=look)
        again = parallel_map(ScoreWorker, job_again, logs, min(count, len(logs)))
        return [_members(log, result) for log, result in zip(logs, again, strict=True)]

    metrics = [name for name, metric in Scorer(job.settings).metrics.items() if metric.joint]
    return compare_with_joint(scored, job.settings, metrics, score_again)


def _members(log: FoundLog, result: ScoreResult) -> list[tuple[FoundLog, ScoredLifetime]]:
    """Return the lifetimes of a log, each with its own identity."""
    return [(log.member(name) if name else log, lifetime) for name, lifetime in result.lifetimes]


def describe_settings(settings: Settings, scorer: Scorer, experts: Sequence[str]) -> dict[str, Any]:
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
    matrices = [given] if isinstance(given, AccuracyMatrix) else given
    if isinstance(matrices, list | tuple) and matrices and all(isinstance(item, AccuracyMatrix) for item in matrices):
        from perdure.log.formats.matrix import lifetime_of

        return tuple(lifetime_of(matrix, f"matrix#{number}") for number, matrix in enumerate(matrices))
    if isinstance(given, bytes) or not (isinstance(given, Iterable) or hasattr(given, "__array__")):
        raise PerdureError(f"no logs can be read from {given!r}", _ACCEPTED_LOGS)
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


def _log_in_memory(lifetime: Lifetime) -> FoundLog:
    place = as_text(lifetime.path) if lifetime.path else ""
    holder = lifetime.id.partition("#")[0] if lifetime.inside else ""  # a table or a stack of several
    identity = Identity(lifetime.id, source=place, holder=holder, argument=(place or holder) if holder else "")
    return FoundLog(lifetime.path or Path(), identity, typed=lifetime.id, lifetime=lifetime)


def _with_distinct_ids(lifetimes: Sequence[tuple[FoundLog, ScoredLifetime]]) -> list[ScoredLifetime]:
    logs = with_distinct_ids([log for log, _ in lifetimes])
    return [
        lifetime if lifetime.id == log.identity.id else _rename(lifetime, log.identity.id)
        for log, (_, lifetime) in zip(logs, lifetimes, strict=True)
    ]


def _lifetimes_in(files: Sequence[ScoreFile], taken: set[str], settings: Settings) -> list[ScoredLifetime]:
    """Return the lifetimes in files of scores, with the selected metrics. Ids that are taken begin with the file."""
    scores = [
        named.score for file in files for named in name_lifetimes([*map(ScoredLifetime, file.scores)], by_id=True)
    ]
    counts = Counter(score.id for score in scores)
    ids = {METRICS.canonical(name) for name in settings.ids}
    lifetimes = []
    for score in scores:
        metrics = {name: measured for name, measured in score.metrics.items() if not ids or name in ids}
        lifetime = ScoredLifetime(replace(score, metrics=metrics))
        if counts[score.id] > 1 or score.id in taken:
            lifetime = _rename(lifetime, f"{score.identity.argument}#{score.id}")
        lifetimes.append(lifetime)
    return lifetimes


def _refuse_preset(settings: Settings, files: Sequence[ScoreFile]) -> None:
    """Refuse a preset that is not that of scores made before: they hold values, and no lifetimes to score again."""
    if "preset" not in settings.origins and settings.preset == STANDARD:
        return
    for file in files:
        if file.scores and file.preset != settings.preset:
            raise PerdureError(
                f"holds scores made before, as {file.preset} scores; {settings.preset} cannot score them again",
                f"leave out {OPTIONS['preset'].flag}, or give the logs; the margin alone can be changed, with "
                f"{OPTIONS['margins'].flag} performance_maintenance=5",
                file=file.scores[0].identity.argument,
            )


def _note_unused_settings(settings: Settings) -> tuple[str, ...]:
    """Return a note on settings that cannot change the scores in files."""
    unused = [OPTIONS[name].flag for name in settings.given if name in OPTIONS and OPTIONS[name].decides]
    return (f"scores made before are shown as they were made, whatever {', '.join(unused)} says",) if unused else ()


def _rename(lifetime: ScoredLifetime, name: str) -> ScoredLifetime:
    score = lifetime.score
    return replace(lifetime, score=replace(score, identity=replace(score.identity, id=name)))
