"""Several families as one: which of them a life is in is a number, and `lax.switch` plays that one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.tasks.family import Family, Step
from perdure.errors import TaskError

__all__ = ["Together"]


class Together:
    """Families that share what is seen and what can be done; a state holds one of each."""

    def __init__(self, families: Sequence[Family]) -> None:
        first = families[0]
        for one in families[1:]:
            if (one.is_batches, one.observation, one.outputs, one.batch) != (
                first.is_batches,
                first.observation,
                first.outputs,
                first.batch,
            ):
                raise TaskError(
                    f"{first.name!r} and {one.name!r} differ in what is seen or answered, or in their batches, and the "
                    "batched engine runs one kind of task per protocol",
                    "split the protocol, or use --engine local",
                )
        self.families = tuple(families)
        self.first = first

    def reset(self, which: Any, key: Any, params: Any) -> tuple[Any, Any]:
        """Every family begins, which costs little; what is seen is that of the one that counts."""
        begun = [one.reset(key, params) for one in self.families if one.reset is not None]
        return tuple(state for state, _ in begun), self._of(which, [seen for _, seen in begun])

    def step(self, which: Any, key: Any, states: Any, action: Any, params: Any) -> Step:
        """The family that counts takes a step, the others stand still."""

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
        """A batch of the family that counts."""
        drawn = [one.draw(key, params, learning) for one in self.families if one.draw is not None]
        return self._of(which, [inputs for inputs, _ in drawn]), self._of(which, [labels for _, labels in drawn])

    def _of(self, which: Any, several: list[Any]) -> Any:
        found = several[0]
        for at, one in enumerate(several[1:], start=1):
            found = jnp.where(which == at, one, found)
        return found
