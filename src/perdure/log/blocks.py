"""From rows to blocks: which rows count, and where one block ends and the next begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from perdure.log.model import EXPERIENCE_STATUSES, Passage
from perdure.scenario.model import Block, Mode, Scenario

if TYPE_CHECKING:
    from perdure.log.model import Lifetime

__all__ = ["in_order", "passage"]

_MODES: dict[str, Mode] = {"train": "learn", "test": "evaluate"}
_COMPLETE = EXPERIENCE_STATUSES.index("complete")


_AT_ONCE = 1 << 16  # rows compared in one go: a long table is never copied for a glance at it


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows by block number, experience number, worker id, and their own order.

    The result does not depend on the order of files. Logs of one worker usually are in order
    already; seeing that costs a hundredth of a sort.
    """
    for start, (block, experience) in _neighbours(rows, "block_num", "exp_num"):
        same = block[1:] == block[:-1]
        rising = (block[1:] > block[:-1]) | (same & (experience[1:] > experience[:-1]))
        if not rising.all():
            level = same & (experience[1:] == experience[:-1])
            worker = rows.get_column("worker_id").slice(start, len(block))
            level &= (worker[1:] >= worker[:-1]).to_numpy()
            if not (rising | level).all():
                return rows.sort("block_num", "exp_num", "worker_id", maintain_order=True)
    return rows


def _neighbours(rows: pl.DataFrame, *names: str) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
    """The columns `names`, as numbers, in pieces that overlap by one row; and where each piece starts."""
    columns = [rows.get_column(name).to_physical() for name in names]
    for start in range(0, rows.height - 1, _AT_ONCE):
        yield start, [column.slice(start, _AT_ONCE + 1).to_numpy() for column in columns]


def passage(lifetime: Lifetime, measure: str, variants: Literal["aware", "agnostic"]) -> Passage:
    """The experiences of `lifetime` that count for `measure`, cut into blocks.

    Rows that are not complete, have no value, or one that is not finite are dropped and counted
    before blocks are formed, so a block left empty does not exist.
    """
    rows = lifetime.experiences
    complete = rows.get_column("exp_status").to_physical().to_numpy() == _COMPLETE
    raw = rows.get_column(measure).to_numpy().astype(np.float64, copy=False)  # null is NaN
    counts = complete & np.isfinite(raw)
    dropped = dict.fromkeys(("incomplete", "missing", "not finite"), 0)
    if not counts.all():
        dropped["incomplete"] = int((~complete).sum())
        dropped["missing"] = int((complete & np.isnan(raw)).sum())
        dropped["not finite"] = int((complete & np.isinf(raw)).sum())
        rows, raw = rows.filter(pl.Series(counts)), raw[counts]
    if variants == "agnostic":
        whole = pl.col("task_name").cast(pl.String)
        rows = rows.with_columns(whole.str.replace(r"^(.+)_[^_]*$", "${1}").cast(pl.Categorical()).alias("task_name"))
    row_starts = _boundaries(rows)
    values, starts = _averaged(rows, raw, row_starts)
    return Passage(
        scenario=_scenario(lifetime, rows, row_starts, np.diff(starts)),
        measure=measure,
        values=values,
        starts=starts,
        rows=rows,
        row_starts=row_starts,
        dropped=dropped,
    )


def _changed(rows: pl.DataFrame, *names: str) -> npt.NDArray[np.bool_]:
    """Whether a row differs from the one before it in any of `names`; the first row does."""
    changed = np.ones(rows.height, dtype=bool)
    for start, columns in _neighbours(rows, *names):
        differs = [column[1:] != column[:-1] for column in columns]
        changed[start + 1 : start + len(columns[0])] = np.logical_or.reduce(differs)
    return changed


def _boundaries(rows: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Where a block number, mode, subtype or task begins, with the number of rows at the end."""
    changed = _changed(rows, "block_num", "block_type", "block_subtype", "task_name")
    return np.append(np.flatnonzero(changed), rows.height).astype(np.int64)


def _averaged(
    rows: pl.DataFrame, raw: npt.NDArray[np.float64], row_starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """One value per experience, and where each block starts among them."""
    first = _changed(rows, "exp_num")
    first[row_starts[:-1]] = True
    if first.all():
        return raw, row_starts
    experience_starts = np.flatnonzero(first)
    counts = np.diff(np.append(experience_starts, raw.size))
    values = np.add.reduceat(raw, experience_starts) / counts
    starts = np.searchsorted(experience_starts, row_starts).astype(np.int64)
    return values, starts


def _scenario(
    lifetime: Lifetime,
    rows: pl.DataFrame,
    row_starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> Scenario:
    # By lists, not arrays: Polars would import numpy.ma to look at an array, 20 ms.
    first, last = row_starts[:-1].tolist(), (row_starts[1:] - 1).tolist()

    def at(where: list[int], name: str) -> list[Any]:
        return rows.get_column(name).gather(where).to_list()

    facts = (at(first, name) for name in ("block_type", "task_name", "block_subtype", "block_num", "task_params"))
    blocks = [
        Block(_MODES[kind], task, length, _params(params, other), subtype, number)
        for kind, task, subtype, number, params, other, length in zip(
            *facts, at(last, "task_params"), lengths.tolist(), strict=True
        )
    ]
    return Scenario.of(lifetime.id, blocks, info=lifetime.info)


def _params(first: str | None, last: str | None) -> dict[str, Any]:
    """A block's parameters; none where they differ between its first and its last row."""
    if not first or first != last:
        return {}
    try:
        found = msgspec.json.decode(first)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
