"""Lifetimes of a few rows, shared by the tests of variants."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from perdure.log.blocks import in_order
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS
from perdure.log.variants import sets_of, settle

Row = Mapping[str, Any]


def lifetime(rows: Sequence[Row], name: str = "life", **facts: Any) -> Lifetime:
    """Return a lifetime in memory from rows that give only the columns of interest."""
    usual = {
        "block_num": 0,
        "worker_id": "w",
        "block_type": "train",
        "block_subtype": "wake",
        "task_name": "pong",
        "exp_status": "complete",
        "timestamp": None,
        "reward": 1.0,
    }
    full = [
        {"exp_num": index, **usual, **row, "task_params": json.dumps(row.get("task_params", {}))}
        for index, row in enumerate(rows)
    ]
    frame = pl.DataFrame(full, schema={**STANDARD_COLUMNS, "reward": pl.Float64()})
    return Lifetime(name, in_order(frame), {"reward": "higher"}, **facts)


def blocks(*runs: tuple[str, Mapping[str, Any], int]) -> list[Row]:
    """Return the rows of a block for each label, parameter set and length."""
    return [
        {"block_num": number, "task_name": label, "task_params": params}
        for number, (label, params, length) in enumerate(runs)
        for _ in range(length)
    ]


def tasks(lifetime: Lifetime, *others: Lifetime) -> list[str]:
    """Return the task of each block if parameters make tasks, resolved over all of these lifetimes."""
    settled = settle([sets_of(item) for item in (lifetime, *others)])
    return [block.task for block in lifetime.passage(None, "params", settled).scenario.blocks]


def rewarded(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "reward": float(index % 7)} for index, row in enumerate(rows)]
