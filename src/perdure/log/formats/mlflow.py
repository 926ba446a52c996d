"""MLflow's file store: a run below `mlruns/EXPERIMENT/`, with a file per metric.

As `mlflow/store/tracking/file_store.py` writes it: `meta.yaml` beside `metrics/NAME`, whose lines are "timestamp value
step", and `params/NAME`, whose content is the value; a slash in a name is a folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import LogError
from perdure.log.formats.runs import RunReader, Scalar, learner_and_seed
from perdure.log.rows import bytes_of

_PARAMETER = 1 << 13  # bytes of a parameter's file: MLflow takes 6000 characters


def _holds(place: Path) -> bool:
    return place.is_dir() and (place / "meta.yaml").is_file() and (place / "metrics").is_dir()


def _scalars(place: Path, notes: list[str]) -> list[Scalar]:
    """Every metric's values, in the order of their times or steps."""
    found: list[Scalar] = []
    for folder, folders, names in os.walk(place / "metrics"):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            tag = file.relative_to(place / "metrics").as_posix()
            found += _metric(file, tag, notes)
    return settled(sorted(found, key=lambda one: one.moment or 0.0))


def settled(found: list[Scalar]) -> list[Scalar]:
    """Scalars in the order of time, which decides where steps start again with each task; else in that of steps.

    Two scalars of one step may be many milliseconds apart, with those of another tag between them.
    """
    last: dict[str, int] = {}
    for one in found:
        if one.step < last.get(one.tag, one.step):
            return found
        last[one.tag] = one.step
    return sorted(found, key=lambda one: one.step)


def _metric(file: Path, tag: str, notes: list[str]) -> Iterator[Scalar]:
    content = bytes_of(file)
    lines = content.split(b"\n")
    if lines.pop():
        notes.append(f"metrics/{tag}: the last line is torn; left out")
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        try:
            # An old store has no steps, and a new one may add what the value is of.
            moment, value, step = int(parts[0]), float(parts[1]), int(parts[2]) if len(parts) > 2 else 0
        except (ValueError, IndexError):
            shown = line[:60].decode("utf-8", "replace")
            raise LogError(f"{shown!r}", 'expected "timestamp value step"', file=file, line=number) from None
        yield Scalar(tag, step, value, moment / 1000)


def _facts(place: Path) -> Mapping[str, Any]:
    said: dict[str, Any] = {}
    for name in ("learner", "method", "algorithm", "agent", "seed"):
        try:
            said[name] = files.read_bytes(place / "params" / name, _PARAMETER).decode("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
    return learner_and_seed(said)


MLFLOW = RunReader(
    "mlflow",
    "a run of MLflow's file store (mlruns/EXPERIMENT/RUN, with meta.yaml and metrics/)",
    _holds,
    scalars=_scalars,
    facts=_facts,
)
