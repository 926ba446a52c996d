"""Q-learning with one table for all tasks, with one per task, and with one per task that starts empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.learners.features import ROWS, Encoder, encoder_for
from perdure.learners.interface import LearnerError, Situation, Transition
from perdure.learners.state import Arrays, Kept

Table = npt.NDArray[np.float64]


class QLearning(Kept):
    """Linear Q-learning on coarse features, with one table for all tasks, so that each task overwrites the others.

    An episode is learned from when it ends, from its last step back. The target of a step is the λ-return (Sutton
    and Barto 2018, §12.1), so that a late reward reaches at once the steps that earned it.
    """

    def __init__(
        self, seed: int = 0, rate: float = 0.2, explore: float = 0.1, discount: float = 0.97, trace: float = 0.9
    ) -> None:
        super().__init__(seed)
        self.rate, self.explore, self.discount, self.trace = rate, explore, discount, trace
        self.tables: dict[str, Table] = {}
        self.last = ""
        self._in_use: Table = np.zeros((ROWS, 0))
        self.actions = 0
        self.learning = False
        self._rows: Encoder | None = None
        self._seen: tuple[Any, npt.NDArray[np.int64]] | None = None
        self._episode: list[tuple[npt.NDArray[np.int64], int, float, npt.NDArray[np.int64], bool]] = []

    def block_started(self, situation: Situation) -> None:
        """Choose the encoder and the table; a new action is a new column of zeros."""
        from gymnasium import spaces

        if not isinstance(situation.action_space, spaces.Discrete):
            raise LearnerError(
                f"{type(self).__name__} needs a Discrete action space, found {situation.action_space}",
                "give it tasks that have one",
                where=f"block {situation.block} ({situation.mode} {situation.task})",
            )
        self.learning = situation.learning
        self.actions = int(situation.action_space.n)
        self._rows = encoder_for(situation.observation_space)
        self._seen, self._episode = None, []
        self._in_use = self.table_for(situation)

    def table_for(self, situation: Situation) -> Table:
        """Return the table that this task reads and, while it may learn, writes."""
        key = self.key(situation)
        table = self.tables.get(key, self.beginning())
        if (missing := self.actions - table.shape[1]) > 0:
            table = np.pad(table, ((0, 0), (0, missing)))
        if situation.learning:
            self.tables[key], self.last = table, key
        return table

    def key(self, situation: Situation) -> str:  # noqa: ARG002
        """Return the name of a task's table: one for all tasks."""
        return ""

    def beginning(self) -> Table:
        """Return the table of a task that was never learned: a copy of the table learned last."""
        return self.tables.get(self.last, np.zeros((ROWS, 0))).copy()

    def act(self, observation: Any) -> int:
        """Return the best action known; while learning, sometimes a random one, and among untried ones any."""
        if self.learning and self.rng.random() < self.explore:
            return int(self.rng.integers(self.actions))
        values = self._values(self._encoded(observation))
        best = int(values.argmax())
        if self.learning and values[best] == 0.0:  # some of these were never tried
            return int(self.rng.choice(np.flatnonzero(values == 0.0)))
        return best

    def learn(self, experience: Transition) -> None:
        """Store the step; at the end of the episode, learn from all of it."""
        rows = self._encoded(experience.observation)
        following = self._encoded(experience.next_observation)
        self._episode.append((rows, experience.action, experience.reward, following, experience.terminated))
        if experience.terminated or experience.truncated:
            self._learn_backwards()

    def knowledge(self) -> Arrays:
        """Return all tables, and the name of the one learned last."""
        return {**{f"task:{task}": table for task, table in self.tables.items()}, "last": np.array(self.last)}

    def know(self, arrays: Arrays) -> None:
        """Restore all tables."""
        self.tables = {
            name.removeprefix("task:"): np.array(table, dtype=np.float64)
            for name, table in arrays.items()
            if name.startswith("task:")
        }
        self.last = str(arrays["last"])

    def _learn_backwards(self) -> None:
        table, target = self._in_use, 0.0
        for at, (rows, action, reward, following, terminated) in enumerate(reversed(self._episode)):
            ahead = 0.0 if terminated else float(self._values(following).max())
            blend = ahead if at == 0 else (1.0 - self.trace) * ahead + self.trace * target
            target = reward + self.discount * blend
            error = target - float(table[rows, action].sum())
            table[rows, action] += self.rate / len(rows) * error
        self._episode = []

    def _values(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        values: npt.NDArray[np.float64] = self._in_use[rows, : self.actions].sum(axis=0)
        return values

    def _encoded(self, observation: Any) -> npt.NDArray[np.int64]:
        """Return the rows of an observation; those of the last one are often needed again."""
        if self._seen is None or self._seen[0] is not observation:
            if self._rows is None:
                raise LearnerError(
                    "act before block_started",
                    "start a block first, so that it knows the spaces",
                    where=type(self).__name__,
                )
            self._seen = (observation, self._rows(observation))
        return self._seen[1]


class QLearningPerTask(QLearning):
    """Q-learning with a table per task: no task overwrites another.

    A task that was never learned begins with a copy of the table learned last, so skills carry over.
    """

    def key(self, situation: Situation) -> str:
        """Return the name of a task's table: the task itself."""
        return situation.task


class QLearningIndependent(QLearningPerTask):
    """A null learner: it learns each task exactly as that task's expert does, so any effect is chance."""

    def beginning(self) -> Table:
        """Return an empty table."""
        return np.zeros((ROWS, 0))
