"""The arcade, compiled: the rules of `tasks/arcade` over a third arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.tasks.chance import uniform
from perdure.batched.tasks.family import Family
from perdure.scenario.parameters import is_drawn
from perdure.tasks.arcade import GAMES
from perdure.tasks.arcade.game import ACTIONS, FEATURES, Arithmetic, Game


class Traced(Arithmetic):
    """The arithmetic of one compiled game: both ways of every branch are computed.

    A game's chances are a table, or a key from which each is drawn when it is needed: a game that begins again inside a
    compiled loop would otherwise draw all of them in every step.
    """

    def __init__(self, most: int) -> None:
        self._most = most  # a table's size must be known when the program is compiled

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


def arcade(name: str, several: Iterable[Mapping[str, Any]] = ()) -> Family:
    """Return a game as a family for tasks of these parameters. An episode takes its chances or their key."""
    game = GAMES[name]
    defaults = {parameter.name: parameter.default for parameter in game.parameters}
    on = Traced(max(_bricks({**defaults, **params}) for params in (defaults, *several)))

    def reset(key: Any, params: Any) -> tuple[Any, Any]:
        named = family.named(params)
        state = _settled((game.begin(key, named, on), 0))
        return state, _seen(game, state[0], named, on)

    def step(key: Any, state: Any, action: Any, params: Any) -> tuple[Any, Any, Any, Any, Any]:  # noqa: ARG001
        # All of an episode's chance is in its beginning, so `key` is not used.
        named = family.named(params)
        after, reward, terminated = game.advance(state[0], action, named, on)
        state = _settled((after, state[1] + 1))
        return (
            state,
            _seen(game, state[0], named, on),
            jnp.asarray(reward, float),
            terminated,
            state[1] >= named["steps"],
        )

    family = Family(name, game.parameters, FEATURES, len(ACTIONS), reset=reset, step=step)
    return family


def _bricks(params: Mapping[str, Any]) -> int:
    """Return the most bricks that a wall may have."""
    limits = {parameter.name: parameter.high for parameter in GAMES["breakout"].parameters}
    sides = [(params.get(name, 1), limits[name]) for name in ("bricks/rows", "bricks/columns")]
    return math.prod(int(most or 1) if is_drawn(size) else int(size) for size, most in sides)


def _settled(state: Any) -> Any:
    """Return the state with fixed types, as a compiled loop needs it."""

    def kind(value: Any) -> Any:
        array = jnp.asarray(value)
        if array.dtype in (jnp.uint32, jnp.int8):
            return array
        return array.astype(float if jnp.issubdtype(array.dtype, jnp.floating) else int)

    return jax.tree.map(kind, state)


def _seen(game: Game, state: Any, params: Mapping[str, Any], on: Traced) -> Any:
    return jnp.stack([jnp.asarray(value, float) for value in game.features(state, params, on)])
