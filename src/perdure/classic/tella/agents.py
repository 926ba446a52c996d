"""tella's agent: told of blocks, tasks and variants, asked for actions, and shown what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.classic.tella.curriculum import Transition


class ContinualRLAgent:
    """The base of agents: `choose_actions` and `receive_transitions` are theirs, the events may be left as they are.

    `is_learning_allowed` says of which kind the current block is. Spaces are Gymnasium's.
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
        """A block begins."""

    def task_start(self, task_name: str | None) -> None:
        """A task begins."""

    def task_variant_start(self, task_name: str | None, variant_name: str | None) -> None:
        """A variant of the task begins; steps follow."""

    def task_variant_end(self, task_name: str | None, variant_name: str | None) -> None:
        """The variant is over."""

    def task_end(self, task_name: str | None) -> None:
        """The task is over."""

    def block_end(self, is_learning_allowed: bool) -> None:
        """The block is over."""

    def choose_actions(self, observations: Sequence[Any]) -> Sequence[Any]:
        """An action for each environment; None where the observation is None, which is to be left alone."""
        raise NotImplementedError

    def receive_transitions(self, transitions: Sequence[Transition | None]) -> None:
        """What came of the actions; None where there was none, and no reward in evaluations."""
        raise NotImplementedError
