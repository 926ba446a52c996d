"""Freeway: cross the lanes between the cars, as often as time allows.

The cars of a lane have equal distances and one speed, so their places follow from where the lane started. Only the
speed and the start of each lane are random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from perdure.tasks.arcade.game import COMMON, MANY, SIDE, Arithmetic, heading
from perdure.tasks.interface import Parameter

_AT = 0.5
"""The place along the lanes at which the walker crosses."""

_WALKER = 0.04


class _FreewayState(NamedTuple):
    chances: Any
    row: Any
    """0 is the near kerb, then come the lanes; the far kerb scores and sends the walker back to 0."""
    clock: Any


class Freeway:
    """The rules: the reward is the progress, 1 for each crossing; a car sends the walker back and takes the reward."""

    name = "freeway"
    summary = "cross the lanes between the cars: +1 a crossing, in parts; a car sends one back"
    parameters = (
        Parameter("lanes", 4, "lanes to cross", low=1, high=12),
        Parameter("traffic", 2, "cars in a lane", low=0, high=6),
        Parameter("car/speed", 0.04, "how far a car drives in a step, on average", low=0, high=0.2),
        Parameter("car/length", 0.12, "a car, as a part of its lane", low=0.01, high=0.15),
        Parameter("steps", 100, "how long an episode lasts", low=1, high=1_000_000),
        *COMMON,
    )

    def chances(self, params: Mapping[str, Any]) -> int:
        """Return 2 for each lane: its speed and its start."""
        return int(2 * params["lanes"])

    def begin(self, chances: Any, params: Mapping[str, Any], xp: Arithmetic) -> _FreewayState:  # noqa: ARG002
        """Place the walker on the near kerb."""
        zero = xp.each(chances, 0)
        return _FreewayState(chances, zero, zero)

    def advance(
        self, state: _FreewayState, action: Any, params: Mapping[str, Any], xp: Arithmetic
    ) -> tuple[_FreewayState, Any, Any]:
        """Move the walker by a row, and the cars."""
        lanes = params["lanes"]
        clock = state.clock + 1
        row = xp.clip(state.row + xp.whole(heading(action, params) + 1) - 1, 0, lanes + 1)
        crossed = row == lanes + 1
        hit = _until_hit(state.chances, row, clock, params, xp) <= 0
        gained = (xp.where(hit, 0, row) - state.row) / (lanes + 1)
        after = _FreewayState(state.chances, xp.where(crossed | hit, 0, row), clock)
        return after, gained, hit & crossed  # which cannot be: only time ends an episode

    def features(self, state: _FreewayState, params: Mapping[str, Any], xp: Arithmetic) -> tuple[Any, ...]:
        """Return the progress; then for forward, stay and back the time until a car comes, and if one comes now."""
        lanes, clock = params["lanes"], state.clock + 1
        side = 1 - 2 * params["mirrored"]
        rows = [xp.clip(state.row + side * way, 0, lanes + 1) for way in (1, 0, -1)]
        waits = [_until_hit(state.chances, row, clock, params, xp) for row in rows]
        return (
            side * (2 * state.row / (lanes + 1) - 1),
            *(xp.clip(wait / 5 - 1, -1.0, 1.0) for wait in waits),
            *(xp.where(wait <= 0, -1.0, 1.0) for wait in waits),
        )

    def pictures(self, state: _FreewayState, params: Mapping[str, Any]) -> np.ndarray:
        """Draw kerbs and lanes as lines, the cars, and the walker in the middle."""
        games, lanes = len(state.row), params["lanes"]
        pictures = np.full((games, SIDE, SIDE), params["background"])
        line_of = np.round(np.linspace(SIDE - 1, 0, lanes + 2)).astype(np.int64)
        middles = (np.arange(SIDE) + 0.5) / SIDE
        for lane in range(lanes if params["traffic"] else 0):
            speed, start = _lane(state.chances, np.full(games, lane), params, MANY)
            spacing = 1 / params["traffic"]
            gap = (middles - (start + speed * state.clock)[:, None]) % spacing
            cars = np.minimum(gap, spacing - gap) <= max(params["car/length"] / 2, 0.5 / SIDE)
            # Every other lane drives the other way; only the picture shows it.
            pictures[:, line_of[lane + 1], :][cars[:, ::-1] if lane % 2 else cars] = 0.6
        pictures[np.arange(games), line_of[state.row], int(_AT * SIDE)] = 1.0
        return pictures[:, ::-1] if params["mirrored"] else pictures


def _lane(chances: Any, lane: Any, params: Mapping[str, Any], xp: Arithmetic) -> tuple[Any, Any]:
    return params["car/speed"] * (0.5 + xp.take(chances, lane)), xp.take(chances, lane + params["lanes"])


def _until_hit(chances: Any, row: Any, clock: Any, params: Mapping[str, Any], xp: Arithmetic) -> Any:
    """Return the steps until a car hits a walker in this row: 0 if it is hit now, 10 if no car comes soon."""
    lanes, traffic = params["lanes"], params["traffic"]
    speed, start = _lane(chances, xp.clip(row - 1, 0, lanes - 1), params, xp)
    spacing, reach = 1 / (traffic + (traffic == 0)), (params["car/length"] + _WALKER) / 2
    gap = (_AT - start - speed * clock) % spacing
    hit = (gap <= reach) | (gap >= spacing - reach)
    wait = xp.clip((gap - reach) / xp.clip(speed, 1e-9, 1.0), 0.0, 10.0)
    safe = (row == 0) | (row == lanes + 1) | (traffic == 0)
    return xp.where(safe, 10.0, xp.where(hit, 0.0, wait))
