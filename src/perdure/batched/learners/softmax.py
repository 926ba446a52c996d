"""batched:softmax: a network of one hidden layer that tells classes apart, as the ordinary `naive` does."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.learners import network
from perdure.batched.learners.interface import Core, LabelledBatch, Setting
from perdure.errors import LearnerError


def make(setting: Setting, *, rate: float = 0.1, hidden: int = 64, repeats: int = 1, activation: str = "relu") -> Core:
    """A core that goes down the slope of the mean cross-entropy of a batch, `repeats` times."""
    if not setting.batch:
        raise LearnerError("batched:softmax is for classification, and these tasks run in episodes", "use batched:q")

    def init(key: Any) -> Any:
        return network.init(key, setting.observation, hidden, setting.outputs, activation)

    def act(weights: Any, inputs: Any, key: Any, exploring: bool) -> Any:  # noqa: ARG001
        return network.values(weights, inputs, activation).argmax(axis=-1)

    def loss(weights: Any, answer: LabelledBatch) -> Any:
        logits = jax.nn.log_softmax(network.values(weights, answer.inputs, activation))
        return -jnp.take_along_axis(logits, answer.labels[:, None], axis=-1).mean()

    def again(weights: Any, answer: LabelledBatch) -> Any:
        return jax.tree.map(jnp.negative, jax.grad(loss)(weights, answer))

    def push(weights: Any, held: Any, answer: LabelledBatch) -> tuple[Any, Any]:
        return again(weights, answer), held

    return Core(init, act, push, again, rate, repeats=repeats)
