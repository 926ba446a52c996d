"""Read results of language-model evaluations, made before training and after each task, as one lifetime.

No tool writes what was trained. The names of folders hold it, `0-base`, `1-math`, or those of the models.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from perdure.errors import LogError, NotALogError, nearest
from perdure.log.formats.evaluation_files import (
    Results,
    Scores,
    TaskScore,
    date_of,
    item_scores,
    read_results,
    result_files,
)
from perdure.log.places import as_text
from perdure.log.problem import Caution
from perdure.log.read import Options
from perdure.text import join_names

if TYPE_CHECKING:
    from perdure.log.accuracy_matrix import ItemErrors, MatrixLifetime


_NUMBERED = re.compile(
    r"(?i)(?:.*__)?(?:step|checkpoint|after|stage)?[-_ ]*(\d{1,6})(?![0-9a-z])(?!.*__)[-_. ]*(?:after[-_ ])?(.*)"
)
"""The name of a numbered stage; lm-evaluation-harness writes the folders of a model's path before it, with `__`."""
_HIDDEN = re.compile(r"\.(?!\.?__)")
"""The beginning of the name of a hidden folder; that of a model in `./out` is `.__out`."""
_BEFORE = ("", "base", "before", "pretrained", "initial", "none")
_PREFERRED = ("acc_norm", "acc", "accuracy", "exact_match", "f1", "pass@1", "pass_at_1", "mean")
_SEED = re.compile(r"(?i)(?:seed|run|rep|s)?[-_= ]*(\d+)")
_GENERIC = frozenset(
    (
        *("runs", "run", "results", "result", "logs", "log", "out", "output", "outputs", "eval", "evals"),
        *("evaluations", "lm_eval", "lm-eval", "harness", "tmp", "ckpt", "ckpts", "checkpoints", "models", ".", ".."),
    )
)
"""Names of folders that identify no learner."""
_GLANCE = 8


class _Stage(msgspec.Struct, frozen=True):
    """Evaluations of the model at one time: before training, or after a task."""

    name: str
    """Of its folder or its model."""
    place: Path
    files: tuple[Path, ...]
    number: int | None = None
    learned: str = ""
    """The task in the name of a numbered stage."""


class _ReadStage(msgspec.Struct, frozen=True):
    """A stage with the content of its files."""

    stage: _Stage
    scores: Scores
    model: str
    date: str
    subtasks: Mapping[str, tuple[str, ...]]
    again: tuple[str, ...]
    """The tasks that were evaluated more than once."""


class _Evaluations:
    name = "evaluations"
    summary = "results of lm-evaluation-harness or logs of inspect_ai, before training and after each task"

    def recognises(self, path: Path) -> bool:
        """Return whether it is a folder with the results of several stages, by names and the beginnings of files."""
        folders = _folders(path)
        numbered = [folder for folder in folders if _NUMBERED.fullmatch(folder.name)]
        if len(numbered) > 1:
            return bool(_files_of(numbered[0]))
        near = islice(folders, _GLANCE)
        return (any(map(_files_of, near)) or any(result_files(path))) and len(_stages(path)) > 1

    def read(self, path: Path, options: Options) -> MatrixLifetime:
        """Return the evaluations after each stage as an accuracy matrix."""
        # Every folder of folders is offered to this reader, so the matrix modules are loaded only for its own.
        from perdure.log.formats.matrix import lifetime_of, matrix_of_cells

        stages = [_read_stage(stage) for stage in _stages(path)]
        if len(stages) < 2:
            raise NotALogError("no results of several stages in it", f"expected {self.summary}", file=path)
        stages, learned, notes = _in_order(stages, path)
        tasks = [task for task in learned if task is not None]
        if twice := {task for task in tasks if tasks.count(task) > 1}:
            what = f"{min(twice)} is learned twice"
            raise LogError(what, "a matrix has each task once: log it in a journal", file=path)
        stages = [_without_parts(stage, tasks) for stage in stages]
        chosen = _chosen(stages, options, path)
        chosen, left_out = _comparable(stages, chosen, tasks, path)
        first = 0 if learned[0] is None else 1
        cells = {task: np.full(len(tasks) + 1, np.nan) for task in (*tasks, *chosen)}
        errors: dict[str, ItemErrors] = {}
        for task, name in chosen.items():
            scores = {column: stage.scores.get(task, {}).get(name) for column, stage in enumerate(stages, first)}
            known = {column: score for column, score in scores.items() if score is not None}
            for column, score in known.items():
                cells[task][column] = score.value
            parts = next((tuple(_leaves(task, stage.subtasks)) for stage in stages if task in stage.subtasks), ())
            errors[task] = _errors(task, name, known, len(tasks) + 1, parts)
        others = {task: row for task, row in cells.items() if task not in tasks}
        matrix = matrix_of_cells(np.array([cells[task] for task in tasks]), tasks, options.unit, str(path), others)
        errors = {task: found for task, found in errors.items() if found.known}
        matrix = replace(matrix, errors=errors)
        if apart := [task for task, found in errors.items() if not found.paired]:
            notes.append(
                f"not compared item by item, for lack of item scores with the mean stated: {join_names(apart)}"
            )
        measure = options.measure or "accuracy"
        lifetime = lifetime_of(matrix, as_text(path.absolute().name), path, measure)
        lower = {score.lower_is_better for score in _scores_of(stages, chosen)} == {True}
        models = dict.fromkeys(stage.model for stage in stages if stage.model)
        notes += [
            Caution(f"{join_names(stage.again)} at {stage.stage.name} evaluated more than once; the last counts")
            for stage in stages
            if stage.again
        ]
        places = {stage.stage.place for stage in stages}
        skipped = [] if path in places else [each for each in _folders(path) if each not in places and _files_of(each)]
        notes += [Caution(f"not a stage: {folder.name}; call it NUMBER-TASK if it is one") for folder in skipped]
        notes += [*_choices(stages, chosen), *left_out, *([f"models: {', '.join(models)}"] if models else [])]
        learner, seed = _identity(path, next(iter(models), ""))
        return replace(
            lifetime,
            measures={measure: "lower" if lower else "higher"},
            learner=learner,
            seed=seed,
            chosen=chosen,
            notes=(*lifetime.notes, *notes),
        )


EVALUATIONS = _Evaluations()


# --- stages --------------------------------------------------------------------------------------


def _folders(path: Path) -> list[Path]:
    try:
        folders = [folder for folder in path.iterdir() if folder.is_dir()] if path.is_dir() else []
    except OSError:
        return []
    return sorted(folder for folder in folders if not _HIDDEN.match(folder.name))


def _files_of(folder: Path) -> tuple[Path, ...]:
    """Return the files of results of a stage: in its folder, or in the only one in it, which has the model's name."""
    if direct := tuple(result_files(folder)):
        return direct
    below = [files for inner in _folders(folder) if (files := tuple(result_files(inner)))]
    return below[0] if len(below) == 1 else ()


def _stages(path: Path) -> list[_Stage]:
    """Return the stages in a folder, numbered ones in order: one per folder, else one per model or repetition."""
    folders = _folders(path)
    numbers = {folder: match for folder in folders if (match := _NUMBERED.fullmatch(folder.name))}
    stages = [
        _Stage(folder.name, folder, tuple(_all_files(folder)), int(match[1]), match[2])
        for folder, match in numbers.items()
    ]
    named = [
        _Stage(folder.name, folder, files)
        for folder in folders
        if folder not in numbers and (files := _files_of(folder))
    ]
    if len(stages) > 1:
        first = [replace(stage, number=0) for stage in named] if all(stage.number for stage in stages) else []
        if len({stage.number for stage in (*first, *stages)}) == len(first) + len(stages):
            return sorted((*first, *stages), key=lambda stage: stage.number or 0)
    named += [replace(stage, number=None) for stage in stages if stage.files]
    if len(named) > 1:
        return named
    files = tuple(result_files(path)) or (named[0].files if named else ())
    return _stages_of_files(files) if len(files) > 1 else []


def _all_files(folder: Path) -> Iterable[Path]:
    """Return the files of results in a numbered folder and those in it."""
    return (file for inner in (folder, *_folders(folder)) for file in result_files(inner))


def _stages_of_files(files: Sequence[Path]) -> list[_Stage]:
    """Return the stages in one folder: one per model; with one model, a task that is evaluated again begins another."""
    results = sorted(map(read_results, files), key=lambda read: (read.date, read.file.name))
    if len({read.model for read in results}) > 1:
        groups = [
            [read for read in results if read.model == model] for model in dict.fromkeys(r.model for r in results)
        ]
    else:
        groups = [[]]
        for read in results:
            if any(read.scores.keys() & earlier.scores.keys() for earlier in groups[-1]):
                groups.append([])
            groups[-1].append(read)
    several = len({group[0].model for group in groups}) > 1
    return [
        _Stage(
            first.model if several else _own_name(first.file) or first.date,
            first.file.parent,
            tuple(read.file for read in group),
        )
        for group in groups
        for first in group[:1]
    ]


def _own_name(file: Path) -> str:
    """Return the name that a user gave with `--output_path NAME.json`, which is written as `NAME_DATE.json`."""
    name, _, date = file.stem.rpartition("_")
    return name if date_of(date) and name != "results" else ""


def _read_stage(stage: _Stage) -> _ReadStage:
    """Return the scores of a stage, the last one of a task."""
    results: list[Results] = sorted(map(read_results, stage.files), key=lambda read: (read.date, read.file.name))
    scores: Scores = {}
    subtasks: dict[str, tuple[str, ...]] = {}
    again: dict[str, None] = {}
    for read in results:
        again |= dict.fromkeys(task for task in read.scores if task in scores)
        scores |= read.scores
        subtasks |= read.subtasks
    for read in results:
        for task, status in read.failed.items():
            if task not in scores:
                what = f"the evaluation of {task or 'no task'} ended with {status!r}"
                raise LogError(what, "evaluate it again", file=read.file)
    if not scores:
        raise LogError("no scores in it", "expected results_….json, or logs of inspect_ai", file=stage.place)
    model = next((read.model for read in results if read.model), "")
    return _ReadStage(stage, scores, model, min(read.date for read in results), subtasks, tuple(again))


def _in_order(stages: Sequence[_ReadStage], path: Path) -> tuple[list[_ReadStage], list[str | None], list[str]]:
    """Return the stages in order, the task that each learned, None before learning, and a note if dates decide."""
    evaluated = list(dict.fromkeys(task for stage in stages for task in stage.scores))
    numbered = stages[0].stage.number is not None
    by_number = [_spelled(stage.stage.learned, evaluated) for stage in stages]
    if numbered and None not in by_number[1:]:
        return list(stages), by_number, []
    mentioned = {id(stage): _mentioned(stage.stage.name, evaluated) for stage in stages}
    one_base = sum(not tasks for tasks in mentioned.values()) == 1  # first, even if it was evaluated later
    dated = sorted(stages, key=lambda stage: (one_base and bool(mentioned[id(stage)]), stage.date, stage.stage.name))
    learned: list[str | None] = []
    for stage in dated:
        new = mentioned[id(stage)].difference(learned)
        learned.append(new.pop() if len(new) == 1 else None)
    if None in learned[1:] or not all(stage.date for stage in dated):
        raise _unnamed(stages, by_number, path) if numbered else _unnamed(dated, learned, path)
    order = ", ".join(
        f"{task or 'base'} ({stage.date.partition('T')[0]})" for task, stage in zip(learned, dated, strict=True)
    )
    return dated, learned, [f"stages in the order of their dates: {order}; call folders 0-base, 1-TASK, … for another"]


def _spelled(name: str, evaluated: Sequence[str]) -> str | None:
    """Return the task that a folder names, spelled as in the evaluations if they have it."""
    if name.lower() in _BEFORE:
        return None
    return next((task for task in evaluated if task.lower() == name.lower()), name)


def _mentioned(name: str, evaluated: Sequence[str]) -> set[str]:
    """Return the evaluated tasks in a name, without those whose names are part of another."""
    words = f"_{_plain(name)}_"
    tasks = [task for task in evaluated if f"_{_plain(task)}_" in words]
    return {task for task in tasks if not any(task != other and _plain(task) in _plain(other) for other in tasks)}


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")


def _unnamed(stages: Sequence[_ReadStage], learned: Sequence[str | None], path: Path) -> LogError:
    """Return the error for stages whose names hold no task, with commands that name each after what rose most."""
    guesses: list[str] = []
    for (before, stage), known in zip(pairwise(stages), learned[1:], strict=True):
        rises = {
            task: scores[name].value - before.scores[task][name].value
            for task, scores in stage.scores.items()
            if task not in (*guesses, *learned) and (name := _default(scores)) in before.scores.get(task, {})
        }
        guesses.append(known or max(rises, key=lambda task: rises[task], default="TASK"))
    names = [_file_name(learned[0] or "base"), *map(_file_name, guesses)]
    commands = [
        _command(stage.stage, f"{number if stage.stage.number is None else stage.stage.number}-{name}", path)
        for number, (stage, name) in enumerate(zip(stages, names, strict=True))
    ]
    unclear = [stage.stage.name for stage, task in zip(stages[1:], learned[1:], strict=True) if task is None]
    how = "" if stages[0].stage.number is not None else "in the order of their dates, "
    return LogError(
        f"{join_names(unclear)} {'names' if len(unclear) == 1 else 'name'} no task that was learned",
        "call it NUMBER-TASK, or move it elsewhere if it is not a stage; "
        f"{how}and if each learned the task that rose most: {' && '.join(filter(None, commands))}",
        file=path,
    )


def _file_name(task: str) -> str:
    return re.sub(r"[^\w.-]", "_", task)


def _command(stage: _Stage, name: str, path: Path) -> str:
    """Return the shell command that gives a stage its folder in the one that was given; nothing if it has it."""
    if stage.name == stage.place.name:
        target = stage.place.parent / name
        return "" if target == stage.place else f"mv {shlex.quote(str(stage.place))} {shlex.quote(str(target))}"
    quoted = shlex.quote(str(path / name))
    moved = [
        f"{shlex.quote(str(stage.place))}/*{shlex.quote('_' + date + '.')}*"
        if date_of(date := file.stem.rpartition("_")[2])  # and the samples of the same date
        else shlex.quote(str(file))
        for file in stage.files
    ]
    return f"mkdir {quoted} && mv {' '.join(moved)} {quoted}"


def _identity(path: Path, model: str) -> tuple[str, int | None]:
    """Return the learner, which is the folder of its seeds, else the model, and the seed in the folder's name."""
    folder = path.absolute()
    match = _SEED.fullmatch(folder.name)
    names = [folder.parent.name if match else folder.name, *model.split("/")[:-3:-1]]
    identifying = (name for name in names if name.lower() not in (*_GENERIC, *_BEFORE) and not _NUMBERED.match(name))
    learner = next(identifying, "model")
    return as_text(learner), int(match[1]) if match and len(match[1]) < 19 else None


# --- groups of tasks -----------------------------------------------------------------------------


def _leaves(task: str, subtasks: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    """Yield the tasks of a group that are no groups."""
    for part in subtasks.get(task, ()):
        yield from _leaves(part, subtasks) if part in subtasks else (part,)


def _without_parts(stage: _ReadStage, learned: Sequence[str]) -> _ReadStage:
    """Return a stage in which a group of tasks with a score replaces its tasks, unless one of them was learned."""
    groups = {group: set(_inner(group, stage.subtasks)) for group in stage.subtasks if group in stage.scores}
    split = {group for group, parts in groups.items() if group not in learned and parts.intersection(learned)}
    parts = {part for group, inner in groups.items() if group not in split for part in inner}
    scores = {task: scores for task, scores in stage.scores.items() if task not in parts | split}
    return replace(stage, scores=scores)


def _inner(group: str, subtasks: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    for part in subtasks.get(group, ()):
        yield part
        yield from _inner(part, subtasks)


# --- the score of each task ----------------------------------------------------------------------


def _default(scores: Mapping[str, TaskScore]) -> str:
    """Return the first of the usual scores, else the first of which higher is better, else the first."""
    usual = (name for metric in _PREFERRED for name in scores if name.partition(",")[0] == metric)
    higher = (name for name, score in scores.items() if not score.lower_is_better)
    return next(usual, next(higher, next(iter(scores))))


def _chosen(stages: Sequence[_ReadStage], options: Options, path: Path) -> dict[str, str]:
    """Return the score of each task: the one that was named, else the first of the usual ones."""
    known: dict[str, dict[str, TaskScore]] = {}
    for stage in stages:
        for task, scores in stage.scores.items():
            known[task] = scores | known.get(task, {})
    for task in options.task_measures:
        if task not in known:
            raise LogError(f"no task {task!r} was evaluated", nearest(task, list(known)), file=path, where="--measure")
    chosen: dict[str, str] = {}
    for task, scores in known.items():
        wanted = options.task_measures.get(task, options.measure)
        plain = wanted and wanted.removesuffix(",none")
        name = (
            next((name for name in scores if plain in (name, name.partition(",")[0])), None)
            if plain
            else _default(scores)
        )
        if name is None:
            raise LogError(f"{task} has no score {wanted!r}", f"it has {'; '.join(scores)}", file=path)
        chosen[task] = name
    return chosen


def _scores_of(stages: Sequence[_ReadStage], chosen: Mapping[str, str]) -> Iterable[TaskScore]:
    return (
        stage.scores[task][name]
        for stage in stages
        for task, name in chosen.items()
        if name in stage.scores.get(task, {})
    )


def _comparable(
    stages: Sequence[_ReadStage], chosen: Mapping[str, str], learned: Sequence[str], path: Path
) -> tuple[dict[str, str], list[str]]:
    """Return the tasks whose scores can be averaged with those of the learned ones, and notes on the others."""
    kinds = {task: _kind(list(_scores_of(stages, {task: name}))) for task, name in chosen.items()}
    usual = [kinds[task] for task in (*learned, *chosen) if task in kinds]
    odd = [task for task, kind in kinds.items() if kind != usual[0]]
    if wrong := [task for task in odd if task in learned]:
        task, first = wrong[0], next(task for task in learned if task in kinds)
        raise LogError(
            f"{task} by {chosen[task]} is {kinds[task]}, and {first} by {chosen[first]} is {usual[0]}",
            "choose scores of one kind, as in --measure TASK=SCORE",
            file=path,
        )
    return (
        {task: name for task, name in chosen.items() if task not in odd},
        [f"left out: {task} by {chosen[task]} is {kinds[task]}, the others {usual[0]}" for task in odd],
    )


def _kind(scores: Sequence[TaskScore]) -> str:
    way = "lower is better" if scores[0].lower_is_better else "higher is better"
    return f"{'above 1' if any(score.value > 1 for score in scores) else 'at most 1'}, {way}"


def _choices(stages: Sequence[_ReadStage], chosen: Mapping[str, str]) -> list[str]:
    """Return a note on the score of each task, and one on how to choose another."""
    by_name: dict[str, list[str]] = {}
    for task, name in chosen.items():
        by_name.setdefault(name, []).append(task)
    used = "; ".join(f"{join_names(tasks)} by {name}" for name, tasks in by_name.items())
    notes: list[str] = [Caution(f"scores: {used}")]
    others = (
        (task, other)
        for task, name in chosen.items()
        for other in stages[0].scores.get(task, {})
        if other != name and other.partition(",")[0] == name.partition(",")[0]
    )
    return notes + [f"for another: --measure {task}={other}" for task, other in islice(others, 1)]


# --- standard errors over items ------------------------------------------------------------------


def _errors(task: str, name: str, scores: Mapping[int, TaskScore], columns: int, parts: Sequence[str]) -> ItemErrors:
    """Return the uncertainty of a task's scores: by the scores of its items if all stages have them."""
    from perdure.log.accuracy_matrix import binomial_error, errors_of_items, errors_of_means

    by_item = {column: item_scores(score, task, name, parts) for column, score in scores.items()}
    if by_item and all(by_item.values()):
        return errors_of_items([by_item.get(column, {}) for column in range(columns)])
    errors, counts = np.full(columns, np.nan), np.full(columns, np.nan)
    for column, score in scores.items():
        counts[column] = score.items
        share = 0.0 <= score.value <= 1.0
        largest = float(binomial_error(np.array(score.value), np.array(score.items), 1.0)) if share else np.nan
        errors[column] = largest if np.isnan(score.error) else score.error
    return errors_of_means(errors, counts)
