"""replay: keeps a sample of all it has seen, and learns some of it again with everything new.

The sample is uniform over the past, by reservoir sampling (Vitter 1985).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import BatchedTransition, Core, LabelledBatch, Method, Setting
from perdure.batched.tasks.chance import uniform


class _Past(NamedTuple):
    kept: Any
    """Experiences, one behind the other."""
    seen: Any


def make(core: Core, setting: Setting, *, capacity: int | None = None, recalled: int | None = None) -> Method:  # noqa: ARG001
    """Keeps `capacity` examples or steps, and recalls `recalled` of them at a time."""
    batch = setting.batch
    room = capacity or (500 if batch else 2000)
    many = recalled or (64 if batch else 4)

    def init(weights: Any, key: Any) -> _Past:  # noqa: ARG001
        seen, nothing = jnp.zeros((room, setting.observation)), jnp.zeros(room)
        whole = jnp.zeros(room, int)
        kept = (
            LabelledBatch(seen, whole)
            if batch
            else BatchedTransition(seen, whole, nothing, seen, jnp.zeros(room, bool))
        )
        return _Past(kept, jnp.zeros((), int))

    def remember(past: _Past, experience: Any, on: Any, key: Any) -> _Past:
        several = experience if batch else jax.tree.map(lambda one: jnp.asarray(one)[None], experience)
        count = max(batch, 1)
        number = past.seen + jnp.arange(count)
        drawn = (uniform(key, count) * (number + 1)).astype(int)
        place = jnp.where(number < room, number, drawn)
        # Of two that fall on one place the later stays, whatever order a device writes them in.
        again = ((place[:, None] == place[None, :]) & (jnp.arange(count)[None, :] > jnp.arange(count)[:, None])).any(
            axis=1
        )
        place = jnp.where(on & ~again, place, room)
        kept = jax.tree.map(lambda old, new: old.at[place].set(new.astype(old.dtype), mode="drop"), past.kept, several)
        return _Past(kept, past.seen + on * count)

    def recall(past: _Past, key: Any) -> tuple[Any, Any]:
        known = jnp.minimum(past.seen, room)
        place = (uniform(key, many) * known).astype(int)
        found = jax.tree.map(lambda one: one[place], past.kept)
        if batch:  # one batch of so many examples
            return jax.tree.map(lambda one: one[None], found), (known > 0)[None]
        return found, jnp.broadcast_to(known > 0, many)

    return Method("replay", init, remember=remember, recall=recall)
