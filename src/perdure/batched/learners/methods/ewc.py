"""ewc: holds on to the weights that earlier tasks needed (Kirkpatrick et al. 2017).

What a task needed is judged by the squared pushes seen while it was learned (the online form of Schwarz et al. 2018):
one anchor and one importance per weight, however many tasks there were. The ordinary `ewc` does the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import Core, Method, Setting


class _Springs(NamedTuple):
    anchor: Any
    importance: Any
    needed: Any
    """Squared pushes of the block at hand, and how many there were."""
    count: Any


def make(core: Core, setting: Setting, *, strength: float | None = None, decay: float = 0.9) -> Method:
    """Pulls each weight to where the last task left it, by how much that task needed it."""
    # A push is the mean over a batch; its square is so much smaller than those of single examples.
    pull = 50.0 * max(setting.batch, 20) if strength is None else strength

    def init(weights: Any, key: Any) -> _Springs:  # noqa: ARG001
        nothing = jax.tree.map(jnp.zeros_like, weights)
        return _Springs(weights, nothing, nothing, jnp.zeros(()))

    def bend(push: Any, weights: Any, springs: _Springs, task: Any, on: Any) -> tuple[Any, _Springs]:  # noqa: ARG001
        needed = jax.tree.map(lambda old, new: jnp.where(on, old + new**2, old), springs.needed, push)

        # Implicit, so that a strong spring cannot overshoot: where the step ends, pull and push are in balance.
        def bent(one: Any, weight: Any, rest: Any, importance: Any) -> Any:
            spring = pull * importance
            return (one + spring * (rest - weight)) / (1.0 + core.rate * spring)

        bent_push = jax.tree.map(bent, push, weights, springs.anchor, springs.importance)
        return bent_push, springs._replace(needed=needed, count=springs.count + on)

    def end(weights: Any, springs: _Springs, task: Any, key: Any) -> tuple[Any, _Springs]:  # noqa: ARG001
        many = jnp.maximum(springs.count, 1.0)
        importance = jax.tree.map(lambda old, new: decay * old + new / many, springs.importance, springs.needed)
        return weights, _Springs(weights, importance, jax.tree.map(jnp.zeros_like, weights), jnp.zeros(()))

    return Method("ewc", init, bend=bend, end=end)
