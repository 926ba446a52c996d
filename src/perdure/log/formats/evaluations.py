"""Results of language-model evaluations, one folder per step of training, as one lifetime.

lm-evaluation-harness writes `results_DATE.json` with the scores of many tasks (its `evaluation_tracker.py`);
inspect_ai writes one log per task, `.json` or `.eval`, which is a zip with the same facts in `header.json`
(its documentation, "Eval Logs"). Neither says what was trained: the folder's name does, `0-base`, `1-math`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec
import numpy as np
from msgspec.structs import replace

from perdure import files
from perdure.errors import LogError, NotALogError
from perdure.log.places import as_text
from perdure.log.read import Options

if TYPE_CHECKING:
    from perdure.log.accuracy_matrix import MatrixLifetime


_STEP = r"(?i)(?:step|checkpoint|after|stage)?[-_ ]*(\d{1,6})[-_. ]*(?:after[-_ ])?(.*)"
_BEFORE = ("", "base", "before", "pretrained", "initial", "none")
_PREFERRED = ("acc_norm", "acc", "accuracy", "exact_match", "f1", "pass@1", "mean")
_LIMIT = 64 << 20


class _Scores(msgspec.Struct, frozen=True):
    """What one file says: task → metric → value, and who was evaluated."""

    values: Mapping[str, Mapping[str, float]]
    model: str = ""


class _Step(msgspec.Struct, frozen=True):
    """One of the numbered folders: what was learned before its evaluations."""

    number: int
    learned: str
    folder: Path


class _Evaluations:
    name = "evaluations"
    summary = "folders 0-base, 1-TASK, 2-TASK, … with results of lm-evaluation-harness or logs of inspect_ai"

    def recognises(self, path: Path) -> bool:
        """A folder of numbered folders, the first of which holds a file of results."""
        steps = _steps(path)
        return len(steps) > 1 and any(_looks_like_results(file) for file in _candidates(steps[0].folder))

    def read(self, path: Path, options: Options) -> MatrixLifetime:
        """The accuracy matrix: evaluated tasks after each step, those that were never learned beside it."""
        # Asked of every folder of folders whether it is one, a reader loads for that no more than it takes.
        from perdure.log.formats.matrix import lifetime_of, matrix_of_cells

        steps = _steps(path)
        if len(steps) < 2:
            raise NotALogError("no folders 0-base, 1-TASK, … in it", f"expected {self.summary}", file=path)
        scores = [_of(one.folder) for one in steps]
        evaluated = list(dict.fromkeys(task for one in scores for task in one.values))
        learned = [_learned(one, evaluated) for one in steps]
        before = learned[0] is None
        if None in learned[1:]:
            at = steps[1 + learned[1:].index(None)]
            raise LogError("says of no task that it was learned", "call it NUMBER-TASK", file=at.folder)
        tasks = [task for task in learned if task is not None]
        if twice := {task for task in tasks if tasks.count(task) > 1}:
            raise LogError(
                f"{min(twice)} is learned twice", "a matrix has each task once: log it in a journal", file=path
            )
        chosen = _chosen(scores, options, path)
        first = 0 if before else 1
        cells = {
            task: np.full(len(tasks) + 1, np.nan) for task in (*tasks, *(one for one in evaluated if one not in tasks))
        }
        for column, one in enumerate(scores, first):
            for task, values in one.values.items():
                cells[task][column] = values.get(chosen[task], np.nan)
        others = {task: cells[task] for task in cells if task not in tasks}
        matrix = matrix_of_cells(np.array([cells[task] for task in tasks]), tasks, options.unit, str(path), others)
        made = lifetime_of(matrix, as_text(path.absolute().name), path, options.measure or "accuracy")
        models = dict.fromkeys(one.model for one in scores if one.model)
        used = dict.fromkeys(chosen.values())
        notes = (f"scores by {', '.join(used)}", *((f"models: {', '.join(models)}",) if models else ()))
        return replace(made, notes=(*made.notes, *notes))


def _steps(path: Path) -> list[_Step]:
    if not path.is_dir():
        return []
    try:
        folders = [one for one in path.iterdir() if one.is_dir()]
    except OSError:
        return []
    found = [_Step(int(said[1]), said[2], one) for one in folders if (said := re.fullmatch(_STEP, one.name))]
    return sorted(found, key=lambda one: (one.number, one.folder.name))


def _learned(step: _Step, evaluated: Sequence[str]) -> str | None:
    """The task that a step's folder names, as evaluations call it where they know it."""
    if step.learned.lower() in _BEFORE:
        return None
    return next((task for task in evaluated if task.lower() == step.learned.lower()), step.learned)


def _candidates(folder: Path) -> list[Path]:
    """Files that may hold results; lm-evaluation-harness puts them into a folder called after the model."""
    try:
        return sorted(
            one for kind in ("json", "eval") for one in (*folder.glob(f"*.{kind}"), *folder.glob(f"*/*.{kind}"))
        )
    except OSError:
        return []


def _looks_like_results(file: Path) -> bool:
    if file.suffix == ".eval":
        return True
    try:
        with file.open("rb") as opened:
            head = opened.read(1 << 12)
    except OSError:
        return False
    return (file.name.startswith("results") and b'"results"' in head) or (b'"eval"' in head and b'"status"' in head)


def _of(folder: Path) -> _Scores:
    """All scores of a folder; a task that was evaluated twice counts as it was last."""
    values: dict[str, Mapping[str, float]] = {}
    model = ""
    for file in _candidates(folder):
        if not _looks_like_results(file):
            continue
        content = _content(file)
        found = _inspect(content, file) if "eval" in content else _harness(content)
        values.update(found.values)
        model = model or found.model
    if not values:
        raise LogError("no scores in it", "expected results_….json, or logs of inspect_ai", file=folder)
    return _Scores(values, model)


def _content(file: Path) -> dict[str, Any]:
    import zipfile

    try:
        content = files.read_bytes(file, _LIMIT)
        if file.suffix == ".eval":
            with zipfile.ZipFile(io.BytesIO(content)) as packed, packed.open("header.json") as inside:
                content = inside.read(_LIMIT)
        said = msgspec.json.decode(content)
    except (OSError, KeyError, zipfile.BadZipFile, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise LogError(
            f"cannot be read: {problem}", "expected results as their tool wrote them", file=file
        ) from problem
    if not isinstance(said, dict):
        raise LogError("no JSON object", "expected results as their tool wrote them", file=file)
    return said


def _harness(said: Mapping[str, Any]) -> _Scores:
    """lm-evaluation-harness: "results": {"hellaswag": {"acc,none": 0.5, "acc_stderr,none": …}}; groups are left out."""
    groups = said.get("groups") if isinstance(said.get("groups"), Mapping) else {}
    results = said.get("results")
    values: dict[str, Mapping[str, float]] = {}
    for task, found in results.items() if isinstance(results, Mapping) else ():
        numbers = (
            {
                str(name).partition(",")[0]: float(value)
                for name, value in found.items()
                if _is_number(value) and "stderr" not in str(name)
            }
            if isinstance(found, Mapping)
            else {}
        )
        if numbers and task not in (groups or {}):
            values[as_text(task).lower()] = numbers
    return _Scores(values, _text(said.get("model_name")))


def _inspect(said: Mapping[str, Any], file: Path) -> _Scores:
    """inspect_ai: one task, "results": {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 0.5}}}]}."""
    about = said["eval"] if isinstance(said["eval"], Mapping) else {}
    task = _text(about.get("task")).rpartition("/")[2].lower()
    if not task or said.get("status") not in (None, "success"):
        raise LogError(
            f"the evaluation of {task or 'no task'} ended with {said.get('status')!r}", "evaluate it again", file=file
        )
    results = said.get("results")
    scores = results.get("scores") if isinstance(results, Mapping) else None
    values: dict[str, float] = {}
    for score in scores if isinstance(scores, list) else ():
        metrics = score.get("metrics") if isinstance(score, Mapping) else None
        for name, one in metrics.items() if isinstance(metrics, Mapping) else ():
            value = one.get("value") if isinstance(one, Mapping) else None
            if _is_number(value) and "std" not in str(name):
                values.setdefault(str(name), float(value))
    return _Scores({task: values} if values else {}, _text(about.get("model")))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _text(value: object) -> str:
    return as_text(value) if isinstance(value, str) else ""


def _chosen(scores: Sequence[_Scores], options: Options, path: Path) -> dict[str, str]:
    """Task → which of its scores counts: the measure that was named, else the first of the usual ones."""
    known: dict[str, dict[str, None]] = {}
    for one in scores:
        for task, values in one.values.items():
            known.setdefault(task, {}).update(dict.fromkeys(values))
    chosen: dict[str, str] = {}
    for task, names in known.items():
        wanted = [options.measure] if options.measure else [*_PREFERRED, *names]
        found = next((name for name in wanted if name in names), None)
        if found is None:
            raise LogError(f"{task} has no score {options.measure!r}", f"it has {', '.join(names)}", file=path)
        chosen[task] = found
    return chosen


EVALUATIONS = _Evaluations()
