"""The curves of a life of which only the accuracy matrix is known: its evaluations as measured."""

from __future__ import annotations

import numpy as np

from perdure.curves.experts import oriented
from perdure.curves.model import Curves, Prep, Range
from perdure.curves.prepared import Prepared
from perdure.log.accuracy_matrix import MatrixPassage
from perdure.log.model import Direction

__all__ = ["matrix_curves"]


def matrix_curves(passage: MatrixPassage, lifetime: str, direction: Direction = "higher") -> Curves:
    """Neither smoothed nor scaled, without experts: metrics that need a log of experiences have no sites here."""
    values = oriented(passage.values, direction)
    rows = oriented(passage.matrix.values, direction)
    return Curves(
        lifetime=lifetime,
        passage=passage,
        prep=Prep(window="none", scale="none"),
        directions=dict.fromkeys(passage.matrix.tasks, direction),
        prepared=Prepared(values, lambda: values, values, passage.starts),
        starts=passage.starts,
        ranges={
            task: Range(float(np.nanmin(row)), float(np.nanmax(row)))
            for task, row in zip(passage.matrix.tasks, rows, strict=True)
            if not np.isnan(row).all()
        },
    )
