"""Compiled batches equal those of the ordinary streams, except for their random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from perdure.batched.tasks.chance import normal, under, uniform  # noqa: E402
from perdure.batched.tasks.streams import digit_pictures, digits, gaussians  # noqa: E402
from perdure.errors import TaskError  # noqa: E402
from perdure.tasks.digits import SEGMENTS, SIDE, Hand, distances, in_hand, inked  # noqa: E402
from perdure.tasks.interface import TASKS  # noqa: E402
from perdure.tasks.streams import (  # noqa: E402
    middles,
    order,
    rotated,
)

KEY = jnp.array([3, 4], jnp.uint32)


def draw_batch(family: Any, given: dict[str, Any], key: Any = KEY) -> tuple[np.ndarray, np.ndarray]:
    inputs, labels = family.draw(key, jnp.asarray(family.numbers(given, "task")), True)
    return np.asarray(inputs), np.asarray(labels)


def test_the_same_handwriting_gives_the_same_digits() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(10, size=20)
    turn, slant, wide, high = rng.normal(1, 0.1, (4, 20))
    shift, bend, phase = rng.normal(0, 0.03, (3, 20, 1, 1, 2))
    ink, strength = rng.uniform(0.04, 0.9, (2, 20, 1))
    hand = Hand(turn - 1, slant - 1, wide, high, shift, bend, phase, ink, strength, rng.normal(0, 0.08, (20, SIDE**2)))
    ours = inked(distances(in_hand(SEGMENTS[numbers], hand, np), np), hand, np)
    theirs = digit_pictures(jnp.asarray(numbers), Hand(*(jnp.asarray(item) for item in hand)))
    np.testing.assert_allclose(theirs, ours, atol=1e-5)


def test_pictures_are_rotated_the_same() -> None:
    rng = np.random.default_rng(2)
    pictures, angles = rng.random((5, SIDE, SIDE)), rng.uniform(-3, 3, 5)
    np.testing.assert_allclose(
        rotated(jnp.asarray(pictures), jnp.asarray(angles), jnp), rotated(pictures, angles, np), atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"classes": [3, 7], "setting": "domain", "noise": 0.1},
        {"rotation": 40.0, "contrast": 0.5, "brightness": 0.2},
    ],
)
def test_mean_pixels_equal_those_of_the_ordinary_stream(given: dict[str, Any]) -> None:
    import perdure.tasks.catalogue  # noqa: F401

    many = 2000
    family = digits("digits", [{**given, "batch/size": many}])
    ours, labels = draw_batch(family, {**given, "batch/size": many})
    ordinary: Any = TASKS.get("digits")
    values = family.settled({**given, "classes": tuple(given.get("classes", range(10)))}, "digits")
    theirs, others = ordinary.examples(values, many, "learn", np.random.default_rng(1))
    assert set(labels.tolist()) == set(others.tolist())
    apart = ours.mean(axis=0) - theirs.reshape(many, -1).mean(axis=0)
    spread = np.sqrt((ours.var(axis=0) + theirs.reshape(many, -1).var(axis=0)) / many)
    assert (np.abs(apart) < 5 * spread + 1e-3).all()


def test_a_permutation_equals_the_ordinary_one_and_changes_nothing_else() -> None:
    family = digits("digits", [{}, {"permutation": 5}, {"permutation": 9}])
    plain, labels = draw_batch(family, {})
    shuffled, same = draw_batch(family, {"permutation": 5})
    assert (labels == same).all()
    assert np.array_equal(plain[:, order(5, SIDE * SIDE)], shuffled)


def test_gaussians_lie_around_their_centres() -> None:
    family = gaussians("gaussians", [{"number": 3}, {"number": 8, "spread": 0.5}])
    for number in (3, 8):
        inputs, labels = draw_batch(family, {"number": number, "spread": 0.0})
        np.testing.assert_allclose(inputs, middles(number)[labels], atol=1e-6)


def test_parameters_that_shape_the_program_cannot_be_drawn_or_differ() -> None:
    with pytest.raises(TaskError, match="'permutation' is drawn"):
        digits("digits", [{"permutation": {"$choice": [1, 2]}}])
    with pytest.raises(TaskError, match="16 and 32, and the batched engine needs one size"):
        digits("digits", [{}, {"batch/size": 16}])


def test_random_numbers_are_uniform_and_keys_are_independent() -> None:
    values = np.asarray(uniform(KEY, 100_000))
    assert 0 <= values.min() < values.max() < 1
    counts = np.bincount((values * 50).astype(int), minlength=50)
    assert ((counts - 2000) ** 2 / 2000).sum() < 96  # chi-squared, 49 degrees of freedom: 1 in 10 000 is above
    other = np.asarray(uniform(under(KEY, 1), 100_000))
    following = np.asarray(uniform(KEY + jnp.array([0, 1], jnp.uint32), 100_000))
    for item in (other, following, np.roll(values, 1)):
        assert abs(np.corrcoef(values, item)[0, 1]) < 4 / np.sqrt(100_000)
    firsts = np.asarray(jax.vmap(lambda at: uniform(under(KEY, 0, at)))(jnp.arange(100_000)))
    assert abs(firsts.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 100_000)
    assert abs(np.corrcoef(firsts[1:], firsts[:-1])[0, 1]) < 4 / np.sqrt(100_000)
    bell = np.asarray(normal(KEY, 100_000))
    assert abs(bell.mean()) < 4 / np.sqrt(100_000)
    assert abs(bell.std() - 1) < 4 / np.sqrt(200_000)
    assert np.isfinite(bell).all()
