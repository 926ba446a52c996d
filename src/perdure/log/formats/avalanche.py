"""Avalanche's metrics as JSON: what `EvaluationPlugin.get_all_metrics()` gives.

As `avalanche/training/plugins/evaluation.py` keeps it: per name a list of steps and a list of values. Names are those
of its TensorBoard logger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from perdure.errors import LogError
from perdure.log.formats.packed import beginning
from perdure.log.formats.runs import RunReader, Scalar
from perdure.log.rows import bytes_of

_GLANCE = 1 << 12
_START = re.compile(r'\s*\{\s*"[^"]*/(?:train|eval)_phase/[^"]*"\s*:\s*\[')


def _holds(place: Path) -> bool:
    return place.suffix == ".json" and _START.match(beginning(place, _GLANCE)) is not None


def _scalars(place: Path, notes: list[str]) -> Iterator[Scalar]:  # noqa: ARG001 - nothing is left out
    """The values of every metric, by their steps."""
    kind = dict[str, tuple[list[int], list[object]]]
    try:
        said = msgspec.json.decode(bytes_of(place), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise LogError(f"no metrics: {problem}", 'expected {"NAME": [[steps], [values]], …}', file=place) from problem
    found: list[Scalar] = []
    for tag, (steps, values) in said.items():
        if len(steps) != len(values):
            raise LogError(
                f"{len(steps)} steps and {len(values)} values", "expected as many of both", file=place, where=tag
            )
        numbers = zip(steps, values, strict=True)
        found += [Scalar(tag, step, value) for step, value in numbers if isinstance(value, float | int)]
    yield from sorted(found, key=lambda one: one.step)


AVALANCHE = RunReader(
    "avalanche",
    "Avalanche's get_all_metrics() as JSON (its eval_results.csv is a table)",
    _holds,
    scalars=_scalars,
)
