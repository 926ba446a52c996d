"""Environments that break the Gymnasium contract, each in its own way, and one that keeps it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from perdure.tasks.interface import Parameter


class Honest(gymnasium.Env[np.ndarray, Any]):
    """An environment that ends after three steps of reward 1."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space: spaces.Space[Any] = spaces.Discrete(2)
    length = 3

    def __init__(self, colour: str = "red") -> None:
        self.colour = colour
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), {}

    def seen(self) -> Any:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return self.seen(), 1.0, self.steps >= self.length, False, {}


class Raising(Honest):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.steps == 1:
            raise ZeroDivisionError("the motor stalled")
        return super().step(action)


class RaisingInReset(Honest):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        raise OSError("no such device")


class RaisingWhenMade(Honest):
    def __init__(self) -> None:
        raise RuntimeError("licence expired")


class NotANumber(Honest):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, *rest = super().step(action)
        return (observation, float("nan"), *rest)


class Endless(Honest):
    length = 10**9


class Shifting(Honest):
    """An environment that has another space in every other episode."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.action_space = spaces.Discrete(3 if self.action_space == spaces.Discrete(2) else 2)
        return super().reset(seed=seed)


class Growing(Honest):
    """An environment whose observations leave its space after the first step."""

    def seen(self) -> Any:
        return np.zeros(2 + self.steps, dtype=np.float32)


class OldFashioned(Honest):
    """An environment with the reset of the time before Gymnasium."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0]


class OldStep(Honest):
    """An environment whose step returns four values instead of five."""

    def step(self, action: Any) -> Any:
        return super().step(action)[:4]


class Unseeded(Honest):
    """An environment that draws random numbers from another generator."""

    rng = np.random.default_rng(1)

    def seen(self) -> Any:
        return self.rng.uniform(-1, 1, 2).astype(np.float32)


class Talking(Honest):
    """An environment that declares parameters and its own measure."""

    parameters = (Parameter("length", 3, "steps in an episode", low=1, high=100),)
    measures = {"reward": "higher", "detour": "lower"}  # noqa: RUF012

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.length = (options or {})["params"]["length"]
        return super().reset(seed=seed)

    def get_episode_log_info(self) -> dict[str, float]:
        return {"detour": self.length / 2}


class Silent(Talking):
    """An environment that declares a measure and does not return it."""

    def get_episode_log_info(self) -> dict[str, float]:
        return {}
