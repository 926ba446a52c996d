"""Read the files of language-model evaluations: scores of tasks, their standard errors, and the scores of items.

lm-evaluation-harness writes `results_DATE.json` with many tasks and, with `--log_samples`, `samples_TASK_DATE.jsonl`
beside it (its `evaluation_tracker.py`). inspect_ai writes one log per task, `.json` or `.eval`, which is a zip with the
same facts in `header.json` (its documentation, "Eval Logs"), and another for each time that it was tried.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeGuard

import msgspec
import numpy as np

from perdure import files
from perdure.errors import LogError
from perdure.log.places import as_text

_LIMIT = 64 << 20
_HARNESS = re.compile(rb'\s*\{\s*"results"\s*:\s*\{')
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2})[-:](\d{2})[-:](\d{2})")
_COUNTS = ("sample_len", "sample_count", "samples")
"""Numbers beside the scores of a task in lm-evaluation-harness that are not scores."""
_ERRORS = ("stderr", "bootstrap_stderr")
_HEADERS = ("header.json", "_journal/start.json")
"""The member of an inspect_ai log with its results, and that of an evaluation that did not end."""
_SUMMARIES = ("summaries.json", "summary.json")
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""inspect_ai's words for correct, partly correct, incorrect and no answer."""
_SAME_MEAN = 1e-4
"""Largest difference of a score from the mean of its items, which some tools round."""


class TaskScore(msgspec.Struct, frozen=True):
    """One score of a task in one evaluation."""

    value: float
    file: Path
    error: float = np.nan
    """Its standard error over items. NaN if unknown."""
    items: float = np.nan
    """The number of items. NaN if unknown."""
    lower_is_better: bool = False
    of_inspect: bool = False


Scores = dict[str, dict[str, TaskScore]]
"""Task → METRIC or METRIC,FILTER → its score; inspect_ai's filters are its scorers."""


class Results(msgspec.Struct, frozen=True):
    """The content of one file of results."""

    file: Path
    scores: Scores
    model: str = ""
    date: str = ""
    """In a form that sorts by time. Empty if unknown."""
    subtasks: Mapping[str, tuple[str, ...]] = {}
    """Group of tasks → its tasks, or groups of them."""
    failed: Mapping[str, str] = {}
    """Task whose evaluation did not succeed → its status."""


def result_files(folder: Path) -> Iterator[Path]:
    """Yield the files of results in a folder, in the order of their names, which hold their dates."""
    try:
        found = sorted(file for file in folder.iterdir() if file.suffix in (".json", ".eval") and file.is_file())
    except OSError:
        return
    for file in found:
        try:
            with file.open("rb") as opened:
                head = opened.read(1 << 12)
        except OSError:
            continue
        harness = _HARNESS.match(head) or (file.name.startswith("results") and b'"results"' in head)
        if file.suffix == ".eval" or harness or (b'"eval"' in head and b'"status"' in head):
            yield file


def read_results(file: Path) -> Results:
    """Return the scores in a file of results."""
    content = _content(file)
    return _inspect(content, file) if "eval" in content else _harness(content, file)


def item_scores(score: TaskScore, task: str, name: str, parts: Iterable[str] = ()) -> dict[object, float]:
    """Return the scores of the items behind a score; empty if they are not there, or have another mean.

    `parts` are the tasks of a group.
    """
    metric, _, filtered = name.partition(",")
    items: dict[object, float] = {}
    with contextlib.suppress(OSError, LogError, msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        if score.of_inspect:
            items = _inspect_items(score.file, filtered)
        else:
            items = _harness_items(score.file, tuple(parts) or (task,), metric, filtered or "none")
    same = items and abs(sum(items.values()) / len(items) - score.value) <= _SAME_MEAN
    return items if same else {}


def _content(file: Path, members: Sequence[str] = _HEADERS) -> Any:
    """Return the JSON object of a file of results, or of the first of the members that it has if it is a zip."""
    try:
        if file.suffix == ".eval":
            with files.open_regular(file) as opened, zipfile.ZipFile(opened) as archive:
                member = next((name for name in members if name in archive.namelist()), members[0])
                with archive.open(member) as unpacked:
                    content = unpacked.read(_LIMIT)
        else:
            content = files.read_bytes(file, _LIMIT)
        decoded = msgspec.json.decode(content)
    except (OSError, KeyError, zipfile.BadZipFile, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        what = f"cannot be read: {problem}"
        raise LogError(what, "expected results as their tool wrote them", file=file) from problem
    if members == _HEADERS and not isinstance(decoded, dict):
        raise LogError("no JSON object", "expected results as their tool wrote them", file=file)
    return decoded


# --- lm-evaluation-harness -----------------------------------------------------------------------


def _harness(content: Mapping[str, Any], file: Path) -> Results:
    """Return the scores of {"results": {"hellaswag": {"acc,none": 0.5, "acc_stderr,none": 0.01}}}."""
    subtasks = {
        _name(group): tuple(_name(task) for task in tasks)
        for group, tasks in _mapping(content.get("group_subtasks")).items()
        if isinstance(tasks, list) and tasks
    }
    groups = {_name(group) for group in _mapping(content.get("groups"))} - subtasks.keys()
    counts, better = _mapping(content.get("n-samples")), _mapping(content.get("higher_is_better"))
    scores: Scores = {}
    for task, entries in _mapping(content.get("results")).items():
        items = _mapping(counts.get(task)).get("effective")
        read: dict[str, TaskScore] = {}
        for key, value in _mapping(entries).items():
            metric, _, filtered = key.partition(",")
            if not _is_number(value) or metric in _COUNTS or metric.endswith("_stderr"):
                continue
            error = entries.get(f"{metric}_stderr,{filtered}" if filtered else f"{metric}_stderr")
            read[key.removesuffix(",none")] = TaskScore(
                float(value),
                file,
                float(error) if _is_number(error) else np.nan,
                float(items) if _is_number(items) else np.nan,
                _mapping(better.get(task)).get(metric) is False,
            )
        if read and _name(task) not in groups:  # a group whose tasks are not known would count them twice
            scores[_name(task)] = read
    return Results(file, scores, _text(content.get("model_name")), date_of(file.name), subtasks)


def _harness_items(file: Path, tasks: Iterable[str], metric: str, filtered: str) -> dict[object, float]:
    """Return the scores of a metric in the sample files beside a file of results, by task and item."""
    date = file.stem.rpartition("_")[2]
    beside = {_name(found.name): found for found in file.parent.glob(f"samples_*_{date}.jsonl")}
    sums: dict[object, tuple[float, int]] = {}
    for task in tasks:
        for row in _lines(beside[f"samples_{task}_{date}.jsonl".lower()]):
            if msgspec.json.decode(row.get("filter", msgspec.Raw(b'"none"'))) != filtered:
                continue
            value = msgspec.json.decode(row[metric])
            if not isinstance(value, int | float):  # a list, or what a corpus-wide score is computed from
                return {}
            item = (task, bytes(row["doc_id"]), bytes(row.get("doc_hash", b"")))
            total, count = sums.get(item, (0.0, 0))
            sums[item] = total + float(value), count + 1
    return {item: total / count for item, (total, count) in sums.items()}


def _lines(file: Path) -> Iterator[dict[str, msgspec.Raw]]:
    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    with io.BufferedReader(files.open_regular(file)) as opened:
        for line in opened:
            if line.strip():
                yield decoder.decode(line)


# --- inspect_ai ----------------------------------------------------------------------------------


def _inspect(content: Mapping[str, Any], file: Path) -> Results:
    """Return the scores of one task: {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 0.5}}}]}."""
    spec = _mapping(content["eval"])
    task = _text(spec.get("task")).rpartition("/")[2].lower()
    status = content.get("status", "success" if "results" in content else "started")
    failed = {} if task and status == "success" else {task: str(status)}
    known = _mapping(spec.get("dataset")).get("sample_ids")
    items = float(len(known)) if isinstance(known, list) else np.nan
    scores = _mapping(content.get("results")).get("scores")
    read: dict[str, TaskScore] = {}
    for score in scores if isinstance(scores, list) else ():
        metrics: dict[str, Any] = {
            name: _mapping(one).get("value") for name, one in _mapping(_mapping(score).get("metrics")).items()
        }
        error = next((metrics[name] for name in _ERRORS if _is_number(metrics.get(name))), np.nan)
        scorer = _text(_mapping(score).get("name"))
        for name, value in metrics.items():
            if _is_number(value) and "std" not in name:
                key = f"{name},{scorer}" if scorer else name
                read.setdefault(key, TaskScore(float(value), file, float(error), items, of_inspect=True))
    date = date_of(_text(spec.get("created"))) or date_of(file.name)
    return Results(file, {task: read} if read and not failed else {}, _text(spec.get("model")), date, failed=failed)


def _inspect_items(file: Path, scorer: str) -> dict[object, float]:
    """Return the scores of the samples in a log by their ids, as means over its epochs."""
    samples = _content(file, _SUMMARIES) if file.suffix == ".eval" else _content(file).get("samples")
    grades: dict[object, list[float]] = {}
    for sample in samples if isinstance(samples, list) else ():
        scores = _mapping(_mapping(sample).get("scores"))
        value = _mapping(scores.get(scorer)).get("value")
        grade = _GRADES.get(value) if isinstance(value, str) else value
        if not isinstance(grade, int | float):
            return {}
        grades.setdefault(str(sample.get("id")), []).append(float(grade))
    return {item: sum(each) / len(each) for item, each in grades.items()}


# --- values --------------------------------------------------------------------------------------


def date_of(text: str) -> str:
    match = _DATE.search(text)
    if match is None:
        return ""
    with contextlib.suppress(ValueError):
        return datetime.strptime("".join(match.groups()), "%Y-%m-%d%H%M%S").isoformat()
    return ""


def _name(task: object) -> str:
    return as_text(str(task)).lower()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _text(value: object) -> str:
    return as_text(value) if isinstance(value, str) else ""
