"""Accuracy matrices to write and to read, shared by several tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import perdure
from perdure.log.accuracy_matrix import AccuracyMatrix
from perdure.log.read import Options

EXAMPLE = Path(__file__).parents[3] / "examples" / "matrix" / "s002.csv"


# The five tasks of the accuracy-matrix page, in percent.
S002 = np.array(
    [
        [98.5, 62.3, 55.1, 51.8, 49.2],
        [np.nan, 97.8, 58.6, 52.4, 50.1],
        [np.nan, np.nan, 98.2, 61.3, 53.7],
        [np.nan, np.nan, np.nan, 97.5, 58.9],
        [np.nan, np.nan, np.nan, np.nan, 98.1],
    ]
)


FULL = np.array([[0.9, 0.6, 0.5], [0.2, 0.8, 0.7], [0.1, 0.3, 0.9]])


def accuracy_matrix(cells: Any, tasks: list[str] | None = None, **options: Any) -> AccuracyMatrix:
    return perdure.matrix_lifetime(cells, tasks, Options(**options)).matrix


def write_file(folder: Path, text: str | bytes, name: str = "matrix.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def as_text(cells: np.ndarray[Any, Any], delimiter: str = ",") -> str:
    rows = (delimiter.join("" if np.isnan(cell) else repr(float(cell)) for cell in row) for row in cells)
    return "\n".join(rows) + "\n"


def as_lists(cells: np.ndarray[Any, Any]) -> list[list[float | None]]:
    return [[None if np.isnan(cell) else float(cell) for cell in row] for row in cells]


def as_file(folder: Path, cells: np.ndarray[Any, Any], suffix: str) -> Path:
    path = folder / f"matrix.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps(as_lists(cells)))
    elif suffix == "npz":
        np.savez(path, cells)
    elif suffix == "npy":
        np.save(path, cells)
    else:
        path.write_text(as_text(cells, "\t" if suffix == "tsv" else ","))
    return path
