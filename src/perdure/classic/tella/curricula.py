"""tella's curricula of CartPole, and those of an installed tella, on Gymnasium."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perdure.classic.tella.curriculum import (
    AbstractCurriculum,
    Block,
    EvalBlock,
    InterleavedEvalCurriculum,
    LearnBlock,
    TaskVariant,
    curriculum_registry,
    simple_eval_block,
    simple_learn_block,
)

_LONGEST = 200  # steps of an episode, as in CartPole-v0


def _cart_pole() -> Any:
    from gymnasium.envs.classic_control import CartPoleEnv
    from gymnasium.wrappers import TimeLimit

    return TimeLimit(CartPoleEnv(), max_episode_steps=_LONGEST)


def _episodes(count: int, seed: int) -> list[TaskVariant]:
    return [TaskVariant(_cart_pole, num_episodes=count, task_label="CartPole", rng_seed=seed)]


class SimpleCartPoleCurriculum(AbstractCurriculum):
    """Five episodes to learn from, and one to evaluate."""

    def learn_blocks_and_eval_blocks(self) -> Iterable[Block]:
        """The two blocks."""
        yield simple_learn_block(_episodes(5, self.rng.bit_generator.random_raw()))
        yield simple_eval_block(_episodes(1, self.rng.bit_generator.random_raw()))


class CartPole1000Curriculum(InterleavedEvalCurriculum):
    """Ten times a hundred episodes to learn from, with ten to evaluate before, between and after."""

    def learn_blocks(self) -> Iterable[LearnBlock]:
        """A hundred episodes, ten times."""
        for _ in range(10):
            yield simple_learn_block(_episodes(100, self.rng.bit_generator.random_raw()))

    def eval_block(self) -> EvalBlock:
        """Ten episodes, always the same."""
        return simple_eval_block(_episodes(10, self.eval_rng_seed))


curriculum_registry["SimpleCartPole"] = SimpleCartPoleCurriculum
curriculum_registry["CartPole-1000"] = CartPole1000Curriculum
