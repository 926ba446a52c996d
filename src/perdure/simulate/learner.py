"""An idealised learner: its performance in each task after each block, as a formula.

These are the notional curves of New et al. 2022, Figs. 7–10. Each experience of a learning block lifts its task by
the same step, so that `saturation` is reached from `start` within `pace` experiences, whether they come in one block
or in several. Meanwhile every other task moves once: one learned before gains `backward` of its way to the ceiling
and loses `forgetting` of its performance above `start`; one not learned yet gains `forward` of its way to the ceiling.
Evaluations change nothing. Without these three, each task is learned as by an expert: a null in every layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

import msgspec
import numpy as np

from perdure.curves.arrays import Array
from perdure.errors import ScenarioError, UnknownNameError
from perdure.scenario.model import Scenario

CEILING = 1.0
"""Highest performance, which is 0 to 1."""
Rewards = Literal["normal", "binary"]


class IdealLearner(msgspec.Struct, frozen=True):
    """A learner with known traits; shares are 0 to 1."""

    name: str = "ideal"
    start: float = 0.1
    """Performance before anything is learned."""
    saturation: float = 0.8
    """Performance at the end of learning a task: its height."""
    pace: float = 50.0
    """Number of experiences from `start` to `saturation`: its speed."""
    forgetting: float = 0.0
    """The share of a learned task's performance above `start` that is lost each time another task is learned."""
    forward: float = 0.0
    """The share of the way to the ceiling that an unlearned task gains each time another task is learned."""
    backward: float = 0.0
    """The same for a task learned before."""
    noise: float = 0.0
    """Standard deviation of each logged value; must be 0 for 0/1 rewards, which vary anyway."""
    spread: float = 0.0
    """Variation between lifetimes: the relative standard deviation of each trait."""
    rewards: Rewards = "normal"
    """Logged values: performance with normal noise, or 1 with the performance as probability, else 0."""
    failing: float = 0.0
    """The share of lifetimes that learn nothing."""
    by_task: bool = False
    """Whether spread and failing are drawn separately for each task, as if each task had its own model."""

    def __post_init__(self) -> None:
        for name in ("start", "saturation", "forgetting", "forward", "backward", "failing"):
            if not 0 <= getattr(self, name) <= 1:
                raise ScenarioError(f"{name} is {getattr(self, name)}", "give a number in 0 … 1")
        for name in ("noise", "spread"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ScenarioError(f"{name} is {getattr(self, name)}", "give 0 or more")
        if not 1 <= self.pace < float("inf"):
            raise ScenarioError(f"pace is {self.pace}", "give 1 experience or more")
        if self.rewards not in get_args(Rewards):
            raise UnknownNameError("rewards", str(self.rewards), get_args(Rewards))
        if self.rewards == "binary" and self.noise:
            raise ScenarioError(
                f"noise is {self.noise}, and rewards are 0/1, which vary by themselves", "leave one out"
            )

    def but(self, **traits: float | str) -> IdealLearner:
        """Return the same learner with other traits."""
        unknown = set(traits) - set(self.__struct_fields__)
        if unknown:
            raise ScenarioError(
                f"an idealised learner has no {', '.join(sorted(unknown))}",
                f"it has {', '.join(self.__struct_fields__)}",
            )
        return msgspec.structs.replace(self, **traits)

    def without_noise(self) -> IdealLearner:
        """Return the same learner without noise, which logs its performance unchanged."""
        return msgspec.structs.replace(self, noise=0.0, rewards="normal")


NOTIONAL: Mapping[str, IdealLearner] = MappingProxyType(
    {
        "lifelong": IdealLearner("lifelong", saturation=0.85, pace=30, forward=0.15, backward=0.2),
        "expert": IdealLearner("expert"),
        "forgetful": IdealLearner("forgetful", saturation=0.6, pace=80, forgetting=0.3),
    }
)
"""The learners of New et al. 2022: `lifelong` in Figs. 7 and 8, `forgetful` in Figs. 9 and 10, and one expert."""

NULL = IdealLearner("null", noise=0.2, spread=0.2, by_task=True)
"""A separate model per task: nothing is forgotten or transferred, and its experts are drawn in the same way."""


def performance(learner: IdealLearner, scenario: Scenario, count: int, rng: np.random.Generator) -> Array:
    """Return the logged values of `count` lifetimes in `scenario`: one row per lifetime, one column per experience.

    Each lifetime draws its own traits if the learner has a spread; then noise is added to every value. The draws do not
    depend on the traits, so that two learners with equal generators differ only by their traits.
    """
    scenario = scenario.joined()
    labels = [task.label for task in scenario.tasks]
    shape = (len(labels) if learner.by_task else 1, count)
    factors = 1 + learner.spread * rng.standard_normal((5, *shape))
    # A separate stream, so that learners without failures draw the same values.
    failed = rng.spawn(1)[0].random(shape) < learner.failing
    forgetting, forward, backward = (
        dict(zip(labels, np.broadcast_to(np.clip(trait * factor, 0, 1), (len(labels), count)), strict=True))
        for trait, factor in zip((learner.forgetting, learner.forward, learner.backward), factors[:3], strict=True)
    )
    height = np.where(failed, 0.0, (learner.saturation - learner.start) * np.maximum(factors[4], 0.0))
    step = height / np.maximum(learner.pace * factors[3], 1.0)
    heights = dict(zip(labels, np.broadcast_to(height, (len(labels), count)), strict=True))
    steps = dict(zip(labels, np.broadcast_to(step, (len(labels), count)), strict=True))
    level = {label: np.full(count, learner.start) for label in labels}
    learned: set[str] = set()
    parts: list[Array] = []
    for index, block in enumerate(scenario.blocks):
        if block.length is None:
            raise ScenarioError(f"block {index} has no length in experiences", "give it one", where=scenario.name)
        now = level[block.task]
        if block.mode != "learn":
            parts.append(np.repeat(now[:, None], block.length, axis=1))
            continue
        goal = np.maximum(learner.start + heights[block.task], now)
        climbed = np.arange(1, block.length + 1) * steps[block.task][:, None]
        parts.append(np.minimum(now[:, None] + climbed, goal[:, None]))
        learned.add(block.task)
        for task, task_level in level.items():
            if task == block.task:
                level[task] = parts[-1][:, -1].copy()
            elif task in learned:
                level[task] = (
                    task_level
                    + backward[task] * (CEILING - task_level)
                    - forgetting[task] * (task_level - learner.start)
                )
            else:
                level[task] = task_level + forward[task] * (CEILING - task_level)
    values = np.concatenate(parts, axis=1) if parts else np.empty((count, 0))
    if learner.rewards == "binary":
        return (rng.random(values.shape) < values).astype(np.float64)
    if learner.noise:
        values = values + learner.noise * rng.standard_normal(values.shape)
    return values
