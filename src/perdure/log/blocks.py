"""From rows to blocks: which rows count, and where one block ends and the next begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from perdure.log.model import Passage
from perdure.scenario.model import Block, Mode, Scenario

if TYPE_CHECKING:
    from perdure.log.model import Lifetime

__all__ = ["in_order", "passage"]

_MODES: dict[str, Mode] = {"train": "learn", "test": "evaluate"}


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows by block number, experience number, worker id, and their own order.

    The result does not depend on the order of files. Logs of one worker usually are in order
    already; seeing that costs a hundredth of a sort.
    """
    block, experience = rows["block_num"].to_numpy(), rows["exp_num"].to_numpy()
    same = block[1:] == block[:-1]
    rising = (block[1:] > block[:-1]) | (same & (experience[1:] > experience[:-1]))
    if not rising.all():
        level = same & (experience[1:] == experience[:-1])
        worker = rows["worker_id"]
        level &= (worker[1:] >= worker[:-1]).to_numpy()
        if not (rising | level).all():
            return rows.sort("block_num", "exp_num", "worker_id", maintain_order=True)
    return rows


def passage(lifetime: Lifetime, measure: str, variants: Literal["aware", "agnostic"]) -> Passage:
    """The experiences of `lifetime` that count for `measure`, cut into blocks.

    Rows that are not complete, have no value, or one that is not finite are dropped and counted
    before blocks are formed, so a block left empty does not exist.
    """
    rows = lifetime.experiences
    complete, value = pl.col("exp_status") == "complete", pl.col(measure)
    incomplete, missing, infinite = rows.select(
        (~complete).sum().alias("incomplete"),
        (complete & (value.is_null() | value.is_nan())).sum().alias("missing"),
        (complete & value.is_infinite()).sum().alias("not finite"),
    ).row(0)
    dropped = {"incomplete": incomplete, "missing": missing, "not finite": infinite}
    if any(dropped.values()):
        rows = rows.filter(complete & value.is_finite())
    if variants == "agnostic":
        whole = pl.col("task_name").cast(pl.String)
        rows = rows.with_columns(whole.str.replace(r"^(.+)_[^_]*$", "${1}").cast(pl.Categorical()).alias("task_name"))
    row_starts = _boundaries(rows)
    values, starts = _averaged(rows, measure, row_starts)
    return Passage(
        scenario=_scenario(lifetime, rows, row_starts, np.diff(starts)),
        measure=measure,
        values=values,
        starts=starts,
        rows=rows,
        row_starts=row_starts,
        dropped=dropped,
    )


def _boundaries(rows: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Where a block number, mode, subtype or task begins, with the number of rows at the end."""
    if not rows.height:
        return np.zeros(1, dtype=np.int64)
    changed = np.zeros(rows.height - 1, dtype=bool)
    for name in ("block_num", "block_type", "block_subtype", "task_name"):
        codes = rows[name].to_physical().to_numpy()
        changed |= codes[1:] != codes[:-1]
    return np.concatenate([[0], np.flatnonzero(changed) + 1, [rows.height]]).astype(np.int64)


def _averaged(
    rows: pl.DataFrame, measure: str, row_starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """One value per experience, and where each block starts among them."""
    raw = rows[measure].to_numpy().astype(np.float64, copy=False)
    if not raw.size:
        return raw, np.zeros(1, dtype=np.int64)
    numbers = rows["exp_num"].to_numpy()
    first = np.ones(raw.size, dtype=bool)
    first[1:] = numbers[1:] != numbers[:-1]
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
    named = rows.select("block_type", "task_name", "block_subtype", "block_num", "task_params")
    heads = named[row_starts[:-1].tolist()]
    last = rows["task_params"].gather((row_starts[1:] - 1).tolist())
    blocks = [
        Block(_MODES[kind], task, length, _params(params, other), subtype, number)
        for (kind, task, subtype, number, params), other, length in zip(
            heads.iter_rows(), last, lengths.tolist(), strict=True
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
