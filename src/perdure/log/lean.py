"""A log without its rows: what metrics read of them, taken piece by piece while the text is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from perdure.log.blocks import Facts, boundaries, experiences, in_order, is_complete, scenario_of
from perdure.log.model import Lifetime, Passage

if TYPE_CHECKING:
    from perdure.log.variants import Settled
    from perdure.scenario.variants import Mode

__all__ = ["Lean", "NeedsRows", "lean"]

_LENGTH = "perdure: length of the block"
_BLOCK = ("block_num", "block_type", "block_subtype", "task_name")


class NeedsRows(Exception):
    """The rows of this log say more than one value each in order, so they cannot be let go."""


@dataclass(frozen=True, eq=False)
class Lean:
    """The values of a log, and of each block its first and its last row."""

    rows: pl.DataFrame
    """Two for each block."""
    values: Mapping[str, npt.NDArray[np.float64]]
    """Measure → one value for each experience."""
    lengths: npt.NDArray[np.int64]
    """Of the blocks."""
    height: int
    """How many rows there were, with those that do not count."""
    whole: Callable[[], Lifetime]
    """Reads the log again, with its rows."""

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """All of it but its height, to be kept: the values, and the rows with the length of their block."""
        return pl.DataFrame(dict(self.values)), self.rows.with_columns(pl.Series(_LENGTH, self.lengths.repeat(2)))

    @classmethod
    def of_tables(cls, tables: Sequence[pl.DataFrame], height: int, whole: Callable[[], Lifetime]) -> Lean:
        """What was kept by `tables`."""
        values, rows = tables
        lengths = rows.get_column(_LENGTH).gather_every(2).to_numpy()
        return cls(rows.drop(_LENGTH), {one.name: one.to_numpy() for one in values}, lengths, height, whole)

    def passage(
        self, lifetime: Lifetime, measure: str | Mapping[str, str], variants: Mode, settled: Settled | None
    ) -> Passage:
        """What the rows give, of which only each block's first and last are at hand."""
        if not isinstance(measure, str) or variants != "name":
            return self.whole().passage(measure, variants, settled)
        labels, ends = self.rows.get_column("task_name"), np.arange(0, self.rows.height + 1, 2)
        facts, count = Facts.of(self.rows, labels, ends), int(self.lengths.sum())
        return Passage(
            scenario=scenario_of(lifetime, facts, self.lengths, {}, {}, as_one=False),
            measure=measure,
            values=self.values[measure],
            starts=np.append(0, self.lengths.cumsum()),
            rows=self.rows,
            row_starts=ends,
            dropped={"incomplete": self.height - count, "missing": 0, "not finite": 0},
        )


def lean(pieces: Iterable[pl.DataFrame], measures: Sequence[str], whole: Callable[[], Lifetime]) -> Lean:
    """What is kept of the rows, which come in pieces; NeedsRows where that is not enough."""
    kept: list[pl.DataFrame] = []
    lengths: list[int] = []
    values: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in measures}
    height = 0
    for piece in pieces:
        height += piece.height
        if in_order(piece) is not piece:
            raise NeedsRows
        counts = is_complete(piece)
        rows = piece if counts.all() else piece.filter(pl.Series(counts))
        if not rows.height:
            continue
        starts = boundaries(rows)
        if len(experiences(rows, starts)) != rows.height:
            raise NeedsRows
        for name in measures:
            found = rows.get_column(name).to_numpy().astype(np.float64)
            if not np.isfinite(found).all():
                raise NeedsRows
            values[name].append(found)
        ends, here = rows[np.stack([starts[:-1], starts[1:] - 1], axis=1).ravel().tolist()], np.diff(starts).tolist()
        if kept and _goes_on(kept[-1], ends):
            ends, kept[-1] = ends[1:], kept[-1][:-1]
            lengths[-1] += here.pop(0)
        kept.append(ends)
        lengths += here
    if not kept:
        raise NeedsRows  # why none of them counts, they tell
    ends = pl.concat(kept, how="diagonal_relaxed")
    if not Facts.of(ends, ends.get_column("task_name"), np.arange(0, ends.height + 1, 2)).plain:
        raise NeedsRows  # which parameters are noise, all rows tell
    joined = {name: np.concatenate(some) for name, some in values.items()}
    return Lean(ends, joined, np.array(lengths, dtype=np.int64), height, whole)


def _goes_on(before: pl.DataFrame, after: pl.DataFrame) -> bool:
    """Whether a piece begins in the block in which the one before it ends; NeedsRows where it lies before it."""
    last, first = before.row(-1, named=True), after.row(0, named=True)
    same = all(last[name] == first[name] for name in _BLOCK)
    if (first["block_num"], first["exp_num"]) <= (last["block_num"], last["exp_num"]):
        raise NeedsRows
    return same
