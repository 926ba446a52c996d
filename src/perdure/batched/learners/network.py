"""A network of one hidden layer as a tree of arrays; with CReLU, each unit answers on both sides of nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.tasks.chance import normal

ACTIVATIONS: Mapping[str, tuple[Callable[[Any], Any], int]] = {
    "relu": (jax.nn.relu, 1),
    "crelu": (lambda x: jnp.concatenate([jax.nn.relu(x), jax.nn.relu(-x)], axis=-1), 2),
    "tanh": (jnp.tanh, 1),
}
"""What a unit answers, and with how many numbers (CReLU: Shang et al. 2016; Abbas et al. 2023)."""


def init(key: Any, inputs: int, hidden: int, outputs: int, activation: str = "relu") -> dict[str, Any]:
    """Random first weights, after He et al. 2015; an output that is undecided."""
    first = normal(key, inputs * hidden).reshape(inputs, hidden) * jnp.sqrt(2.0 / inputs)
    wide = hidden * ACTIVATIONS[activation][1]
    return {
        "hidden": first,
        "hidden_bias": jnp.zeros(hidden),
        "output": jnp.zeros((wide, outputs)),
        "output_bias": jnp.zeros(outputs),
    }


def active(weights: Mapping[str, Any], inputs: Any, activation: str = "relu") -> Any:
    """What the hidden layer answers."""
    return ACTIVATIONS[activation][0](inputs @ weights["hidden"] + weights["hidden_bias"])


def values(weights: Mapping[str, Any], inputs: Any, activation: str = "relu") -> Any:
    """One number per output, for one input or for a row of each."""
    return active(weights, inputs, activation) @ weights["output"] + weights["output_bias"]
