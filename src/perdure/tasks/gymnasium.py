"""Any Gymnasium 1.x environment as an episode task, by id or by class, wrapped or not.

A class that declares `parameters` receives those of each episode by `reset(options={"params": …})`. Any other takes its
parameters as keywords when it is made, so it is made again if they change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from msgspec import Struct, field
from msgspec.structs import replace

from perdure.errors import TaskError, nearest
from perdure.scenario.model import Task
from perdure.scenario.parameters import draw_parameters
from perdure.tasks.interface import Direction, EpisodeEnd, EpisodeTask, Parameter

Env = gymnasium.Env[Any, Any]

_NOT_PARAMETERS = ("self", "render_mode")


class GymnasiumTask(Struct, frozen=True):
    """An environment as a task; its measure is the reward, unless its class declares others."""

    name: str
    summary: str
    create: Callable[..., Env]
    """Makes the environment; takes `keywords`, if they are known."""
    keywords: tuple[str, ...] | None = None
    """Keywords of `create`; None if it takes any."""
    names: Mapping[str, str] = {}
    """Other names of some keywords, for syllabuses."""
    measures: Mapping[str, Direction] = field(default_factory=lambda: {"reward": "higher"})
    parameters: tuple[Parameter, ...] | None = None
    told_by_reset: bool = False

    @classmethod
    def of_id(cls, name: str, spellings: Mapping[str, str] | None = None) -> GymnasiumTask:
        """Return the task of a registered Gymnasium id; `spellings` are other names of some keywords."""
        entry_point = gymnasium.spec(name).entry_point
        try:
            creator = (
                gymnasium.envs.registration.load_env_creator(entry_point) if isinstance(entry_point, str) else None
            )
        except (ImportError, gymnasium.error.Error) as problem:
            raise TaskError(f"the environment {name!r} needs what is absent: {problem}", "install that") from problem

        def create(**keywords: Any) -> Env:
            return gymnasium.make(name, disable_env_checker=True, **keywords)

        task = cls._declared(name, creator if creator is not None else entry_point, create)
        accepted = {
            parameter: keyword for parameter, keyword in (spellings or {}).items() if keyword in (task.keywords or ())
        }
        return replace(task, names=accepted)

    @classmethod
    def of_class(cls, name: str, env_class: type[Env]) -> GymnasiumTask:
        """Return the task of an environment's class."""
        return cls._declared(name, env_class, env_class)

    @classmethod
    def _declared(cls, name: str, source: Any, create: Callable[..., Env]) -> GymnasiumTask:
        parameters = getattr(source, "parameters", None)
        told_by_reset = isinstance(parameters, tuple) and all(
            isinstance(parameter, Parameter) for parameter in parameters
        )
        measures = getattr(source, "measures", None)
        return cls(
            name,
            (inspect.getdoc(source) or name).strip().splitlines()[0],
            create,
            keywords=_keywords(source),
            measures=dict(measures) if isinstance(measures, Mapping) else {"reward": "higher"},
            parameters=parameters if told_by_reset else None,
            told_by_reset=told_by_reset,
        )

    def make(self, task: Task, seed: int) -> Env:
        """Make an environment; one that takes keywords is wrapped in `Remade`."""
        if self.told_by_reset:
            return self.create()
        return Remade(self.created, draw_parameters(task.params, seed, 0, 0))

    def get_episode_log_info(self, env: Env, end: EpisodeEnd) -> Mapping[str, float]:
        """Return the total reward, the number of steps, and the environment's own log info."""
        return own_log_info(env, {"reward": end.reward, "steps": end.steps})

    def created(self, params: Mapping[str, Any]) -> Env:
        """Make the environment with these parameters; refuse one that it does not take."""
        keywords = self.keywords_for(params)
        try:
            return self.create(**keywords)
        except Exception as problem:  # an environment may raise anything; say with what it was made
            raise TaskError(
                f"the environment {self.name!r} cannot be made with the parameters {dict(params)}: "
                f"{type(problem).__name__}: {problem}",
                "give parameters that it takes",
            ) from problem

    def keywords_for(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords of `create` for these parameters; refuse one that it does not take."""
        keywords = {self.names.get(key, key): _as_keyword(value) for key, value in params.items()}
        if self.keywords is not None:
            for key in keywords:
                if key not in self.keywords:
                    known = sorted({*self.keywords, *self.names})
                    raise TaskError(f"the environment {self.name!r} takes no parameter {key!r}", nearest(key, known))
        return keywords


class Remade(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that takes its parameters when it is made, and is made again if they change."""

    def __init__(self, make: Callable[[Mapping[str, Any]], Env], params: Mapping[str, Any]) -> None:
        super().__init__(make(params))
        self._make = make
        self._params = dict(params)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode with the parameters in `options`."""
        others = dict(options or {})
        params = dict(others.pop("params", self._params))
        if params != self._params:
            self.env.close()
            self.env = self._make(params)
            self._params = params
        return self.env.reset(seed=seed, options=others or None)


class Wrapped:
    """An episode task whose environment is wrapped, from left to right."""

    def __init__(self, kind: EpisodeTask, wrappers: tuple[Callable[[Env], Env], ...], name: str) -> None:
        self.kind = kind
        self.wrappers = wrappers
        self.name = name
        self.summary, self.measures, self.parameters = kind.summary, kind.measures, kind.parameters

    def make(self, task: Task, seed: int) -> Env:
        """Make the environment with its wrappers."""
        env = self.kind.make(task, seed)
        for wrapper in self.wrappers:
            env = wrapper(env)
            if not isinstance(env, gymnasium.Env):
                raise TaskError(
                    f"a wrapper gave {type(env).__name__}", "expected a gymnasium.Env", where=repr(self.name)
                )
        return env

    def get_episode_log_info(self, env: Env, end: EpisodeEnd) -> Mapping[str, float]:
        """Return the log info of the bare task."""
        return self.kind.get_episode_log_info(env, end)


def own_log_info(env: Env, info: dict[str, float]) -> dict[str, float]:
    """Return `info`, updated by the environment's own `get_episode_log_info`, if it has one."""
    method = getattr(env.unwrapped, "get_episode_log_info", None)
    return {**info, **method()} if callable(method) else info


def _as_keyword(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _keywords(source: Any) -> tuple[str, ...] | None:
    """Return the keywords of a class or function, through the bases that it passes keywords to; None if unknown."""
    bases = source.__mro__ if isinstance(source, type) else ()
    makers = [vars(base)["__init__"] for base in bases if "__init__" in vars(base)] or [source]
    names: list[str] = []
    for maker in makers:
        try:
            parameters = inspect.signature(maker).parameters.values()
        except (TypeError, ValueError):
            return None
        names += [
            parameter.name
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return tuple(name for name in dict.fromkeys(names) if name not in _NOT_PARAMETERS)
    return None
