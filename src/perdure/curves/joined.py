"""Joined curves: a learner beside each expert of a task, cut to equal length and then smoothed once.

Smoothing block by block would leave the learner's curve noisier than its expert's, and smoothing before the cut would
let values behind the cut count: both move what the two are compared by, for a learner that is its own expert too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, late, mean, near, start, terminal
from perdure.curves.beside import Beside
from perdure.curves.experts import ExpertLog
from perdure.curves.model import LOWEST, SCALED, Prep, Range, Ranges
from perdure.curves.prepare import clamp, scale, smooth
from perdure.frozen import frozen

__all__ = ["Joined"]

First = Callable[[tuple[int, ...], int], Array]
"""Of blocks, stitched, the first so many experiences."""
_CLOSE = 0.9  # how far from where they begin to where they end the common target lies


@frozen(eq=False)
class _Side:
    """One curve of each life, or one for all lives: a row each."""

    values: Array

    @cached_property
    def mean(self) -> Array:
        return np.asarray(mean(self.values))

    @cached_property
    def start(self) -> Array:
        return np.asarray(start(self.values))

    @cached_property
    def end(self) -> Array:
        return np.asarray(terminal(self.values))

    @cached_property
    def late(self) -> Array:
        return np.asarray(late(self.values))

    def reached(self, target: Array) -> npt.NDArray[np.int64]:
        """Counted from 1; one more than there are where it is never reached."""
        there = self.values >= near(target)[:, np.newaxis]
        reached: npt.NDArray[np.int64] = np.where(there.any(axis=-1), there.argmax(axis=-1), self.values.shape[-1])
        return reached + 1


@frozen(eq=False)
class Joined:
    """The raw values of lives that share their blocks, and of the experts beside them, with what prepares them."""

    measured: First
    """A row per life, higher is better."""
    lives: int
    prep: Prep
    bounds: Mapping[str, Range | Ranges]
    clamps: Mapping[str, Range | Ranges]
    experts: Mapping[str, Sequence[ExpertLog]]
    noise: First | None = None
    """What is added to the learners' prepared values."""

    @cached_property
    def _found(self) -> dict[tuple[str, tuple[int, ...], str], list[tuple[Beside, ...]]]:
        return {}

    def beside(
        self, task: str, blocks: tuple[int, ...], average: Literal["metrics", "time"] = "metrics"
    ) -> Sequence[tuple[Beside, ...]]:
        """For each life its blocks beside each expert of the task, in the experts' order; `time` averages them first.

        An expert without a learning experience while awake is passed by.
        """
        key = (task, blocks, average)
        if key not in self._found:
            self._found[key] = self._compared(task, blocks, average)
        return self._found[key]

    def _compared(self, task: str, blocks: tuple[int, ...], average: str) -> list[tuple[Beside, ...]]:
        lives = self.lives
        logs = [(one.mark, one.awake_values) for one in self.experts.get(task, ()) if len(one.awake_values)]
        if not logs:
            return [()] * lives
        if average == "time" and len(logs) > 1:
            logs = [_averaged(logs)]
        most = max(len(values) for _, values in logs)
        own = self.measured(blocks, most)
        noise = None if self.noise is None else self.noise(blocks, most)
        lengths = [min(own.shape[-1], len(values)) for _, values in logs]
        cuts = {
            length: _Side(self._prepared(task, own[:, :length], None if noise is None else noise[:, :length]))
            for length in dict.fromkeys(lengths)
        }
        learners = [cuts[length] for length in lengths]
        others = [
            _Side(self._prepared(task, values[np.newaxis, :length]))
            for (_, values), length in zip(logs, lengths, strict=True)
        ]
        height = _common([side.end for side in learners], [side.end for side in others])
        base = _common([side.start for side in learners], [side.start for side in others])
        target = base + _CLOSE * (height - base)
        bounds = self.bounds[task]
        scaled = self.prep.scale != "none"
        extent = np.ravel(np.float64(SCALED) if scaled else np.asarray(bounds.high - bounds.low))
        floor = LOWEST if scaled else None
        reached = {length: side.reached(target) for length, side in cuts.items()}
        tables = [
            zip(
                *(
                    np.broadcast_to(column, lives).tolist()
                    for column in (
                        learner.mean,
                        other.mean,
                        learner.start,
                        other.start,
                        learner.end,
                        other.end,
                        learner.late,
                        other.late,
                        reached[length],
                        other.reached(target),
                        extent,
                    )
                ),
                strict=True,
            )
            for learner, other, length in zip(learners, others, lengths, strict=True)
        ]
        columns = [
            [Beside._make((mark, length, *numbers, floor)) for numbers in table]
            for (mark, _), length, table in zip(logs, lengths, tables, strict=True)
        ]
        return list(zip(*columns, strict=True))

    def _prepared(self, task: str, cut: Array, noise: Array | None = None) -> Array:
        """Curves of one length, a row each: smoothed, clamped and scaled by the task's range in each life."""
        prep = self.prep
        whole = np.array([0, cut.shape[-1]])
        values = smooth(cut, whole, (0,), window=prep.window, width=prep.width, alignment=prep.alignment)
        if task in self.clamps:
            values = clamp(values, self.clamps[task])
        if prep.scale != "none":
            values = scale(values, self.bounds[task])
        return values if noise is None else values + noise


def _averaged(logs: Sequence[tuple[str, Array]]) -> tuple[str, Array]:
    """One expert whose curve is the experts' mean, all cut to the shortest."""
    shortest = min(len(values) for _, values in logs)
    return "mean of " + ", ".join(mark for mark, _ in logs), np.mean([values[:shortest] for _, values in logs], axis=0)


def _common(learner: Sequence[Array], experts: Sequence[Array]) -> Array:
    """The mean over the experts and the learner, who counts once however often it was cut."""
    own = sum(learner, np.zeros(1)) / len(learner)
    return np.asarray((own + sum(experts, np.zeros(1))) / (len(experts) + 1))
