"""One line per block: what a table of a lifetime's blocks shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perdure.curves.model import Curve, Curves
from perdure.metrics.arithmetic import experiences_until
from perdure.scenario.model import Block

__all__ = ["BlockSummary", "evaluated", "summaries"]


@dataclass(frozen=True)
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
        }


def summaries(curves: Curves) -> tuple[BlockSummary, ...]:
    """Every block's levels on the prepared scale; an evaluation's end is its mean, and it does not saturate."""
    found: list[BlockSummary] = []
    for index, block in enumerate(curves.scenario.blocks):
        curve = curves.over((index,))
        if block.mode == "learn":
            found.append(
                BlockSummary(index, block, curve.mean, curve.terminal, curve.peak, experiences_until(curve, curve.peak))
            )
        else:
            squares, lagged = evaluated(curve)
            found.append(BlockSummary(index, block, curve.mean, curve.mean, squares=squares, lagged=lagged))
    return tuple(found)


def evaluated(curve: Curve) -> tuple[float, float]:
    """Of an evaluation: the squared deviations from its mean, and the products of neighbouring ones, summed."""
    away = curve.raw - curve.raw.mean() if len(curve.raw) else curve.raw
    return float(away @ away), float(away[1:] @ away[:-1])
