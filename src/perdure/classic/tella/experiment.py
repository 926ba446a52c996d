"""tella's experiments: agents through curricula, logged by Perdure's journal, on Gymnasium's environments."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from perdure.classic.tella.agents import ContinualRLAgent
from perdure.classic.tella.curriculum import (
    AbstractCurriculum,
    TaskVariant,
    Transition,
    ValidationError,
    validate_curriculum,
)
from perdure.log.write.journal import Journal

logger = logging.getLogger(__name__)
AgentFactory = Callable[..., ContinualRLAgent]
CurriculumFactory = Callable[..., AbstractCurriculum]
ActionFn = Callable[[list[Any]], Sequence[Any]]


def rl_experiment(
    agent_factory: AgentFactory,
    curriculum_factory: CurriculumFactory,
    num_lifetimes: int,
    num_parallel_envs: int,
    log_dir: str | os.PathLike[str],
    agent_seed: int | None = None,
    curriculum_seed: int | None = None,
    render: bool | None = False,
    agent_config: str | None = None,
    curriculum_config: str | None = None,
    lifetime_idx: int = 0,
) -> None:
    """So many lifetimes, each with seeds of its own drawn from the two given; `lifetime_idx` skips the first ones."""
    if lifetime_idx < 0:
        raise ValueError(f"lifetime_idx must be >= 0, found {lifetime_idx}")
    if lifetime_idx > 0 and curriculum_seed is None:
        raise ValueError("lifetime_idx > 0 needs a curriculum_seed: else no lifetime is the one that was skipped")
    spaces = _spaces(curriculum_factory)
    rngs = [np.random.default_rng(_seed(one)) for one in (agent_seed, curriculum_seed)]
    for index in range(lifetime_idx + num_lifetimes):
        seeds = [rng.bit_generator.random_raw() for rng in rngs]
        if index < lifetime_idx:
            continue
        logger.info("Lifetime #%s: agent seed %s, curriculum seed %s", index + 1, *seeds)
        curriculum = curriculum_factory(seeds[1], curriculum_config)
        validate_curriculum(curriculum.copy())
        agent = agent_factory(seeds[0], *spaces, num_parallel_envs, agent_config)
        run(agent, curriculum, render=render, log_dir=log_dir, num_envs=num_parallel_envs)


def _seed(given: int | None) -> int:
    return int(np.random.default_rng().bit_generator.random_raw()) if given is None else given


def _spaces(curriculum_factory: CurriculumFactory) -> tuple[Any, Any]:
    """The spaces of a curriculum's first environment, which all of them share."""
    for block in curriculum_factory(0).learn_blocks_and_eval_blocks():
        for task in block.task_blocks():
            for variant in task.task_variants():
                env = variant.make_env()
                found = env.observation_space, env.action_space
                env.close()
                return found
    raise ValidationError("This curriculum is empty", "give it a block")


def run(
    agent: ContinualRLAgent,
    curriculum: AbstractCurriculum,
    render: bool | None,
    log_dir: str | os.PathLike[str],
    num_envs: int | None = 1,
) -> None:
    """One lifetime, logged in a folder of its own below `log_dir`."""
    names = type(curriculum).__name__, type(agent).__name__
    info = {
        "scenario_type": "custom",
        "curriculum_seed": curriculum.rng_seed,
        "agent_seed": agent.rng_seed,
        "curriculum_name": names[0],
        "agent_name": names[1],
    }
    name = "-".join((*names, str(time.time()).replace(".", "-")))
    with Journal(log_dir, name, ("reward",), learner=names[1], scenario=names[0], info=info) as journal:
        episodes = 0
        for number, block in enumerate(curriculum.learn_blocks_and_eval_blocks()):
            learning = agent.is_learning_allowed = block.is_learning_allowed
            agent.block_start(learning)
            for task in block.task_blocks():
                agent.task_start(task.task_label)
                for variant in task.task_variants():
                    logger.info("Block %s: %s, %s", number, variant.task_label, variant.variant_label)
                    agent.task_variant_start(variant.task_label, variant.variant_label)
                    counted = _Counted(journal, number, learning, variant, num_envs or 1, episodes)
                    for transitions in generate_transitions(variant, agent.choose_actions, num_envs or 1, bool(render)):
                        counted.take(transitions)
                        agent.receive_transitions(transitions if learning else hide_rewards(transitions))
                    episodes = counted.episodes
                    agent.task_variant_end(variant.task_label, variant.variant_label)
                agent.task_end(task.task_label)
            agent.block_end(learning)


class _Counted:
    """The episodes of one variant: what each environment gained so far, and a record where one ends."""

    def __init__(
        self, journal: Journal, block: int, learning: bool, variant: TaskVariant, num_envs: int, episodes: int
    ) -> None:
        self._journal = journal
        self._facts: dict[str, Any] = {
            "block_num": block,
            "block_type": "train" if learning else "test",
            "task_name": "_".join(filter(None, (variant.task_label, variant.variant_label))),
            "task_params": variant.params,
        }
        self._gained = [0.0] * num_envs
        self._steps = [0] * num_envs
        self.episodes = episodes

    def take(self, transitions: Sequence[Transition | None]) -> None:
        for index, one in enumerate(transitions):
            if one is None:
                continue
            self._gained[index] += one.reward or 0.0
            self._steps[index] += 1
            if one.done:
                measured: dict[str, Any] = {"reward": self._gained[index], "episode_step_count": self._steps[index]}
                self._journal.log(**self._facts, exp_num=self.episodes, **measured)
                self._gained[index], self._steps[index] = 0.0, 0
                self.episodes += 1


def generate_transitions(
    task_variant: TaskVariant, action_fn: ActionFn, num_envs: int, render: bool = False
) -> Iterator[list[Transition | None]]:
    """The steps of a variant, one list for all environments at a time; None where one has nothing left to do.

    The environments take turns in this process, seeded one after the other from the variant's seed.
    """
    envs = [task_variant.make_env() for _ in range(num_envs)]
    try:
        seen = [_reset(env, int(task_variant.rng_seed) + index) for index, env in enumerate(envs)]
        episode = list(range(num_envs))  # which one each environment is in
        begun, ended, steps = num_envs, 0, 0
        by_episode, limit = (
            task_variant.num_episodes is not None,
            task_variant.num_episodes or task_variant.num_steps or 0,
        )
        while (ended if by_episode else steps) < limit:
            idle = [(episode[index] if by_episode else steps + index) >= limit for index in range(num_envs)]
            actions = action_fn(_where(idle, None, seen))
            made: list[Transition | None] = [None] * num_envs
            for index, env in enumerate(envs):
                if idle[index]:
                    continue
                result, reward, done = _step(env, actions[index])
                if render and index == 0:
                    env.render()
                made[index] = Transition(seen[index], actions[index], reward, done, result)
                seen[index] = _reset(env) if done else result
                steps += 1
                if done:
                    ended, episode[index], begun = ended + 1, begun, begun + 1
            yield made
    finally:
        for env in envs:
            env.close()


def _reset(env: Any, seed: int | None = None) -> Any:
    """The first observation, from an environment of Gymnasium or one written for gym."""
    if callable(getattr(env, "seed", None)):
        if seed is not None:
            env.seed(seed)
        found = env.reset()
    else:
        found = env.reset(seed=seed)
    return found[0] if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict) else found


def _step(env: Any, action: Any) -> tuple[Any, float, bool]:
    """What is seen then, the reward, and whether the episode ended: Gymnasium tells it in five parts, gym in four."""
    observation, reward, *ends, _ = env.step(action)
    return observation, float(reward), any(map(bool, ends))


def hide_rewards(transitions: Sequence[Transition | None]) -> list[Transition | None]:
    """The same without rewards, for evaluations."""
    return [one and one._replace(reward=None) for one in transitions]


def _where(condition: Sequence[bool], replace_value: Any, original_list: Sequence[Any]) -> list[Any]:
    return [replace_value if there else one for there, one in zip(condition, original_list, strict=True)]
