"""One block of a running lifetime, as episodes, as a dataset, or as one long environment.

In evaluation the reward is 0 and `info` is empty: the learner sees neither. Each episode is logged when it ends; one
that the learner leaves before its end is logged as incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, SupportsFloat

import gymnasium
from msgspec.structs import replace

from perdure.errors import LearnerError
from perdure.learners.interface import Situation
from perdure.runner.seeds import seed_for
from perdure.scenario.model import Mode
from perdure.scenario.parameters import episodes as parameters
from perdure.tasks.datasets import Answered, Dataset
from perdure.tasks.episodes import Episode
from perdure.tasks.interface import BatchTask

if TYPE_CHECKING:
    from perdure.runner.lifetime import LiveRun


class LifeBlock:
    """The current block. `length` counts experiences, and is None if the block is measured in `steps`."""

    def __init__(self, life: LiveRun, index: int) -> None:
        block = life.scenario.blocks[index]
        self.index = index
        self.mode: Mode = "learn" if block.mode == "learn" else "evaluate"
        self.task = block.task
        self.subtype = block.subtype
        self.length = block.length
        self.steps = life.syllabus.steps[index]
        self.learning = block.mode == "learn" and not life.syllabus.infos[index].get("disable_updates", False)
        """Whether anything may be learned; if not, rewards and labels are withheld."""
        self.where = f"block {index} ({self.mode} {self.task})"
        self.kind = life.kinds[self.task]
        self.tells = life.tells
        self._block = block
        self._life = life
        self._lived = 0
        self._steps_used = 0
        self._episode: LivedEpisode | None = None
        self._taken = False

    @property
    def is_batches(self) -> bool:
        """Whether this block consists of batches, not of episodes."""
        return isinstance(self.kind, BatchTask)

    @property
    def begun(self) -> bool:
        """Whether an experience of this block has started."""
        return self._lived > 0 or self._episode is not None

    @property
    def situation(self) -> Situation:
        """The facts about this block that the learner may know."""
        situation = Situation(self.index, self.mode, self.task, self.learning)
        if not self.is_batches:
            opened = self._life.episodes_of(self.task)
            spaces = {"observation_space": opened.observation_space, "action_space": opened.action_space}
            situation = replace(situation, **spaces)
        return situation.told(self.tells)

    @property
    def changes_next(self) -> bool:
        """Whether the learner may know that this block is over: it is told, or the next situation differs."""
        following = self.index + 1
        if "boundary" in self.tells or following == len(self._life.scenario.blocks):
            return True
        return LifeBlock(self._life, following).situation != self.situation

    def episodes(self) -> Iterator[LivedEpisode]:
        """Yield each episode, a Gymnasium environment to reset once and step to its end.

        In a block measured in steps, episodes begin while steps are left; the last one runs to its end.
        """
        self._take()
        opened = self._life.episodes_of(self.task)
        for params, seed in self._experiences():
            self._episode = LivedEpisode(
                opened.begin(params, seed), self.learning, self.where, self._log_episode, self._timed
            )
            yield self._episode
            self._episode.leave()
            self._episode = None

    def env(self) -> BlockEnv:
        """Return the whole block as one environment, in which each reset starts the next episode."""
        return BlockEnv(self.episodes(), self.situation, self.where)

    def dataset(self) -> Dataset:
        """Return the batches of the block, for the loop of a classification learner."""
        self._take()
        task, experiences = self._life.tasks[self.task], self._experiences()
        dataset = Dataset(task, experiences, self.mode, self._log_batch, timed=self._timed)
        dataset.updates = self.learning
        return dataset

    def finish(self) -> None:
        """Check that the block was completed; called when the learner goes on to the next block."""
        if self._episode is not None:
            self._episode.leave()
        if self._has_more(self._lived):
            unit = "batches" if self.is_batches else "episodes"
            of = f"{self.length} {unit}" if self.length is not None else f"{self.steps} steps"
            done = self._lived if self.length is not None else self._steps_used
            raise LearnerError(
                f"left after {done} of {of}",
                "a lifetime has to be run in full, so go through all of "
                f"{'dataset.next_batch()' if self.is_batches else 'block.episodes()'}",
                file=self.where,
            )

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._life.costs.timed("env_seconds", function)

    def _take(self) -> None:
        if self._taken:
            raise LearnerError("taken twice", "go through its episodes or its dataset once", file=self.where)
        self._taken = True

    def _experiences(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        """Yield parameters and seed of each experience, both by key, so that none depends on earlier ones."""
        root = self._life.seeds.environment
        for number, params in enumerate(parameters(self._block, self.index, self._life.seeds.scenario)):
            if not self._has_more(number):
                return
            # Gymnasium's generators and old ones take 31 bits without complaint.
            yield params, seed_for(root, "block", self.index, "experience", number) % 2**31

    def _has_more(self, number: int) -> bool:
        if self.length is not None:
            return number < self.length
        used = number if self.is_batches else self._steps_used
        return used < (self.steps or 0)

    def _log_episode(self, episode: Episode, complete: bool) -> None:
        ended = self._episode is None or self._episode.over
        if ended:
            self._lived += 1
        self._steps_used += episode.end.steps
        if complete:
            self._life.note_end(self.task, cut=episode.cut)
        self._life.log(self, episode.given, episode.log_info(), complete=complete, last=ended)

    def _log_batch(self, answered: Answered) -> None:
        self._lived += 1
        self._life.log(self, answered.given, answered.values, complete=True, last=True)


Log = Callable[[Episode, bool], None]
"""Logs an episode, given whether it reached its end."""
Timed = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Returns a function that is timed."""


class LivedEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One experience: `reset`, then `step` until it ends. A reset before the end is logged, as incomplete."""

    def __init__(self, episode: Episode, learning: bool, where: str, log: Log, timed: Timed) -> None:
        super().__init__(episode)
        self.learning = learning
        self._episode = episode
        self._where = where
        self._log = log
        self._reset, self._step = timed(episode.reset), timed(episode.step)
        self.begun = self.over = False

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Any, dict[str, Any]]:
        """Return the first observation; Perdure, not the learner, chooses seed and parameters."""
        if self.over:
            raise LearnerError(
                "reset of an episode that is over", "take the next from block.episodes()", file=self._where
            )
        if self.begun:
            self._log(self._episode, False)
        self.begun = True
        observation, info = self._reset()
        return observation, info if self.learning else {}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step; in evaluation, without reward and info."""
        if not self.begun:
            raise LearnerError("step before reset", "call episode.reset() first", file=self._where)
        observation, reward, terminated, truncated, info = self._step(action)
        if terminated or truncated:
            self.over = True
            self._log(self._episode, True)
        if self.learning:
            return observation, reward, terminated, truncated, info
        return observation, 0.0, terminated, truncated, {}

    def leave(self) -> None:
        """Log an episode that the learner left before its end as incomplete."""
        if self.over:
            return
        if not self.begun:
            raise LearnerError(
                "an episode was taken and never begun", "reset it, and step until it ends", file=self._where
            )
        self.over = True
        self._log(self._episode, False)


class BlockEnv(gymnasium.Env[Any, Any]):
    """A block as one environment, for learners that own the stepping: each reset starts the next episode.

    After the last episode `exhausted` is True, and a reset returns the last observation again, for libraries that reset
    on their own; a step is then refused.
    """

    def __init__(self, episodes: Iterator[LivedEpisode], situation: Situation, where: str) -> None:
        self.observation_space = situation.observation_space
        self.action_space = situation.action_space
        self.exhausted = False
        self._where = where
        self._episodes = episodes
        self._current: LivedEpisode | None = None
        self._last: Any = None

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Any, dict[str, Any]]:
        """Return the first observation of the next episode of the block."""
        self._current = next(self._episodes, None)
        if self._current is None:
            self.exhausted = True
            return self._last, {}
        self._last, info = self._current.reset()
        return self._last, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step in the episode."""
        if self._current is None:
            ended = self.exhausted
            raise LearnerError(
                "no episode is left" if ended else "step before reset",
                "leave the block" if ended else "call reset first",
                file=self._where,
            )
        self._last, reward, terminated, truncated, info = self._current.step(action)
        return self._last, reward, terminated, truncated, info
