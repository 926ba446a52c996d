"""An idealised learner: what it knows of each task after each block, as a formula.

These are the notional curves of New et al. 2022, Figs. 7–10. A learning block lifts its task in a straight
ramp from where it stands to `saturation`, within `pace` experiences. Meanwhile every other task moves once:
one learned before gains `backward` of its way to the ceiling and loses `forgetting` of what it has above
`start`; one not learned yet gains `forward` of its way to the ceiling. Evaluations change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np

from perdure.curves.model import Array
from perdure.errors import ScenarioError
from perdure.scenario.model import Scenario

__all__ = ["CEILING", "NOTIONAL", "IdealLearner", "performance"]

CEILING = 1.0
"""No task can be done better than this; performance is 0 to 1."""


@dataclass(frozen=True)
class IdealLearner:
    """A learner whose every trait is known; shares are 0 to 1."""

    name: str = "ideal"
    start: float = 0.1
    """Performance before anything is learned."""
    saturation: float = 0.8
    """Where learning a task ends."""
    pace: float = 50.0
    """Experiences until it is reached."""
    forgetting: float = 0.0
    """The share of what a learned task has above `start` that is lost each time another is learned."""
    forward: float = 0.0
    """The share of its way to the ceiling that an unlearned task gains each time another is learned."""
    backward: float = 0.0
    """The same for a task learned before."""
    noise: float = 0.0
    """Standard deviation of each logged value."""
    spread: float = 0.0
    """How much lives differ: the relative standard deviation of each trait between them."""

    def __post_init__(self) -> None:
        for name in ("start", "saturation", "forgetting", "forward", "backward"):
            if not 0 <= getattr(self, name) <= 1:
                raise ScenarioError(f"{name} is {getattr(self, name)}; an idealised learner's {name} lies in 0 … 1")
        for name in ("noise", "spread"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ScenarioError(f"{name} is {getattr(self, name)}; give 0 or more")
        if not 1 <= self.pace < float("inf"):
            raise ScenarioError(f"pace is {self.pace}; a learner needs one experience or more")

    def but(self, **traits: float | str) -> IdealLearner:
        """The same learner with other traits."""
        unknown = set(traits) - {one.name for one in fields(self)}
        if unknown:
            raise ScenarioError(f"an idealised learner has no {', '.join(sorted(unknown))}")
        return replace(self, **traits)  # type: ignore[arg-type]


NOTIONAL: Mapping[str, IdealLearner] = MappingProxyType(
    {
        "lifelong": IdealLearner("lifelong", saturation=0.85, pace=30, forward=0.15, backward=0.2),
        "expert": IdealLearner("expert"),
        "forgetful": IdealLearner("forgetful", saturation=0.6, pace=80, forgetting=0.3),
    }
)
"""The learners of New et al. 2022: `lifelong` in Figs. 7 and 8, `forgetful` in Figs. 9 and 10, beside one expert."""


def performance(learner: IdealLearner, scenario: Scenario, count: int, rng: np.random.Generator) -> Array:
    """What `count` lives of `learner` log in `scenario`: one row per life, one column per experience.

    Each life draws its own traits where the learner has a spread; then noise is added to every value.
    """
    factors = 1 + learner.spread * rng.standard_normal((5, count))
    forgetting, forward, backward = (
        np.clip(trait * factor, 0, 1)
        for trait, factor in zip((learner.forgetting, learner.forward, learner.backward), factors[:3], strict=True)
    )
    pace = np.maximum(learner.pace * factors[3], 1.0)
    saturation = learner.start + (learner.saturation - learner.start) * np.maximum(factors[4], 0.0)
    level = {task.label: np.full(count, learner.start) for task in scenario.tasks}
    learned: set[str] = set()
    parts: list[Array] = []
    for index, block in enumerate(scenario.blocks):
        if block.length is None:
            raise ScenarioError(f"{scenario.name}: block {index} has no length in experiences; give it one")
        here = level[block.task]
        if block.mode == "evaluate":
            parts.append(np.repeat(here[:, None], block.length, axis=1))
            continue
        goal = np.maximum(saturation, here)
        done = np.minimum(np.arange(1, block.length + 1) / pace[:, None], 1.0)
        parts.append(here[:, None] + (goal - here)[:, None] * done)
        learned.add(block.task)
        for task, now in level.items():
            if task == block.task:
                level[task] = parts[-1][:, -1].copy()
            elif task in learned:
                level[task] = now + backward * (CEILING - now) - forgetting * (now - learner.start)
            else:
                level[task] = now + forward * (CEILING - now)
    values = np.concatenate(parts, axis=1) if parts else np.empty((count, 0))
    if learner.noise:
        values = values + learner.noise * rng.standard_normal(values.shape)
    return values
