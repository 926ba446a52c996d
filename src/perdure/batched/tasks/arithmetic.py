"""The operations of the arcade's rules for one game that is compiled, and so may be any number of them.

A game's chances are a table, as in the other two, or the key from which each of them is drawn when it is asked for:
a game that begins again in the middle of a compiled loop would otherwise draw all of them in every step.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from perdure.batched.tasks.chance import uniform

__all__ = ["Traced"]


class Traced:
    """One game as the compiler sees it: nothing can be asked, so both ways of every branch are gone."""

    def __init__(self, most: int) -> None:
        self._most = most  # ones in a table: its size must be known before any number is

    def each(self, chances: Any, value: Any) -> Any:  # noqa: ARG002
        return value

    def ones(self, chances: Any, number: Any) -> Any:  # noqa: ARG002
        return (jnp.arange(self._most) < number).astype(jnp.int8)

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        return jnp.where(condition, yes, no)

    def clip(self, value: Any, low: Any, high: Any) -> Any:
        return jnp.minimum(jnp.maximum(value, low), high)

    def any(self, condition: Any) -> Any:  # noqa: ARG002
        return True

    def whole(self, value: Any) -> Any:
        return jnp.asarray(value).astype(jnp.int32)

    def take(self, table: Any, index: Any) -> Any:
        return uniform(table, at=index) if table.dtype == jnp.uint32 else table[index]

    def without(self, table: Any, index: Any, condition: Any) -> Any:
        # Compared rather than indexed: a scatter for each game is slow on every device.
        return jnp.where((jnp.arange(self._most) == index) & condition, 0, table).astype(table.dtype)
