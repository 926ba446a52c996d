"""The parts that Pong and Breakout share: a unit court, a paddle on its last line, and a ball.

`along` runs along the paddle's line, `across` towards it: the paddle is at across = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perdure.tasks.arcade.arithmetic import Arithmetic
from perdure.tasks.arcade.game import SIDE, heading
from perdure.tasks.interface import Parameter

BALL = 0.02
"""The ball's radius: a paddle reaches this much further."""

SPIN = 0.8
"""The steepest angle off a paddle's edge, as movement along for each unit across."""

CHANCES = 64
"""Random numbers of an episode, reused in turn."""

PADDLE_AND_BALL = (
    Parameter("bot/paddle/width", 0.2, "the learner's paddle, as a part of its line", low=0.02, high=1),
    Parameter("bot/paddle/speed", 0.05, "how far the learner's paddle moves in a step", low=0.001, high=0.5),
    Parameter("ball/speed", 0.05, "how far the ball moves across in a step", low=0.005, high=0.2),
)


def moved_paddle(paddle: Any, action: Any, params: Mapping[str, Any], on: Arithmetic) -> Any:
    """Return the place of the learner's paddle after an action."""
    half = params["bot/paddle/width"] / 2
    return on.clip(paddle + heading(action, params) * params["bot/paddle/speed"], half, 1 - half)


def bounced(along: Any, speed_along: Any, on: Arithmetic) -> tuple[Any, Any]:
    """Return the ball's place and speed after a step along, off the walls at 0 and 1."""
    there = along + speed_along
    low, high = there < 0, there > 1
    if on.any(low | high):
        there = on.where(low, -there, on.where(high, 2 - there, there))
        speed_along = on.where(low | high, -speed_along, speed_along)
    return there, speed_along


def served(chances: Any, turn: Any, speed: float, on: Arithmetic) -> tuple[Any, Any]:
    """Return where a new ball starts along its line, and its speed along; `turn` picks the chances."""
    place = on.take(chances, (2 * turn) % CHANCES)
    slope = on.take(chances, (2 * turn + 1) % CHANCES)
    return 0.1 + 0.8 * place, (2 * slope - 1) * SPIN * speed


def seen(state: Any, params: Mapping[str, Any], on: Arithmetic) -> tuple[Any, ...]:
    """Return six features: paddle, ball along, ball across, two speeds, ball minus paddle."""
    side = 1.0 - 2.0 * params["mirrored"]
    speed = params["ball/speed"]
    return (
        side * (2 * state.paddle - 1),
        side * (2 * state.along - 1),
        on.clip(2 * state.across - 1, -1.0, 1.0),
        side * on.clip(state.speed_along / speed, -1.0, 1.0),
        on.where(state.speed_across > 0, 1.0, -1.0),
        side * (state.along - state.paddle),
    )


def paint_bar(pictures: np.ndarray, line: int, centre: np.ndarray, width: float, grey: float) -> None:
    """Draw a paddle on a line of every picture, a pixel wherever it covers the pixel's middle, one at least."""
    middles = (np.arange(SIDE) + 0.5) / SIDE
    reach = max(width / 2, 0.5 / SIDE)
    pictures[:, line, :][np.abs(middles - centre[:, None]) <= reach] = grey


def paint_ball(pictures: np.ndarray, along: np.ndarray, across: np.ndarray, grey: float = 1.0) -> None:
    """Draw the ball of every picture."""
    columns = np.clip(along * SIDE, 0, SIDE - 1).astype(np.int64)
    lines = np.clip(across * SIDE, 0, SIDE - 1).astype(np.int64)
    pictures[np.arange(len(pictures)), lines, columns] = grey
