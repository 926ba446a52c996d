"""Pong: return the ball until the opponent misses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from perdure.tasks.arcade import court
from perdure.tasks.arcade.arithmetic import Arithmetic
from perdure.tasks.arcade.game import COMMON, SIDE
from perdure.tasks.interface import Parameter


class _State(NamedTuple):
    chances: Any
    paddle: Any
    opponent: Any
    aim: Any
    """How far from the ball the opponent puts its middle, until it is played to again."""
    along: Any
    across: Any
    speed_along: Any
    speed_across: Any
    turn: Any
    points: Any


class Pong:
    """The rules: +1 for each ball that the opponent misses, −1 for each that the learner does."""

    name = "pong"
    summary = "return the ball until the opponent misses it: +1 or −1 a point"
    parameters = (
        *court.PADDLE_AND_BALL,
        Parameter("opponent/paddle/width", 0.2, "the opponent's paddle, as a part of its line", low=0.02, high=1),
        Parameter("opponent/speed", 0.04, "how far the opponent moves in a step", low=0, high=0.5),
        Parameter("opponent/error", 0.3, "how far from the ball the opponent may aim", low=0, high=1),
        Parameter("points", 5, "balls in an episode", low=1, high=30),
        Parameter("steps", 300, "when an episode is cut off", low=1, high=1_000_000),
        *COMMON,
    )

    def chances(self, params: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Serves and aims, reused in turn."""
        return court.CHANCES

    def begin(self, chances: Any, params: Mapping[str, Any], on: Arithmetic) -> _State:
        """Paddles in the middle, the ball served to the learner."""
        speed = params["ball/speed"]
        place, slope = court.served(chances, 0, speed, on)
        return _State(
            chances,
            on.each(chances, 0.5),
            on.each(chances, 0.5),
            on.each(chances, 0.0),
            place,
            on.each(chances, 0.5),
            slope,
            on.each(chances, speed),
            on.each(chances, 0),
            on.each(chances, 0),
        )

    def advance(self, state: _State, action: Any, params: Mapping[str, Any], on: Arithmetic) -> tuple[_State, Any, Any]:
        """Both paddles move, then the ball; who misses it gives a point away."""
        chances, paddle, opponent, aim, along, across, speed_along, speed_across, turn, points = state
        speed, half = params["ball/speed"], params["bot/paddle/width"] / 2
        reach, hurry = params["opponent/paddle/width"] / 2, params["opponent/speed"]
        paddle = court.moved_paddle(paddle, action, params, on)
        opponent = on.clip(opponent + on.clip(along + aim - opponent, -hurry, hurry), reach, 1 - reach)
        along, speed_along = court.bounced(along, speed_along, on)
        across = across + speed_across
        mine, theirs = across >= 1, across <= 0
        gained = 0.0 * across
        if on.any(mine | theirs):
            bat = on.where(mine, paddle, opponent)
            width = on.where(mine, half, reach)
            offset = along - bat
            caught = abs(offset) <= width + court.BALL
            back = caught & (mine | theirs)
            across = on.where(back, on.where(mine, 2 - across, -across), across)
            speed_across = on.where(back, -speed_across, speed_across)
            speed_along = on.where(back, court.SPIN * speed * on.clip(offset / width, -1.0, 1.0), speed_along)
            missed = (mine | theirs) & (caught ^ True)
            gained = on.where(missed, on.where(mine, -1.0, 1.0), 0.0)
            turn = turn + (back | missed)
            points = points + missed
            fresh = on.take(chances, (3 * turn) % court.CHANCES)
            aim = on.where(missed | (back & mine), (2 * fresh - 1) * params["opponent/error"], aim)
            place, slope = court.served(chances, turn, speed, on)
            along = on.where(missed, place, along)
            speed_along = on.where(missed, slope, speed_along)
            across = on.where(missed, 0.5, across)
            speed_across = on.where(missed, speed, speed_across)
        after = _State(chances, paddle, opponent, aim, along, across, speed_along, speed_across, turn, points)
        return after, gained, points >= params["points"]

    def features(self, state: _State, params: Mapping[str, Any], on: Arithmetic) -> tuple[Any, ...]:
        """Paddle and ball, and where the opponent stands."""
        side = 1.0 - 2.0 * params["mirrored"]
        return (*court.seen(state, params, on), side * (2 * state.opponent - 1))

    def pictures(self, state: _State, params: Mapping[str, Any]) -> np.ndarray:
        """The opponent's paddle on the first line, the learner's on the last, the ball between."""
        pictures = np.full((len(state.paddle), SIDE, SIDE), params["background"])
        court.paint_bar(pictures, 0, state.opponent, params["opponent/paddle/width"], 0.6)
        court.paint_bar(pictures, SIDE - 1, state.paddle, params["bot/paddle/width"], 0.8)
        court.paint_ball(pictures, state.along, state.across)
        return pictures[:, :, ::-1] if params["mirrored"] else pictures
