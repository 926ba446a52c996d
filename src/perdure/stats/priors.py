"""How much lifetimes and experts differ, where there is no pilot: as they did in 360 000 lives.

`studies/ten-thousand-lives` lived six learners through three families of tasks in two layouts: 36 kinds of lives. A
test holds the numbers here to its results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from perdure.errors import PerdureError, closest, nearest
from perdure.metrics.efficiency import relative_performance, sample_efficiency
from perdure.metrics.engine.declare import METRICS
from perdure.metrics.engine.metric import AveragedAs
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.transfer import backward_transfer, forward_transfer
from perdure.stats.crossing import FEW_EXPERTS
from perdure.stats.dial import dial
from perdure.stats.pilot import PilotMetric, check_effect
from perdure.stats.power import ExpertSample, Question, lifetimes_exact, power, smallest_seen
from perdure.text import listed

Spread = tuple[float, float]
"""What half of the kinds of lives stayed below, and nine in ten of them."""


class Prior(Struct, frozen=True):
    """How one metric differed, on the scale that decides: points, or logarithms of ratios."""

    scale: AveragedAs
    lives: Spread
    """The sd of lifetimes of one learner, held against the same experts."""
    pairs: Spread
    """That of the differences of two learners' lifetimes of the same seed and order."""
    experts: Spread | None = None
    """That of the experts of one task."""


PRIORS: Mapping[str, Prior] = {
    performance_maintenance.name: Prior("linear", (3.5, 10.0), (3.6, 16.0)),
    forward_transfer.name: Prior("log", (0.18, 0.51), (0.15, 0.65)),
    backward_transfer.name: Prior("log", (0.061, 0.38), (0.085, 0.49)),
    relative_performance.name: Prior("log", (0.046, 0.17), (0.053, 0.41), (0.075, 0.18)),
    sample_efficiency.name: Prior("log", (0.19, 0.93), (0.2, 1.3), (0.33, 1.2)),
}
"""By metric, to two digits."""


def prior_metrics(
    detect: Mapping[str, float],
    lifetimes: int,
    *,
    question: Question = "threshold",
    alpha: float = 0.05,
    beta: float = 0.1,
    each: int = FEW_EXPERTS,
    tasks: int = 3,
) -> dict[str, PilotMetric]:
    """How many lifetimes, of each learner, show the effects in `detect`, if they differ as those of the study did.

    `sd` is what half of its kinds of lives stayed below and `sd_upper` what nine in ten did; nothing was redrawn.
    """
    found: dict[str, PilotMetric] = {}
    for given, effect in detect.items():
        name = METRICS.canonical(given)
        if name not in PRIORS:
            raise PerdureError(
                "how much its lifetimes differ is not known beforehand",
                nearest(name, PRIORS) if closest(name, PRIORS) else f"add a pilot, or choose {listed(PRIORS, 'or')}",
                where=given,
            )
        found[name] = _planned(name, effect, lifetimes, question, alpha, beta, each, tasks)
    return found


def _planned(
    name: str, wanted: float, lifetimes: int, question: Question, alpha: float, beta: float, each: int, tasks: int
) -> PilotMetric:
    prior, declared = PRIORS[name], METRICS.get(name)
    logs = prior.scale == "log"
    check_effect(name, wanted, logs=logs)
    effect = math.log(wanted) if logs else wanted
    sds = prior.pairs if question == "paired" else prior.lives
    besides = [
        None if prior.experts is None else ExpertSample(each, tasks, experts / sd)
        for sd, experts in zip(sds, prior.experts or sds, strict=True)
    ]
    counts = [
        lifetimes_exact(effect / sd, alpha, beta, question=question, beside=beside)
        for sd, beside in zip(sds, besides, strict=True)
    ]
    powers = [
        power(lifetimes, effect / sd, alpha, question=question, beside=beside)
        for sd, beside in zip(sds, besides, strict=True)
    ]
    smallest = smallest_seen(lifetimes, alpha, beta, question=question, beside=besides[1])
    away = None if smallest is None else smallest * sds[1]
    threshold = declared.threshold if question == "threshold" else None
    return PilotMetric(
        name,
        0,
        sd=sds[0],
        sd_upper=sds[1],
        scale=prior.scale,
        against=None if threshold is None else threshold - declared.margin,
        detect=wanted,
        k=effect / sds[0],
        plain=counts[0],
        upper=counts[1],
        lifetimes=counts[1],
        power_plain=powers[0],
        power_upper=powers[1],
        sees=math.exp(away) if logs and away is not None and away < 50 else None if logs else away,
        experts=None if besides[1] is None else each,
        dial=None if besides[1] is None else dial(effect / sds[1], alpha, beta, besides[1], "two", question),
    )
