"""The arcade, compiled: the rules are those of `tasks/arcade`, the very text, over a third arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from perdure.batched.tasks.arithmetic import Traced
from perdure.batched.tasks.family import Family
from perdure.scenario.distributions import is_drawn
from perdure.tasks.arcade.game import ACTIONS, FEATURES, Game
from perdure.tasks.arcade.kinds import GAMES

__all__ = ["arcade"]


def arcade(name: str, several: Iterable[Mapping[str, Any]] = ()) -> Family:
    """A game as a family for tasks of these parameters; an episode's chances may be given in place of its key."""
    game = GAMES[name]
    defaults = {one.name: one.default for one in game.parameters}
    on = Traced(max(_bricks({**defaults, **one}) for one in (defaults, *several)))

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
    """How many bricks a wall may have; where they are drawn, as many as there can be."""
    limits = {one.name: one.high for one in GAMES["breakout"].parameters}
    sides = [(params.get(name, 1), limits[name]) for name in ("bricks/rows", "bricks/columns")]
    return math.prod(int(most or 1) if is_drawn(given) else int(given) for given, most in sides)


def _settled(state: Any) -> Any:
    """The state with every number of a settled kind, as a loop needs it that carries it on."""

    def kind(value: Any) -> Any:
        array = jnp.asarray(value)
        if array.dtype in (jnp.uint32, jnp.int8):
            return array
        return array.astype(float if jnp.issubdtype(array.dtype, jnp.floating) else int)

    return jax.tree.map(kind, state)


def _seen(game: Game, state: Any, params: Mapping[str, Any], on: Traced) -> Any:
    return jnp.stack([jnp.asarray(one, float) for one in game.features(state, params, on)])
