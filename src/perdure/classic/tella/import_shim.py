"""Imports of `tella`, `gym`, `gym_minigrid` and `l2logger` that get this package and Gymnasium instead.

The environments of Gymnasium and MiniGrid behave as in gym 0.23 and gym_minigrid, for scripts that must not be changed.
"""

from __future__ import annotations

import inspect
import logging
import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from perdure.classic.tella.experiment import first_observation
from perdure.errors import PerdureError

_HERE = "perdure.classic.tella"
_MODULES = {"agents": "experiment", "cli": "experiment", "curriculum": "curriculum", "experiment": "experiment"}
"""The module of this package for each of tella's."""
_MISSION = "reach the goal"  # the mission of environments without one


def stand_in() -> None:
    """Make `import tella`, `gym`, `gym_minigrid` and `l2logger` import these modules.

    This cannot be undone, and is never done automatically. If tella is installed (`pip install --no-deps tella` is
    enough), its curricula are used.
    """
    installed = None if "tella" in sys.modules else find_spec("tella")
    shim = sys.modules[_HERE]
    sys.modules["tella"] = shim
    sys.modules |= {f"tella.{name}": import_module(f"{_HERE}.{module}") for name, module in _MODULES.items()}
    for name, module in _gym_modules().items():
        sys.modules.setdefault(name, module)
    if find_spec("l2logger") is None:
        sys.modules["l2logger"] = import_module("perdure.classic")
        sys.modules["l2logger.l2logger"] = import_module("perdure.classic.l2logger")
    if installed is not None and installed.submodule_search_locations:
        shim.__path__.extend(installed.submodule_search_locations)
        import_module("tella._curriculums").load_curriculum_registry()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script that imports tella; return the exit status."""
    command = list(sys.argv[1:] if arguments is None else arguments)
    if not command or command[0] in ("-h", "--help"):
        print("python -m perdure.classic.tella SCRIPT.py [its options, such as --curriculum SimpleCartPole]")  # noqa: T201
        return 0 if command else 2
    logging.captureWarnings(True)
    stand_in()
    sys.argv = command
    try:
        runpy.run_path(command[0], run_name="__main__")
    except PerdureError as problem:
        print(f"tella: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


# --- gym -----------------------------------------------------------------------------------------


def _gym_modules() -> dict[str, ModuleType]:
    """Return the modules of `gym` by name and, if MiniGrid is installed, those of `gym_minigrid`."""
    import gymnasium
    from gymnasium import error, spaces
    from gymnasium.envs import classic_control

    class InvalidAction(gymnasium.error.Error):
        """An action that the environment does not take."""

    class Env(gymnasium.Env[Any, Any]):
        """The base of a custom environment."""

        def seed(self, seed: int | None = None) -> Any:
            """Do nothing; to be overridden."""

    def make(name: str, **options: Any) -> Any:
        return Wrapper(gymnasium.make(name, **options))

    classic = {
        name: _old(cls)
        for name, cls in vars(classic_control).items()
        if isinstance(cls, type) and issubclass(cls, gymnasium.Env)
    }
    modules = {
        "gym": _module(
            "gym",
            vars(gymnasium)
            | {"Env": Env, "Space": spaces.Space, "make": make, "spaces": spaces}
            | {wrapper.__name__: wrapper for wrapper in (Wrapper, ActionWrapper, ObservationWrapper, RewardWrapper)},
        ),
        "gym.spaces": spaces,
        "gym.error": _module("gym.error", vars(error) | {"InvalidAction": InvalidAction}),
        "gym.envs": _module("gym.envs", {}),
        "gym.envs.classic_control": _module("gym.envs.classic_control", classic),
        "gym.wrappers": _module("gym.wrappers", {"TimeLimit": TimeLimit}),
        "gym.wrappers.time_limit": _module("gym.wrappers.time_limit", {"TimeLimit": TimeLimit}),
    }
    if find_spec("minigrid") is not None:
        modules |= _minigrid()
    for name, module in modules.items():
        parent, _, attribute = name.rpartition(".")
        if parent:
            setattr(modules[parent], attribute, module)
    return modules


def _module(name: str, attributes: dict[str, Any]) -> ModuleType:
    module = ModuleType(name, "Gymnasium under the names of gym.")
    vars(module).update({key: value for key, value in attributes.items() if not key.startswith("__")})
    module.__path__ = []
    return module


def _old(cls: Any, **defaults: Any) -> Any:
    """Return a class of Gymnasium with the `reset` and `step` of gym; `defaults` are arguments of its constructor."""

    class Old(cls):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            named.pop("seed", None)
            cls.__init__(self, *arguments, **(defaults | named))

        def seed(self, seed: int | None = None) -> list[int | None]:
            self._seed = seed
            return [seed]

        # `cls` rather than super(), because environments of gym_minigrid call these methods of sibling classes.
        def reset(self, **named: Any) -> Any:
            seed, self._seed = getattr(self, "_seed", None), None
            return cls.reset(self, **({"seed": seed} | named))[0]

        def step(self, action: Any) -> Any:
            observation, reward, terminated, truncated, info = cls.step(self, action)
            return observation, reward, terminated or truncated, info

    Old.__name__ = Old.__qualname__ = cls.__name__
    Old.__module__, Old.__doc__ = cls.__module__, cls.__doc__
    Old.__signature__ = inspect.signature(cls)  # checked by curricula
    return Old


class Wrapper:
    """An environment around another, whose step returns four values."""

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
        seed_env = getattr(self.env, "seed", None)
        if seed_env is not None:
            return seed_env(seed)
        self._seed = seed
        return [seed]

    def reset(self, **named: Any) -> Any:
        seed = self.__dict__.pop("_seed", None)
        return first_observation(self.env.reset(**({} if seed is None else {"seed": seed}), **named))

    def step(self, action: Any) -> Any:
        observation, reward, *ends, info = self.env.step(action)
        return observation, reward, any(ends), info

    def render(self, *arguments: Any, **named: Any) -> Any:
        return self.env.render(*arguments, **named)

    def close(self) -> None:
        self.env.close()


class ActionWrapper(Wrapper):
    """A wrapper whose `action` changes the actions."""

    def step(self, action: Any) -> Any:
        return super().step(self.action(action))

    def action(self, action: Any) -> Any:
        raise NotImplementedError


class ObservationWrapper(Wrapper):
    """A wrapper whose `observation` changes the observations."""

    def reset(self, **named: Any) -> Any:
        return self.observation(super().reset(**named))

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        return self.observation(observation), *rest

    def observation(self, observation: Any) -> Any:
        raise NotImplementedError


class RewardWrapper(Wrapper):
    """A wrapper whose `reward` changes the rewards."""

    def step(self, action: Any) -> Any:
        observation, reward, done, info = super().step(action)
        return observation, self.reward(reward), done, info

    def reward(self, reward: Any) -> Any:
        raise NotImplementedError


class TimeLimit(Wrapper):
    """A wrapper that ends an episode after `max_episode_steps`."""

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
        time_limit_reached = self._max_episode_steps is not None and self._elapsed_steps >= self._max_episode_steps
        return (
            observation,
            reward,
            done or time_limit_reached,
            info | ({"TimeLimit.truncated": not done} if time_limit_reached else {}),
        )


class ImgObsWrapper(ObservationWrapper):
    """A wrapper that reduces a MiniGrid observation to its image."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = env.observation_space.spaces["image"]

    def observation(self, observation: Any) -> Any:
        return observation["image"]


def _minigrid() -> dict[str, ModuleType]:
    from minigrid import minigrid_env
    from minigrid.core import actions, constants, grid, mission, roomgrid, world_object

    envs: Any = import_module("minigrid.envs")  # does not declare what it exports
    no_mission = mission.MissionSpace(mission_func=lambda: _MISSION)
    base = {
        "MiniGridEnv": _old(minigrid_env.MiniGridEnv, mission_space=no_mission),
        "RoomGrid": _old(roomgrid.RoomGrid, mission_space=no_mission),
    }
    members = {name: _old(cls) for name, cls in vars(envs).items() if isinstance(cls, type)}
    crossing = {"obstacle_type": world_object.Wall}
    members |= {
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
        "gym_minigrid.envs": _module("gym_minigrid.envs", members | base),
        "gym_minigrid.minigrid": _module("gym_minigrid.minigrid", parts | base),
        "gym_minigrid.roomgrid": _module("gym_minigrid.roomgrid", base),
        "gym_minigrid.wrappers": _module("gym_minigrid.wrappers", {"ImgObsWrapper": ImgObsWrapper}),
    }
