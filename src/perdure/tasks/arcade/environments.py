"""Games of the arcade as Gymnasium environments: one game in plain numbers, many games in arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from perdure.errors import TaskError
from perdure.tasks.arcade.game import ACTIONS, FEATURES, MANY, ONE, SIDE, Game, settled_again
from perdure.tasks.interface import settled

_ENLARGED = 16
_SHADES = ((0.9, "o"), (0.7, "="), (0.5, "#"), (-1.0, " "))
_COLOURS = ((0.9, (255, 255, 255)), (0.7, (90, 200, 120)), (0.5, (220, 120, 60)))


def pixels(game: Game, state: Any, params: Mapping[str, Any]) -> np.ndarray:
    """Return grey values from 0 to 255, one picture for each game of an array state."""
    return np.round(game.pictures(state, params) * 255).astype(np.uint8)


def as_text(picture: np.ndarray) -> str:
    """Return one picture in characters: `o` ball or walker, `=` paddle, `#` brick or car."""
    grey = picture / 255
    rows = ("".join(next(sign for level, sign in _SHADES if value >= level) for value in row) for row in grey)
    edge = "+" + "-" * picture.shape[1] + "+"
    return "\n".join((edge, *(f"|{row}|" for row in rows), edge))


def as_colours(picture: np.ndarray) -> np.ndarray:
    """Return one picture enlarged, in red, green and blue."""
    grey = picture / 255
    coloured = np.repeat(picture[:, :, None], 3, axis=2)
    for level, colour in reversed(_COLOURS):
        coloured[grey >= level] = colour
    return coloured.repeat(_ENLARGED, axis=0).repeat(_ENLARGED, axis=1)


def observation_space(seen: str) -> spaces.Box:
    """Return the space of feature or pixel observations, which is the same for every game."""
    if seen == "pixels":
        return spaces.Box(0, 255, (SIDE, SIDE, 1), np.uint8)
    return spaces.Box(-1.0, 1.0, (FEATURES,), np.float32)


class ArcadeEnv(gymnasium.Env[np.ndarray, Any]):
    """A game with parameters; `reset(options={"params": …})` sets them for the episode that begins."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(self, game: Game, params: Mapping[str, Any] | None = None, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise TaskError(f"render_mode is {render_mode!r}", f"choose {' or '.join(self.metadata['render_modes'])}")
        self.game = game
        self.params = settled(game.parameters, params or {}, game.name)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.params["observation"])
        self.action_space = spaces.Discrete(len(ACTIONS))
        self._state: Any = None
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode, and draw all of its random numbers."""
        super().reset(seed=seed)
        params = (options or {}).get("params")
        if params is not None and params != self.params:
            self.params = settled_again(self.game, self.params, params)
        self._state = self.game.begin(
            tuple(self.np_random.random(self.game.chances(self.params)).tolist()), self.params, ONE
        )
        self._steps = 0
        return self._observed(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play one action: 0 stay, 1 back, 2 forward."""
        if self._state is None:
            raise TaskError("step before reset", "call reset first", where=f"the task {self.game.name!r}")
        self._state, reward, terminated = self.game.advance(self._state, int(action), self.params, ONE)
        self._steps += 1
        return self._observed(), reward, terminated, self._steps >= self.params["steps"], {}

    def render(self) -> Any:
        """Return the game as text (`ansi`) or as a picture (`rgb_array`)."""
        if self.render_mode is None:
            raise TaskError(
                f"the task {self.game.name!r} was made without render_mode", "make it with 'ansi' or 'rgb_array'"
            )
        picture = self._pixels()[:, :, 0]
        return as_text(picture) if self.render_mode == "ansi" else as_colours(picture)

    def _observed(self) -> np.ndarray:
        if self.params["observation"] == "pixels":
            return self._pixels()
        return np.array(self.game.features(self._state, self.params, ONE), dtype=np.float32)

    def _pixels(self) -> np.ndarray:
        if self._state is None:
            raise TaskError("nothing to see before reset", "call reset first", where=f"the task {self.game.name!r}")
        state = type(self._state)(*(np.asarray(value)[None] for value in self._state))
        return np.asarray(pixels(self.game, state, self.params)[0][:, :, None])


class ArcadeVector(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` games with the same parameters; game i equals a single game with the seed `seed + i`.

    A game that ended starts again in the next step, which ignores the action and has reward 0.
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
        params = (options or {}).get("params")
        if params is not None:
            self.params = settled_again(self.game, self.params, params)
        if seed is not None or not self._rngs:
            seeds = (
                seed if isinstance(seed, list) else [None if seed is None else seed + i for i in range(self.num_envs)]
            )
            self._rngs = [np.random.default_rng(seed) for seed in seeds]
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
            ended = np.flatnonzero(self._over)
            fresh = self.game.begin(self._chances(ended), self.params, MANY)
            state = type(state)(*(_replace_rows(old, ended, new) for old, new in zip(state, fresh, strict=True)))
            rewards[ended] = 0.0
            terminated[ended] = truncated[ended] = False
            self._steps[ended] = 0
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


def _replace_rows(old: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    changed = old.copy()
    changed[rows] = new
    return changed
