"""separate: weights of its own for each task, as fresh as an expert's; whatever a metric says of it is chance."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import Core, Method, Setting


def make(core: Core, setting: Setting) -> Method:  # noqa: ARG001
    """Keeps the weights of each task, and takes them up when the task comes."""

    def init(weights: Any, key: Any) -> Any:  # noqa: ARG001
        return jax.tree.map(lambda one: jnp.broadcast_to(one, (setting.tasks, *one.shape)), weights)

    def used(weights: Any, kept: Any, task: Any) -> Any:  # noqa: ARG001
        return jax.tree.map(lambda one: one[task], kept)

    def begin(weights: Any, kept: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        return used(weights, kept, task), kept

    def end(weights: Any, kept: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        return weights, jax.tree.map(lambda all_, one: all_.at[task].set(one), kept, weights)

    return Method("separate", init, used=used, begin=begin, end=end)
