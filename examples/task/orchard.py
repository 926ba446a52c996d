"""A custom task: walk an orchard's row to its ripe end, against the wind."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from perdure.tasks import Parameter


class Orchard(gymnasium.Env[np.ndarray, Any]):
    """Walk to the ripe end of a row of trees; the wind sometimes blows the walker back."""

    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)
    measures = {"reward": "higher", "blown": "lower"}  # noqa: RUF012
    parameters = (
        Parameter("wind", 0.1, "how often a step is blown back", low=0, high=0.9),
        Parameter("ripe/left", False, "whether the ripe end is the left one", choices=(False, True)),
    )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.params = (options or {})["params"]
        self.place, self.steps, self.blown = 5, 0, 0
        return np.array([self.place / 10], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        blows = self.np_random.random() < self.params["wind"]
        self.blown += blows
        self.place = int(np.clip(self.place + (1 if action else -1) * (-1 if blows else 1), 0, 10))
        self.steps += 1
        ripe = self.place == (0 if self.params["ripe/left"] else 10)
        return np.array([self.place / 10], np.float32), float(ripe), ripe, self.steps == 50, {}

    def get_episode_log_info(self) -> dict[str, float]:
        return {"blown": self.blown}
