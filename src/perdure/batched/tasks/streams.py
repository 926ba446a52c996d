"""Compiled batches for classifiers: digits under any variation, and Gaussian clouds, as in `tasks/streams`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from perdure.batched.tasks.chance import normal, under, uniform
from perdure.batched.tasks.family import Family
from perdure.errors import TaskError
from perdure.scenario.parameters import is_drawn
from perdure.tasks.datasets import BATCH_SIZE
from perdure.tasks.digits import INK, SEGMENTS, SIDE, Hand, distances, in_hand, inked
from perdure.tasks.interface import Direction
from perdure.tasks.streams import CLASSES, NUMBERS, Gaussians, drawn_digits, middles, order, rotated

_MEASURES: Mapping[str, Direction] = {"accuracy": "higher", "error": "lower"}
_DIGITS = 10


def digits(name: str, several: Sequence[Mapping[str, Any]]) -> Family:
    """Return drawn digits as a family; all tasks have one batch size, and permutations are given rather than drawn."""
    kind = drawn_digits()
    assert kind.parameters is not None
    size = _one_size(several)
    shuffles = _named(several, "permutation", 0)
    orders = np.stack([order(shuffle, SIDE * SIDE) if shuffle else np.arange(SIDE * SIDE) for shuffle in shuffles])
    turned = any(params.get(key) for params in several for key in ("rotation", "rotation/spread"))
    outputs = _outputs(several)

    def encode(given: Mapping[str, Any], task: str) -> np.ndarray:
        values = family.settled({**given, "classes": tuple(given.get("classes", range(_DIGITS)))}, task)
        classes = kind._classes(values)
        filled = [*classes, *[classes[0]] * (_DIGITS - len(classes))]
        plain = [values[name] for name in _PLAIN]
        where = shuffles.index(int(values["permutation"]))
        return np.array([*filled, len(classes), values["setting"] == "class", where, *plain], dtype=np.float64)

    def draw(key: Any, params: Any, learning: bool) -> tuple[Any, Any]:  # noqa: ARG001
        classes, count, by_class, shuffle = params[:_DIGITS], params[_DIGITS], params[_DIGITS + 1], params[_DIGITS + 2]
        named = dict(zip(_PLAIN, params[_DIGITS + 3 :], strict=False))
        place = (uniform(under(key, 0), size) * count).astype(int)
        numbers = classes.astype(int)[place]
        pictures = digit_pictures(numbers, _hand(under(key, 1), size))
        if turned:
            pictures = rotated(pictures, jnp.radians(_each(named, "rotation", under(key, 2), size)), jnp)
        contrast = jnp.maximum(_each(named, "contrast", under(key, 3), size), 0.0)[:, None, None]
        brightness = _each(named, "brightness", under(key, 4), size)[:, None, None]
        noise = named["noise"] * normal(under(key, 5), size * SIDE * SIDE).reshape(pictures.shape)
        grey = jnp.clip(0.5 + (pictures - 0.5) * contrast + brightness + noise, 0.0, 1.0).reshape(size, -1)
        pixels = grey[:, jnp.asarray(orders)[shuffle.astype(int)]] if len(shuffles) > 1 or shuffles[0] else grey
        return pixels, jnp.where(by_class > 0, numbers, place)

    family = Family(
        name,
        (*kind.parameters, BATCH_SIZE),
        SIDE * SIDE,
        outputs,
        _MEASURES,
        draw=draw,
        batch=size,
        encode=encode,
        width=_DIGITS + 3 + len(_PLAIN),
    )
    return family


def gaussians(name: str, several: Sequence[Mapping[str, Any]]) -> Family:
    """Return Gaussian clouds as a family; the centres depend on each task's number."""
    kind = Gaussians()
    assert kind.parameters is not None
    size, known = _one_size(several), _named(several, "number", 0)
    places = np.stack([middles(number) for number in known])

    def encode(given: Mapping[str, Any], task: str) -> np.ndarray:
        values = family.settled(given, task)
        return np.array([known.index(int(values["number"])), values["spread"]], dtype=np.float64)

    def draw(key: Any, params: Any, learning: bool) -> tuple[Any, Any]:  # noqa: ARG001
        labels = (uniform(under(key, 0), size) * CLASSES).astype(int)
        noise = params[1] * normal(under(key, 1), size * NUMBERS).reshape(size, NUMBERS)
        return jnp.asarray(places)[params[0].astype(int)][labels] + noise, labels

    family = Family(
        name,
        (*kind.parameters, BATCH_SIZE),
        NUMBERS,
        CLASSES,
        _MEASURES,
        draw=draw,
        batch=size,
        encode=encode,
        width=2,
    )
    return family


def digit_pictures(numbers: Any, hand: Hand) -> Any:
    """Return a picture of each digit, in these handwritings."""
    return inked(distances(in_hand(jnp.asarray(SEGMENTS)[numbers], hand, jnp), jnp), hand, jnp)


def _hand(key: Any, count: int) -> Hand:
    """Return the random numbers of `draw_digits`, drawn from a key."""

    def bell(at: int, spread: float, *shape: int) -> Any:
        return spread * normal(under(key, at), int(np.prod(shape))).reshape(shape)

    def even(at: int, low: float, high: float, *shape: int) -> Any:
        return low + (high - low) * uniform(under(key, at), int(np.prod(shape))).reshape(shape)

    return Hand(
        turn=bell(0, 0.13, count),
        slant=bell(1, 0.15, count),
        wide=even(2, 0.8, 1.15, count),
        high=even(3, 0.8, 1.15, count),
        shift=bell(4, 0.045, count, 1, 1, 2),
        bend=bell(5, 0.03, count, 1, 1, 2),
        phase=even(6, 0.0, 1.0, count, 1, 1, 2),
        ink=INK * even(7, 0.75, 1.5, count, 1),
        strength=even(8, 0.7, 1.0, count, 1),
        speckle=bell(9, 0.08, count, SIDE * SIDE),
    )


_PLAIN = (
    "rotation",
    "rotation/spread",
    "contrast",
    "contrast/spread",
    "brightness",
    "brightness/spread",
    "noise",
)


def _each(named: Mapping[str, Any], name: str, key: Any, count: int) -> Any:
    return named[name] + named[f"{name}/spread"] * (2 * uniform(key, count) - 1)


def _one_size(several: Sequence[Mapping[str, Any]]) -> int:
    """Return the batch size of all tasks."""
    sizes = _named(several, BATCH_SIZE.name, BATCH_SIZE.default)
    if len(sizes) > 1:
        raise TaskError(
            f"{BATCH_SIZE.name!r} is {' and '.join(map(str, sizes))}, and the batched engine needs one size",
            "give all tasks the same, or use --engine local",
        )
    return sizes[0]


def _outputs(several: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of classes, or the most classes of a task."""
    if any(params.get("setting", "class") == "class" for params in several):
        return _DIGITS
    return max(len(params.get("classes", range(_DIGITS))) for params in several)


def _named(several: Sequence[Mapping[str, Any]], name: str, default: int) -> list[int]:
    """Return the values of a parameter that the compiled program depends on, so that it cannot be drawn."""
    values = []
    for params in several:
        value = params.get(name, default)
        if is_drawn(value):
            raise TaskError(
                f"{name!r} is drawn, and the batched engine must know it", "give one number, or use --engine local"
            )
        values.append(int(value))
    return sorted(set(values)) or [default]
