"""batched:actor-critic: a policy and a value on one small network, learned at every step along traces.

Sutton and Barto 2018, §13.5, with a share of the policy's entropy, so that it goes on trying.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.learners import network
from perdure.batched.learners.interface import BatchedTransition, Core, Setting
from perdure.batched.tasks.chance import uniform
from perdure.errors import LearnerError


def make(
    setting: Setting,
    *,
    rate: float = 0.02,
    hidden: int = 32,
    discount: float = 0.97,
    trace: float = 0.8,
    entropy: float = 0.01,
    activation: str = "relu",
) -> Core:
    """A core whose last output is what a state is worth, and whose others are the odds of each action."""
    if setting.batch:
        raise LearnerError(
            "batched:actor-critic is for episodes, and these tasks come in batches", "use batched:softmax"
        )
    fade = discount * trace

    def init(key: Any) -> Any:
        return network.init(key, setting.observation, hidden, setting.outputs + 1, activation)

    def both(weights: Any, observation: Any) -> tuple[Any, Any]:
        found = network.values(weights, observation, activation)
        return jax.nn.log_softmax(found[:-1]), found[-1]

    def act(weights: Any, observation: Any, key: Any, exploring: bool) -> Any:
        odds, _ = both(weights, observation)
        if not exploring:
            return odds.argmax()
        return (odds - jnp.log(-jnp.log(uniform(key, setting.outputs) + 1e-9))).argmax()  # Gumbel's way to draw

    def parts(weights: Any, step: BatchedTransition) -> tuple[Any, Any, Any]:
        """How much better it went than thought, and the slopes of what was done and of how open the choice was."""

        def done(found: Any) -> Any:
            odds, worth = both(found, step.observation)
            return odds[step.action] + worth

        def openness(found: Any) -> Any:
            odds, _ = both(found, step.observation)
            return -(jnp.exp(odds) * odds).sum()

        ahead = jnp.where(step.terminated, 0.0, both(weights, step.following)[1])
        short = step.reward + discount * ahead - both(weights, step.observation)[1]
        return short, jax.grad(done)(weights), jax.grad(openness)(weights)

    def push(weights: Any, held: Any, step: BatchedTransition) -> tuple[Any, Any]:
        short, done, openness = parts(weights, step)
        held = jax.tree.map(lambda old, new: fade * old + new, held, done)
        return jax.tree.map(lambda one, more: short * one + entropy * more, held, openness), held

    def again(weights: Any, step: BatchedTransition) -> Any:
        short, done, openness = parts(weights, step)
        return jax.tree.map(lambda one, more: short * one + entropy * more, done, openness)

    return Core(init, act, push, again, rate, held=lambda weights: jax.tree.map(jnp.zeros_like, weights))
