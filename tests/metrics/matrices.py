"""Matrices to measure, of files and of logs: shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from perdure.curves.model import Curves
from perdure.curves.prepare import matrix_curves
from perdure.log.accuracy_matrix import AccuracyMatrix, passage_of
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS
from perdure.metrics import matrix_formulas
from perdure.metrics.declare import Metric
from perdure.metrics.matrix import AccuracySites
from perdure.metrics.measure import Context, Measured, measure

EXAMPLE = Path(__file__).parents[2] / "examples" / "matrix" / "s002.csv"


MATRIX_METRICS = tuple(
    metric
    for name, metric in vars(matrix_formulas).items()
    if isinstance(metric, Metric) and name != "general_ability_change"
)
FROM_CELLS = tuple(one for one in MATRIX_METRICS if isinstance(one.sites, AccuracySites))


BASELINES = {"random_init": 10, "joint": 98}


# Below the diagonal and in column 0 too: three tasks, every cell measured.
WHOLE = np.array([[0.1, 0.9, 0.6, 0.7], [0.2, 0.3, 0.8, 0.5], [0.15, 0.1, 0.4, 0.95]])


def curves_of(matrix: AccuracyMatrix) -> Curves:
    return matrix_curves(passage_of(matrix, "m"), "m")


def from_matrix(metric: Metric, matrix: AccuracyMatrix, **baselines: Any) -> Measured:
    return measure(metric, curves_of(matrix), Context(baselines))


def lifetime(blocks: Sequence[tuple[str, str, Sequence[float]]], direction: Any = "higher") -> Lifetime:
    """A life of blocks `(mode, task, values)`; a mode is learn, evaluate, or evaluate asleep."""
    rows = [
        (
            number,
            10_000 * number + index,
            "w",
            "train" if mode == "learn" else "test",
            "sleep" if mode == "asleep" else "wake",
            task,
            "{}",
            "complete",
            "",
            float(value),
        )
        for number, (mode, task, values) in enumerate(blocks)
        for index, value in enumerate(values)
    ]
    schema = {**STANDARD_COLUMNS, "accuracy": pl.Float64()}
    return Lifetime("life", pl.DataFrame(rows, schema=schema, orient="row"), {"accuracy": direction})


def lived(values: np.ndarray[Any, Any], tasks: Sequence[str]) -> Lifetime:
    """A life whose matrix is `values`: each cell an evaluation of two experiences around it."""
    blocks: list[tuple[str, str, Sequence[float]]] = []
    for column in range(values.shape[1]):
        if column:
            blocks.append(("learn", tasks[column - 1], [0.0, 0.5, 1.0]))
        blocks += [
            ("evaluate", tasks[row], [values[row, column] - 0.01, values[row, column] + 0.01])
            for row in range(len(tasks))
            if not np.isnan(values[row, column])
        ]
    return lifetime(blocks)


def whole_matrices(least: int = 2) -> Any:
    shapes = st.integers(least, 5).map(lambda count: (count, count + 1))
    return shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=st.floats(0.05, 0.95)))
