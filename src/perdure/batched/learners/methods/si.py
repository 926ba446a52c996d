"""si: holds on to the weights whose movement has paid (synaptic intelligence, Zenke, Poole and Ganguli 2017)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import Core, Method, Setting


class _Path(NamedTuple):
    anchor: Any
    importance: Any
    gained: Any
    """What each weight's way through the block at hand has gained."""


def make(core: Core, setting: Setting, *, strength: float = 1.0, damping: float = 0.1) -> Method:  # noqa: ARG001
    """Pulls each weight back by what it gained on its way, for the distance that it went."""

    def init(weights: Any, key: Any) -> _Path:  # noqa: ARG001
        nothing = jax.tree.map(jnp.zeros_like, weights)
        return _Path(weights, nothing, nothing)

    def bend(push: Any, weights: Any, path: _Path, task: Any, on: Any) -> tuple[Any, _Path]:  # noqa: ARG001
        def bent(one: Any, weight: Any, rest: Any, importance: Any) -> Any:
            spring = 2 * strength * importance
            return (one + spring * (rest - weight)) / (1.0 + core.rate * spring)

        after = jax.tree.map(bent, push, weights, path.anchor, path.importance)
        gained = jax.tree.map(
            lambda old, one, way: jnp.where(on, old + one * core.rate * way, old), path.gained, push, after
        )
        return after, path._replace(gained=gained)

    def end(weights: Any, path: _Path, task: Any, key: Any) -> tuple[Any, _Path]:  # noqa: ARG001
        importance = jax.tree.map(
            lambda old, gained, now, before: old + jnp.maximum(gained, 0.0) / ((now - before) ** 2 + damping),
            path.importance,
            path.gained,
            weights,
            path.anchor,
        )
        return weights, _Path(weights, importance, jax.tree.map(jnp.zeros_like, weights))

    return Method("si", init, bend=bend, end=end)
