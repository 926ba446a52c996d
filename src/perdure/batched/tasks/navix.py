"""Families of navix: MiniGrid's rooms in JAX, written `env = "navix:Navix-Empty-5x5-v0"` (extra `navix`).

Pignatelli et al. 2024, github.com/epignatelli/navix. What is seen is MiniGrid's view of the cells ahead, so that rooms
of every size show as much, and one protocol may have several of them; variants differ by `max_steps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.tasks.family import Family, Step
from perdure.errors import TaskError, nearest
from perdure.lazy import of_extra
from perdure.tasks.interface import Parameter

PREFIX = "navix:"
_STEPS = Parameter("max_steps", 100, "after so many steps an episode is cut, and a reward shrinks on the way", low=1)
_LARGEST = 10.0  # of MiniGrid's numbers for what stands in a cell


def navix_family(name: str, several: Sequence[Mapping[str, Any]]) -> Family:  # noqa: ARG001
    """The family of one of navix's rooms."""
    navix = of_extra("navix", f"the task {name!r}")
    rooms = import_module("navix.environments.registry").registry()
    wanted = name.removeprefix(PREFIX)
    if wanted not in rooms:
        raise TaskError(f"unknown environment {name!r}", nearest(wanted, rooms))
    env = navix.make(wanted, observation_fn=navix.observations.symbolic_first_person)
    first = env.reset(jnp.zeros(2, jnp.uint32))
    pictures = first.state.cache  # the same in every state, and never looked at: a life need not carry it

    def reset(key: Any, params: Any) -> tuple[Any, Any]:  # noqa: ARG001
        found = env.reset(key)
        return _settled(found.replace(state=found.state.replace(cache=None))), _seen(found)

    def step(key: Any, state: Any, action: Any, params: Any) -> Step:  # noqa: ARG001
        # A room's own key is in its state. `_step`, since `step` begins anew by itself where an episode is over.
        own = env.replace(max_steps=family.named(params)["max_steps"])
        found = own._step(state.replace(state=state.state.replace(cache=pictures)), action)
        after = _settled(found.replace(state=found.state.replace(cache=None)))
        return after, _seen(found), jnp.asarray(found.reward, float), found.step_type == 2, found.step_type == 1

    family = Family(name, (_STEPS,), first.observation.size, len(env.action_set), reset=reset, step=step)
    return family


def _seen(found: Any) -> Any:
    return found.observation.reshape(-1).astype(float) / _LARGEST


def _settled(state: Any) -> Any:
    """The state with every number of a settled kind, as a loop needs it that carries it on."""
    return jax.tree.map(lambda one: jnp.asarray(one).astype(jnp.asarray(one).dtype), state)
