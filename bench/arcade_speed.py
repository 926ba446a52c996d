"""Measure the arcade's speed: steps per second on one core, single and vectorised, compared with MiniGrid.

    python bench/arcade_speed.py [seconds per figure]

The last column divides the speed of a vectorised game by that of MiniGrid-Empty-5x5; the goal is 20.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from perdure.tasks.arcade import GAMES, make_game, make_games

GAMES_AT_ONCE = 256
SOUGHT = 20


def alone(env: Any, seconds: float) -> float:
    """Return the steps per second of one environment under random play, resets included."""
    chosen = np.random.default_rng(0).integers(3, size=1000)
    env.reset(seed=0)
    steps, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        for action in chosen:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        steps += len(chosen)
    return steps / spent


def together(game: str, seconds: float, observation: str) -> float:
    """Return the steps per second of many games under random play, resets included."""
    games = make_games(game, GAMES_AT_ONCE, {"observation": observation})
    chosen = np.random.default_rng(0).integers(3, size=(50, GAMES_AT_ONCE))
    games.reset(seed=0)
    steps, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        for actions in chosen:
            games.step(actions)
        steps += chosen.size
    return steps / spent


def minigrid(seconds: float) -> float | None:
    """Return the steps per second of MiniGrid-Empty-5x5 as Gymnasium makes it; None if it is not installed."""
    if find_spec("minigrid") is None:
        return None
    import gymnasium
    import minigrid  # noqa: F401

    return alone(gymnasium.make("MiniGrid-Empty-5x5-v0", disable_env_checker=True), seconds)


def main(seconds: float = 1.0) -> int:
    """Print the table; return 0 if every vectorised game is fast enough, else 1."""
    yardstick = minigrid(seconds)
    print(
        f"MiniGrid-Empty-5x5  {yardstick:>10,.0f} steps/s" if yardstick else "MiniGrid is not installed: no yardstick"
    )
    print(f"{'':12}{'alone':>12}{'vector':>12}{'of pixels':>12}   × MiniGrid (vector, of pixels)")
    enough = True
    for game in GAMES:
        single, vector, pixels = (
            alone(make_game(game), seconds),
            *(together(game, seconds, s) for s in ("features", "pixels")),
        )
        times = f"{vector / yardstick:.0f} {pixels / yardstick:.0f}" if yardstick else "–"
        print(f"{game:12}{single:>12,.0f}{vector:>12,.0f}{pixels:>12,.0f}   {times}")
        enough &= yardstick is None or vector >= SOUGHT * yardstick
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:2])))
