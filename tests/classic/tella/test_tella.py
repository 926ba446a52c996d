"""Agents written for tella run on Gymnasium, and their logs are lifetimes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.spaces import Box, Discrete

import perdure
from perdure.classic import tella
from perdure.classic.tella.curriculum import (
    Block,
    EvalBlock,
    InterleavedEvalCurriculum,
    LearnBlock,
    TaskBlock,
    TaskVariant,
    Transition,
    ValidationError,
    curriculum_registry,
    simple_eval_block,
    simple_learn_block,
    validate_curriculum,
)
from perdure.classic.tella.experiment import generate_transitions, rl_experiment, run


class Counting(gymnasium.Env[Any, Any]):
    """An environment that ends after `length` steps, observes the number of its steps, and rewards the action."""

    def __init__(self, length: int = 3) -> None:
        self.observation_space, self.action_space = Discrete(100), Discrete(2)
        self.length, self.steps = length, 0
        self.seeds: list[int | None] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        self.seeds.append(seed)
        self.steps = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return self.steps, float(action), False, self.steps == self.length, {}


class CountingOfOld:
    """The same environment for gym 0.23."""

    def __init__(self, length: int = 3) -> None:
        self._env = Counting(length)
        self.observation_space, self.action_space = self._env.observation_space, self._env.action_space

    def seed(self, seed: int | None = None) -> None:
        self._seed = seed

    def reset(self) -> int:
        return self._env.reset()[0]

    def step(self, action: int) -> tuple[int, float, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self._env.step(action)
        return observation, reward, terminated or truncated, info

    def close(self) -> None:
        pass


class Curriculum(InterleavedEvalCurriculum):
    """A curriculum of two tasks in turn, with an evaluation of both before and after each."""

    env: Any = Counting

    def variant(self, task: str, length: int, episodes: int) -> TaskVariant:
        return TaskVariant(self.env, rng_seed=7, params={"length": length}, task_label=task, num_episodes=episodes)

    def learn_blocks(self) -> Iterable[LearnBlock]:
        yield simple_learn_block([self.variant("short", 2, 4)])
        yield simple_learn_block([self.variant("long", 5, 4)])

    def eval_block(self) -> EvalBlock:
        return simple_eval_block([self.variant("short", 2, 2), self.variant("long", 5, 2)])


class OfOld(Curriculum):
    env = CountingOfOld


class Agent(tella.ContinualRLAgent):
    """An agent that always does 1 and records its calls."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.calls: list[Any] = []

    def block_start(self, is_learning_allowed: bool) -> None:
        assert self.is_learning_allowed == is_learning_allowed
        self.calls.append("learn" if is_learning_allowed else "evaluate")

    def task_variant_start(self, task_name: str | None, variant_name: str | None) -> None:
        self.calls.append((task_name, variant_name))

    def choose_actions(self, observations: Sequence[Any]) -> Sequence[Any]:
        return [None if observation is None else 1 for observation in observations]

    def receive_transitions(self, transitions: Sequence[Transition | None]) -> None:
        rewards = {transition.reward for transition in transitions if transition is not None}
        assert rewards <= ({1.0} if self.is_learning_allowed else {None})


def make_agent(num_envs: int = 1) -> Agent:
    return Agent(3, Discrete(100), Discrete(2), num_envs)


@pytest.mark.parametrize("curriculum", [Curriculum, OfOld])
@pytest.mark.parametrize("num_envs", [1, 3])
def test_a_lifetime_is_logged_episode_by_episode(tmp_path: Path, curriculum: type[Curriculum], num_envs: int) -> None:
    item = make_agent(num_envs)
    run(item, curriculum(0), render=False, log_dir=tmp_path, num_envs=num_envs)
    both = [("short", "Default"), ("long", "Default")]
    assert item.calls == ["evaluate", *both, "learn", both[0], "evaluate", *both, "learn", both[1], "evaluate", *both]
    (log,) = tmp_path.iterdir()
    lifetime = perdure.read(log)
    assert (lifetime.learner, lifetime.complete) == ("Agent", True)
    assert [(block.mode, block.task, block.length) for block in lifetime.scenario.blocks][2:4] == [
        ("learn", "short_default", 4),
        ("evaluate", "short_default", 2),
    ]
    # Every step has reward 1, so the reward of an episode is its number of steps.
    rows = lifetime.experiences
    assert rows["reward"].to_list() == rows["episode_step_count"].cast(float).to_list()
    assert set(rows.filter(rows["task_name"].cast(str).str.starts_with("long"))["reward"]) == {5.0}
    assert rows["exp_num"].to_list() == list(range(len(rows)))


def test_environments_are_seeded_once_and_in_order() -> None:
    results: list[Counting] = []

    def make() -> Counting:
        results.append(Counting())
        return results[-1]

    variant = TaskVariant(make, rng_seed=40, num_episodes=5)
    steps = list(generate_transitions(variant, lambda seen: [0 for _ in seen], 2))
    assert [env.seeds[0] for env in results] == [40, 41]
    assert all(seed is None for env in results for seed in env.seeds[1:])
    assert sum(line.done for batch in steps for line in batch if line is not None) == 5


@pytest.mark.parametrize("num_envs", [1, 2, 7])
def test_a_block_measured_in_steps_has_exactly_that_many(num_envs: int) -> None:
    variant = TaskVariant(Counting, rng_seed=0, num_steps=10)
    transitions = list(generate_transitions(variant, lambda seen: [0 for _ in seen], num_envs))
    assert sum(line is not None for batch in transitions for line in batch) == 10


def test_the_last_observation_belongs_to_its_episode() -> None:
    variant = TaskVariant(Counting, rng_seed=0, num_episodes=2)
    steps = [line for batch in generate_transitions(variant, lambda seen: [0], 1) for line in batch if line is not None]
    assert [(step.observation, step.next_observation) for step in steps] == [(0, 1), (1, 2), (2, 3)] * 2


def test_one_lifetime_of_many_can_be_run_separately(tmp_path: Path) -> None:
    seeds: list[tuple[int, int]] = []

    def recorded(seed: int, *rest: Any) -> Agent:
        seeds.append((seed, 0))
        return Agent(seed, *rest)

    rl_experiment(recorded, Curriculum, 3, 1, tmp_path / "all", agent_seed=1, curriculum_seed=2)
    rl_experiment(recorded, Curriculum, 1, 1, tmp_path / "last", 1, 2, lifetime_idx=2)
    assert seeds[3] == seeds[2] != seeds[1]
    with pytest.raises(ValueError, match="needs a curriculum_seed"):
        rl_experiment(recorded, Curriculum, 1, 1, tmp_path, lifetime_idx=1)


def test_logs_of_an_experiment_are_scored_together(tmp_path: Path) -> None:
    rl_experiment(Agent, Curriculum, 2, 1, tmp_path, agent_seed=1, curriculum_seed=2)
    survey = perdure.survey(tmp_path)
    assert {score.learner for score in survey.scores} == {"Agent"}
    assert len(survey.scores) == 2


class _Blocks(Curriculum):
    def __init__(self, blocks: list[Block]) -> None:
        super().__init__(0)
        self.blocks = blocks

    def learn_blocks_and_eval_blocks(self) -> Iterable[Block]:
        return self.blocks


class Elsewhere(Counting):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = Box(0, 1)


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([], "This curriculum is empty"),
        ([LearnBlock([])], "Block #0 is empty"),
        ([LearnBlock([TaskBlock("a", [])])], "task block #0 is empty"),
        (
            [simple_learn_block([TaskVariant(Counting, rng_seed=0, num_steps=1, params={"x": 1})])],
            "block #0, task block #0, task variant #0: Parameters not accepted: ..x.. in ",
        ),
        (
            [simple_learn_block([TaskVariant(item, rng_seed=0, num_steps=1) for item in (Counting, Elsewhere)])],
            "one pair of them",
        ),
    ],
)
def test_an_invalid_curriculum_is_refused(blocks: list[Block], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        validate_curriculum(_Blocks(blocks))
    with pytest.raises(ValidationError, match="num_episodes or num_steps"):
        TaskVariant(Counting, rng_seed=0)


def test_cart_pole_is_registered_and_the_import_replaces_no_module() -> None:
    assert {"SimpleCartPole", "CartPole-1000"} <= set(curriculum_registry)
    validate_curriculum(curriculum_registry["CartPole-1000"](0))
    assert "gym" not in sys.modules
    assert "tella" not in sys.modules
