"""Bounds from a file: the range of each task's measure, known beforehand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import MetricError

__all__ = ["read_bounds", "read_numbers"]


def read_bounds(path: Path) -> dict[str, tuple[float, float]]:
    """Task → (min, max) from a JSON object `{"task": {"min": 0, "max": 1}}`; names fold case."""
    bounds: dict[str, tuple[float, float]] = {}
    for task, entry in _object(path).items():
        if not isinstance(entry, dict) or not {"min", "max"} <= entry.keys():
            raise MetricError(f'{path}: the bounds of {task!r} are {entry!r}; expected {{"min": …, "max": …}}')
        low, high = (_number(path, f"the {end} of {task!r}", entry[end]) for end in ("min", "max"))
        if low > high:
            raise MetricError(f"{path}: the bounds of {task!r} are {low:g} to {high:g}; swap them")
        bounds[task.lower()] = (low, high)
    return bounds


def read_numbers(path: Path) -> dict[str, float]:
    """Task → number from a JSON object `{"task": 0.8}`; names fold case."""
    return {task.lower(): _number(path, f"the value of {task!r}", value) for task, value in _object(path).items()}


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(files.read_text(path, files.HEADER_LIMIT))
    except OSError as problem:
        raise MetricError(f"{path}: cannot be read ({problem.strerror})") from problem
    except ValueError as problem:
        raise MetricError(f"{path}: not JSON ({problem})") from problem
    if not isinstance(found, dict):
        raise MetricError(f"{path}: expected an object with a task's name as key, found a {type(found).__name__}")
    return found


def _number(path: Path, what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise MetricError(f"{path}: {what} is {value!r}; expected a finite number")
    return float(value)
