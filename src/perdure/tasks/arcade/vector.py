"""Many games of the arcade at once, as a Gymnasium vector environment, played by arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from perdure.tasks.arcade.arithmetic import MANY
from perdure.tasks.arcade.env import observation_space
from perdure.tasks.arcade.game import ACTIONS, Game, settled_again
from perdure.tasks.arcade.picture import pixels
from perdure.tasks.interface import TaskError, settled


class ArcadeVector(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` games with the same parameters; game i is what a single one with the seed `seed + i` is.

    A game that ended begins again in the next step, whose action it ignores and whose reward is 0.
    """

    def __init__(self, game: Game, num_envs: int, params: Mapping[str, Any] | None = None) -> None:
        if num_envs < 1:
            raise TaskError(f"num_envs is {num_envs}", "give 1 or more")
        self.game = game
        self.num_envs = num_envs
        self.params = settled(game.parameters, params or {}, game.name)
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space = observation_space(self.params["observation"])
        self.single_action_space = spaces.Discrete(len(ACTIONS))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs: list[np.random.Generator] = []
        self._state: Any = None
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin every game; `options={"params": …}` sets their parameters."""
        given = (options or {}).get("params")
        if given is not None:
            self.params = settled_again(self.game, self.params, given)
        if seed is not None or not self._rngs:
            seeds = (
                seed if isinstance(seed, list) else [None if seed is None else seed + i for i in range(self.num_envs)]
            )
            self._rngs = [np.random.default_rng(one) for one in seeds]
        self._state = self.game.begin(self._chances(range(self.num_envs)), self.params, MANY)
        self._steps[:] = 0
        self._over[:] = False
        return self._observed(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one action in every game."""
        if self._state is None:
            raise TaskError("step before reset", "call reset first", where=f"the task {self.game.name!r}")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,):
            raise TaskError(f"the actions have the shape {actions.shape}", f"expected ({self.num_envs},), one per game")
        state, rewards, terminated = self.game.advance(self._state, actions, self.params, MANY)
        self._steps += 1
        truncated = self._steps >= self.params["steps"]
        if self._over.any():
            again = np.flatnonzero(self._over)
            fresh = self.game.begin(self._chances(again), self.params, MANY)
            state = type(state)(*(_replaced(old, again, new) for old, new in zip(state, fresh, strict=True)))
            rewards[again] = 0.0
            terminated[again] = truncated[again] = False
            self._steps[again] = 0
        self._state = state
        self._over = terminated | truncated
        return self._observed(), rewards, terminated, truncated, {}

    def _chances(self, games: Any) -> np.ndarray:
        number = self.game.chances(self.params)
        return np.array([self._rngs[game].random(number) for game in games])

    def _observed(self) -> np.ndarray:
        if self.params["observation"] == "pixels":
            return pixels(self.game, self._state, self.params)[..., None]
        columns = self.game.features(self._state, self.params, MANY)
        return np.stack(columns, axis=1, dtype=np.float32, casting="same_kind")


def _replaced(old: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    changed = old.copy()
    changed[rows] = new
    return changed
