"""Beside: what a learner and one expert of a task come to over the length that both have."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Beside"]


class Beside(NamedTuple):
    """A learner and one expert of a task, over the length that both have.

    A tuple, because there is one for every expert of every task of every life.
    """

    expert: str
    """Which expert; several lives that are compared with it call it the same."""
    length: int
    mean: float
    expert_mean: float
    start: float
    """The mean of the first tenth."""
    expert_start: float
    end: float
    """The mean of the last tenth."""
    expert_end: float
    late: float
    """The mean of the tenth before the last."""
    expert_late: float
    reached: int
    """The first experience, counted from 1, at the target common to the learner and all experts of the task;
    one more than there are where it is never reached."""
    expert_reached: int
    range: float
    """The width of the task's range on the prepared scale."""
    floor: float | None
    """Where the scale begins; None for values as measured."""
