"""A lifetime's rows and blocks as the data frames of 2019, for metrics that were written for them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from perdure.classic.learnkit.tree import LearnkitPhase
from perdure.classic.learnkit.writer import phases
from perdure.lazy import pl
from perdure.log.model import STANDARD_COLUMNS, Passage

_NAMES = {"worker_id": "worker", "task_name": "class_name", "task_params": "params"}
_OURS = ("block_num", "block_type", "block_subtype", "exp_status", "phase", "block", "task", *_NAMES.values())


def frames(passage: Passage) -> tuple[Any, Any]:
    """The rows that count, and the blocks, numbered alike from 0; pandas' where it is installed, else Polars'.

    As in the logs of then, `task` is the number of an episode, and `class_name` what is called a task here.
    """
    rows, starts = passage.rows, passage.row_starts
    phase = phases(rows)
    number = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    measured = [name for name in rows.columns if name not in (*STANDARD_COLUMNS, *_OURS)]
    data = pl.DataFrame(
        {
            "block": number,
            "phase": phase,
            "task": rows["exp_num"],
            **{theirs: rows[ours].cast(pl.String) for ours, theirs in _NAMES.items()},
            **{name: rows[name] for name in measured},
        }
    )
    return _frame(data), blocks_in(data)


def blocks_in(rows: Any) -> Any:
    """The blocks of such rows: number, phase, task as logged, parameters, and length in episodes."""
    table = pl.DataFrame({name: list(rows[name]) for name in ("block", "phase", "class_name", "params", "task")})
    found = table.group_by("block", maintain_order=True).agg(
        pl.first("phase", "class_name", "params"), length=pl.col("task").n_unique()
    )
    parsed = [LearnkitPhase.parse(one) for one in found["phase"]]
    return _frame(
        found.select(
            "block",
            "phase",
            pl.Series("phase_number", [one and one.number for one in parsed]),
            pl.Series("phase_type", [one and one.mode for one in parsed]),
            pl.col("class_name").alias("task_name"),
            "params",
            "length",
        )
    )


def _frame(table: pl.DataFrame) -> Any:
    if find_spec("pandas") is None:
        return table
    return import_module("pandas").DataFrame(table.to_dict(as_series=False))
