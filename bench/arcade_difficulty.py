"""Measure how hard the arcade is: mean reward by paddle width, of random play and of a ball-following player.

python bench/arcade_difficulty.py
"""

from __future__ import annotations

import numpy as np

from perdure.tasks.arcade import make_games

WIDTHS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.60)
EPISODES = 1000


def mean_reward(game: str, width: float, follows: bool, speed: float) -> float:
    """Return the mean over many episodes, each a game with its own seed."""
    games = make_games(game, EPISODES, {"bot/paddle/width": width, "bot/paddle/speed": speed})
    rng = np.random.default_rng(0)
    observations, _ = games.reset(seed=0)
    totals, ended = np.zeros(EPISODES), np.zeros(EPISODES, dtype=bool)
    while not ended.all():
        apart = observations[:, 5]
        followed = np.where(apart > 0.02, 2, np.where(apart < -0.02, 1, 0))
        actions = followed if follows else rng.integers(3, size=EPISODES)
        observations, rewards, terminated, truncated, _ = games.step(actions)
        totals += np.where(ended, 0, rewards)
        ended |= terminated | truncated
    return float(totals.mean())


def main() -> None:
    """Print the table."""
    print(f"{'paddle width':34}" + "".join(f"{width:>7.2f}" for width in WIDTHS))
    for game in ("pong", "breakout"):
        for player, follows, speed in (("random", False, 0.05), ("follows", True, 0.05), ("follows", True, 0.025)):
            means = "".join(f"{mean_reward(game, width, follows, speed):>7.2f}" for width in WIDTHS)
            print(f"{game}, {player + ', paddle speed ' + str(speed):{32 - len(game)}}{means}")


if __name__ == "__main__":
    main()
