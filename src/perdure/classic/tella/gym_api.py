"""Environments of Gymnasium and MiniGrid as gym 0.23 and gym_minigrid had them, for what was written for those."""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_MISSION = "reach the goal"  # of environments that state none; only its text differs


def modules() -> dict[str, ModuleType]:
    """Name → module, for `import gym` and, where MiniGrid is installed, `import gym_minigrid`."""
    import gymnasium
    from gymnasium import error, spaces
    from gymnasium.envs import classic_control

    class InvalidAction(gymnasium.error.Error):
        """An action that the environment does not take."""

    class Env(gymnasium.Env[Any, Any]):
        """The base of an environment of one's own."""

        def seed(self, seed: int | None = None) -> Any:
            """Nothing is random unless it is overridden."""

    def make(name: str, **options: Any) -> Any:
        return Wrapper(gymnasium.make(name, **options))

    olds = {
        name: _old(cls)
        for name, cls in vars(classic_control).items()
        if isinstance(cls, type) and issubclass(cls, gymnasium.Env)
    }
    found = {
        "gym": _module(
            "gym",
            vars(gymnasium)
            | {"Env": Env, "Space": spaces.Space, "make": make, "spaces": spaces}
            | {one.__name__: one for one in (Wrapper, ActionWrapper, ObservationWrapper, RewardWrapper)},
        ),
        "gym.spaces": spaces,
        "gym.error": _module("gym.error", vars(error) | {"InvalidAction": InvalidAction}),
        "gym.envs": _module("gym.envs", {}),
        "gym.envs.classic_control": _module("gym.envs.classic_control", olds),
        "gym.wrappers": _module("gym.wrappers", {"TimeLimit": TimeLimit}),
        "gym.wrappers.time_limit": _module("gym.wrappers.time_limit", {"TimeLimit": TimeLimit}),
    }
    if find_spec("minigrid") is not None:
        found |= _minigrid()
    for name, module in found.items():
        holder, _, own = name.rpartition(".")
        if holder:
            setattr(found[holder], own, module)
    return found


def _module(name: str, holds: dict[str, Any]) -> ModuleType:
    made = ModuleType(name, "Gymnasium under the names of gym.")
    vars(made).update({key: value for key, value in holds.items() if not key.startswith("__")})
    made.__path__ = []
    return made


def _old(cls: Any, **defaults: Any) -> Any:
    """A class of Gymnasium's whose `reset` and `step` tell what gym's told; `defaults` are arguments of its own."""

    class Old(cls):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            named.pop("seed", None)
            cls.__init__(self, *arguments, **(defaults | named))

        def seed(self, seed: int | None = None) -> list[int | None]:
            self._seed = seed
            return [seed]

        # By the class and not by super(): what was written for gym_minigrid calls these of a class beside its own.
        def reset(self, **named: Any) -> Any:
            seed, self._seed = getattr(self, "_seed", None), None
            return cls.reset(self, **({"seed": seed} | named))[0]

        def step(self, action: Any) -> Any:
            observation, reward, terminated, truncated, info = cls.step(self, action)
            return observation, reward, terminated or truncated, info

    Old.__name__ = Old.__qualname__ = cls.__name__
    Old.__module__, Old.__doc__ = cls.__module__, cls.__doc__
    Old.__signature__ = inspect.signature(cls)  # what curricula are held against
    return Old


class Wrapper:
    """An environment around another, in four parts a step."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name in ("env", "_action_space", "_observation_space"):
            raise AttributeError(name)
        return getattr(self.env, name)

    @property
    def action_space(self) -> Any:
        return self.__dict__.get("_action_space") or self.env.action_space

    @action_space.setter
    def action_space(self, space: Any) -> None:
        self._action_space = space

    @property
    def observation_space(self) -> Any:
        return self.__dict__.get("_observation_space") or self.env.observation_space

    @observation_space.setter
    def observation_space(self, space: Any) -> None:
        self._observation_space = space

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def seed(self, seed: int | None = None) -> Any:
        own = getattr(self.env, "seed", None)
        if own is not None:
            return own(seed)
        self._seed = seed
        return [seed]

    def reset(self, **named: Any) -> Any:
        seed = self.__dict__.pop("_seed", None)
        found = self.env.reset(**({} if seed is None else {"seed": seed}), **named)
        return found[0] if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict) else found

    def step(self, action: Any) -> Any:
        observation, reward, *ends, info = self.env.step(action)
        return observation, reward, any(ends), info

    def render(self, *arguments: Any, **named: Any) -> Any:
        return self.env.render(*arguments, **named)

    def close(self) -> None:
        self.env.close()


class ActionWrapper(Wrapper):
    """`action` changes what is done."""

    def step(self, action: Any) -> Any:
        return super().step(self.action(action))

    def action(self, action: Any) -> Any:
        raise NotImplementedError


class ObservationWrapper(Wrapper):
    """`observation` changes what is seen."""

    def reset(self, **named: Any) -> Any:
        return self.observation(super().reset(**named))

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        return self.observation(observation), *rest

    def observation(self, observation: Any) -> Any:
        raise NotImplementedError


class RewardWrapper(Wrapper):
    """`reward` changes what is gained."""

    def step(self, action: Any) -> Any:
        observation, reward, done, info = super().step(action)
        return observation, self.reward(reward), done, info

    def reward(self, reward: Any) -> Any:
        raise NotImplementedError


class TimeLimit(Wrapper):
    """An episode ends after so many steps."""

    def __init__(self, env: Any, max_episode_steps: int | None = None) -> None:
        super().__init__(env)
        self._max_episode_steps = max_episode_steps
        self._elapsed_steps = 0

    def reset(self, **named: Any) -> Any:
        self._elapsed_steps = 0
        return super().reset(**named)

    def step(self, action: Any) -> Any:
        observation, reward, done, info = super().step(action)
        self._elapsed_steps += 1
        over = self._max_episode_steps is not None and self._elapsed_steps >= self._max_episode_steps
        return observation, reward, done or over, info | ({"TimeLimit.truncated": not done} if over else {})


class ImgObsWrapper(ObservationWrapper):
    """Of a MiniGrid observation, the image alone."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = env.observation_space.spaces["image"]

    def observation(self, observation: Any) -> Any:
        return observation["image"]


def _minigrid() -> dict[str, ModuleType]:
    from minigrid import minigrid_env
    from minigrid.core import actions, constants, grid, mission, roomgrid, world_object

    envs: Any = import_module("minigrid.envs")  # which says of none of its names that it is exported
    unsaid = mission.MissionSpace(mission_func=lambda: _MISSION)
    base = {
        "MiniGridEnv": _old(minigrid_env.MiniGridEnv, mission_space=unsaid),
        "RoomGrid": _old(roomgrid.RoomGrid, mission_space=unsaid),
    }
    own = {name: _old(cls) for name, cls in vars(envs).items() if isinstance(cls, type)}
    crossing = {"obstacle_type": world_object.Wall}
    own |= {
        "DistShift1": _old(envs.DistShiftEnv, strip2_row=2),
        "DistShift2": _old(envs.DistShiftEnv, strip2_row=5),
        **{f"DoorKeyEnv{size}x{size}": _old(envs.DoorKeyEnv, size=size) for size in (5, 6, 8, 16)},
        "SimpleCrossingEnv": _old(envs.CrossingEnv, **crossing),
        "SimpleCrossingS9N2Env": _old(envs.CrossingEnv, num_crossings=2, **crossing),
        "SimpleCrossingS9N3Env": _old(envs.CrossingEnv, num_crossings=3, **crossing),
    }
    parts: dict[str, Any] = {}
    for module in (constants, world_object, grid, actions):
        parts |= {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return {
        "gym_minigrid": _module("gym_minigrid", {}),
        "gym_minigrid.envs": _module("gym_minigrid.envs", own | base),
        "gym_minigrid.minigrid": _module("gym_minigrid.minigrid", parts | base),
        "gym_minigrid.roomgrid": _module("gym_minigrid.roomgrid", base),
        "gym_minigrid.wrappers": _module("gym_minigrid.wrappers", {"ImgObsWrapper": ImgObsWrapper}),
    }
