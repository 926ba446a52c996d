"""Family: tasks that are one program and differ by numbers, lived in episodes or in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field

from perdure.errors import TaskError
from perdure.tasks.interface import Direction, Parameter, settled

__all__ = ["EPISODES", "Batch", "Family", "Step"]

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
    """How long an observation is, or an example."""
    outputs: int
    """How many actions there are, or classes."""
    measures: Mapping[str, Direction] = field(default_factory=lambda: EPISODES)
    reset: Callable[[Any, Any], tuple[Any, Any]] | None = None
    step: Callable[[Any, Any, Any, Any], Step] | None = None
    draw: Callable[[Any, Any, bool], Batch] | None = None
    batch: int = 0
    """Examples in a batch, where it is lived in batches."""
    encode: Callable[[Mapping[str, Any], str], np.ndarray] | None = None
    """Makes the vector, where parameters are not numbers as they stand; it is then `width` long."""
    width: int = 0

    @property
    def is_batches(self) -> bool:
        """Whether it is lived in batches rather than in episodes."""
        return self.draw is not None

    def numbers(self, given: Mapping[str, Any], task: str) -> np.ndarray:
        """A task's parameters as a vector, each in the place of its declaration; what is no number is refused."""
        if self.encode is not None:
            return self.encode(given, task)
        values = self.settled(given, task)
        return np.array([_as_number(values[one.name], one, task) for one in self.parameters])

    def settled(self, given: Mapping[str, Any], task: str) -> dict[str, Any]:
        """Every parameter with its value; what is unknown or unfit is refused."""
        return settled(self.parameters, given, task)

    def named(self, vector: Any) -> dict[str, Any]:
        """The parameters by name again, each of its kind, for rules that are traced."""
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
