"""Family: tasks that are one program and differ by numbers, run in episodes or in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from msgspec import Struct, field

from perdure.errors import TaskError, nearest
from perdure.scenario.model import Task
from perdure.tasks.digits import PAIRS
from perdure.tasks.interface import Direction, Parameter, settled

EPISODES: Mapping[str, Direction] = {"reward": "higher"}

Step = tuple[Any, Any, Any, Any, Any]
"""State, observation, reward, terminated, truncated."""

Batch = tuple[Any, Any]
"""Inputs, a row per example; and the examples' labels."""


class Family(Struct, frozen=True):
    """Pure functions of a key, a state, an action and parameters, which are a vector of numbers.

    A family of episodes has `reset` and `step`; one of batches has `draw`, whose third argument says whether
    the batch is to be learned from. `numbers` makes the vector of a task's parameters, `named` undoes it.
    """

    name: str
    parameters: tuple[Parameter, ...]
    observation: int
    """The length of an observation, or of an example."""
    outputs: int
    """The number of actions, or of classes."""
    measures: Mapping[str, Direction] = field(default_factory=lambda: EPISODES)
    reset: Callable[[Any, Any], tuple[Any, Any]] | None = None
    step: Callable[[Any, Any, Any, Any], Step] | None = None
    draw: Callable[[Any, Any, bool], Batch] | None = None
    batch: int = 0
    """Examples in a batch, for a family of batches."""
    encode: Callable[[Mapping[str, Any], str], np.ndarray] | None = None
    """Makes the vector, of length `width`, if parameters are not plain numbers."""
    width: int = 0

    @property
    def is_batches(self) -> bool:
        """True for a stream of batches, False for episodes."""
        return self.draw is not None

    @property
    def shape(self) -> tuple[object, ...]:
        """Shapes and kinds that families of one program share."""
        return self.is_batches, self.observation, self.outputs, self.batch

    def numbers(self, given: Mapping[str, Any], task: str) -> np.ndarray:
        """Return a task's parameters as a vector, in the order of their declarations; refuse other types."""
        if self.encode is not None:
            return self.encode(given, task)
        values = self.settled(given, task)
        return np.array([_as_number(values[parameter.name], parameter, task) for parameter in self.parameters])

    def settled(self, given: Mapping[str, Any], task: str) -> dict[str, Any]:
        """Return every parameter with its value; refuse unknown and unfit ones."""
        return settled(self.parameters, given, task)

    def named(self, vector: Any) -> dict[str, Any]:
        """Return the parameters by name, each of its type, for rules that are traced."""
        values: dict[str, Any] = {}
        for parameter, value in zip(self.parameters, vector, strict=False):
            if isinstance(parameter.default, bool):
                values[parameter.name] = value > 0
            else:
                values[parameter.name] = value.astype(int) if isinstance(parameter.default, int) else value
        return values


def _as_number(value: Any, parameter: Parameter, task: str) -> float:
    if isinstance(parameter.default, str):
        if value != parameter.default:
            raise TaskError(
                f"{parameter.name!r} is {value!r}, and the batched engine takes {parameter.default!r} only",
                "run it with --engine local",
                where=f"the task {task!r}",
            )
        return 0.0
    return float(value)


class FamilySwitch:
    """Several families as one, selected by a number. They share observations and outputs."""

    def __init__(self, families: Sequence[Family]) -> None:
        first = families[0]
        for family in families[1:]:
            if family.shape != first.shape:
                raise TaskError(
                    f"{first.name!r} and {family.name!r} differ in their observations, actions or batches, and the "
                    "batched engine runs one kind of task per protocol",
                    "split the protocol, or use --engine local",
                )
        self.families = tuple(families)
        self.first = first

    def reset(self, which: Any, key: Any, params: Any) -> tuple[Any, Any]:
        """Begin an episode in every family, which costs little; return the observation of family `which`."""
        resets = [family.reset(key, params) for family in self.families if family.reset is not None]
        return tuple(state for state, _ in resets), self._of(which, [observation for _, observation in resets])

    def step(self, which: Any, key: Any, states: Any, action: Any, params: Any) -> Step:
        """Take a step in family `which` only."""

        def branch(number: int, family: Family) -> Any:
            def play(states: Any) -> Step:
                assert family.step is not None
                state, *rest = family.step(key, states[number], action, params)
                return ((*states[:number], state, *states[number + 1 :]), *rest)

            return play

        branches = [branch(number, family) for number, family in enumerate(self.families)]
        result: Step = branches[0](states) if len(branches) == 1 else jax.lax.switch(which, branches, states)
        return result

    def draw(self, which: Any, key: Any, params: Any, learning: bool) -> tuple[Any, Any]:
        """Draw a batch of family `which`."""
        draws = [family.draw(key, params, learning) for family in self.families if family.draw is not None]
        return self._of(which, [inputs for inputs, _ in draws]), self._of(which, [labels for _, labels in draws])

    def _of(self, which: Any, values: list[Any]) -> Any:
        result = values[0]
        for number, value in enumerate(values[1:], start=1):
            result = jnp.where(which == number, value, result)
        return result


FAMILIES: Mapping[str, str] = {
    "pong": "perdure.batched.tasks.arcade:arcade",
    "breakout": "perdure.batched.tasks.arcade:arcade",
    "freeway": "perdure.batched.tasks.arcade:arcade",
    "digits": "perdure.batched.tasks.streams:digits",
    "gaussians": "perdure.batched.tasks.streams:gaussians",
}
"""The place of each family's maker: a function of its name and of the parameters of all tasks that belong to it."""

_LIBRARIES = {name: f"perdure.batched.tasks.libraries:{name}_family" for name in ("gymnax", "navix")}
_PAIRS = {pair: {"classes": [2 * index, 2 * index + 1]} for index, pair in enumerate(PAIRS)}
_PAIRS |= {f"task-{index + 1}-{pair}": _PAIRS[pair] for index, pair in enumerate(PAIRS)}


def kind_of(task: Task) -> tuple[str, Mapping[str, Any]]:
    """Return the name of a task's family, and the parameters that the task's own name implies.

    A custom family is named `module:maker`.
    """
    named = task.env or task.name
    folded = named if ":" in named else named.lower()
    return ("digits", _PAIRS[folded]) if folded in _PAIRS else (folded, {})


def family_of(kind: str, several: Sequence[Mapping[str, Any]]) -> Family:
    """Return the family of this name, for tasks of these parameters."""
    place = _LIBRARIES.get(kind.partition(":")[0]) or FAMILIES.get(kind, kind)
    if ":" not in place:
        raise TaskError(
            f"the batched engine has no family for the task {kind!r}",
            f"{nearest(kind, FAMILIES)} (one of your own is written package.module:maker; --engine local takes "
            "any task)",
        )
    module, _, maker = place.partition(":")
    try:
        make = getattr(import_module(module), maker)
    except (ModuleNotFoundError, AttributeError) as problem:
        raise TaskError(f"the family {place!r} cannot be found: {problem}", "write package.module:maker") from problem
    family = make(kind, several)
    if not isinstance(family, Family):
        raise TaskError(
            f"{place!r} gives {type(family).__name__}, and the batched engine needs a Family", "return one from it"
        )
    return family
