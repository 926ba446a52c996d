"""Breakout: keep the ball in play until every brick is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from perdure.tasks.arcade import court
from perdure.tasks.arcade.arithmetic import Arithmetic
from perdure.tasks.arcade.game import COMMON, SIDE
from perdure.tasks.interface import Parameter

_TOP, _BOTTOM = 0.125, 0.5
"""Where the wall of bricks may stand, across."""


class _State(NamedTuple):
    chances: Any
    paddle: Any
    along: Any
    across: Any
    speed_along: Any
    speed_across: Any
    bricks: Any
    """1 where a brick stands, row by row."""
    standing: Any
    turn: Any


class Breakout:
    """The rules: +1 for each brick, −1 for each ball lost."""

    name = "breakout"
    summary = "keep the ball in play and break the wall: +1 a brick, −1 a lost ball"
    parameters = (
        *court.PADDLE_AND_BALL,
        Parameter("bricks/rows", 3, "rows of bricks", low=1, high=6),
        Parameter("bricks/columns", 6, "bricks in a row", low=1, high=16),
        Parameter("balls", 3, "balls in an episode", low=1, high=30),
        Parameter("steps", 300, "when an episode is cut off", low=1, high=1_000_000),
        *COMMON,
    )

    def chances(self, params: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Serves, reused in turn."""
        return court.CHANCES

    def begin(self, chances: Any, params: Mapping[str, Any], on: Arithmetic) -> _State:
        """A whole wall, the paddle in the middle, the ball served to the learner."""
        bricks = params["bricks/rows"] * params["bricks/columns"]
        speed = params["ball/speed"]
        place, slope = court.served(chances, 0, speed, on)
        return _State(
            chances,
            on.each(chances, 0.5),
            place,
            on.each(chances, 0.5),
            slope,
            on.each(chances, speed),
            on.ones(chances, bricks),
            on.each(chances, bricks),
            on.each(chances, 0),
        )

    def advance(self, state: _State, action: Any, params: Mapping[str, Any], on: Arithmetic) -> tuple[_State, Any, Any]:
        """The paddle moves, then the ball; what it meets throws it back."""
        chances, paddle, along, across, speed_along, speed_across, bricks, standing, turn = state
        speed, half = params["ball/speed"], params["bot/paddle/width"] / 2
        paddle = court.moved_paddle(paddle, action, params, on)
        along, speed_along = court.bounced(along, speed_along, on)
        across = across + speed_across
        gained = 0.0 * across
        above = across < 0
        across = on.where(above, -across, across)
        speed_across = on.where(above, -speed_across, speed_across)
        within = (across >= _TOP) & (across < _bottom(params))
        if on.any(within):
            index = on.where(within, _brick(along, across, params, on), 0)
            broken = within & (on.take(bricks, index) == 1)
            bricks = on.without(bricks, index, broken)
            standing = standing - broken
            speed_across = on.where(broken, -speed_across, speed_across)
            gained = gained + on.where(broken, 1.0, 0.0)
        low = across >= 1
        if on.any(low):
            offset = along - paddle
            back = low & (abs(offset) <= half + court.BALL)
            lost = low & (back ^ True)
            turn = turn + lost
            place, slope = court.served(chances, turn, speed, on)
            thrown = court.SPIN * speed * on.clip(offset / half, -1.0, 1.0)
            along = on.where(lost, place, along)
            speed_along = on.where(lost, slope, on.where(back, thrown, speed_along))
            across = on.where(lost, 0.5, on.where(back, 2 - across, across))
            speed_across = on.where(lost, speed, on.where(back, -speed_across, speed_across))
            gained = gained - on.where(lost, 1.0, 0.0)
        after = _State(chances, paddle, along, across, speed_along, speed_across, bricks, standing, turn)
        return after, gained, (standing == 0) | (turn >= params["balls"])

    def features(self, state: _State, params: Mapping[str, Any], on: Arithmetic) -> tuple[Any, ...]:
        """Paddle and ball, and how much of the wall stands."""
        bricks = params["bricks/rows"] * params["bricks/columns"]
        return (*court.seen(state, params, on), 2 * state.standing / bricks - 1)

    def pictures(self, state: _State, params: Mapping[str, Any]) -> np.ndarray:
        """The wall, the paddle on the last line, the ball."""
        pictures = np.full((len(state.paddle), SIDE, SIDE), params["background"])
        rows, columns = params["bricks/rows"], params["bricks/columns"]
        middles = (np.arange(SIDE) + 0.5) / SIDE
        row = np.floor((middles - _TOP) / (_bottom(params) - _TOP) * rows).astype(np.int64)
        column = (middles * columns).astype(np.int64)
        lines = np.flatnonzero((row >= 0) & (row < rows))
        wall = state.bricks.reshape(-1, rows, columns)[:, row[lines]][:, :, column]
        pictures[:, lines] = np.where(wall == 1, 0.6, pictures[:, lines])
        court.paint_bar(pictures, SIDE - 1, state.paddle, params["bot/paddle/width"], 0.8)
        court.paint_ball(pictures, state.along, state.across)
        return pictures[:, :, ::-1] if params["mirrored"] else pictures


def _bottom(params: Mapping[str, Any]) -> Any:
    return _TOP + (_BOTTOM - _TOP) * params["bricks/rows"] / 6


def _brick(along: Any, across: Any, params: Mapping[str, Any], on: Arithmetic) -> Any:
    rows, columns = params["bricks/rows"], params["bricks/columns"]
    row = on.whole(on.clip((across - _TOP) / (_bottom(params) - _TOP) * rows, 0.0, rows - 1.0))
    column = on.whole(on.clip(along * columns, 0.0, columns - 1.0))
    return row * columns + column
