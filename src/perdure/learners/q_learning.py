"""Q-learning with one table for all tasks, with one per task, and with one per task that starts empty.

An observation selects a few rows of a table, whose sum is its value. A small box of numbers is cut into bins, each
number separately and each pair together (coarse coding; Sutton and Barto 2018, §9.5). Any other observation selects
one row by hashing.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.errors import LearnerError
from perdure.learners.interface import ArrayLearner, Arrays, Situation, Transition

Table = npt.NDArray[np.float64]
Encoder = Callable[[Any], npt.NDArray[np.int64]]

ROWS = 4096
"""Number of rows of every table, so that tasks can share one."""

_SINGLE_BINS, _PAIR_BINS = 12, 6
_MAX_NUMBERS = 12


class QLearning(ArrayLearner):
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
        self._in_use = self._table_for(situation)

    def _table_for(self, situation: Situation) -> Table:
        """Return the table that this task reads and, while it may learn, writes."""
        key = self._key(situation)
        table = self.tables.get(key, self._initial_table())
        if (missing := self.actions - table.shape[1]) > 0:
            table = np.pad(table, ((0, 0), (0, missing)))
        if situation.learning:
            self.tables[key], self.last = table, key
        return table

    def _key(self, situation: Situation) -> str:  # noqa: ARG002
        """Return the name of a task's table: one for all tasks."""
        return ""

    def _initial_table(self) -> Table:
        """Return the table of a task that was never learned: a copy of the table learned last."""
        return self.tables.get(self.last, np.zeros((ROWS, 0))).copy()

    def act(self, observation: Any) -> int:
        """Return the best action known; while learning, sometimes a random one, and among untried ones any."""
        if self.learning and self.rng.random() < self.explore:
            return int(self.rng.integers(self.actions))
        values = self._values(self._encode(observation))
        best = int(values.argmax())
        if self.learning and values[best] == 0.0:  # some of these were never tried
            return int(self.rng.choice(np.flatnonzero(values == 0.0)))
        return best

    def learn(self, experience: Transition) -> None:
        """Store the step; at the end of the episode, learn from all of it."""
        rows = self._encode(experience.observation)
        following = self._encode(experience.next_observation)
        self._episode.append((rows, experience.action, experience.reward, following, experience.terminated))
        if experience.terminated or experience.truncated:
            self._learn_backwards()

    def log_info(self) -> dict[str, int]:
        """Return the size of all tables and the number of updates."""
        return {"parameters": sum(table.size for table in self.tables.values()), "updates": self.updates}

    def to_arrays(self) -> Arrays:
        """Return all tables, and the name of the one learned last."""
        return {**{f"task:{task}": table for task, table in self.tables.items()}, "last": np.array(self.last)}

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore all tables."""
        self.tables = {
            name.removeprefix("task:"): np.array(table, dtype=np.float64)
            for name, table in arrays.items()
            if name.startswith("task:")
        }
        self.last = str(arrays["last"])

    def _learn_backwards(self) -> None:
        table, target = self._in_use, 0.0
        for index, (rows, action, reward, following, terminated) in enumerate(reversed(self._episode)):
            ahead = 0.0 if terminated else float(self._values(following).max())
            blend = ahead if index == 0 else (1.0 - self.trace) * ahead + self.trace * target
            target = reward + self.discount * blend
            error = target - float(table[rows, action].sum())
            table[rows, action] += self.rate / len(rows) * error
        self.updates += len(self._episode)
        self._episode = []

    def _values(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        values: npt.NDArray[np.float64] = self._in_use[rows, : self.actions].sum(axis=0)
        return values

    def _encode(self, observation: Any) -> npt.NDArray[np.int64]:
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

    def _key(self, situation: Situation) -> str:
        """Return the name of a task's table: the task."""
        return situation.named_task


class QLearningIndependent(QLearningPerTask):
    """A null learner: it learns each task exactly as that task's expert does, so any effect is chance."""

    def _initial_table(self) -> Table:
        """Return an empty table."""
        return np.zeros((ROWS, 0))


def encoder_for(space: Any) -> Encoder:
    """Return the function from observations of a Gymnasium space to rows of a table."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box) and len(space.shape) == 1 and space.shape[0] <= _MAX_NUMBERS:
        return _binning(space)
    return lambda observation: np.array([zlib.crc32(_bytes(observation)) % ROWS])


def _binning(space: Any) -> Encoder:
    low = np.where(np.isfinite(space.low) & (space.low > -1e6), space.low, -10.0).astype(np.float64)
    high = np.where(np.isfinite(space.high) & (space.high < 1e6), space.high, 10.0).astype(np.float64)
    unit = 1.0 / np.maximum(high - low, 1e-12)
    size = len(low)
    first, second = np.triu_indices(size, 1)
    single_start = np.arange(size) * _SINGLE_BINS
    pair_start = size * _SINGLE_BINS + np.arange(len(first)) * _PAIR_BINS**2
    almost_one = 1.0 - 1e-9

    def rows(observation: Any) -> npt.NDArray[np.int64]:
        place = np.minimum(np.maximum((observation - low) * unit, 0.0), almost_one)
        coarse = (place * _PAIR_BINS).astype(np.int64)
        single = (place * _SINGLE_BINS).astype(np.int64) + single_start
        return np.concatenate((single, coarse[first] * _PAIR_BINS + coarse[second] + pair_start))

    return rows


def _bytes(observation: Any) -> bytes:
    if isinstance(observation, dict):
        return b"".join(key.encode() + _bytes(observation[key]) for key in sorted(observation))
    if isinstance(observation, tuple):
        return b"".join(map(_bytes, observation))
    return observation.encode() if isinstance(observation, str) else np.asarray(observation).tobytes()
