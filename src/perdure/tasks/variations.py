"""What may change about a picture: brightness, contrast, rotation, noise, and the order of its pixels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from perdure.tasks.interface import Parameter

VARIATIONS = (
    Parameter("rotation", 0.0, "degrees, clockwise", low=-180, high=180),
    Parameter("rotation/spread", 0.0, "± degrees, drawn for each example", low=0, high=180),
    Parameter("contrast", 1.0, "grey levels spread about the middle by this factor", low=0, high=10),
    Parameter("contrast/spread", 0.0, "± factor, drawn for each example", low=0, high=10),
    Parameter("brightness", 0.0, "added to every grey level (0 black, 1 white)", low=-1, high=1),
    Parameter("brightness/spread", 0.0, "± added, drawn for each example", low=0, high=1),
    Parameter("noise", 0.0, "standard deviation of noise on each pixel", low=0, high=1),
    Parameter("permutation", 0, "which shuffle of the pixels; 0 leaves them in place", low=0, high=2**31),
)
"""In the order in which they are applied; without a spread, a variation is the same for every example."""


def varied(pictures: np.ndarray, params: Mapping[str, Any], rng: np.random.Generator) -> np.ndarray:
    """The pictures (example, row, column, perhaps channel; 0 to 1) as asked; what is at its default costs nothing."""
    count = len(pictures)
    each = (slice(None), *(None,) * (pictures.ndim - 1))  # one number for every pixel of a picture
    rotation = _each(params, "rotation", count, rng)
    if rotation.any():
        channels = [pictures] if pictures.ndim == 3 else list(np.moveaxis(pictures, 3, 0))
        turned = [rotated(channel, np.radians(rotation), np) for channel in channels]
        pictures = turned[0] if pictures.ndim == 3 else np.stack(turned, axis=3)
    contrast = np.maximum(_each(params, "contrast", count, rng), 0)
    if (contrast != 1).any():
        pictures = 0.5 + (pictures - 0.5) * contrast[each]
    brightness = _each(params, "brightness", count, rng)
    if brightness.any():
        pictures = pictures + brightness[each]
    if params["noise"]:
        pictures = pictures + rng.normal(0, params["noise"], pictures.shape)
    pictures = np.clip(pictures, 0, 1).astype(np.float32)
    if params["permutation"]:
        shuffled = order(params["permutation"], pictures[0].size)
        pictures = pictures.reshape(count, -1)[:, shuffled].reshape(pictures.shape)
    return pictures


def _each(params: Mapping[str, Any], name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    spread = params[f"{name}/spread"]
    return np.asarray(params[name] + (rng.uniform(-spread, spread, count) if spread else np.zeros(count)))


@lru_cache(maxsize=64)
def order(permutation: int, size: int) -> np.ndarray:
    """Which pixel stands where in this shuffle."""
    return np.random.default_rng(permutation).permutation(size)


def rotated(pictures: Any, angles: Any, on: Any) -> Any:
    """Each picture turned about its middle, by linear interpolation; what comes from outside is black.

    `on` is NumPy or JAX's numpy.
    """
    count, height, width = pictures.shape
    rows, columns = np.mgrid[:height, :width]
    y, x = (rows - (height - 1) / 2)[None], (columns - (width - 1) / 2)[None]
    cos, sin = on.cos(angles)[:, None, None], on.sin(angles)[:, None, None]
    from_x = cos * x + sin * y + (width - 1) / 2
    from_y = cos * y - sin * x + (height - 1) / 2
    padded = on.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    left, top = on.floor(from_x), on.floor(from_y)
    part_x, part_y = from_x - left, from_y - top
    example = np.arange(count)[:, None, None]

    def at(row: Any, column: Any) -> Any:
        inside_row = on.clip(row + 1, 0, height + 1).astype(int)
        inside_column = on.clip(column + 1, 0, width + 1).astype(int)
        return padded[example, inside_row, inside_column]

    upper = at(top, left) * (1 - part_x) + at(top, left + 1) * part_x
    lower = at(top + 1, left) * (1 - part_x) + at(top + 1, left + 1) * part_x
    return upper * (1 - part_y) + lower * part_y
