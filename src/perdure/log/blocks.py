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
    block, experience = pl.col("block_num").diff(), pl.col("exp_num").diff()
    rising = (block > 0) | ((block == 0) & (experience > 0))
    level = (block == 0) & (experience == 0) & (pl.col("worker_id") >= pl.col("worker_id").shift())
    if rows.height < 2 or rows.select((rising | level).fill_null(True).all()).item():
        return rows
    return rows.sort("block_num", "exp_num", "worker_id", maintain_order=True)


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
        rows = rows.with_columns(pl.col("task_name").str.replace(r"^(.+)_[^_]*$", "${1}").alias("task_name"))
    row_starts = _boundaries(rows, ("block_num", "block_type", "block_subtype", "task_name"))
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


def _boundaries(rows: pl.DataFrame, columns: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """Where runs of equal values in `columns` start, with the number of rows at the end."""
    if not rows.height:
        return np.zeros(1, dtype=np.int64)
    changed = rows.select(pl.any_horizontal(pl.col(name) != pl.col(name).shift() for name in columns).alias("changed"))[
        "changed"
    ]
    starts = np.flatnonzero(changed.fill_null(True).to_numpy())
    return np.concatenate([starts, [rows.height]]).astype(np.int64)


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
    heads = rows[row_starts[:-1]]
    last = rows[row_starts[1:] - 1]
    blocks = [
        Block(
            mode=_MODES[head["block_type"]],
            task=head["task_name"],
            length=int(length),
            params=_params(head["task_params"], other),
            subtype=head["block_subtype"],
            group=head["block_num"],
        )
        for head, other, length in zip(heads.iter_rows(named=True), last["task_params"], lengths, strict=True)
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
