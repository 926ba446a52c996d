"""The episodes of a task, each as a Gymnasium environment that is checked while it runs.

Perdure, not the learner, decides the seed and the parameters of an episode. If an environment raises, gives NaN as
reward, never ends or changes its spaces, the error names the task.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, SupportsFloat

import gymnasium
import numpy as np

from perdure.errors import PerdureError, TaskError
from perdure.scenario.model import Task
from perdure.scenario.parameters import draw_parameters
from perdure.tasks.catalogue import task_kind
from perdure.tasks.interface import EpisodeEnd, EpisodeTask, guarded, settled

STEP_LIMIT = 10_000
"""Default number of steps after which an episode is truncated."""

_CLOSE_LOOKS = 10  # first observations that are looked at closely; a dictionary of spaces takes its time
_AT_MOST = 200  # characters of an action that is shown


class Episodes:
    """The episodes of one task variant, whose environment is made once; a context manager that closes it."""

    def __init__(
        self, task: Task, seed: int = 0, *, kind: EpisodeTask | None = None, step_limit: int = STEP_LIMIT
    ) -> None:
        episode_task = kind or task_kind(task)
        if not isinstance(episode_task, EpisodeTask):
            raise TaskError(f"the task {task.label!r} comes in batches", "use a learner that classifies")
        if step_limit < 1:
            raise TaskError(f"the step limit of {task.label!r} is {step_limit}", "give 1 or more")
        self.kind = episode_task
        self.task = task
        self.step_limit = step_limit
        self.settled(draw_parameters(task.params, seed, 0, 0))
        self.env = guarded(task.label, "make", lambda: episode_task.make(task, seed))
        if not isinstance(self.env, gymnasium.Env):
            raise TaskError(
                f"make gave {type(self.env).__name__}",
                "expected a gymnasium.Env (1.x)",
                where=f"the task {task.label!r}",
            )
        self.observation_space = self.env.observation_space
        self.action_space = self.env.action_space
        self.current: Episode | None = None
        self.close_looks = _CLOSE_LOOKS

    @property
    def measures(self) -> Mapping[str, str]:
        """The measures of each episode, and the better direction of each."""
        return self.kind.measures

    def settled(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of an episode, completed by the defaults that the task declares."""
        return dict(params) if self.kind.parameters is None else settled(self.kind.parameters, params, self.task.label)

    def begin(self, params: Mapping[str, Any] | None = None, seed: int = 0) -> Episode:
        """Return the next episode, with the parameters drawn for it and its seed."""
        values = self.task.params if params is None else params
        self.current = Episode(self, dict(values), self.settled(values), seed)
        return self.current

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Episode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One episode: `reset`, then `step` until it ends; a further `reset` begins a sub-episode.

    The seed and the options that a learner gives to `reset` are ignored.
    """

    def __init__(self, episodes: Episodes, changed: dict[str, Any], params: dict[str, Any], seed: int) -> None:
        super().__init__(episodes.env)
        self.episodes = episodes
        self.given = changed
        """Parameters from the syllabus, for the log."""
        self.params = params
        self.seed = seed
        self.resets = 0
        self.ended = True
        self.cut = False
        """Whether the step limit truncated it."""
        self._reward = 0.0
        self._steps = 0
        self._terminated = self._truncated = False
        self._info: Mapping[str, Any] = {}
        # A lifetime takes millions of steps, so facts about the spaces are looked up once.
        space, choices = episodes.observation_space, episodes.action_space
        self._shape = space.shape if isinstance(space, gymnasium.spaces.Box) else None
        self._contains = choices.contains
        self._first = self._beyond = 0
        if isinstance(choices, gymnasium.spaces.Discrete):
            self._first, self._beyond = int(choices.start), int(choices.start) + int(choices.n)
        self._limit = episodes.step_limit

    @property
    def label(self) -> str:
        """Name of the task in logs."""
        return self.episodes.task.label

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Any, dict[str, Any]]:
        """Return the first observation and the environment's `info`."""
        self._must_be_current("reset")
        seed_now = self.seed if self.resets == 0 else _later_seed(self.seed, self.resets)
        options_now = {"params": self.params}
        result: Any = guarded(self.label, "reset", lambda: self.env.reset(seed=seed_now, options=options_now))
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            raise TaskError(
                f"reset gave {_kind_of(result)}",
                "expected (observation, info), as since Gymnasium 0.26",
                where=f"the task {self.label!r}",
            )
        observation, info = result
        self._check_spaces(observation)
        self.resets += 1
        self.ended = self.cut = False
        self._reward, self._steps = 0.0, 0
        self._terminated = self._truncated = False
        self._info = info
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step in the environment; the step limit truncates an episode that does not end."""
        if self.ended or self.episodes.current is not self:
            self._must_be_current("step")
            raise TaskError(
                "step before reset, or after the episode's end", "call reset first", where=f"the task {self.label!r}"
            )
        if not (type(action) is int and self._first <= action < self._beyond) and not self._takes(action):
            raise TaskError(
                f"the learner's action {_shown(action)} ({_kind_of(action)}) is not in {self.episodes.action_space}",
                "let the learner give one that is",
                where=f"the task {self.label!r}",
            )
        try:
            answer: Any = self.env.step(action)
            observation, reward, terminated, truncated, info = answer
            gained = float(reward)
        except PerdureError:
            raise
        except Exception as problem:  # an environment may raise anything; say whose, and where
            raise self._broken(f"step raised {type(problem).__name__}: {problem}", "repair its step") from problem
        if not math.isfinite(gained):
            raise self._broken(f"step gave the reward {gained}", "give a finite number")
        if self._shape is not None and getattr(observation, "shape", None) != self._shape:
            raise self._strange(observation)
        self._steps += 1
        self._reward += gained
        self._info = info
        if terminated or truncated or self._steps >= self._limit:
            if not (terminated or truncated):
                truncated = self.cut = True
                self._info = info = {**info, "step_limit": self._limit}
            self._terminated, self._truncated = bool(terminated), bool(truncated)
            self.ended = True
        return observation, reward, self._terminated, self._truncated, info

    @property
    def end(self) -> EpisodeEnd:
        """Summary of the steps since the last reset."""
        return EpisodeEnd(self._reward, self._steps, self._terminated, self._truncated, self.params, self._info)

    def log_info(self) -> dict[str, float]:
        """Return the task's measures and other columns for the steps since the last reset."""
        self._must_be_current("log_info")
        kind = self.episodes.kind
        info = guarded(self.label, "get_episode_log_info", lambda: dict(kind.get_episode_log_info(self.env, self.end)))
        missing = [measure for measure in kind.measures if measure not in info]
        if missing:
            raise TaskError(
                f"get_episode_log_info gave {', '.join(info) or 'nothing'}",
                f"return {', '.join(missing)} as well, which its measures name",
                where=f"the task {self.label!r}",
            )
        return info

    def close(self) -> None:
        """Do nothing, because the environment belongs to all episodes of the task."""

    def _must_be_current(self, call: str) -> None:
        if self.episodes.current is not self:
            raise TaskError(f"{call} of an episode that is over", "take the next one", where=f"the task {self.label!r}")

    def _check_spaces(self, observation: Any) -> None:
        closely = self.episodes.close_looks > 0
        self.episodes.close_looks -= closely
        for attribute in ("observation_space", "action_space"):
            before, now = getattr(self.episodes, attribute), getattr(self.env, attribute)
            if now is before:
                continue
            closely = True
            if now != before:
                raise TaskError(
                    f"the {attribute} changed from {before} to {now} with the parameters {self.given}",
                    "give what differs in its spaces another task name",
                    where=f"the task {self.label!r}",
                )
        shape = getattr(observation, "shape", None)
        strange = self._shape is not None and shape != self._shape
        if strange or (closely and not self.episodes.observation_space.contains(observation)):
            raise self._strange(observation)

    def _takes(self, action: Any) -> bool:
        try:
            return bool(self._contains(action))
        except Exception:  # a space may be asked of what it cannot convert, as a number of a thousand digits
            return False

    def _strange(self, observation: Any) -> TaskError:
        return self._broken(
            f"an observation ({_kind_of(observation)}) that is not in its observation_space, "
            f"{self.episodes.observation_space}",
            "declare the space that its observations have",
        )

    def _broken(self, what: str, fix: str) -> TaskError:
        return TaskError(
            what, fix, where=f"the task {self.label!r}, at step {self._steps + 1} of an episode with {self.params}"
        )


def _later_seed(seed: int, resets: int) -> int:
    return int(np.random.SeedSequence([seed, resets]).generate_state(1)[0])


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        return "…"
    return text if len(text) <= _AT_MOST else f"{text[:_AT_MOST]} …"


def _kind_of(value: Any) -> str:
    shape = np.shape(value) if isinstance(value, np.ndarray) else ()
    return f"{type(value).__name__} of shape {shape}" if shape else type(value).__name__
