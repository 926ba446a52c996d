"""Read results of language-model evaluations, one folder per step of training, as one lifetime.

lm-evaluation-harness writes `results_DATE.json` with the scores of many tasks (its `evaluation_tracker.py`);
inspect_ai writes one log per task, `.json` or `.eval`, which is a zip with the same facts in `header.json`
(its documentation, "Eval Logs"). Neither holds what was trained: the folder's name does, `0-base`, `1-math`.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
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

Scores = dict[str, dict[str, float]]
"""Task → metric → value."""


class _Step(msgspec.Struct, frozen=True):
    """One of the numbered folders."""

    number: int
    learned: str
    """The task that was learned before its evaluations, as the folder names it."""
    folder: Path


class _Evaluations:
    name = "evaluations"
    summary = "folders 0-base, 1-TASK, 2-TASK, … with results of lm-evaluation-harness or logs of inspect_ai"

    def recognises(self, path: Path) -> bool:
        """Return whether it is a folder of numbered folders, the first of which holds a file of results."""
        steps = _steps(path)
        return len(steps) > 1 and any(True for _ in _result_files(steps[0].folder))

    def read(self, path: Path, options: Options) -> MatrixLifetime:
        """Return the evaluations after each step as an accuracy matrix."""
        # Every folder of folders is offered to this reader, so the matrix modules are loaded only for its own.
        from perdure.log.formats.matrix import lifetime_of, matrix_of_cells

        steps = _steps(path)
        if len(steps) < 2:
            raise NotALogError("no folders 0-base, 1-TASK, … in it", f"expected {self.summary}", file=path)
        models: dict[str, None] = {}
        scores = [_scores_in(step.folder, models) for step in steps]
        evaluated = list(dict.fromkeys(task for step in scores for task in step))
        learned = [_learned(step, evaluated) for step in steps]
        if None in learned[1:]:
            step = steps[1 + learned[1:].index(None)]
            raise LogError("says of no task that it was learned", "call it NUMBER-TASK", file=step.folder)
        tasks = [task for task in learned if task is not None]
        if twice := {task for task in tasks if tasks.count(task) > 1}:
            what = f"{min(twice)} is learned twice"
            raise LogError(what, "a matrix has each task once: log it in a journal", file=path)
        metrics = _metrics(scores, options, path)
        cells = {task: np.full(len(tasks) + 1, np.nan) for task in (*tasks, *evaluated)}
        for column, step_scores in enumerate(scores, 0 if learned[0] is None else 1):
            for task, values in step_scores.items():
                cells[task][column] = values.get(metrics[task], np.nan)
        others = {task: row for task, row in cells.items() if task not in tasks}
        matrix = matrix_of_cells(np.array([cells[task] for task in tasks]), tasks, options.unit, str(path), others)
        lifetime = lifetime_of(matrix, as_text(path.absolute().name), path, options.measure or "accuracy")
        notes = [f"scores by {', '.join(dict.fromkeys(metrics.values()))}"]
        notes += [f"models: {', '.join(models)}"] if models else []
        return replace(lifetime, notes=(*lifetime.notes, *notes))


EVALUATIONS = _Evaluations()


def _steps(path: Path) -> list[_Step]:
    try:
        folders = [folder for folder in path.iterdir() if folder.is_dir()] if path.is_dir() else []
    except OSError:
        return []
    steps = [
        _Step(int(match[1]), match[2], folder) for folder in folders if (match := re.fullmatch(_STEP, folder.name))
    ]
    return sorted(steps, key=lambda step: (step.number, step.folder.name))


def _learned(step: _Step, evaluated: Sequence[str]) -> str | None:
    """Return the task that a folder names, spelled as in the evaluations if they have it."""
    if step.learned.lower() in _BEFORE:
        return None
    return next((task for task in evaluated if task.lower() == step.learned.lower()), step.learned)


def _result_files(folder: Path) -> Iterator[Path]:
    """Yield the files of results; lm-evaluation-harness puts them into a folder called after the model."""
    try:
        files = [file for kind in ("json", "eval") for depth in ("", "*/") for file in folder.glob(f"{depth}*.{kind}")]
    except OSError:
        return
    for file in sorted(files):
        try:
            with file.open("rb") as opened:
                head = opened.read(1 << 12)
        except OSError:
            continue
        harness = file.name.startswith("results") and b'"results"' in head
        if file.suffix == ".eval" or harness or (b'"eval"' in head and b'"status"' in head):
            yield file


def _scores_in(folder: Path, models: dict[str, None]) -> Scores:
    """Return all scores of a folder, the last one of a task; add the first model's name to `models`."""
    scores: Scores = {}
    model = ""
    for file in _result_files(folder):
        content = _content(file)
        if "eval" in content:
            spec = _mapping(content["eval"])
            scores |= _inspect(content, spec, file)
            model = model or _text(spec.get("model"))
        else:
            scores |= _harness(content)
            model = model or _text(content.get("model_name"))
    if not scores:
        raise LogError("no scores in it", "expected results_….json, or logs of inspect_ai", file=folder)
    models |= {model: None} if model else {}
    return scores


def _content(file: Path) -> dict[str, Any]:
    try:
        content = files.read_bytes(file, _LIMIT)
        if file.suffix == ".eval":
            with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open("header.json") as header:
                content = header.read(_LIMIT)
        decoded = msgspec.json.decode(content)
    except (OSError, KeyError, zipfile.BadZipFile, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        what = f"cannot be read: {problem}"
        raise LogError(what, "expected results as their tool wrote them", file=file) from problem
    if not isinstance(decoded, dict):
        raise LogError("no JSON object", "expected results as their tool wrote them", file=file)
    return decoded


def _harness(content: Mapping[str, Any]) -> Scores:
    """Return {"hellaswag": {"acc": 0.5}} for "results": {"hellaswag": {"acc,none": 0.5, "acc_stderr,none": …}}."""
    groups = _mapping(content.get("groups"))
    scores: Scores = {}
    for task, metrics in _mapping(content.get("results")).items():
        numbers = {
            name.partition(",")[0]: float(value)
            for name, value in _mapping(metrics).items()
            if _is_number(value) and "stderr" not in name
        }
        if numbers and task not in groups:
            scores[as_text(task).lower()] = numbers
    return scores


def _inspect(content: Mapping[str, Any], spec: Mapping[str, Any], file: Path) -> Scores:
    """Return the metrics of one task: {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 0.5}}}]}."""
    task = _text(spec.get("task")).rpartition("/")[2].lower()
    if not task or content.get("status") not in (None, "success"):
        what = f"the evaluation of {task or 'no task'} ended with {content.get('status')!r}"
        raise LogError(what, "evaluate it again", file=file)
    scores = _mapping(content.get("results")).get("scores")
    values: dict[str, float] = {}
    for score in scores if isinstance(scores, list) else ():
        for name, metric in _mapping(_mapping(score).get("metrics")).items():
            value = _mapping(metric).get("value")
            if _is_number(value) and "std" not in name:
                values.setdefault(name, float(value))
    return {task: values} if values else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _text(value: object) -> str:
    return as_text(value) if isinstance(value, str) else ""


def _metrics(scores: Sequence[Scores], options: Options, path: Path) -> dict[str, str]:
    """Return the metric of each task: the measure that was named, else the first of the usual ones."""
    names: dict[str, dict[str, None]] = {}
    for step in scores:
        for task, values in step.items():
            names.setdefault(task, {}).update(dict.fromkeys(values))
    metrics: dict[str, str] = {}
    for task, known in names.items():
        wanted = [options.measure] if options.measure else [*_PREFERRED, *known]
        metric = next((name for name in wanted if name in known), None)
        if metric is None:
            raise LogError(f"{task} has no score {options.measure!r}", f"it has {', '.join(known)}", file=path)
        metrics[task] = metric
    return metrics
