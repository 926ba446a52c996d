"""Drawn digits: fast, seeded, learnable and not trivial."""

from __future__ import annotations

import time

import numpy as np
import pytest

from perdure.tasks.digits import SIDE, draw_digits


def labelled(number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(10, size=number)
    return draw_digits(labels, rng).reshape(number, -1), labels


def test_pictures_are_grey_levels_of_the_stated_size() -> None:
    pictures = draw_digits([3, 1, 4], np.random.default_rng(0))
    assert pictures.shape == (3, SIDE, SIDE)
    assert pictures.dtype == np.float32
    assert pictures.min() >= 0
    assert pictures.max() <= 1
    assert draw_digits([], np.random.default_rng(0)).shape == (0, SIDE, SIDE)


def test_a_seed_gives_the_same_pictures_and_no_two_pictures_are_equal() -> None:
    one, _ = labelled(200, 1)
    again, _ = labelled(200, 1)
    assert np.array_equal(one, again)
    assert len(np.unique(one, axis=0)) == 200


def test_two_thousand_pictures_take_less_than_a_second() -> None:
    start = time.process_time()
    labelled(2000, 1)
    assert time.process_time() - start < 1


def test_digits_can_be_learned_but_not_from_one_example_each() -> None:
    inputs, labels = labelled(2000, 1)
    others, truth = labelled(1000, 2)

    def accuracy(known: np.ndarray, names: np.ndarray) -> float:
        apart = (others**2).sum(1)[:, None] - 2 * others @ known.T + (known**2).sum(1)
        return float(np.mean(names[apart.argmin(axis=1)] == truth))

    ones = np.array([np.flatnonzero(labels == digit)[0] for digit in range(10)])
    assert accuracy(inputs, labels) > 0.9
    assert 0.2 < accuracy(inputs[ones], labels[ones]) < 0.8


@pytest.mark.parametrize("digit", range(10))
def test_every_digit_has_dark_and_light_pixels(digit: int) -> None:
    pictures = draw_digits([digit] * 100, np.random.default_rng(digit))
    dark = (pictures > 0.5).mean(axis=(1, 2))
    assert dark.min() > 0.05
    assert dark.max() < 0.6
