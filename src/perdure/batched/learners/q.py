"""batched:q: Q-learning with traces, on a table of coarse features or on a small network.

The table's features are those of the ordinary `q-learning`: each number cut into bins alone, and each pair together.
Where that learner learns from an episode at its end, this one learns at every step, along traces (Sutton and Barto
2018, §12.5; replaced ones for the table, which keeps the steps small), because thousands of lives end no episode at
the same time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from perdure.batched.learners import network
from perdure.batched.learners.interface import BatchedTransition, Core, Setting
from perdure.batched.tasks.chance import uniform
from perdure.errors import LearnerError

_ALONE, _PAIRED = 12, 6
_MOST = 12  # numbers of an observation; pairs of more would fill a table


def make(
    setting: Setting,
    *,
    form: str = "table",
    rate: float | None = None,
    explore: float = 0.1,
    discount: float = 0.97,
    trace: float | None = None,
    hidden: int = 32,
    activation: str = "relu",
) -> Core:
    """A core that estimates what each action is worth; `form` is "table" or "network"."""
    if form == "table" and setting.observation > _MOST:
        raise LearnerError(
            f"a table takes up to {_MOST} numbers, and an observation has {setting.observation} here",
            'use params = { form = "network" }',
            where="batched:q",
        )
    values = FORMS[form](setting, hidden, activation)
    rate = values.rate if rate is None else rate
    fade = discount * (values.trace if trace is None else trace)

    def act(weights: Any, observation: Any, key: Any, exploring: bool) -> Any:
        found = values.worth(weights, observation)
        if not exploring:
            return found.argmax()
        chances = uniform(key, 2 + setting.outputs)
        best = jnp.where(found == found.max(), chances[2:], -1.0).argmax()  # among equals any
        anything = (chances[1] * setting.outputs).astype(int)
        return jnp.where(chances[0] < explore, anything, best)

    def error(weights: Any, step: BatchedTransition) -> Any:
        ahead = jnp.where(step.terminated, 0.0, values.worth(weights, step.following).max())
        return step.reward + discount * ahead - values.worth(weights, step.observation)[step.action]

    def push(weights: Any, held: Any, step: BatchedTransition) -> tuple[Any, Any]:
        short = error(weights, step)
        held = values.followed(held, values.slope(weights, step.observation, step.action), fade)
        return jax.tree.map(lambda one: short * one, held), held

    def again(weights: Any, step: BatchedTransition) -> Any:
        short = error(weights, step)
        return jax.tree.map(lambda one: short * one, values.slope(weights, step.observation, step.action))

    return Core(values.init, act, push, again, rate, held=lambda weights: jax.tree.map(jnp.zeros_like, weights))


class _Values(NamedTuple):
    """How the worth of actions is kept, and how each weight changes that of one."""

    init: Any
    worth: Any
    slope: Any
    followed: Any
    """What a trace becomes with another slope, when it fades by so much."""
    rate: float
    trace: float


def _table(setting: Setting, hidden: int, activation: str) -> _Values:  # noqa: ARG001
    """One number per feature and action; some two dozen features are on at a time."""
    size = setting.observation
    first, second = np.triu_indices(size, 1)
    alone_at = np.arange(size) * _ALONE
    paired_at = size * _ALONE + np.arange(len(first)) * _PAIRED**2
    rows = size * _ALONE + len(first) * _PAIRED**2

    def places(observation: Any) -> tuple[Any, Any]:
        place = jnp.clip((observation + 1) / 2, 0.0, 1.0 - 1e-6)
        coarse = (place * _PAIRED).astype(int)
        return (place * _ALONE).astype(int), coarse[first] * _PAIRED + coarse[second]

    def init(key: Any) -> Any:  # noqa: ARG001
        return {"table": jnp.zeros((rows, setting.outputs))}

    def worth(weights: Any, observation: Any) -> Any:
        alone, paired = places(observation)
        on = jnp.concatenate([alone + alone_at, paired + paired_at])
        return weights["table"].at[on].get(mode="promise_in_bounds").sum(axis=0)

    def slope(weights: Any, observation: Any, action: Any) -> Any:  # noqa: ARG001
        # Compared with all places at once: what is indexed for each life by itself is slow to write.
        alone, paired = places(observation)
        ones = [alone[:, None] == jnp.arange(_ALONE), paired[:, None] == jnp.arange(_PAIRED**2)]
        seen = jnp.concatenate([one.reshape(-1) for one in ones])
        return {"table": (seen[:, None] & (jnp.arange(setting.outputs) == action)).astype(float)}

    def followed(held: Any, slope: Any, fade: float) -> Any:
        return jax.tree.map(lambda old, new: jnp.maximum(fade * old, new), held, slope)

    return _Values(init, worth, slope, followed, 0.2 / (size + len(first)), 0.9)


def _network(setting: Setting, hidden: int, activation: str) -> _Values:
    def init(key: Any) -> Any:
        return network.init(key, setting.observation, hidden, setting.outputs, activation)

    def worth(weights: Any, observation: Any) -> Any:
        return network.values(weights, observation, activation)

    def slope(weights: Any, observation: Any, action: Any) -> Any:
        return jax.grad(lambda found: worth(found, observation)[action])(weights)

    def followed(held: Any, slope: Any, fade: float) -> Any:
        return jax.tree.map(lambda old, new: fade * old + new, held, slope)

    return _Values(init, worth, slope, followed, 0.01, 0.8)


FORMS = {"table": _table, "network": _network}
"""How values are kept: coarse features of a table, or one hidden layer."""
