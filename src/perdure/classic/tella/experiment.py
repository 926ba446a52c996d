"""tella's agents, experiments and command line, on Gymnasium's environments, logged by Perdure's journal."""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from perdure.classic.tella.curriculum import (
    AbstractCurriculum,
    TaskVariant,
    Transition,
    ValidationError,
    curriculum_registry,
    environment_spaces,
    validate_curriculum,
)
from perdure.log.write.journal import Journal
from perdure.scenario.model import FACTS, Fact

logger = logging.getLogger(__name__)


class ContinualRLAgent:
    """The base of agents, which implement `choose_actions` and `receive_transitions`; the events are optional.

    `is_learning_allowed` is true in blocks of learning. Spaces are Gymnasium's.
    """

    def __init__(
        self, rng_seed: int, observation_space: Any, action_space: Any, num_envs: int, config_file: str | None = None
    ) -> None:
        self.rng_seed = rng_seed
        self.is_learning_allowed = False
        self.observation_space = observation_space
        self.action_space = action_space
        self.num_envs = num_envs
        self.config_file = config_file
        for space in (observation_space, action_space):
            space.seed(rng_seed)

    def block_start(self, is_learning_allowed: bool) -> None:
        """Begin a block."""

    def task_start(self, task_name: str | None) -> None:
        """Begin a task."""

    def task_variant_start(self, task_name: str | None, variant_name: str | None) -> None:
        """Begin a variant of the task."""

    def task_variant_end(self, task_name: str | None, variant_name: str | None) -> None:
        """End the variant."""

    def task_end(self, task_name: str | None) -> None:
        """End the task."""

    def block_end(self, is_learning_allowed: bool) -> None:
        """End the block."""

    def choose_actions(self, observations: Sequence[Any]) -> Sequence[Any]:
        """Return an action for each environment; None for an environment whose observation is None."""
        raise NotImplementedError

    def receive_transitions(self, transitions: Sequence[Transition | None]) -> None:
        """Receive the results of the actions; None for an idle environment, and no rewards in evaluations."""
        raise NotImplementedError


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
    tells: Collection[Fact] = FACTS,
) -> None:
    """Run `num_lifetimes`, each with seeds drawn from the two given; `lifetime_idx` skips the first ones.

    `tells` has the facts that agents may know: `task`, `boundary`, `mode`.
    """
    if lifetime_idx < 0:
        raise ValueError(f"lifetime_idx must be >= 0, found {lifetime_idx}")
    if lifetime_idx > 0 and curriculum_seed is None:
        raise ValueError("lifetime_idx > 0 needs a curriculum_seed: else no lifetime is the one that was skipped")
    spaces = _spaces(curriculum_factory)
    rngs = [np.random.default_rng(seed) for seed in (agent_seed, curriculum_seed)]
    for index in range(lifetime_idx + num_lifetimes):
        seeds = [rng.bit_generator.random_raw() for rng in rngs]
        if index < lifetime_idx:
            continue
        logger.info("Lifetime #%s: agent seed %s, curriculum seed %s", index + 1, *seeds)
        curriculum = curriculum_factory(seeds[1], curriculum_config)
        validate_curriculum(curriculum.copy())
        agent = agent_factory(seeds[0], *spaces, num_parallel_envs, agent_config)
        run(agent, curriculum, render=render, log_dir=log_dir, num_envs=num_parallel_envs, tells=tells)


def _spaces(curriculum_factory: CurriculumFactory) -> tuple[Any, Any]:
    """Return the spaces of a curriculum's first environment, which all of them share."""
    for block in curriculum_factory(0).learn_blocks_and_eval_blocks():
        for task in block.task_blocks():
            for variant in task.task_variants():
                return environment_spaces(variant.make_env)
    raise ValidationError("This curriculum is empty", "give it a block")


def run(
    agent: ContinualRLAgent,
    curriculum: AbstractCurriculum,
    render: bool | None,
    log_dir: str | os.PathLike[str],
    num_envs: int | None = 1,
    tells: Collection[Fact] = FACTS,
) -> None:
    """Run one lifetime, logged in a new folder below `log_dir`.

    An agent that may not know the task receives None for it, without boundaries no events, and without the mode
    `is_learning_allowed` is always true; in evaluations it then receives no transitions.
    """
    names = type(curriculum).__name__, type(agent).__name__
    info = {
        "scenario_type": "custom",
        "curriculum_seed": curriculum.rng_seed,
        "agent_seed": agent.rng_seed,
        "curriculum_name": names[0],
        "agent_name": names[1],
    }
    name = "-".join((*names, str(time.time()).replace(".", "-")))
    told = {"tells": [fact for fact in FACTS if fact in tells]}
    silent: ContinualRLAgent = object.__new__(ContinualRLAgent)  # its events do nothing
    events = agent if "boundary" in tells else silent

    def label(name: str | None) -> str | None:
        return name if "task" in tells else None

    with Journal(log_dir, name, ("reward",), learner=names[1], scenario=names[0], info=info, protocol=told) as journal:
        episodes = 0
        for number, block in enumerate(curriculum.learn_blocks_and_eval_blocks()):
            learning = block.is_learning_allowed
            shown = agent.is_learning_allowed = learning or "mode" not in tells
            events.block_start(shown)
            for task in block.task_blocks():
                events.task_start(label(task.task_label))
                for variant in task.task_variants():
                    logger.info("Block %s: %s, %s", number, variant.task_label, variant.variant_label)
                    events.task_variant_start(label(variant.task_label), label(variant.variant_label))
                    recorder = _EpisodeRecorder(journal, number, learning, variant, num_envs or 1, episodes)
                    for transitions in generate_transitions(variant, agent.choose_actions, num_envs or 1, bool(render)):
                        recorder.add(transitions)
                        if learning or "mode" in tells:
                            agent.receive_transitions(transitions if learning else hide_rewards(transitions))
                    episodes = recorder.episodes
                    events.task_variant_end(label(variant.task_label), label(variant.variant_label))
                events.task_end(label(task.task_label))
            events.block_end(shown)


class _EpisodeRecorder:
    """Logs the episodes of one variant, from the rewards and steps of each environment."""

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
        self._rewards = [0.0] * num_envs
        self._steps = [0] * num_envs
        self.episodes = episodes

    def add(self, transitions: Sequence[Transition | None]) -> None:
        for index, transition in enumerate(transitions):
            if transition is None:
                continue
            self._rewards[index] += transition.reward or 0.0
            self._steps[index] += 1
            if transition.done:
                measured: dict[str, Any] = {"reward": self._rewards[index], "episode_step_count": self._steps[index]}
                self._journal.log(**self._facts, exp_num=self.episodes, **measured)
                self._rewards[index], self._steps[index] = 0.0, 0
                self.episodes += 1


def generate_transitions(
    task_variant: TaskVariant, action_fn: ActionFn, num_envs: int, render: bool = False
) -> Iterator[list[Transition | None]]:
    """Yield the steps of a variant, one list for all environments; None for an environment that is done.

    The environments take turns in this process; their seeds count up from the variant's seed.
    """
    envs = [task_variant.make_env() for _ in range(num_envs)]
    try:
        observations = [_reset(env, int(task_variant.rng_seed) + index) for index, env in enumerate(envs)]
        episode = list(range(num_envs))  # the number of each environment's episode
        started, ended, steps = num_envs, 0, 0
        by_episode = task_variant.num_episodes is not None
        limit = task_variant.num_episodes or task_variant.num_steps or 0
        while (ended if by_episode else steps) < limit:
            idle = [(episode[index] if by_episode else steps + index) >= limit for index in range(num_envs)]
            actions = action_fn(_where(idle, None, observations))
            transitions: list[Transition | None] = [None] * num_envs
            for index, env in enumerate(envs):
                if idle[index]:
                    continue
                # Gymnasium returns five values, with two reasons for an end; gym returns four.
                result, reward, *ends, _ = env.step(actions[index])
                done = any(map(bool, ends))
                if render and index == 0:
                    env.render()
                transitions[index] = Transition(observations[index], actions[index], float(reward), done, result)
                observations[index] = _reset(env) if done else result
                steps += 1
                if done:
                    ended, episode[index], started = ended + 1, started, started + 1
            yield transitions
    finally:
        for env in envs:
            env.close()


def _where(condition: Sequence[bool], replace_value: Any, original_list: Sequence[Any]) -> list[Any]:
    # tella's own tests import it by this name.
    return [replace_value if replaced else item for replaced, item in zip(condition, original_list, strict=True)]


def _reset(env: Any, seed: int | None = None) -> Any:
    """Reset an environment of Gymnasium, or one written for gym; return the first observation."""
    if not callable(getattr(env, "seed", None)):
        return first_observation(env.reset(seed=seed))
    if seed is not None:
        env.seed(seed)
    return first_observation(env.reset())


def first_observation(result: Any) -> Any:
    """Return the observation in the result of `reset`, which has a dict of information in Gymnasium."""
    return result[0] if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict) else result


def hide_rewards(transitions: Sequence[Transition | None]) -> list[Transition | None]:
    """Return the transitions without rewards, for evaluations."""
    return [transition and transition._replace(reward=None) for transition in transitions]


# --- command line --------------------------------------------------------------------------------


def rl_cli(agent_factory: AgentFactory, curriculum_factory: CurriculumFactory | None = None) -> None:
    """Run the experiment of the command line, which names the curriculum if `curriculum_factory` is missing."""
    options = _parser(named=curriculum_factory is None).parse_args()
    rl_experiment(
        agent_factory,
        curriculum_factory or curriculum_registry[options.curriculum],
        options.num_lifetimes,
        options.num_parallel_envs,
        options.log_dir,
        options.agent_seed,
        options.curriculum_seed,
        options.render,
        options.agent_config,
        options.curriculum_config,
        options.lifetime_idx,
    )


def _parser(*, named: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--lifetime-idx", default=0, type=int, help="the first lifetime to live, counted from 0")
    add("--num-lifetimes", default=1, type=int, help="how many lifetimes")
    add("--num-parallel-envs", default=1, type=int, help="how many environments the agent acts in at a time")
    add("--log-dir", default="./logs", help="where logs are written")
    add("--render", action="store_true", help="show the first environment")
    add("--seed", help=argparse.SUPPRESS)  # of an older tella; ignored
    add("--agent-seed", type=int, help="the seed of agents")
    add("--curriculum-seed", type=int, help="the seed of curricula")
    add("--agent-config", help="a file for the agent")
    add("--curriculum-config", help="a YAML file for the curriculum")
    if named:
        add("--curriculum", required=True, choices=curriculum_registry, help="what to live")
    return parser
