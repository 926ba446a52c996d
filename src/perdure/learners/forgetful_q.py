"""ForgetfulQ: Q-learning with one table for all tasks, so that each task overwrites the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.learners.features import ROWS, Encoder, encoder_for
from perdure.learners.interface import LearnerError, Situation, Transition
from perdure.learners.state import Arrays, Kept

__all__ = ["ForgetfulQ"]

Table = npt.NDArray[np.float64]


class ForgetfulQ(Kept):
    """Linear Q-learning on coarse features; an episode is learned from when it ends, from its last step back.

    The target of a step is the λ-return (Sutton and Barto 2018, §12.1), so that a late reward reaches
    the steps that earned it at once.
    """

    def __init__(
        self, seed: int = 0, rate: float = 0.2, explore: float = 0.1, discount: float = 0.97, trace: float = 0.9
    ) -> None:
        super().__init__(seed)
        self.rate, self.explore, self.discount, self.trace = rate, explore, discount, trace
        self.table: Table = np.zeros((ROWS, 0))
        self._in_use = self.table
        self.actions = 0
        self.learning = False
        self._rows: Encoder | None = None
        self._seen: tuple[Any, npt.NDArray[np.int64]] | None = None
        self._episode: list[tuple[npt.NDArray[np.int64], int, float, npt.NDArray[np.int64], bool]] = []

    def block_started(self, situation: Situation) -> None:
        """Look at the spaces; a new action is a new column, worth nothing yet."""
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
        """The table that this task reads and, while it may learn, writes: here the same for all."""
        table = widened(self.table, self.actions)
        if situation.learning:
            self.table = table
        return table

    def act(self, observation: Any) -> int:
        """The best action known; while learning, now and then any action, and among equals any of them."""
        if self.learning and self.rng.random() < self.explore:
            return int(self.rng.integers(self.actions))
        values = self._values(self._encoded(observation))
        best = int(values.argmax())
        if self.learning and values[best] == 0.0:  # nothing is known yet of some of these
            return int(self.rng.choice(np.flatnonzero(values == 0.0)))
        return best

    def learn(self, experience: Transition) -> None:
        """Remember the step; at the episode's end, learn from all of it."""
        rows = self._encoded(experience.observation)
        following = self._encoded(experience.next_observation)
        self._episode.append((rows, experience.action, experience.reward, following, experience.terminated))
        if experience.terminated or experience.truncated:
            self._learn_backwards()

    def knowledge(self) -> Arrays:
        """The table."""
        return {"table": self.table}

    def know(self, arrays: Arrays) -> None:
        """Take up a table."""
        self.table = np.array(arrays["table"], dtype=np.float64)

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
        """The rows of an observation; that of the last one is often asked for again."""
        if self._seen is None or self._seen[0] is not observation:
            if self._rows is None:
                raise LearnerError(
                    "act before block_started",
                    "start a block first, so that it knows the spaces",
                    where=type(self).__name__,
                )
            self._seen = (observation, self._rows(observation))
        return self._seen[1]


def widened(table: Table, actions: int) -> Table:
    """The table with a column for each action."""
    missing = actions - table.shape[1]
    return np.pad(table, ((0, 0), (0, missing))) if missing > 0 else table
