"""Families of gymnax: classic control, MinAtar and others, written `env = "gymnax:CartPole-v1"` (extra `gymnax`).

Lange 2022, github.com/RobertTLange/gymnax. Variants of a task differ by the environment's own numbers, such as
CartPole's `gravity`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.tasks.family import Family, Step
from perdure.errors import TaskError, nearest
from perdure.lazy import of_extra
from perdure.tasks.interface import Parameter

PREFIX = "gymnax:"


def gymnax_family(name: str, several: Sequence[Mapping[str, Any]]) -> Family:  # noqa: ARG001
    """The family of an environment of gymnax, with discrete actions; what it shows is one row of numbers."""
    gymnax = of_extra("gymnax", f"the task {name!r}")
    wanted = name.removeprefix(PREFIX)
    if wanted not in gymnax.registered_envs:
        raise TaskError(f"unknown environment {name!r}", nearest(wanted, gymnax.registered_envs))
    env, defaults = gymnax.make(wanted)
    actions = getattr(env.action_space(defaults), "n", None)
    if actions is None:
        raise TaskError(
            f"the task {name!r} has no discrete actions, and the batched learners choose one of a few",
            "name an environment with such actions",
        )
    numbers = {
        one.name: getattr(defaults, one.name)
        for one in dataclasses.fields(defaults)
        if isinstance(getattr(defaults, one.name), int | float)
    }

    def params_of(vector: Any) -> Any:
        return defaults.replace(**family.named(vector))

    def reset(key: Any, params: Any) -> tuple[Any, Any]:
        seen, state = env.reset_env(jax.random.wrap_key_data(key), params_of(params))
        return _settled(state), _flat(seen)

    def step(key: Any, state: Any, action: Any, params: Any) -> Step:
        own = params_of(params)
        seen, after, reward, done, _ = env.step_env(jax.random.wrap_key_data(key), state, action, own)
        done = jnp.asarray(done, bool)
        late = jnp.asarray(getattr(after, "time", -1) >= getattr(own, "max_steps_in_episode", math.inf))
        # From gymnax 1.0 on, being done is no matter of time; before, it was both.
        ended = done if hasattr(env, "is_terminated") else done & ~late
        return _settled(after), _flat(seen), jnp.asarray(reward, float), ended, late & ~ended

    size = math.prod(env.observation_space(defaults).shape)
    parameters = tuple(Parameter(one, value, f"of {wanted}") for one, value in numbers.items())
    family = Family(name, parameters, size, int(actions), reset=reset, step=step)
    return family


def _flat(seen: Any) -> Any:
    return jnp.asarray(seen, float).reshape(-1)


def _settled(state: Any) -> Any:
    """Numbers of a settled kind, as a loop needs them that carries them on."""
    return jax.tree.map(lambda one: jnp.asarray(one).astype(jnp.asarray(one).dtype), state)
