"""SeparateQ: Q-learning with a table per task, each empty at first: nothing is forgotten, nothing carried over."""

from __future__ import annotations

from perdure.learners.forgetful_q import Table
from perdure.learners.keeping_q import NOTHING, KeepingQ

__all__ = ["SeparateQ"]


class SeparateQ(KeepingQ):
    """A null learner: it learns each task exactly as that task's expert does, so any effect is chance."""

    def beginning(self) -> Table:
        """What a task that was never learned begins with: an empty table."""
        return NOTHING.copy()
