"""What a task is to Perdure: parameters it declares, a way to be made, and what to log of it.

Two kinds. An *episode task* makes a Gymnasium environment; an experience is one episode. A *batch
task* draws labelled examples; an experience is one batch. How each is lived stands elsewhere:

    task_kind(task)                    the kind that a scenario's Task names        resolve.py
    Episodes(task, seed)               an episode task, opened, and guarded         episodes.py
    Dataset(task, experiences, …)      a batch task as S003's loop sees it          datasets.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from perdure.errors import PerdureError, TaskError, nearest
from perdure.registry import Registry
from perdure.scenario.model import Mode, Task

if TYPE_CHECKING:
    import gymnasium
    import numpy as np

__all__ = [
    "TASKS",
    "BatchTask",
    "EpisodeEnd",
    "EpisodeTask",
    "Parameter",
    "TaskError",
    "TaskKind",
    "guarded",
    "settled",
]

Direction = Literal["higher", "lower"]
T = TypeVar("T")


class Parameter(Struct, frozen=True):
    """One thing about a task that a syllabus may set: its default, what it may be, and what it means.

    A number lies within `low` and `high`, where they are given; anything else is one of `choices`. A
    parameter with neither takes what its task takes.
    """

    name: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()

    @property
    def form(self) -> str:
        """What it may be, in words: `0.02 to 1`, `'task' or 'domain'`."""
        if self.choices:
            return " or ".join(repr(choice) for choice in self.choices)
        if self.low is None and self.high is None:
            return "any"
        kind = "a whole number, " if _is_whole(self.default) else ""
        if self.high is None:
            return f"{kind}{self.low:g} or more"
        return f"{kind}{self.high:g} or less" if self.low is None else f"{kind}{self.low:g} to {self.high:g}"

    def takes(self, value: Any) -> bool:
        """Whether `value` is one that this parameter may have; 1 and 1.0 are one number, true is none."""
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
    """What happened between a reset and the end of what followed it."""

    reward: float
    steps: int
    terminated: bool = False
    truncated: bool = False
    params: Mapping[str, Any] = {}
    info: Mapping[str, Any] = {}
    """The environment's own `info` of the last step."""


class _Declared(Protocol):
    """What every task declares."""

    @property
    def name(self) -> str:
        """What it is registered under, in lower case."""
        ...

    @property
    def summary(self) -> str:
        """One line that says what is to be learned."""
        ...

    @property
    def measures(self) -> Mapping[str, Direction]:
        """What its log info gives that can be scored, and which way is better."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...] | None:
        """What a syllabus may set; None where only the task itself, or its environment, knows."""
        ...


@runtime_checkable
class EpisodeTask(_Declared, Protocol):
    """A task that is lived in episodes of a Gymnasium environment."""

    def make(self, task: Task, seed: int) -> gymnasium.Env[Any, Any]:
        """A new environment for this task variant.

        Each episode's parameters arrive by `reset(options={"params": …})`, complete and checked.
        """
        ...

    def get_episode_log_info(self, env: gymnasium.Env[Any, Any], end: EpisodeEnd) -> Mapping[str, float]:
        """The measures, and any other columns, of an episode that ended; called by Perdure, never by the learner."""
        ...


@runtime_checkable
class BatchTask(_Declared, Protocol):
    """A task that is lived in batches of labelled examples."""

    def examples(
        self, params: Mapping[str, Any], number: int, mode: Mode, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """`number` inputs, and as many labels; examples to evaluate are never among those to learn from."""
        ...

    def info(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a learner may know of a batch beside its inputs, such as how many classes there are."""
        ...

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        """The measures, and any other columns, of an answered batch; called by Perdure, never by the learner."""
        ...


TaskKind = EpisodeTask | BatchTask

TASKS: Registry[TaskKind] = Registry("task", "perdure.tasks")
"""Every known kind of task by name, whose case does not matter; an entry point may also name an environment's class."""


def guarded(label: str, method: str, call: Callable[[], T]) -> T:
    """The value of `call`; what a task raises there is named as the task's."""
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


def settled(parameters: Iterable[Parameter], given: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Every parameter with its value, the given one or the default; what is unknown or unfit is refused."""
    declared = {parameter.name: parameter for parameter in parameters}
    for name, value in given.items():
        if name not in declared:
            raise TaskError(f"takes no parameter {name!r}", nearest(name, declared), where=f"the task {task!r}")
        if not declared[name].takes(value):
            raise TaskError(
                f"{name!r} is {value!r}",
                f"it takes {declared[name].form} ({declared[name].meaning}; {declared[name].default!r} unless given)",
                where=f"the task {task!r}",
            )
    return {name: _as_declared(parameter, given.get(name, parameter.default)) for name, parameter in declared.items()}


def _as_declared(parameter: Parameter, value: Any) -> Any:
    """A number of its default's kind: JSON writes 3.0 where a whole number is meant, and 0 where 0.0 is."""
    if parameter.low is None and parameter.high is None:
        return value
    return int(value) if _is_whole(parameter.default) else float(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
