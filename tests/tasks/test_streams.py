"""Streams of examples: classes, the three settings, variations and held-out examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from perdure.errors import MissingExtraError, TaskError
from perdure.scenario.model import Mode
from perdure.tasks import streams
from perdure.tasks.interface import settled
from perdure.tasks.streams import VARIATIONS, KeptImages, drawn_digits, sklearn_digits, varied

DIGITS = drawn_digits()


def examples(number: int = 200, mode: Mode = "learn", seed: int = 0, **params: Any) -> tuple[np.ndarray, np.ndarray]:
    complete = settled(DIGITS.parameters or (), params, "digits")
    return DIGITS.examples(complete, number, mode, np.random.default_rng(seed))


def info(**params: Any) -> Any:
    return DIGITS.info(settled(DIGITS.parameters or (), params, "digits"))


def test_only_the_named_classes_occur_and_all_of_them_do() -> None:
    _, labels = examples(classes=[2, 7])
    assert set(labels) == {2, 7}


def test_in_the_class_setting_a_label_is_the_class_and_all_classes_compete() -> None:
    assert set(examples(classes=[4, 5], setting="class")[1]) == {4, 5}
    assert info(classes=[4, 5], setting="class") == {"outputs": 10}


def test_in_the_domain_setting_tasks_share_their_outputs_and_are_not_named() -> None:
    assert set(examples(classes=[4, 5], setting="domain")[1]) == {0, 1}
    assert info(classes=[4, 5], setting="domain") == {"outputs": 2}


def test_in_the_task_setting_the_learner_gets_the_classes() -> None:
    assert set(examples(classes=[4, 5], setting="task")[1]) == {0, 1}
    assert info(classes=[4, 5], setting="task") == {"outputs": 2, "classes": (4, 5)}


def test_the_setting_changes_labels_and_never_pictures() -> None:
    one, two = examples(setting="class")[0], examples(setting="domain")[0]
    assert np.array_equal(one, two)


@pytest.mark.parametrize("classes", [[], [10], [-1], [1, 1], "01", [0.5], [True]])
def test_invalid_classes_are_refused(classes: object) -> None:
    with pytest.raises(TaskError, match="a list of different numbers from 0 to 9"):
        examples(classes=classes)


def pictures(number: int = 20) -> np.ndarray:
    return examples(number)[0]


def vary(given_pictures: np.ndarray, seed: int = 0, **params: Any) -> np.ndarray:
    complete = settled(VARIATIONS, {name.replace("__", "/"): value for name, value in params.items()}, "t")
    return varied(given_pictures, complete, np.random.default_rng(seed))


def test_without_variation_pictures_are_unchanged() -> None:
    assert np.array_equal(vary(pictures()), pictures())


@settings(max_examples=25)
@given(
    some.fixed_dictionaries(
        {},
        optional={
            "brightness": some.floats(-1, 1),
            "contrast": some.floats(0, 10),
            "rotation": some.floats(-180, 180),
            "noise": some.floats(0, 1),
            "permutation": some.integers(0, 99),
            "brightness__spread": some.floats(0, 1),
            "rotation__spread": some.floats(0, 180),
        },
    )
)
def test_a_varied_picture_is_still_a_picture(params: dict[str, Any]) -> None:
    variant = vary(pictures(5), **params)
    assert variant.shape == (5, 12, 12)
    assert variant.dtype == np.float32
    assert np.isfinite(variant).all()
    assert variant.min() >= 0
    assert variant.max() <= 1


def test_brightness_raises_and_contrast_widens_the_grey_levels() -> None:
    plain = pictures()
    assert vary(plain, brightness=0.2).mean() > plain.mean()
    assert vary(plain, brightness=-0.2).mean() < plain.mean()
    assert vary(plain, contrast=0.3).std() < plain.std() < vary(plain, contrast=2.0).std()


def test_a_quarter_turn_is_exact_and_four_of_them_are_the_identity() -> None:
    plain = pictures()
    turned = vary(plain, rotation=90.0)
    assert np.allclose(turned, np.rot90(plain, -1, axes=(1, 2)), atol=1e-5)
    for _ in range(3):
        turned = vary(turned, rotation=90.0)
    assert np.allclose(turned, plain, atol=1e-4)


def test_a_permutation_moves_pixels_without_loss() -> None:
    plain = pictures()
    shuffled = vary(plain, permutation=7)
    assert not np.array_equal(shuffled, plain)
    assert np.array_equal(np.sort(shuffled.reshape(20, -1)), np.sort(plain.reshape(20, -1)))
    assert np.array_equal(shuffled, vary(plain, seed=99, permutation=7))
    assert not np.array_equal(shuffled, vary(plain, permutation=8))


def test_a_variation_differs_between_examples_only_with_a_spread() -> None:
    same = np.full((2, 12, 12), 0.5, dtype=np.float32)
    fixed, spread = vary(same, brightness=0.2), vary(same, brightness=0.2, brightness__spread=0.1)
    assert np.array_equal(fixed[0], fixed[1])
    assert not np.array_equal(spread[0], spread[1])
    assert np.all(np.abs(spread - 0.7) <= 0.1 + 1e-6)


def test_evaluation_examples_are_never_learned() -> None:
    stored = np.arange(100, dtype=np.float32).reshape(100, 1, 1)
    source = KeptImages(lambda: (stored, np.arange(100) % 4))
    numbers = np.repeat(np.arange(4), 500)
    rng = np.random.default_rng(0)
    learned, evaluated = (set(source(numbers, mode, rng).ravel()) for mode in ("learn", "evaluate"))
    assert len(learned) == 80
    assert len(evaluated) == 20
    assert not learned & evaluated


def test_sklearns_digits_are_real_pictures_of_the_requested_classes() -> None:
    pytest.importorskip("sklearn")
    kind = sklearn_digits()
    params = settled(kind.parameters or (), {"classes": [3, 8]}, "sklearn-digits")
    inputs, labels = kind.examples(params, 50, "evaluate", np.random.default_rng(0))
    assert inputs.shape == (50, 8, 8)
    assert inputs.max() <= 1
    assert set(labels) == {3, 8}


def test_sklearns_digits_without_the_extra_give_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "find_spec", lambda module: None)
    kind = sklearn_digits()
    params = settled(kind.parameters or (), {}, "sklearn-digits")
    with pytest.raises(MissingExtraError, match=r"pip install 'scikit-learn>="):
        kind.examples(params, 5, "learn", np.random.default_rng(0))
