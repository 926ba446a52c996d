"""A life that is being written, block by block: what a block came to when it ended is kept while others follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np

from perdure.curves.arrays import Array
from perdure.curves.experts import ExpertLog
from perdure.curves.model import Curve, Expert, Prep, Range
from perdure.curves.prepare import scale
from perdure.frozen import frozen
from perdure.scenario.model import Block

__all__ = ["Pieces"]

Span = tuple[float, float]


@frozen(eq=False)
class Pieces:
    """Blocks as measured and as smoothed, and what is made of them on the scale that the life has now.

    A block is smoothed once, when it has ended. It is scaled when somebody asks for it, and again only where the range
    of its task has changed since.
    """

    blocks: tuple[Block, ...]
    as_measured: tuple[Array, ...]
    smoothed: tuple[Array, ...]
    spanned: Mapping[str, Span]
    """Task → the lowest and the highest smoothed value of its blocks that have ended."""
    prep: Prep
    ranges: Mapping[str, Range]
    """Task → the range by which its values are scaled."""
    logs: Sequence[ExpertLog]
    experts: dict[str, tuple[Expert, ...]] = field(default_factory=dict)
    """Task → its experts on that scale."""
    curves: dict[int, Curve] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    found: dict[Any, Any] = field(default_factory=dict)
    """What was found in blocks that have ended, beside these experts."""
    moved: Mapping[str, int] = field(default_factory=dict)
    """Task → how often ranges had changed when its own last did: what was found before that is of another scale."""

    @classmethod
    def of(
        cls,
        before: Pieces | None,
        ended: int,
        blocks: tuple[Block, ...],
        measured: Sequence[Array],
        smoothed: Sequence[Array],
        prep: Prep,
        ranges: Mapping[str, Range],
        logs: Sequence[ExpertLog],
    ) -> Pieces:
        """The first `ended` blocks of what was there before, and those behind them as measured and as smoothed."""
        spanned = dict(before.spans(ended)) if before else {}
        for block, values in zip(blocks[ended:-1], smoothed[:-1], strict=True):
            spanned[block.task] = _wider(spanned.get(block.task), values)
        if before is None:
            return cls(blocks, tuple(measured), tuple(smoothed), spanned, prep, ranges, logs)
        same = {task for task, one in before.ranges.items() if ranges.get(task) == one}
        unchanged = len(same) == len(before.ranges)
        goes_on = logs is before.logs and ended == len(before.blocks) - 1
        now = before.changes + 1
        return cls(
            blocks,
            (*before.as_measured[:ended], *measured),
            (*before.smoothed[:ended], *smoothed),
            spanned,
            prep,
            ranges,
            logs,
            {task: one for task, one in before.experts.items() if task in same} if logs is before.logs else {},
            {at: one for at, one in before.curves.items() if at < ended and (unchanged or blocks[at].task in same)},
            {at: one for at, one in before.means.items() if at < ended},
            before.found if goes_on else {},
            {**before.moved, **{task: now for task in before.ranges if task not in same}},
        )

    @property
    def changes(self) -> int:
        """How often ranges have changed."""
        return max(self.moved.values(), default=0)

    def same(self, blocks: Sequence[Block]) -> int:
        """How many of the first `blocks` had ended here: the very objects, as blocks of unchanged rows are."""
        known = self.blocks[:-1]
        return next((at for at, one in enumerate(map(is_, known, blocks)) if not one), min(len(known), len(blocks)))

    def spans(self, ended: int) -> Mapping[str, Span]:
        """Task → the lowest and the highest smoothed value in the first `ended` blocks."""
        if ended == len(self.blocks) - 1:
            return self.spanned
        found: dict[str, Span] = {}
        for block, values in zip(self.blocks[:ended], self.smoothed[:ended], strict=True):
            found[block.task] = _wider(found.get(block.task), values)
        return found

    @cached_property
    def values(self) -> Array:
        """Smoothed and scaled."""
        return self.over(range(len(self.blocks)))[0]

    @cached_property
    def raw(self) -> Array:
        """Scaled, not smoothed."""
        return self.over(range(len(self.blocks)))[1]

    @cached_property
    def measured(self) -> Array:
        """As measured, higher is better."""
        return _joined(self.as_measured)

    def over(self, blocks: Sequence[int]) -> tuple[Array, Array]:
        """The blocks stitched, smoothed and not, on the scale that the life has now."""
        both = (self.smoothed, self.as_measured)
        values, raw = ([self._scaled(block, pieces[block]) for block in blocks] for pieces in both)
        return _joined(values), _joined(raw)

    def _scaled(self, block: int, values: Array) -> Array:
        return values if self.prep.scale == "none" else scale(values, self.ranges[self.blocks[block].task])

    def measured_over(self, blocks: Sequence[int]) -> Array:
        """The blocks as measured, stitched."""
        return _joined([self.as_measured[block] for block in blocks])

    def measured_first(self, blocks: Sequence[int], most: int) -> Array:
        """The first `most` experiences of the blocks as measured, as the only row of a table of lives."""
        lengths = np.cumsum([len(self.as_measured[block]) for block in blocks])
        enough = int(np.searchsorted(lengths, most)) + 1
        return self.measured_over(blocks[:enough])[np.newaxis, :most]


def _wider(span: Span | None, values: Array) -> Span:
    low, high = float(values.min()), float(values.max())
    return (low, high) if span is None else (min(span[0], low), max(span[1], high))


def _joined(pieces: Sequence[Array]) -> Array:
    """The pieces in order, which nobody may change; of a single one a view."""
    joined = pieces[0][:] if len(pieces) == 1 else np.concatenate(pieces)
    joined.flags.writeable = False
    return joined
