"""packnet: gives each task weights of its own within one network, and never touches them again.

Mallya and Lazebnik 2018: half-way through a new task the smaller ones of the weights that are free are let go, and
the task is learned on with those that it keeps. A task is answered with its own weights and those of the tasks
before it, so nothing that comes later can change an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import Core, Method, Setting


class _Packed(NamedTuple):
    kept: Any
    """All weights that belong to a task."""
    owner: Any
    """For each weight the number of its task, from 1; 0 where it is free."""
    numbers: Any
    """Each task's number, 0 where it was never learned."""
    now: Any
    """The number of the task at hand."""
    pruned: Any
    """Whether the task at hand has its weights."""


def make(core: Core, setting: Setting, *, keep: float = 0.5) -> Method:
    """Keeps for each task the larger `keep` of the weights that were free when it came."""

    def init(weights: Any, key: Any) -> _Packed:  # noqa: ARG001
        free = jax.tree.map(lambda one: jnp.zeros(one.shape, jnp.int8), weights)
        nothing = jax.tree.map(jnp.zeros_like, weights)
        return _Packed(nothing, free, jnp.zeros(setting.tasks, int), jnp.zeros((), int), jnp.zeros((), bool))

    def used(weights: Any, packed: _Packed, task: Any) -> Any:
        own = packed.numbers[task]
        last = jnp.where(own > 0, own, packed.numbers.max())  # who was never learned has all there is
        met = jax.tree.map(
            lambda kept, owner: jnp.where((owner > 0) & (owner <= last), kept, 0.0), packed.kept, packed.owner
        )
        first = packed.numbers.max() == 0
        return jax.tree.map(lambda fresh, one: jnp.where(first, fresh, one), weights, met)

    def begin(weights: Any, packed: _Packed, task: Any, key: Any) -> tuple[Any, _Packed]:
        own = packed.numbers[task]
        new = own == 0
        now = jnp.where(new, packed.numbers.max() + 1, own)
        fresh = jax.tree.map(
            lambda first, one: jnp.where(packed.numbers.max() == 0, first, one), weights, core.init(key)
        )

        def mine(kept: Any, owner: Any, free: Any) -> Any:
            return jnp.where((owner > 0) & (owner <= now), kept, jnp.where((owner == 0) & new, free, 0.0))

        return (
            jax.tree.map(mine, packed.kept, packed.owner, fresh),
            packed._replace(numbers=packed.numbers.at[task].set(now), now=now, pruned=~new),
        )

    def bend(push: Any, weights: Any, packed: _Packed, task: Any, on: Any) -> tuple[Any, _Packed]:  # noqa: ARG001
        def free(one: Any, owner: Any) -> Any:
            return jnp.where((owner == packed.now) | ((owner == 0) & ~packed.pruned), one, 0.0)

        return jax.tree.map(free, push, packed.owner), packed

    def halfway(weights: Any, packed: _Packed, task: Any, key: Any) -> tuple[Any, _Packed]:  # noqa: ARG001
        def taken(weight: Any, owner: Any) -> Any:
            free = owner == 0
            size = jnp.where(free, jnp.abs(weight), -1.0).reshape(-1)
            wanted = (keep * free.sum()).astype(int)
            least = jnp.sort(size)[::-1][jnp.maximum(wanted - 1, 0)]
            mine = free & (jnp.abs(weight) >= least) & (jnp.abs(weight) > 0) & (wanted > 0)
            return jnp.where(mine & ~packed.pruned, packed.now, owner).astype(owner.dtype)

        owner = jax.tree.map(taken, weights, packed.owner)
        left = jax.tree.map(lambda weight, whose: jnp.where(whose > 0, weight, 0.0), weights, owner)
        return left, packed._replace(owner=owner, pruned=jnp.ones((), bool))

    def end(weights: Any, packed: _Packed, task: Any, key: Any) -> tuple[Any, _Packed]:  # noqa: ARG001
        kept = jax.tree.map(
            lambda old, now, owner: jnp.where(owner == packed.now, now, old), packed.kept, weights, packed.owner
        )
        return weights, packed._replace(kept=kept)

    return Method("packnet", init, used=used, begin=begin, bend=bend, halfway=halfway, end=end)
