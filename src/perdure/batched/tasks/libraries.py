"""Families of other libraries' environments: gymnax (extra `gymnax`) and navix (extra `navix`).

`env = "gymnax:CartPole-v1"` is an environment of gymnax (Lange 2022): classic control, MinAtar and others. Variants of
a task differ by the environment's own numbers, such as CartPole's `gravity`.

`env = "navix:Navix-Empty-5x5-v0"` is a room of navix (Pignatelli et al. 2024): MiniGrid in JAX. Its observation is
MiniGrid's view of the cells ahead, which has the same size in every room. Variants differ by `max_steps`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.tasks.family import Family, Step
from perdure.errors import TaskError, nearest
from perdure.lazy import import_extra
from perdure.tasks.interface import Parameter

_MAX_STEPS = Parameter(
    "max_steps", 100, "after so many steps an episode is cut, and a reward shrinks on the way", low=1
)
_LARGEST = 10.0  # MiniGrid's largest number for the content of a cell


def gymnax_family(name: str, several: Sequence[Mapping[str, Any]]) -> Family:  # noqa: ARG001
    """Return an environment of gymnax with discrete actions as a family; its observation is one row of numbers."""
    gymnax = import_extra("gymnax", f"the task {name!r}")
    wanted = name.removeprefix("gymnax:")
    if wanted not in gymnax.registered_envs:
        raise TaskError(f"unknown environment {name!r}", nearest(wanted, gymnax.registered_envs))
    env, defaults = gymnax.make(wanted)
    actions = getattr(env.action_space(defaults), "n", None)
    if actions is None:
        raise TaskError(
            f"the task {name!r} has no discrete actions, and the batched learners choose one of a few",
            "name an environment with such actions",
        )
    values = {field.name: getattr(defaults, field.name) for field in dataclasses.fields(defaults)}
    parameters = tuple(
        Parameter(key, value, f"of {wanted}") for key, value in values.items() if isinstance(value, int | float)
    )

    def params_of(vector: Any) -> Any:
        return defaults.replace(**family.named(vector))

    def flat(observation: Any) -> Any:
        return jnp.asarray(observation, float).reshape(-1)

    def reset(key: Any, params: Any) -> tuple[Any, Any]:
        observation, state = env.reset_env(jax.random.wrap_key_data(key), params_of(params))
        return _strongly_typed(state), flat(observation)

    def step(key: Any, state: Any, action: Any, params: Any) -> Step:
        env_params = params_of(params)
        observation, after, reward, done, _ = env.step_env(jax.random.wrap_key_data(key), state, action, env_params)
        done = jnp.asarray(done, bool)
        late = jnp.asarray(getattr(after, "time", -1) >= getattr(env_params, "max_steps_in_episode", math.inf))
        # Before gymnax 1.0, `done` includes the time limit.
        ended = done if hasattr(env, "is_terminated") else done & ~late
        return _strongly_typed(after), flat(observation), jnp.asarray(reward, float), ended, late & ~ended

    size = math.prod(env.observation_space(defaults).shape)
    family = Family(name, parameters, size, int(actions), reset=reset, step=step)
    return family


def navix_family(name: str, several: Sequence[Mapping[str, Any]]) -> Family:  # noqa: ARG001
    """Return a room of navix as a family."""
    navix = import_extra("navix", f"the task {name!r}")
    rooms = import_module("navix.environments.registry").registry()
    wanted = name.removeprefix("navix:")
    if wanted not in rooms:
        raise TaskError(f"unknown environment {name!r}", nearest(wanted, rooms))
    env = navix.make(wanted, observation_fn=navix.observations.symbolic_first_person)
    first = env.reset(jnp.zeros(2, jnp.uint32))
    sprites = first.state.cache  # the same in every state, so that a lifetime need not carry them

    def without_sprites(timestep: Any) -> Any:
        return _strongly_typed(timestep.replace(state=timestep.state.replace(cache=None)))

    def flat(timestep: Any) -> Any:
        return timestep.observation.reshape(-1).astype(float) / _LARGEST

    def reset(key: Any, params: Any) -> tuple[Any, Any]:  # noqa: ARG001
        timestep = env.reset(key)
        return without_sprites(timestep), flat(timestep)

    def step(key: Any, state: Any, action: Any, params: Any) -> Step:  # noqa: ARG001
        # A room's own key is in its state. `_step` is used because `step` resets an episode that is over.
        limited = env.replace(max_steps=family.named(params)["max_steps"])
        after = limited._step(state.replace(state=state.state.replace(cache=sprites)), action)
        reward = jnp.asarray(after.reward, float)
        return without_sprites(after), flat(after), reward, after.step_type == 2, after.step_type == 1

    family = Family(name, (_MAX_STEPS,), first.observation.size, len(env.action_set), reset=reset, step=step)
    return family


def _strongly_typed(state: Any) -> Any:
    """Return the state with fixed types, as a compiled loop needs it."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf).astype(jnp.asarray(leaf).dtype), state)
