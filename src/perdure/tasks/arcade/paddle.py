"""Pong and Breakout: a unit court, a paddle on its last line, and a ball.

`along` runs along the paddle's line, `across` towards it: the paddle is at across = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from perdure.tasks.arcade.game import COMMON, SIDE, Arithmetic, heading
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


def moved_paddle(paddle: Any, action: Any, params: Mapping[str, Any], xp: Arithmetic) -> Any:
    """Return the place of the learner's paddle after an action."""
    half = params["bot/paddle/width"] / 2
    return xp.clip(paddle + heading(action, params) * params["bot/paddle/speed"], half, 1 - half)


def bounced(along: Any, speed_along: Any, xp: Arithmetic) -> tuple[Any, Any]:
    """Return the ball's place and speed after a step along, off the walls at 0 and 1."""
    position = along + speed_along
    low, high = position < 0, position > 1
    if xp.any(low | high):
        position = xp.where(low, -position, xp.where(high, 2 - position, position))
        speed_along = xp.where(low | high, -speed_along, speed_along)
    return position, speed_along


def served(chances: Any, turn: Any, speed: float, xp: Arithmetic) -> tuple[Any, Any]:
    """Return where a new ball starts along its line, and its speed along; `turn` picks the chances."""
    place = xp.take(chances, (2 * turn) % CHANCES)
    slope = xp.take(chances, (2 * turn + 1) % CHANCES)
    return 0.1 + 0.8 * place, (2 * slope - 1) * SPIN * speed


def seen(state: Any, params: Mapping[str, Any], xp: Arithmetic) -> tuple[Any, ...]:
    """Return six features: paddle, ball along, ball across, two speeds, ball minus paddle."""
    side = 1.0 - 2.0 * params["mirrored"]
    speed = params["ball/speed"]
    return (
        side * (2 * state.paddle - 1),
        side * (2 * state.along - 1),
        xp.clip(2 * state.across - 1, -1.0, 1.0),
        side * xp.clip(state.speed_along / speed, -1.0, 1.0),
        xp.where(state.speed_across > 0, 1.0, -1.0),
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


class _PongState(NamedTuple):
    chances: Any
    paddle: Any
    opponent: Any
    aim: Any
    """Distance of the opponent's middle from the ball, until its next turn."""
    along: Any
    across: Any
    speed_along: Any
    speed_across: Any
    turn: Any
    points: Any


class Pong:
    """The rules: +1 for each ball that the opponent misses, −1 for each that the learner misses."""

    name = "pong"
    summary = "return the ball until the opponent misses it: +1 or −1 a point"
    parameters = (
        *PADDLE_AND_BALL,
        Parameter("opponent/paddle/width", 0.2, "the opponent's paddle, as a part of its line", low=0.02, high=1),
        Parameter("opponent/speed", 0.04, "how far the opponent moves in a step", low=0, high=0.5),
        Parameter("opponent/error", 0.3, "how far from the ball the opponent may aim", low=0, high=1),
        Parameter("points", 5, "balls in an episode", low=1, high=30),
        Parameter("steps", 300, "when an episode is cut off", low=1, high=1_000_000),
        *COMMON,
    )

    def chances(self, params: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Return the number for serves and aims, which are reused in turn."""
        return CHANCES

    def begin(self, chances: Any, params: Mapping[str, Any], xp: Arithmetic) -> _PongState:
        """Place the paddles in the middle, and serve the ball to the learner."""
        speed = params["ball/speed"]
        place, slope = served(chances, 0, speed, xp)
        return _PongState(
            chances,
            xp.each(chances, 0.5),
            xp.each(chances, 0.5),
            xp.each(chances, 0.0),
            place,
            xp.each(chances, 0.5),
            slope,
            xp.each(chances, speed),
            xp.each(chances, 0),
            xp.each(chances, 0),
        )

    def advance(
        self, state: _PongState, action: Any, params: Mapping[str, Any], xp: Arithmetic
    ) -> tuple[_PongState, Any, Any]:
        """Move both paddles, then the ball; the side that misses it loses the point."""
        chances, paddle, opponent, aim, along, across, speed_along, speed_across, turn, points = state
        speed, half = params["ball/speed"], params["bot/paddle/width"] / 2
        reach, hurry = params["opponent/paddle/width"] / 2, params["opponent/speed"]
        paddle = moved_paddle(paddle, action, params, xp)
        opponent = xp.clip(opponent + xp.clip(along + aim - opponent, -hurry, hurry), reach, 1 - reach)
        along, speed_along = bounced(along, speed_along, xp)
        across = across + speed_across
        at_player, at_opponent = across >= 1, across <= 0
        gained = 0.0 * across
        if xp.any(at_player | at_opponent):
            bat = xp.where(at_player, paddle, opponent)
            width = xp.where(at_player, half, reach)
            offset = along - bat
            caught = abs(offset) <= width + BALL
            returned = caught & (at_player | at_opponent)
            across = xp.where(returned, xp.where(at_player, 2 - across, -across), across)
            speed_across = xp.where(returned, -speed_across, speed_across)
            speed_along = xp.where(returned, SPIN * speed * xp.clip(offset / width, -1.0, 1.0), speed_along)
            missed = (at_player | at_opponent) & (caught ^ True)
            gained = xp.where(missed, xp.where(at_player, -1.0, 1.0), 0.0)
            turn = turn + (returned | missed)
            points = points + missed
            fresh = xp.take(chances, (3 * turn) % CHANCES)
            aim = xp.where(missed | (returned & at_player), (2 * fresh - 1) * params["opponent/error"], aim)
            place, slope = served(chances, turn, speed, xp)
            along = xp.where(missed, place, along)
            speed_along = xp.where(missed, slope, speed_along)
            across = xp.where(missed, 0.5, across)
            speed_across = xp.where(missed, speed, speed_across)
        after = _PongState(chances, paddle, opponent, aim, along, across, speed_along, speed_across, turn, points)
        return after, gained, points >= params["points"]

    def features(self, state: _PongState, params: Mapping[str, Any], xp: Arithmetic) -> tuple[Any, ...]:
        """Return paddle, ball and opponent."""
        side = 1.0 - 2.0 * params["mirrored"]
        return (*seen(state, params, xp), side * (2 * state.opponent - 1))

    def pictures(self, state: _PongState, params: Mapping[str, Any]) -> np.ndarray:
        """Draw the opponent's paddle on the first line, the learner's on the last, and the ball."""
        pictures = np.full((len(state.paddle), SIDE, SIDE), params["background"])
        paint_bar(pictures, 0, state.opponent, params["opponent/paddle/width"], 0.6)
        paint_bar(pictures, SIDE - 1, state.paddle, params["bot/paddle/width"], 0.8)
        paint_ball(pictures, state.along, state.across)
        return pictures[:, :, ::-1] if params["mirrored"] else pictures


_WALL_TOP, _WALL_BOTTOM = 0.125, 0.5
"""The limits of the wall of bricks, across."""


class _BreakoutState(NamedTuple):
    chances: Any
    paddle: Any
    along: Any
    across: Any
    speed_along: Any
    speed_across: Any
    bricks: Any
    """1 for a brick, 0 for a gap, row by row."""
    standing: Any
    turn: Any


class Breakout:
    """The rules: +1 for each brick, −1 for each ball lost."""

    name = "breakout"
    summary = "keep the ball in play and break the wall: +1 a brick, −1 a lost ball"
    parameters = (
        *PADDLE_AND_BALL,
        Parameter("bricks/rows", 3, "rows of bricks", low=1, high=6),
        Parameter("bricks/columns", 6, "bricks in a row", low=1, high=16),
        Parameter("balls", 3, "balls in an episode", low=1, high=30),
        Parameter("steps", 300, "when an episode is cut off", low=1, high=1_000_000),
        *COMMON,
    )

    def chances(self, params: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Return the number for serves, which are reused in turn."""
        return CHANCES

    def begin(self, chances: Any, params: Mapping[str, Any], xp: Arithmetic) -> _BreakoutState:
        """Build the wall, place the paddle in the middle, and serve the ball to the learner."""
        bricks = params["bricks/rows"] * params["bricks/columns"]
        speed = params["ball/speed"]
        place, slope = served(chances, 0, speed, xp)
        return _BreakoutState(
            chances,
            xp.each(chances, 0.5),
            place,
            xp.each(chances, 0.5),
            slope,
            xp.each(chances, speed),
            xp.ones(chances, bricks),
            xp.each(chances, bricks),
            xp.each(chances, 0),
        )

    def advance(
        self, state: _BreakoutState, action: Any, params: Mapping[str, Any], xp: Arithmetic
    ) -> tuple[_BreakoutState, Any, Any]:
        """Move the paddle, then the ball, which bounces off everything it meets."""
        chances, paddle, along, across, speed_along, speed_across, bricks, standing, turn = state
        speed, half = params["ball/speed"], params["bot/paddle/width"] / 2
        paddle = moved_paddle(paddle, action, params, xp)
        along, speed_along = bounced(along, speed_along, xp)
        across = across + speed_across
        gained = 0.0 * across
        above = across < 0
        across = xp.where(above, -across, across)
        speed_across = xp.where(above, -speed_across, speed_across)
        within = (across >= _WALL_TOP) & (across < _bottom(params))
        if xp.any(within):
            index = xp.where(within, _brick(along, across, params, xp), 0)
            broken = within & (xp.take(bricks, index) == 1)
            bricks = xp.without(bricks, index, broken)
            standing = standing - broken
            speed_across = xp.where(broken, -speed_across, speed_across)
            gained = gained + xp.where(broken, 1.0, 0.0)
        low = across >= 1
        if xp.any(low):
            offset = along - paddle
            returned = low & (abs(offset) <= half + BALL)
            lost = low & (returned ^ True)
            turn = turn + lost
            place, slope = served(chances, turn, speed, xp)
            thrown = SPIN * speed * xp.clip(offset / half, -1.0, 1.0)
            along = xp.where(lost, place, along)
            speed_along = xp.where(lost, slope, xp.where(returned, thrown, speed_along))
            across = xp.where(lost, 0.5, xp.where(returned, 2 - across, across))
            speed_across = xp.where(lost, speed, xp.where(returned, -speed_across, speed_across))
            gained = gained - xp.where(lost, 1.0, 0.0)
        after = _BreakoutState(chances, paddle, along, across, speed_along, speed_across, bricks, standing, turn)
        return after, gained, (standing == 0) | (turn >= params["balls"])

    def features(self, state: _BreakoutState, params: Mapping[str, Any], xp: Arithmetic) -> tuple[Any, ...]:
        """Return paddle, ball and the share of the wall that is left."""
        bricks = params["bricks/rows"] * params["bricks/columns"]
        return (*seen(state, params, xp), 2 * state.standing / bricks - 1)

    def pictures(self, state: _BreakoutState, params: Mapping[str, Any]) -> np.ndarray:
        """Draw the wall, the paddle on the last line, and the ball."""
        pictures = np.full((len(state.paddle), SIDE, SIDE), params["background"])
        rows, columns = params["bricks/rows"], params["bricks/columns"]
        middles = (np.arange(SIDE) + 0.5) / SIDE
        row = np.floor((middles - _WALL_TOP) / (_bottom(params) - _WALL_TOP) * rows).astype(np.int64)
        column = (middles * columns).astype(np.int64)
        lines = np.flatnonzero((row >= 0) & (row < rows))
        wall = state.bricks.reshape(-1, rows, columns)[:, row[lines]][:, :, column]
        pictures[:, lines] = np.where(wall == 1, 0.6, pictures[:, lines])
        paint_bar(pictures, SIDE - 1, state.paddle, params["bot/paddle/width"], 0.8)
        paint_ball(pictures, state.along, state.across)
        return pictures[:, :, ::-1] if params["mirrored"] else pictures


def _bottom(params: Mapping[str, Any]) -> Any:
    return _WALL_TOP + (_WALL_BOTTOM - _WALL_TOP) * params["bricks/rows"] / 6


def _brick(along: Any, across: Any, params: Mapping[str, Any], xp: Arithmetic) -> Any:
    rows, columns = params["bricks/rows"], params["bricks/columns"]
    row = xp.whole(xp.clip((across - _WALL_TOP) / (_bottom(params) - _WALL_TOP) * rows, 0.0, rows - 1.0))
    column = xp.whole(xp.clip(along * columns, 0.0, columns - 1.0))
    return row * columns + column
