"""A generator of digits: strokes, randomly bent and moved, on 12 × 12 pixels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

SIDE = 12

PAIRS = ("zero-one", "two-three", "four-five", "six-seven", "eight-nine")
"""The five tasks of a split by classes; New et al. 2022 call them `task-1-zero-one` and so on."""

INK = 0.055
"""Half the width of a stroke, relative to the picture."""


def _arc(x: float, y: float, width: float, height: float, start: float, end: float) -> list[tuple[float, float]]:
    """Return points on an ellipse from `start` to `end`, in turns clockwise from the right."""
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
    """Return the line segments of all digits as (digit, segment, end, coordinate), padded with the last segment."""
    pieces = [[segment for stroke in strokes for segment in itertools.pairwise(stroke)] for strokes in _STROKES]
    most = max(map(len, pieces))
    return np.array([piece + [piece[-1]] * (most - len(piece)) for piece in pieces])


SEGMENTS = _segments()
"""The line segments of each digit; see `_segments`."""
_MIDDLES = ((np.arange(SIDE) + 0.5) / SIDE).astype(np.float32)
_PIXELS = np.stack(np.meshgrid(_MIDDLES, _MIDDLES), axis=-1).reshape(-1, 2)
_AT_ONCE = 32  # pictures whose distances fit a processor's cache


class Hand(NamedTuple):
    """The random numbers of a batch of digits, an entry per digit."""

    turn: Any
    slant: Any
    wide: Any
    high: Any
    shift: Any
    bend: Any
    phase: Any
    ink: Any
    strength: Any
    speckle: Any


def draw_digits(labels: Sequence[int] | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw each digit in a different handwriting, with grey levels from 0 to 1."""
    labels = np.asarray(labels, dtype=np.int64)
    if not len(labels):
        return np.zeros((0, SIDE, SIDE), dtype=np.float32)
    count = len(labels)
    turn, slant = rng.normal(0, 0.13, count), rng.normal(0, 0.15, count)
    wide, high = rng.uniform(0.8, 1.15, (2, count))
    shift = rng.normal(0, 0.045, (count, 1, 1, 2))
    bend, phase = rng.normal(0, 0.03, (count, 1, 1, 2)), rng.uniform(0, 1, (count, 1, 1, 2))
    ink = INK * rng.uniform(0.75, 1.5, (count, 1))
    strength = rng.uniform(0.7, 1.0, (count, 1))
    speckle = rng.normal(0, 0.08, (count, SIDE * SIDE))
    hand = Hand(turn, slant, wide, high, shift, bend, phase, ink, strength, speckle)
    ends = in_hand(SEGMENTS[labels], hand, np).astype(np.float32)
    distance = np.concatenate([distances(ends[start : start + _AT_ONCE], np) for start in range(0, count, _AT_ONCE)])
    return np.asarray(inked(distance, hand, np), dtype=np.float32)


def inked(distance: Any, hand: Hand, xp: Any) -> Any:
    """Return pictures from the distance of each pixel to the strokes; `xp` is NumPy or JAX's numpy, here and below."""
    grey = xp.clip(1 - (distance - hand.ink) * SIDE, 0, 1)  # a stroke's edge is one pixel soft
    return xp.clip(grey * hand.strength + hand.speckle, 0, 1).reshape(-1, SIDE, SIDE)


def distances(ends: Any, xp: Any) -> Any:
    """Return the distance of each pixel of each picture to the nearest segment."""
    x, y = ends[:, :, :1, 0], ends[:, :, :1, 1]
    way_x, way_y = ends[:, :, 1:, 0] - x, ends[:, :, 1:, 1] - y
    length = xp.maximum(way_x**2 + way_y**2, 1e-9)
    apart_x, apart_y = _PIXELS[:, 0] - x, _PIXELS[:, 1] - y
    part = xp.clip((apart_x * way_x + apart_y * way_y) / length, 0, 1)
    apart_x = apart_x - part * way_x
    apart_y = apart_y - part * way_y
    return xp.sqrt((apart_x**2 + apart_y**2).min(axis=1))


def in_hand(points: Any, hand: Hand, xp: Any) -> Any:
    """Return the points turned, slanted, scaled, bent and shifted by the random numbers of each digit."""
    wide, high, slant = hand.wide, hand.high, hand.slant
    cos, sin = xp.cos(hand.turn), xp.sin(hand.turn)
    matrix = xp.stack(
        [
            xp.stack([wide * cos, high * (slant * cos - sin)], -1),
            xp.stack([wide * sin, high * (slant * sin + cos)], -1),
        ],
        -2,
    )
    moved = xp.einsum("nij,nskj->nski", matrix, points - 0.5) + 0.5 + hand.shift
    return moved + hand.bend * xp.sin(2 * xp.pi * (1.5 * moved[..., ::-1] + hand.phase))
