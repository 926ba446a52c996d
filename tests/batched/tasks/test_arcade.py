"""The compiled arcade: it plays by the rules of the ordinary one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from perdure.batched.tasks.arcade import arcade  # noqa: E402
from perdure.batched.tasks.chance import uniform  # noqa: E402
from perdure.errors import TaskError  # noqa: E402
from perdure.tasks.arcade import GAMES  # noqa: E402
from perdure.tasks.arcade.game import MANY  # noqa: E402
from perdure.tasks.interface import settled  # noqa: E402

CHANGED: dict[str, dict[str, Any]] = {
    "pong": {"bot/paddle/width": 0.33, "opponent/error": 0.9, "points": 2, "controls/inverted": True, "steps": 80},
    "breakout": {"bricks/rows": 2, "bricks/columns": 3, "ball/speed": 0.08, "balls": 2, "mirrored": True},
    "freeway": {"lanes": 2, "traffic": 3, "steps": 30, "mirrored": True},
}
CASES = [(game, params) for game in sorted(GAMES) for params in ({}, CHANGED[game])] + [("freeway", {"traffic": 0})]
MANY_GAMES = 60


@pytest.fixture
def double() -> Iterator[None]:
    """Enable 64-bit numbers, as in the ordinary arcade."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.slow
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("name", "given"), CASES)
def test_with_the_same_random_numbers_episodes_equal_those_of_the_ordinary_game(
    name: str, given: dict[str, Any]
) -> None:
    game, family = GAMES[name], arcade(name, [given])
    params, vector = settled(game.parameters, given, name), jnp.asarray(family.numbers(given, name))
    assert family.reset is not None
    assert family.step is not None
    rng = np.random.default_rng(1)
    chances = rng.random((MANY_GAMES, game.chances(params)))
    theirs = game.begin(chances, params, MANY)
    ours, seen = jax.vmap(family.reset, (0, None))(jnp.asarray(chances), vector)
    step = jax.jit(jax.vmap(family.step, (None, 0, 0, None)))
    playing = np.ones(MANY_GAMES, dtype=bool)
    rewarded = 0
    for number in range(params["steps"]):
        action = rng.integers(3, size=MANY_GAMES)
        theirs, reward, terminated = game.advance(theirs, action, params, MANY)
        ours, seen, gained, over, cut = step(None, ours, jnp.asarray(action), vector)
        expected = np.stack(game.features(theirs, params, MANY), axis=1)
        np.testing.assert_allclose(np.asarray(seen)[playing], expected[playing], atol=1e-9)
        np.testing.assert_allclose(np.asarray(gained)[playing], np.asarray(reward)[playing], atol=1e-12)
        assert (np.asarray(over)[playing] == terminated[playing]).all()
        assert np.asarray(cut).all() == (number == params["steps"] - 1)
        rewarded += int((np.asarray(reward)[playing] != 0).sum())
        playing &= ~terminated
    assert rewarded > 20


@pytest.mark.parametrize("name", sorted(GAMES))
@pytest.mark.parametrize("seed", range(3))
def test_with_32_bit_numbers_each_step_equals_that_of_the_ordinary_game(name: str, seed: int) -> None:
    # Speeds and widths are drawn: with the default ones a ball is exactly on a brick's edge, where 32 bits decide
    # differently from 64.
    rng = np.random.default_rng(seed)
    game = GAMES[name]
    given = {
        parameter.name: float(np.clip(parameter.default * rng.uniform(0.8, 1.2), parameter.low, parameter.high))
        for parameter in game.parameters
        if isinstance(parameter.default, float) and parameter.name != "background"
    }
    family, params = arcade(name, [given]), settled(game.parameters, given, name)
    assert family.step is not None
    vector = jnp.asarray(family.numbers(given, name))
    step = jax.jit(jax.vmap(family.step, (None, 0, 0, None)))
    state = game.begin(rng.random((MANY_GAMES, game.chances(params))), params, MANY)
    for number in range(100):
        action = rng.integers(3, size=MANY_GAMES)
        short = type(state)(*(_short(value) for value in state))
        _, seen, gained, over, _ = step(None, (short, np.full(MANY_GAMES, number, np.int32)), action, vector)
        state, reward, terminated = game.advance(state, action, params, MANY)
        np.testing.assert_allclose(seen, np.stack(game.features(state, params, MANY), axis=1), atol=1e-5)
        np.testing.assert_allclose(gained, reward, atol=1e-6)
        assert (np.asarray(over) == terminated).all()


def _short(value: np.ndarray) -> np.ndarray:
    if value.dtype == np.float64:
        return value.astype(np.float32)
    return value.astype(np.int8 if value.ndim > 1 else np.int32)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_a_key_gives_the_random_numbers_drawn_from_it(name: str) -> None:
    family = arcade(name)
    assert family.reset is not None
    assert family.step is not None
    key, vector = jnp.array([5, 7], jnp.uint32), jnp.asarray(family.numbers({}, name))
    chances = uniform(key, 64)
    (one, seen), (other, also) = family.reset(key, vector), family.reset(chances, vector)
    for number in range(60):
        assert (np.asarray(seen) == np.asarray(also)).all()
        one, seen, *_ = family.step(None, one, number % 3, vector)
        other, also, *_ = family.step(None, other, number % 3, vector)


def test_pixels_are_refused_with_a_fix() -> None:
    with pytest.raises(TaskError, match=r"'observation' is 'pixels'.*--engine local"):
        arcade("pong").numbers({"observation": "pixels"}, "pong_far")
