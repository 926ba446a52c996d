"""Digits drawn by a small generator: strokes, bent and shaken, on 12 × 12 pixels; no two are alike."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

__all__ = ["SIDE", "draw_digits"]

SIDE = 12

_INK = 0.055
"""Half the width of a stroke, as a part of the picture."""


def _arc(x: float, y: float, width: float, height: float, start: float, end: float) -> list[tuple[float, float]]:
    """Points on an ellipse from `start` to `end`, in turns clockwise from the right."""
    turns = np.linspace(start, end, max(3, round(8 * abs(end - start)) + 1)) * 2 * np.pi
    return [(x + width * float(np.cos(turn)), y + height * float(np.sin(turn))) for turn in turns]


# Each digit as strokes, each stroke as points (x to the right, y down) in a unit square.
_STROKES: tuple[tuple[list[tuple[float, float]], ...], ...] = (
    (_arc(0.5, 0.5, 0.22, 0.32, 0, 1),),
    ([(0.36, 0.3), (0.52, 0.18), (0.52, 0.82)],),
    ([*_arc(0.5, 0.36, 0.2, 0.18, 0.5, 1.08), (0.3, 0.8), (0.72, 0.8)],),
    (_arc(0.47, 0.34, 0.2, 0.16, 0.6, 1.25), _arc(0.47, 0.66, 0.22, 0.17, 0.75, 1.4)),
    ([(0.58, 0.18), (0.28, 0.6), (0.74, 0.6)], [(0.6, 0.4), (0.6, 0.84)]),
    ([(0.7, 0.19), (0.36, 0.19), (0.34, 0.47)], _arc(0.48, 0.62, 0.21, 0.19, 0.66, 1.42)),
    ([(0.62, 0.17), (0.4, 0.36), (0.3, 0.62)], _arc(0.5, 0.64, 0.2, 0.18, 0, 1)),
    ([(0.28, 0.2), (0.72, 0.2), (0.44, 0.84)],),
    (_arc(0.5, 0.34, 0.17, 0.15, 0, 1), _arc(0.5, 0.66, 0.2, 0.17, 0, 1)),
    (_arc(0.5, 0.36, 0.19, 0.17, 0, 1), [(0.69, 0.38), (0.64, 0.62), (0.5, 0.83)]),
)


def _segments() -> np.ndarray:
    """Every digit's line pieces as (digit, piece, end, coordinate); short ones are filled up with their last."""
    pieces = [[segment for stroke in strokes for segment in itertools.pairwise(stroke)] for strokes in _STROKES]
    most = max(map(len, pieces))
    return np.array([one + [one[-1]] * (most - len(one)) for one in pieces])


_SEGMENTS = _segments()
_MIDDLES = ((np.arange(SIDE) + 0.5) / SIDE).astype(np.float32)
_PIXELS = np.stack(np.meshgrid(_MIDDLES, _MIDDLES), axis=-1).reshape(-1, 2)
_AT_ONCE = 32  # pictures whose distances fit a processor's cache


def draw_digits(labels: Sequence[int] | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A picture of each digit, grey levels from 0 to 1, every one in a hand of its own."""
    labels = np.asarray(labels, dtype=np.int64)
    if not len(labels):
        return np.zeros((0, SIDE, SIDE), dtype=np.float32)
    ends = _in_some_hand(_SEGMENTS[labels], rng).astype(np.float32)
    ink = _INK * rng.uniform(0.75, 1.5, (len(labels), 1))
    strength = rng.uniform(0.7, 1.0, (len(labels), 1))
    speckle = rng.normal(0, 0.08, (len(labels), SIDE * SIDE))
    away = np.concatenate([_distances(ends[at : at + _AT_ONCE]) for at in range(0, len(labels), _AT_ONCE)])
    grey = np.clip(1 - (away - ink) * SIDE, 0, 1)  # a stroke's edge is one pixel soft
    return np.clip(grey * strength + speckle, 0, 1).astype(np.float32).reshape(-1, SIDE, SIDE)


def _distances(ends: np.ndarray) -> np.ndarray:
    """How far each pixel of each picture is from the nearest line piece."""
    x, y = ends[:, :, :1, 0], ends[:, :, :1, 1]
    way_x, way_y = ends[:, :, 1:, 0] - x, ends[:, :, 1:, 1] - y
    length = np.maximum(way_x**2 + way_y**2, 1e-9)
    apart_x, apart_y = _PIXELS[:, 0] - x, _PIXELS[:, 1] - y
    part = np.clip((apart_x * way_x + apart_y * way_y) / length, 0, 1)
    apart_x -= part * way_x
    apart_y -= part * way_y
    return np.asarray(np.sqrt((apart_x**2 + apart_y**2).min(axis=1)))


def _in_some_hand(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The points turned, slanted, scaled, bent and shifted, each digit by its own chance."""
    count = len(points)
    turn, slant = rng.normal(0, 0.13, count), rng.normal(0, 0.15, count)
    wide, high = rng.uniform(0.8, 1.15, (2, count))
    shift = rng.normal(0, 0.045, (count, 1, 1, 2))
    bend, phase = rng.normal(0, 0.03, (count, 1, 1, 2)), rng.uniform(0, 1, (count, 1, 1, 2))
    cos, sin = np.cos(turn), np.sin(turn)
    matrix = np.stack(
        [
            np.stack([wide * cos, high * (slant * cos - sin)], -1),
            np.stack([wide * sin, high * (slant * sin + cos)], -1),
        ],
        -2,
    )
    moved = np.einsum("nij,nskj->nski", matrix, points - 0.5) + 0.5 + shift
    return np.asarray(moved + bend * np.sin(2 * np.pi * (1.5 * moved[..., ::-1] + phase)))
