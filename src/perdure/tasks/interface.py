"""The interface of tasks: their parameters, their measures, and how they are made.

There are two kinds. An *episode task* makes a Gymnasium environment; an experience is one episode. A *batch task* draws
labelled examples; an experience is one batch. Other modules use them:

    task_kind(task)                    the kind that a scenario's Task names        catalogue.py
    Episodes(task, seed)               the checked episodes of an episode task      episodes.py
    Dataset(task, experiences, …)      the batches of a batch task                  datasets.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from perdure.errors import PerdureError, nearest
from perdure.errors import TaskError as TaskError  # noqa: PLC0414 - perdure.tasks exports it
from perdure.registry import Registry
from perdure.scenario.model import Mode, Task

if TYPE_CHECKING:
    import gymnasium
    import numpy as np

Direction = Literal["higher", "lower"]
T = TypeVar("T")


class Parameter(Struct, frozen=True):
    """A parameter of a task that a syllabus may set: its default, its values, and its meaning.

    A number lies between `low` and `high`, if they are given; any other value is one of `choices`. For a parameter with
    neither, the task decides.
    """

    name: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()

    @property
    def form(self) -> str:
        """The possible values in words: `0.02 to 1`, `'task' or 'domain'`."""
        if self.choices:
            return " or ".join(repr(choice) for choice in self.choices)
        if self.low is None and self.high is None:
            return "any"
        kind = "a whole number, " if _is_whole(self.default) else ""
        if self.high is None:
            return f"{kind}{self.low:g} or more"
        return f"{kind}{self.high:g} or less" if self.low is None else f"{kind}{self.low:g} to {self.high:g}"

    def takes(self, value: Any) -> bool:
        """Return whether the parameter may have this value; 1 and 1.0 are one number, and true is not a number."""
        if self.choices:
            return any(type(value) is type(choice) and value == choice for choice in self.choices)
        if self.low is None and self.high is None:
            return True
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        if _is_whole(self.default) and value != int(value):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


class EpisodeEnd(Struct, frozen=True):
    """Summary of an episode, or of the part after its last reset."""

    reward: float
    steps: int
    terminated: bool = False
    truncated: bool = False
    params: Mapping[str, Any] = {}
    info: Mapping[str, Any] = {}
    """The environment's own `info` of the last step."""


class _Declared(Protocol):
    """The declarations of every task."""

    @property
    def name(self) -> str:
        """Registered name, in lower case."""
        ...

    @property
    def summary(self) -> str:
        """One line that describes the task."""
        ...

    @property
    def measures(self) -> Mapping[str, Direction]:
        """The columns of its log info that can be scored, and the better direction of each."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...] | None:
        """The parameters that a syllabus may set; None if only the task or its environment knows."""
        ...


@runtime_checkable
class EpisodeTask(_Declared, Protocol):
    """A task that runs in episodes of a Gymnasium environment."""

    def make(self, task: Task, seed: int) -> gymnasium.Env[Any, Any]:
        """Make an environment for this task variant.

        The parameters of each episode arrive by `reset(options={"params": …})`, complete and checked.
        """
        ...

    def get_episode_log_info(self, env: gymnasium.Env[Any, Any], end: EpisodeEnd) -> Mapping[str, float]:
        """Return the measures, and any other columns, of an episode that ended; only Perdure calls this."""
        ...


@runtime_checkable
class BatchTask(_Declared, Protocol):
    """A task that comes in batches of labelled examples."""

    def examples(
        self, params: Mapping[str, Any], number: int, mode: Mode, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `number` inputs and labels; examples to evaluate never occur among those to learn from."""
        ...

    def info(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return further information for the learner about a batch, such as the number of classes."""
        ...

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        """Return the measures, and any other columns, of a batch with its predictions; only Perdure calls this."""
        ...


TaskKind = EpisodeTask | BatchTask

TASKS: Registry[TaskKind] = Registry("task", "perdure.tasks")
"""Every registered task by name, in any case; an entry point may also name an environment's class."""


def guarded(label: str, method: str, call: Callable[[], T]) -> T:
    """Return the value of `call`; if it raises, name the task and its method."""
    try:
        return call()
    except PerdureError:
        raise
    except Exception as problem:  # a task may raise anything; say whose it is
        raise TaskError(
            f"{method} raised {type(problem).__name__}: {problem}",
            "repair it, or give other parameters",
            where=f"the task {label!r}",
        ) from problem


def settled(parameters: Iterable[Parameter], params: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Return the value of every parameter, given or default; refuse unknown names and wrong values."""
    declared = {parameter.name: parameter for parameter in parameters}
    for name, value in params.items():
        if name not in declared:
            raise TaskError(f"takes no parameter {name!r}", nearest(name, declared), where=f"the task {task!r}")
        if not declared[name].takes(value):
            raise TaskError(
                f"{name!r} is {value!r}",
                f"it takes {declared[name].form} ({declared[name].meaning}; {declared[name].default!r} unless given)",
                where=f"the task {task!r}",
            )
    return {name: _as_declared(parameter, params.get(name, parameter.default)) for name, parameter in declared.items()}


def _as_declared(parameter: Parameter, value: Any) -> Any:
    """Convert a number to the type of the default: JSON may have 3.0 for 3, and 0 for 0.0."""
    if parameter.low is None and parameter.high is None:
        return value
    return int(value) if _is_whole(parameter.default) else float(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
