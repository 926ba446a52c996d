"""Games of the arcade: their rules, the policies that win them, and the parameters that make them harder."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perdure.tasks.arcade import make_game, make_games

Policy = Callable[[np.ndarray], np.ndarray]
STAY, BACK, FORWARD = 0, 1, 2


def follow(observations: np.ndarray) -> np.ndarray:
    """Keep the paddle under the ball."""
    apart = observations[:, 5]
    return np.where(apart > 0.02, FORWARD, np.where(apart < -0.02, BACK, STAY))


def cross(observations: np.ndarray) -> np.ndarray:
    """Move towards a lane without a car."""
    return np.where(observations[:, 4] > 0, FORWARD, np.where(observations[:, 5] > 0, STAY, BACK))


def idle(observations: np.ndarray) -> np.ndarray:
    return np.zeros(len(observations), dtype=np.int64)


def total_rewards(game: str, policy: Policy | None, episodes: int = 200, **params: Any) -> np.ndarray:
    """Return the reward of one episode in each of many games, played by the policy or at random."""
    given = {name.replace("__", "/"): value for name, value in params.items()}
    many = make_games(game, episodes, given)
    rng = np.random.default_rng(7)
    observations, _ = many.reset(seed=1000)
    totals, over = np.zeros(episodes), np.zeros(episodes, dtype=bool)
    while not over.all():
        chosen = rng.integers(3, size=episodes) if policy is None else policy(observations)
        observations, rewards, terminated, truncated, _ = many.step(chosen)
        totals += np.where(over, 0, rewards)
        over |= terminated | truncated
    return totals


POLICIES = {"pong": follow, "breakout": follow, "freeway": cross}


@pytest.mark.parametrize("game", POLICIES)
def test_a_good_player_does_far_better_than_chance(game: str) -> None:
    good, chance = total_rewards(game, POLICIES[game]), total_rewards(game, None)
    spread = np.hypot(good.std(), chance.std())
    assert good.mean() - chance.mean() > 3 * spread


@pytest.mark.parametrize(
    ("game", "policy", "speed"),
    [
        ("pong", None, 0.05),
        ("pong", follow, 0.05),
        ("breakout", None, 0.05),
        # A paddle as fast as the ball misses nothing, even if it is narrow; a slower one does.
        ("breakout", follow, 0.025),
    ],
)
def test_a_wider_paddle_makes_the_game_easier(game: str, policy: Policy | None, speed: float) -> None:
    means = [
        total_rewards(game, policy, 400, bot__paddle__width=width, bot__paddle__speed=speed).mean()
        for width in (0.05, 0.15, 0.3, 0.6)
    ]
    assert all(narrow < wide for narrow, wide in itertools.pairwise(means)), means


@pytest.mark.parametrize(
    ("game", "easy", "hard"),
    [
        ("pong", {"opponent__error": 0.6}, {"opponent__error": 0.15}),
        ("pong", {"ball__speed": 0.04}, {"ball__speed": 0.12}),
        ("breakout", {"bot__paddle__speed": 0.05}, {"bot__paddle__speed": 0.01}),
        ("freeway", {"traffic": 1}, {"traffic": 4}),
        ("freeway", {"lanes": 2}, {"lanes": 8}),
        ("freeway", {"car__length": 0.02}, {"car__length": 0.15}),
    ],
)
def test_a_parameter_makes_the_game_harder(game: str, easy: dict[str, Any], hard: dict[str, Any]) -> None:
    policy = POLICIES[game]
    assert total_rewards(game, policy, **easy).mean() > total_rewards(game, policy, **hard).mean() + 0.3


def test_an_idle_paddle_loses_in_pong_and_a_full_width_paddle_never_does() -> None:
    assert total_rewards("pong", idle, bot__paddle__width=0.05).mean() < -3
    assert total_rewards("pong", idle, bot__paddle__width=1.0).min() >= 0


def test_a_point_in_pong_is_one_and_an_episode_has_the_requested_number() -> None:
    totals = total_rewards("pong", idle, bot__paddle__width=0.02, points=3)
    assert set(np.abs(totals)) <= {0, 1, 2, 3}
    assert totals.min() == -3


def test_breakout_ends_when_the_wall_is_cleared() -> None:
    env = make_game("breakout", {"bricks/rows": 1, "bricks/columns": 1, "bot/paddle/width": 1.0})
    env.reset(seed=1)
    total, ended = 0.0, False
    while not ended:
        _, reward, ended, cut, _ = env.step(STAY)
        total += float(reward)
        assert not cut
    assert total == 1


def test_breakout_takes_a_point_for_each_lost_ball_and_ends_with_the_last() -> None:
    many = total_rewards("breakout", lambda seen: np.where(seen[:, 5] > 0, BACK, FORWARD), balls=2)
    assert many.min() == -2


def test_the_distance_crossed_in_freeway_is_the_reward() -> None:
    assert not total_rewards("freeway", idle).any()
    empty = total_rewards("freeway", lambda seen: np.full(len(seen), FORWARD), 3, traffic=0, lanes=4, steps=100)
    assert empty == pytest.approx([20, 20, 20])


def test_a_car_in_freeway_takes_back_the_reward_since_the_kerb() -> None:
    env = make_game("freeway", {"traffic": 6, "car/length": 0.15, "lanes": 2, "steps": 200})
    env.reset(seed=5)
    total = 0.0
    for _ in range(200):
        observation, reward, *_ = env.step(FORWARD)
        total += float(reward)
        # Gains since the kerb are exactly the row: the part beyond whole crossings is the first feature.
        assert total - round(total - (observation[0] + 1) / 2) == pytest.approx((observation[0] + 1) / 2, abs=1e-6)


TILES, OFFSETS = 10, 4
PAIRS = {"pong": ((5, 2), (5, 3), (0, 5)), "breakout": ((5, 2), (5, 3), (0, 5)), "freeway": ((1, 4), (2, 5), (0, 4))}


def learning_rewards(game: str, episodes: int, **params: Any) -> np.ndarray:
    """Return the rewards of a tile-coded Q-learner, episode by episode."""
    env, rng = make_game(game, params), np.random.default_rng(0)
    pairs = np.array(PAIRS[game])
    shifts = np.array([(k / OFFSETS / TILES * 2, k / OFFSETS / TILES) for k in range(OFFSETS)])
    first = np.arange(len(pairs) * OFFSETS) * (TILES + 1) ** 2
    weights = np.zeros((3, len(first) * (TILES + 1) ** 2))

    def active(observation: np.ndarray) -> np.ndarray:
        cells = ((observation[pairs][:, None, :] + 1 + shifts) * TILES / 2).astype(int).clip(0, TILES)
        return np.asarray((cells[..., 0] * (TILES + 1) + cells[..., 1]).ravel() + first)

    totals = np.zeros(episodes)
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode)
        tiles, over = active(observation), False
        while not over:
            values = weights[:, tiles].sum(axis=1)
            action = int(rng.integers(3)) if rng.random() < 0.1 else int(values.argmax())
            observation, reward, terminated, truncated, _ = env.step(action)
            after = active(observation)
            target = float(reward) + (0 if terminated else 0.95 * weights[:, after].sum(axis=1).max())
            weights[action, tiles] += 0.1 / len(first) * (target - values[action])
            totals[episode] += float(reward)
            tiles, over = after, terminated or truncated
    return totals


@pytest.mark.parametrize(("game", "params"), [("pong", {"points": 3}), ("breakout", {}), ("freeway", {})])
def test_a_small_learner_improves_within_two_hundred_episodes(game: str, params: dict[str, Any]) -> None:
    totals = learning_rewards(game, 200, **params)
    chance = total_rewards(game, None, **params)
    late = totals[-50:]
    error = np.hypot(late.std() / np.sqrt(50), chance.std() / np.sqrt(200))
    assert late.mean() - chance.mean() > 5 * error
