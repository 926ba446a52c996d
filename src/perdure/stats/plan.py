"""Planning an evaluation: how many lifetimes, of one learner or two, with how many experts, and what it all costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.metrics.engine.presets import headline
from perdure.results import Tabular
from perdure.sample_size import lifetimes_by_rule
from perdure.stats.dial import Dial, dial
from perdure.stats.model import Tails
from perdure.stats.pilot import PilotMetric
from perdure.stats.power import Beside, Question, lifetimes_exact, power

__all__ = ["Cost", "Plan", "family", "make_plan"]


class Cost(Struct, frozen=True):
    """What the planned lifetimes and their experts come to."""

    lives: int
    experts: int
    life_experiences: int
    expert_experiences: int
    seconds_per_experience: float | None
    """From the pilot's timestamps; None without them."""
    machines: int
    longest: int
    """Experiences of the longest single life or expert, which no number of machines makes shorter."""

    @property
    def experiences(self) -> int:
        """All of them."""
        return self.life_experiences + self.expert_experiences

    @property
    def seconds(self) -> float | None:
        """Of one machine doing everything."""
        return None if self.seconds_per_experience is None else self.experiences * self.seconds_per_experience

    @property
    def wall_seconds(self) -> float | None:
        """Of all machines together."""
        if self.seconds is None or self.seconds_per_experience is None:
            return None
        return max(self.seconds / self.machines, self.longest * self.seconds_per_experience)

    def as_json(self) -> dict[str, Any]:
        """The cost as one JSON object."""
        return {
            "lives": self.lives,
            "experts": self.experts,
            "life_experiences": self.life_experiences,
            "expert_experiences": self.expert_experiences,
            "experiences": self.experiences,
            "seconds_per_experience": self.seconds_per_experience,
            "seconds": self.seconds,
            "machines": self.machines,
            "wall_seconds": self.wall_seconds,
        }


class Plan(Tabular, Struct, frozen=True):
    """How many lifetimes an effect of k standard deviations needs, and what a given number can see."""

    question: Question
    k: float
    alpha: float
    beta: float
    tails: Tails
    rule: int
    """By the rule of Baker et al. 2023, which takes the sd as known."""
    exact: int | None
    """By the noncentral t, for the test that will decide; None where experts are too few for any number."""
    after_holm: int | None
    """Of two learners: where this metric alone differs, so that its p is held against α over the family."""
    lifetimes: int
    """Those that `power` is of: the rule's, unless others were asked about."""
    power: float
    curve: tuple[tuple[int, float], ...]
    """Lifetimes and their power."""
    dial: Dial | None = None
    pilot: Mapping[str, PilotMetric] = {}
    cost: Cost | None = None
    notes: tuple[str, ...] = ()
    prior: Mapping[str, PilotMetric] = {}
    """What a pilot would say, from the lives of a study, where there is none."""

    def __repr__(self) -> str:
        return f"Plan({self.rule} lifetimes by the rule, {self.exact} exactly, for {self.k:g} sd)"

    def __len__(self) -> int:
        return len(self.metrics or self.curve)

    def __iter__(self) -> Iterator[tuple[str, PilotMetric] | tuple[int, float]]:
        """Each row of its table: a metric and what is planned for it, or a number of lifetimes and its power."""
        return iter(self.metrics.items()) if self.metrics else iter(self.curve)

    @property
    def metrics(self) -> Mapping[str, PilotMetric]:
        """What is planned metric by metric, from a pilot or for want of one."""
        return self.pilot or self.prior

    def table(self) -> pl.DataFrame:
        """One row per metric of the pilot, or of what was asked without one; else the power curve."""
        if self.metrics:
            return pl.DataFrame([{"metric": name, **_flat(one.as_json())} for name, one in self.metrics.items()])
        return pl.DataFrame(self.curve, schema={"lifetimes": pl.Int64(), "power": pl.Float64()}, orient="row")

    def as_json(self) -> dict[str, Any]:
        """The plan as one JSON object, as `plan.schema.json` describes it."""
        from perdure import __version__

        return {
            "perdure": __version__,
            "question": self.question,
            "k": self.k,
            "alpha": self.alpha,
            "beta": self.beta,
            "tails": self.tails,
            "rule": self.rule,
            "exact": self.exact,
            "after_holm": self.after_holm,
            "power_at": {"lifetimes": self.lifetimes, "power": self.power},
            "curve": [{"lifetimes": count, "power": reached} for count, reached in self.curve],
            "dial": self.dial.as_json() if self.dial else None,
            "pilot": {name: one.as_json() for name, one in self.pilot.items()} or None,
            "prior": {name: one.as_json() for name, one in self.prior.items()} or None,
            "cost": self.cost.as_json() if self.cost else None,
            "notes": list(self.notes),
        }


def _flat(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if not isinstance(value, dict | list)}


def family() -> int:
    """How many headline metrics two learners are compared by, which Holm's adjustment runs over."""
    return len(headline())


def make_plan(
    k: float = 1.0,
    alpha: float = 0.05,
    beta: float = 0.1,
    *,
    question: Question = "threshold",
    tails: Tails = "two",
    beside: Beside | None = None,
    lifetimes: int | None = None,
    pilot: Mapping[str, PilotMetric] | None = None,
    cost: Cost | None = None,
    notes: Sequence[str] = (),
) -> Plan:
    """The plan for an effect of `k` sd: of lifetimes, of paired learners of differences; of two learners, for each.

    `lifetimes` asks what a given number could see; `beside` are the experts that a metric is held against.
    """
    if lifetimes is not None and lifetimes < 2:
        raise PerdureError(f"{lifetimes} lifetimes have no spread", "plan for two or more")
    if beside is not None and not (beside.tasks >= 1 and 0 < beside.spread < math.inf):
        raise PerdureError(
            f"experts of {beside.tasks} tasks that differ by {beside.spread:g} sd", "give positive numbers for both"
        )
    rule = lifetimes_by_rule(k, alpha, beta, unpaired=question == "unpaired")
    exact = lifetimes_exact(k, alpha, beta, tails, question=question, beside=beside)
    two = question != "threshold"
    at = lifetimes or max(rule, 2)

    def reached(count: int) -> float:
        return power(count, k, alpha, tails, question=question, beside=beside)

    return Plan(
        question,
        k,
        alpha,
        beta,
        tails,
        rule,
        exact,
        lifetimes_exact(k, alpha / family(), beta, tails, question=question, beside=beside) if two else None,
        at,
        reached(at),
        tuple((count, reached(count)) for count in _counts(max(exact or 0, at))),
        dial(k, alpha, beta, beside, tails, question) if beside else None,
        dict(pilot or {}),
        cost,
        tuple(notes),
    )


def _counts(most: int) -> tuple[int, ...]:
    """Every number of lifetimes up to a little beyond what is needed, thinned out where there are many."""
    last = max(6, math.ceil(1.5 * most))
    return tuple(dict.fromkeys(round(one) for one in np.linspace(2, last, min(last - 1, 40))))
