"""One line per block: what a table of a lifetime's blocks shows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from perdure.curves.model import Curves
from perdure.frozen import frozen, replace
from perdure.lazy import pl
from perdure.log.model import Passage
from perdure.scenario.model import Block

__all__ = ["DORMANT", "BlockSummary", "summaries"]

DORMANT = "dormant_units"
"""The column in which a learner may log the share of its units that no longer answer."""


@frozen(slots=True)
class BlockSummary:
    """A block and its levels: mean, end, and for learning blocks when it was highest."""

    index: int
    block: Block
    mean: float | None
    terminal: float | None
    saturation: float | None = None
    experiences_to_saturation: int | None = None
    squares: float | None = None
    """Of an evaluation: the sum of squared deviations from its mean, and …"""
    lagged: float | None = None
    """… of products of neighbouring deviations; what one lifetime can say of itself rests on both."""
    dormant_units: float | None = None
    """The mean share of units that no longer answer, where the learner logs a column of this name."""

    def as_json(self) -> dict[str, Any]:
        """The block as one JSON object."""
        return {
            "block": self.index,
            "group": self.block.group,
            "mode": self.block.mode,
            "subtype": self.block.subtype,
            "task": self.block.task,
            "length": self.block.length,
            "mean": self.mean,
            "terminal": self.terminal,
            "saturation": self.saturation,
            "experiences_to_saturation": self.experiences_to_saturation,
            "squares": self.squares,
            "lagged": self.lagged,
            "dormant_units": self.dormant_units,
        }


def summaries(curves: Curves) -> tuple[BlockSummary, ...]:
    """Every block's levels on the prepared scale; an evaluation's end is its mean, and it does not saturate."""
    dormant = _dormant(curves.passage)
    found: list[BlockSummary] = []
    for index, block in enumerate(curves.scenario.blocks):
        curve = curves.over((index,))
        if block.mode == "learn":
            made = BlockSummary(index, block, curve.mean, curve.terminal, curve.peak, curve.until_peak)
        else:
            made = BlockSummary(index, block, curve.mean, curve.mean, None, None, *curve.raw_deviations)
        found.append(replace(made, dormant_units=dormant[index]) if dormant else made)
    return tuple(found)


def _dormant(passage: Passage) -> tuple[float | None, ...]:
    """The mean of the column `dormant_units` in each block, None where it is empty; nothing where there is none."""
    if DORMANT not in passage.columns:
        return ()
    column = passage.rows.get_column(DORMANT).cast(pl.Float64, strict=False)
    starts = passage.row_starts.tolist()
    # Summed by NumPy: the last digit of Polars' sum hangs on where in memory the rows lie.
    shares = (column[first:last].drop_nulls().drop_nans().to_numpy() for first, last in pairwise(starts))
    return tuple(float(one.sum()) / len(one) if len(one) else None for one in shares)
