"""LivedEpisode and BlockEnv: what a learner sees of an episode, and of a block as one long environment.

In evaluation the reward is 0 and `info` is empty, whatever the environment says: Perdure keeps both to
itself. Each episode is logged when it ends; one that is left before its end is logged as incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, SupportsFloat

import gymnasium

from perdure.learners.interface import LearnerError
from perdure.tasks.episodes import Episode

__all__ = ["BlockEnv", "LivedEpisode"]

Log = Callable[[Episode, bool], None]
"""Is told of an episode, and whether it reached its end."""


class LivedEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One experience: `reset`, then `step` until it ends. A reset before the end is logged, as incomplete."""

    def __init__(self, episode: Episode, learning: bool, where: str, log: Log) -> None:
        super().__init__(episode)
        self.learning = learning
        self._episode = episode
        self._where = where
        self._log = log
        self.begun = self.over = False

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Any, dict[str, Any]]:
        """The first observation; seed and parameters of an episode are Perdure's choice, not the learner's."""
        if self.over:
            raise LearnerError(
                "reset of an episode that is over", "take the next from block.episodes()", file=self._where
            )
        if self.begun:
            self._log(self._episode, False)
        self.begun = True
        observation, info = self._episode.reset()
        return observation, info if self.learning else {}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """What the environment answers; in evaluation without reward and info."""
        if not self.begun:
            raise LearnerError("step before reset", "call episode.reset() first", file=self._where)
        observation, reward, terminated, truncated, info = self._episode.step(action)
        if terminated or truncated:
            self.over = True
            self._log(self._episode, True)
        if self.learning:
            return observation, reward, terminated, truncated, info
        return observation, 0.0, terminated, truncated, {}

    def leave(self) -> None:
        """The learner went on: what was begun and not ended is logged as incomplete."""
        if self.over:
            return
        if not self.begun:
            raise LearnerError(
                "an episode was taken and never begun", "reset it, and step until it ends", file=self._where
            )
        self.over = True
        self._log(self._episode, False)


class BlockEnv(gymnasium.Env[Any, Any]):
    """A block as one environment, for learners that want to own the stepping: each reset is the next episode.

    After the last episode `exhausted` is True, and a reset gives the last observation once more, so that
    a library which resets by itself does not fall over; a step is then refused.
    """

    def __init__(self, episodes: Iterator[LivedEpisode], situation: Any) -> None:
        self.observation_space = situation.observation_space
        self.action_space = situation.action_space
        self.exhausted = False
        self._where = f"block {situation.block} ({situation.mode} {situation.task})"
        self._episodes = episodes
        self._current: LivedEpisode | None = None
        self._last: Any = None

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Any, dict[str, Any]]:
        """The first observation of the block's next episode."""
        self._current = next(self._episodes, None)
        if self._current is None:
            self.exhausted = True
            return self._last, {}
        self._last, info = self._current.reset()
        return self._last, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """What the episode answers."""
        if self._current is None:
            over = self.exhausted
            raise LearnerError(
                "no episode is left" if over else "step before reset",
                "leave the block" if over else "call reset first",
                file=self._where,
            )
        self._last, reward, terminated, truncated, info = self._current.step(action)
        return self._last, reward, terminated, truncated, info
