"""Stable-Baselines3: PPO learns MiniGrid with its own loop, and a missing extra is reported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import perdure
from perdure.errors import LearnerError, MissingExtraError
from perdure.learners.find import find_learner, make_learner
from perdure.learners.sb3 import PPOLearner, flat_size, flattened
from perdure.runner.contract import EPISODES, check_learner
from perdure.runner.lifetime import lead, run_lifetime
from perdure.scenario.compose import compose
from perdure.scenario.model import Task


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (7,), np.float32),
        spaces.Discrete(4),
        spaces.Box(0, 255, (7, 7, 3), np.uint8),
        spaces.Dict({"image": spaces.Box(0, 255, (7, 7, 3), np.uint8), "direction": spaces.Discrete(4)}),
        spaces.Dict({"mission": spaces.Text(10), "place": spaces.Box(0, 1, (2, 2), np.float32)}),
    ],
    ids=str,
)
def test_a_flat_observation_has_the_length_of_its_space(space: spaces.Space[object]) -> None:
    space.seed(0)
    assert flattened(space.sample(), space).shape == (flat_size(space),)


def test_a_missing_sb3_is_reported_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    learner = PPOLearner()
    syllabus = compose("single", [Task("pong", params={"points": 1})], learn=1, evaluate=0)
    with pytest.raises(MissingExtraError, match=r"pip install .*'stable-baselines3>="):
        lead(run_lifetime(syllabus, tmp_path, "absent"), learner)


@pytest.mark.slow
def test_ppo_learns_a_grid(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("minigrid")
    learner = PPOLearner(seed=1)
    syllabus = compose("single", ["minigrid5x5"], learn=150, evaluate=3)
    lead(run_lifetime(syllabus, tmp_path, "grid", 1, learner=learner), learner)
    passage = perdure.read(tmp_path / "grid").passage()
    first, learned, last = (
        passage.values[passage.starts[index] : passage.starts[index + 1]].mean() for index in range(3)
    )
    assert first < 0.5
    assert learned > first
    assert last > 0.8


def test_an_algorithm_with_its_own_loop_has_costs_apart_from_its_environment(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    learner = make_learner("sb3:DQN", 1, {"learning_starts": 20, "buffer_size": 100})
    lead(run_lifetime(compose("single", EPISODES[:1], learn=4, evaluate=2), tmp_path, "x", learner=learner), learner)
    made = perdure.score(tmp_path / "x")
    step = 2 * 4 * learner.model.observation_space.shape[0] + 8 + 3 * 4  # two observations, an action, and the rest
    assert made["peak_stored_bytes"] == learner.model.replay_buffer.pos * step > 0
    assert (made["total_updates"] or 0) > 0
    assert (made["learner_seconds"] or 0) > (made["environment_seconds"] or 0) > 0


PENDULUM = (Task("light", env="Pendulum-v1", params={"g": 5.0}), Task("heavy", env="Pendulum-v1"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("use", "tasks", "params"),
    [
        ("ppo", EPISODES, {"n_steps": 16, "batch_size": 16}),
        ("sb3:A2C", EPISODES, {}),
        ("sb3:DQN", EPISODES, {"learning_starts": 20}),
        ("sb3:SAC", PENDULUM, {"learning_starts": 300, "train_freq": 50, "batch_size": 16}),
    ],
)
def test_an_interrupted_lifetime_resumes_bit_for_bit_on_policy_and_off(
    use: str, tasks: Sequence[Task], params: dict[str, Any]
) -> None:
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is an extra")
    check_learner(use, tasks, params=params)


def test_an_unknown_algorithm_offers_the_nearest_and_an_unsuited_one_is_refused(
    tmp_path: Path,
) -> None:
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is an extra")
    with pytest.raises(LearnerError, match="has no algorithm 'DQM'; did you mean 'DQN'"):
        find_learner("sb3:DQM")
    learner = make_learner("sb3:SAC", 1, {})
    with pytest.raises(LearnerError, match=r"block 0 \(evaluate pong_wide\): SAC cannot be made for Discrete\(3\)"):
        lead(run_lifetime(compose("condensed", EPISODES, learn=1, evaluate=1, seed=0), tmp_path, "life"), learner)


def test_without_the_extra_an_algorithm_gives_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MissingExtraError, match=r"the learner 'sb3:DQN' needs stable_baselines3.*'stable-baselines3>="):
        find_learner("sb3:DQN")
