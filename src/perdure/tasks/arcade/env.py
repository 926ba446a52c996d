"""One game of the arcade as a Gymnasium environment, played by plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from perdure.tasks.arcade.arithmetic import ONE
from perdure.tasks.arcade.game import ACTIONS, FEATURES, SIDE, Game, settled_again
from perdure.tasks.arcade.picture import as_colours, as_text, pixels
from perdure.tasks.interface import TaskError, settled


def observation_space(seen: str) -> spaces.Box:
    """The space of feature or pixel observations, the same for every game."""
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
        """Begin an episode; all of its chance is drawn here."""
        super().reset(seed=seed)
        given = (options or {}).get("params")
        if given is not None and given != self.params:
            self.params = settled_again(self.game, self.params, given)
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
        """The game as text (`ansi`), or as a picture (`rgb_array`)."""
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
        alone = type(self._state)(*(np.asarray(value)[None] for value in self._state))
        return np.asarray(pixels(self.game, alone, self.params)[0][:, :, None])
