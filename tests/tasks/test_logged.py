"""LogEpisodes: each episode that ends is one record, in one environment or in many at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import perdure


class Counting(gymnasium.Env[Any, Any]):
    """An environment that ends after `length` steps, each with reward one."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int) -> None:
        self.length = length

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, self.steps == self.length, False, {}


def records(folder: Path) -> list[tuple[int, str, str, float]]:
    experiences = perdure.read(folder / "life").experiences
    return list(experiences.select("block_num", "block_type", "task_name", "reward").iter_rows())


def test_a_new_task_or_mode_is_a_new_block_and_unfinished_episodes_are_not_logged(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", measures=["reward"], learner="mine", seed=1) as journal:
        both: list[tuple[Literal["learn", "evaluate"], int]] = [("learn", 2), ("evaluate", 1)]
        for mode, episodes in both:
            env = perdure.LogEpisodes(Counting(3), journal, "count", mode)
            for _ in range(episodes):
                env.reset()
                while not env.step(0)[2]:
                    pass
            env.reset()
            env.step(0)
    assert records(tmp_path) == [(0, "train", "count", 3.0), (0, "train", "count", 3.0), (1, "test", "count", 3.0)]


@pytest.mark.parametrize("autoreset", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_vector_environment_logs_the_episodes_of_each_environment_separately(
    tmp_path: Path, autoreset: AutoresetMode
) -> None:
    with perdure.Journal(tmp_path, "life", measures=["reward"], learner="mine", seed=1) as journal:
        several = SyncVectorEnv([lambda: Counting(2), lambda: Counting(5)], autoreset_mode=autoreset)
        env = perdure.LogEpisodes(several, journal, "count")
        env.reset()
        for _ in range(12):
            env.step(np.zeros(2, dtype=int))
        env.close()
    rewards = [reward for *_, reward in records(tmp_path)]
    assert set(rewards) == {2.0, 5.0}
    assert rewards.count(5.0) == 2
    assert rewards.count(2.0) == (6 if autoreset == AutoresetMode.SAME_STEP else 4)


def test_training_with_sb3_is_logged_by_its_callback_for_vector_environments_too(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is an extra")
    from stable_baselines3.common.env_util import make_vec_env

    from perdure.integrations.sb3 import SB3Callback

    with perdure.Journal(tmp_path, "life", measures=["reward"], learner="ppo", seed=1) as journal:
        env = make_vec_env(lambda: Counting(4), n_envs=2)
        model = sb3.PPO("MlpPolicy", env, n_steps=8, batch_size=16, seed=1, device="cpu")
        model.learn(16, callback=SB3Callback(journal, "count"))
    assert records(tmp_path) == [(0, "train", "count", 4.0)] * 4
