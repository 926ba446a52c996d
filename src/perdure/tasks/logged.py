"""Log the episodes of an environment in a user's own training script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, SupportsFloat
from weakref import WeakKeyDictionary

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from perdure.log.write.journal import Journal, Recorder

Mode = Literal["learn", "evaluate"]


_RECORDERS: WeakKeyDictionary[Journal, Recorder] = WeakKeyDictionary()


def log_episode(
    journal: Journal, task: str, mode: Mode, reward: float, steps: int, params: Mapping[str, Any] | None = None
) -> None:
    """Write an episode that ended; a change of task or mode starts the next block."""
    recorder = _RECORDERS.setdefault(journal, Recorder(journal))
    values: dict[str, Any] = {next(iter(journal.measures)): float(reward), "steps": int(steps)}
    recorder.log(mode, task, params, **values)


def LogEpisodes(  # noqa: N802 - named as Gymnasium's wrappers are
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    journal: Journal,
    task: str,
    mode: Mode = "learn",
    params: Mapping[str, Any] | None = None,
) -> Any:
    """Wrap an environment, or a vector environment, so that each episode that ends is logged as one experience.

    All environments of one journal share its count of blocks: a change of task or mode starts the next block. An
    episode that is left before its end is not logged.

    Parameters
    ----------
    env
        A Gymnasium environment, or vector environment.
    journal
        Journal that the episodes are written to. Its first measure is the sum of rewards.
    task
        Name of the task in the log.
    mode
        ``"learn"`` or ``"evaluate"``.
    params
        Parameters of the task, for the log.

    Returns
    -------
    gymnasium.Wrapper or gymnasium.vector.VectorWrapper
        The environment. Its `step` raises `RecordError` if an episode cannot be logged.

    Examples
    --------
    >>> import gymnasium
    >>> with perdure.Journal("episodes", "random", measures=["reward"]) as journal:
    ...     env = perdure.LogEpisodes(gymnasium.make("CartPole-v1"), journal, "cart-pole")
    ...     for seed in range(3):
    ...         _, done = env.reset(seed=seed), False
    ...         while not done:
    ...             _, _, terminated, truncated, _ = env.step(0)
    ...             done = terminated or truncated
    >>> perdure.read("episodes/random").height
    3
    """

    def log(reward: float, steps: int) -> None:
        log_episode(journal, task, mode, reward, steps, params)

    return _LoggedVector(env, log) if isinstance(env, VectorEnv) else _Logged(env, log)


class _Logged(gymnasium.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: gymnasium.Env[Any, Any], log: Any) -> None:
        super().__init__(env)
        self._log = log
        self._total, self._steps = 0.0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._total, self._steps = 0.0, 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._total, self._steps = self._total + float(reward), self._steps + 1
        if terminated or truncated:
            self._log(self._total, self._steps)
        return observation, reward, terminated, truncated, info


class _LoggedVector(VectorWrapper):
    def __init__(self, env: VectorEnv[Any, Any, Any], log: Any) -> None:
        super().__init__(env)
        self._log = log
        # There the step after an end only resets, and belongs to no episode; Gymnasium 1.0 knows nothing else.
        how = env.metadata.get("autoreset_mode")
        self._waits = how is None or getattr(how, "value", how) == "NextStep"
        self._begin()

    def _begin(self) -> None:
        self._totals, self._steps = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._begin()
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        lived = ~self._over if self._waits else np.ones(self.num_envs, dtype=bool)
        self._totals += np.where(lived, rewards, 0.0)
        self._steps += lived
        self._over = (np.asarray(terminated) | np.asarray(truncated)) & lived
        for index in np.flatnonzero(self._over):
            self._log(self._totals[index], self._steps[index])
            self._totals[index], self._steps[index] = 0.0, 0
        return observations, rewards, terminated, truncated, infos
