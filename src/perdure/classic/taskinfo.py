"""`taskinfo/info.json`, written from experts: what the experts of each task achieve, as the 2019 framework reads it."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

from msgspec.structs import replace

from perdure import files
from perdure.classic.framework2019 import PREP, moving_average
from perdure.curves.experts import Experts, expert_log
from perdure.errors import LogError, WriteError
from perdure.log.model import Lifetime
from perdure.log.variants import Settled, settle


def saturations(experts: Experts, measure: str | None = None) -> tuple[dict[str, float], tuple[tuple[str, str], ...]]:
    """Task → the mean saturation of its experts, as measured; and what cannot serve, with the reason."""
    settled = settle([one.sets for one in experts.lifetimes])
    found: dict[str, list[float]] = {}
    left_out = list(experts.left_out)
    for one in experts.lifetimes:
        try:
            task, value = _saturation(one, measure, settled)
        except LogError as problem:
            left_out.append((str(one.path or one.id), str(problem)))
        else:
            found.setdefault(task, []).append(value)
    return {task: fmean(values) for task, values in found.items()}, tuple(left_out)


def _saturation(expert: Lifetime, measure: str | None, settled: Settled) -> tuple[str, float]:
    called = expert.measure(measure)
    direction = expert.measures[called]
    log = expert_log(expert, called, direction, replace(PREP, variants=expert.variants), settled)
    best = float(moving_average(log.measured).max())
    return log.task, -best if direction == "lower" else best


def stated_in(file: Path) -> dict[str, float]:
    """Return the saturations that a file states, by task in lower case; nothing if there is no file."""
    if not file.exists():
        return {}
    return {task.lower(): value for task, value in _object_in(file).items()}


def _object_in(file: Path) -> dict[str, float]:
    try:
        known = files.parse_json(files.read_text(file, files.HEADER_LIMIT))
    except (OSError, ValueError) as problem:
        raise LogError(f"cannot be read as JSON ({problem})", "repair it, or move it away", file=file) from problem
    if not isinstance(known, dict):
        raise LogError("holds no object of tasks", "repair it, or move it away", file=file)
    return known


def write_taskinfo(stated: dict[str, float], file: Path, *, replacing: bool = False) -> dict[str, float]:
    """Write what is stated to `file`, and keep what it states of other tasks; returns all of it.

    Another value of the same task is refused, because lifetimes may have been scored with it, unless `replacing`.
    """
    known = _object_in(file) if file.exists() else {}
    kept = {task: value for task, value in known.items() if task.lower() not in stated}
    for task, value in known.items():
        if not replacing and stated.get(task.lower(), value) != value:
            raise LogError(
                f"states {value!r:.40} for {task}, and these experts give {stated[task.lower()]:g}",
                "move it away, or write to another folder",
                file=file,
            )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, (json.dumps({**kept, **stated}, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as problem:
        raise WriteError(f"cannot be written ({problem.strerror})", "give another path", file=file) from problem
    return {**kept, **stated}
