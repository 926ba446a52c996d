"""What `perdure plan --json` writes."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from perdure.metrics.engine.metric import AveragedAs
from perdure.schemas.structs import Count, Part, Positive, Several, Share
from perdure.stats.model import Tails
from perdure.stats.power import Question

__all__ = ["Cost", "Dial", "Pilot", "Plan", "PowerAt"]


class PowerAt(Part):
    """Lifetimes, and the power that they reach."""

    lifetimes: Several
    power: Share


class Dial(Part):
    """Power by lifetimes (rows) and experts per task (columns)."""

    tasks: Positive
    spread: float
    lives: list[int]
    experts: list[int]
    power: list[list[Share]]
    ceiling: list[Share]
    """What no number of lifetimes exceeds."""
    needed: list[Several | None]


class Pilot(Part):
    """What a pilot says of one metric."""

    n: Count
    mean: float | None
    sd: float | None
    sd_upper: float | None
    """The upper 97.5 % bound of the true sd."""
    scale: AveragedAs
    against: float | None
    """The threshold less its margin; null for two learners."""
    detect: float | None
    """The effect to be seen; of a ratio the factor."""
    k: float | None
    plain: Several | None
    """Lifetimes at the sd as seen."""
    upper: Several | None
    """At its upper bound, by the noncentral t."""
    redrawn: Several | None
    """At its upper bound, with the pilot's values redrawn."""
    lifetimes: Several | None
    """The larger of the two."""
    power_plain: Share | None
    power_upper: Share | None
    sees: float | None
    """The effect that the lifetimes of power_at see."""
    dial: Dial | None
    """Power by lifetimes (rows) and experts per task (columns)."""
    why: str | None
    experts: int | None
    """Experts per task that are counted on."""


class Cost(Part):
    """What the planned lifetimes come to."""

    lives: Count
    experts: Count
    life_experiences: Count
    expert_experiences: Count
    experiences: Count
    seconds_per_experience: float | None
    seconds: float | None
    machines: Positive
    wall_seconds: float | None


class Plan(Part):
    """What `perdure plan --json` writes."""

    perdure: str
    question: Question
    """One learner against a threshold less its margin, or two learners; numbers are of each."""
    k: float
    alpha: float
    beta: float
    tails: Tails
    rule: Positive
    """By the rule of Baker et al. 2023, App. D; twice that for unpaired learners."""
    exact: Several | None
    """By the noncentral t, for the test that decides; null where experts are too few for any number."""
    after_holm: Several | None
    """Of two learners, where one headline metric alone differs."""
    power_at: PowerAt
    """The power of the rule's number, or of the number asked about."""
    curve: list[PowerAt]
    dial: Dial | None
    """Power by lifetimes (rows) and experts per task (columns)."""
    pilot: dict[str, Pilot] | None
    prior: dict[str, Pilot] | None
    """Without a pilot, from a study: half of its kinds of lives stayed below `sd`, nine in ten below `sd_upper`."""
    cost: Cost | None
    notes: list[str]
    settings: dict[str, Any] | UnsetType = UNSET
    """Every setting by its name, as `score.schema.json` describes them."""
    settings_from: dict[str, str] | UnsetType = UNSET
    """Every setting to where its value came from."""
