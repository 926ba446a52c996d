"""Family: tasks that are one program and differ by numbers, run in episodes or in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from msgspec import Struct, field

from perdure.errors import TaskError
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
        """Return a task's parameters as a vector, in the order of their declarations; refuse what is not a number."""
        if self.encode is not None:
            return self.encode(given, task)
        values = self.settled(given, task)
        return np.array([_as_number(values[one.name], one, task) for one in self.parameters])

    def settled(self, given: Mapping[str, Any], task: str) -> dict[str, Any]:
        """Return every parameter with its value; refuse unknown and unfit ones."""
        return settled(self.parameters, given, task)

    def named(self, vector: Any) -> dict[str, Any]:
        """Return the parameters by name, each of its type, for rules that are traced."""
        found: dict[str, Any] = {}
        for one, value in zip(self.parameters, vector, strict=False):
            if isinstance(one.default, bool):
                found[one.name] = value > 0
            else:
                found[one.name] = value.astype(int) if isinstance(one.default, int) else value
        return found


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
    """Several families as one: a number tells which of them a lifetime is in. They share observations and outputs."""

    def __init__(self, families: Sequence[Family]) -> None:
        first = families[0]
        for one in families[1:]:
            if one.shape != first.shape:
                raise TaskError(
                    f"{first.name!r} and {one.name!r} differ in what is seen or answered, or in their batches, and the "
                    "batched engine runs one kind of task per protocol",
                    "split the protocol, or use --engine local",
                )
        self.families = tuple(families)
        self.first = first

    def reset(self, which: Any, key: Any, params: Any) -> tuple[Any, Any]:
        """Begin an episode in every family, which costs little; return the observation of family `which`."""
        begun = [one.reset(key, params) for one in self.families if one.reset is not None]
        return tuple(state for state, _ in begun), self._of(which, [seen for _, seen in begun])

    def step(self, which: Any, key: Any, states: Any, action: Any, params: Any) -> Step:
        """Take a step in family `which` only."""

        def branch(at: int, one: Family) -> Any:
            def play(states: Any) -> Step:
                assert one.step is not None
                state, *rest = one.step(key, states[at], action, params)
                return ((*states[:at], state, *states[at + 1 :]), *rest)

            return play

        branches = [branch(at, one) for at, one in enumerate(self.families)]
        found: Step = branches[0](states) if len(branches) == 1 else jax.lax.switch(which, branches, states)
        return found

    def draw(self, which: Any, key: Any, params: Any, learning: bool) -> tuple[Any, Any]:
        """Draw a batch of family `which`."""
        drawn = [one.draw(key, params, learning) for one in self.families if one.draw is not None]
        return self._of(which, [inputs for inputs, _ in drawn]), self._of(which, [labels for _, labels in drawn])

    def _of(self, which: Any, several: list[Any]) -> Any:
        found = several[0]
        for at, one in enumerate(several[1:], start=1):
            found = jnp.where(which == at, one, found)
        return found
