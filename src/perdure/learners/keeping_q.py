"""KeepingQ: Q-learning with a table per task, each begun as a copy of the one learned last."""

from __future__ import annotations

import numpy as np

from perdure.learners.features import ROWS
from perdure.learners.forgetful_q import ForgetfulQ, Table, widened
from perdure.learners.interface import Situation
from perdure.learners.state import Arrays

__all__ = ["NOTHING", "KeepingQ"]

NOTHING = np.zeros((ROWS, 0))
"""A table for no action yet."""


class KeepingQ(ForgetfulQ):
    """ForgetfulQ with separate weights per task: no task overwrites what another taught.

    A task that was never learned is met with what was learned last, which is where skills carry over.
    """

    def __init__(
        self, seed: int = 0, rate: float = 0.2, explore: float = 0.1, discount: float = 0.97, trace: float = 0.9
    ) -> None:
        super().__init__(seed, rate, explore, discount, trace)
        self.tables: dict[str, Table] = {}
        self.last = ""

    def table_for(self, situation: Situation) -> Table:
        """The task's own table, or, for one never learned, what it begins with."""
        own = self.tables.get(situation.task)
        table = widened(self.beginning() if own is None else own, self.actions)
        if situation.learning:
            self.tables[situation.task] = table
            self.last = situation.task
        return table

    def beginning(self) -> Table:
        """What a task that was never learned begins with: a copy of the table learned last."""
        return self.tables.get(self.last, NOTHING).copy()

    def knowledge(self) -> Arrays:
        """All tables, by task, and which was learned last."""
        return {**{f"task:{task}": table for task, table in self.tables.items()}, "last": np.array(self.last)}

    def know(self, arrays: Arrays) -> None:
        """Take up all tables."""
        self.tables = {
            name.removeprefix("task:"): np.array(table, dtype=np.float64)
            for name, table in arrays.items()
            if name.startswith("task:")
        }
        self.last = str(arrays["last"])
