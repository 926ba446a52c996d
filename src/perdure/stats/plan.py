"""Planning an evaluation: how many lifetimes, what a pilot says of each metric, and what it all costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from perdure.errors import PerdureError
from perdure.metrics.declare import METRICS, Bar
from perdure.metrics.score import Score
from perdure.stats.estimate import defined
from perdure.stats.model import Array
from perdure.stats.power import PowerPoint, curve, lifetimes_exact, lifetimes_normal, power, rejection_rate
from perdure.stats.threshold import constant, t_interval

__all__ = ["Cost", "PilotMetric", "Plan", "PowerBy", "make_plan", "pilot_metrics", "spread_known"]

PowerBy = Literal["normal", "redrawn"]
_ENOUGH_TO_REDRAW = 10  # pilot lifetimes; fewer do not know their own shape


@dataclass(frozen=True)
class PilotMetric:
    """What a pilot says of one metric; None is what could not be said, and `why` says why."""

    metric: str
    n: int
    mean: float | None = None
    sd: float | None = None
    threshold: float | None = None
    detect: float | None = None
    """The distance to be seen, in the metric's own unit."""
    k: float | None = None
    """The same in standard deviations."""
    lifetimes: int | None = None
    exact_two_sided: int | None = None
    exact_one_sided: int | None = None
    half_width: float | None = None
    """Of the 95 % interval at the planned number of lifetimes."""
    skewness: float | None = None
    power: float | None = None
    """One-sided, at the planned number of lifetimes: what is foretold."""
    power_by: PowerBy | None = None
    """By the noncentral t, which takes values as normal, or, where the pilot is skewed, from its values redrawn."""
    simulated_power: float | None = None
    """From the pilot's own values, redrawn, whatever their shape."""
    simulated_error: float | None = None
    """How often redrawn values pass the test by luck, where 5 % are promised; wherever they were redrawn."""
    why: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The metric as one JSON object."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "metric"}


@dataclass(frozen=True)
class Cost:
    """What the planned lifetimes and their experts come to."""

    lives: int
    experts: int
    life_experiences: int
    expert_experiences: int
    seconds_per_experience: float | None = None
    """From the pilot's timestamps; None without them."""
    machines: int = 1
    longest: int = 0
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


@dataclass(frozen=True)
class Plan:
    """How many lifetimes an effect of k standard deviations needs, and what that many can see."""

    k: float
    alpha: float
    beta: float
    lifetimes: int
    """By the rule of Baker et al. 2023."""
    exact_two_sided: int
    exact_one_sided: int
    power_at: PowerPoint
    """At `lifetimes`, or at the number that was asked for."""
    curve: tuple[PowerPoint, ...]
    pilot: Mapping[str, PilotMetric] = field(default_factory=dict, hash=False)
    cost: Cost | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The plan as one JSON object, as `plan.schema.json` describes it."""
        from perdure import __version__

        return {
            "perdure": __version__,
            "k": self.k,
            "alpha": self.alpha,
            "beta": self.beta,
            "lifetimes": self.lifetimes,
            "exact_two_sided": self.exact_two_sided,
            "exact_one_sided": self.exact_one_sided,
            "power_at": self.power_at.as_json(),
            "curve": [point.as_json() for point in self.curve],
            "pilot": {name: one.as_json() for name, one in self.pilot.items()} or None,
            "cost": self.cost.as_json() if self.cost else None,
            "notes": list(self.notes),
        }


def make_plan(
    k: float = 1.0,
    alpha: float = 0.05,
    beta: float = 0.1,
    *,
    lifetimes: int | None = None,
    pilot: Mapping[str, PilotMetric] | None = None,
    cost: Cost | None = None,
    notes: Sequence[str] = (),
) -> Plan:
    """The plan for an effect of `k` standard deviations; `lifetimes` asks what a given number could see."""
    if lifetimes is not None and lifetimes < 2:
        raise PerdureError(f"{lifetimes} lifetimes have no spread; plan for two or more")
    rule = lifetimes_normal(k, alpha, beta)
    two, one = (lifetimes_exact(k, alpha, beta, "two"), lifetimes_exact(k, alpha, beta, "one"))
    at = lifetimes or max(rule, 2)
    return Plan(
        k,
        alpha,
        beta,
        rule,
        two,
        one,
        PowerPoint(at, power(at, k, alpha, "two"), power(at, k, alpha, "one")),
        curve(k, alpha, _counts(max(two, at))),
        dict(pilot or {}),
        cost,
        tuple(notes),
    )


def _counts(most: int) -> tuple[int, ...]:
    """Every number of lifetimes up to a little beyond what is needed, thinned out where there are many."""
    last = max(6, math.ceil(1.5 * most))
    return tuple(dict.fromkeys(round(one) for one in np.linspace(2, last, min(last - 1, 40))))


def pilot_metrics(
    lives: Sequence[Score],
    bars: Mapping[str, Bar],
    lifetimes: int,
    *,
    alpha: float = 0.05,
    beta: float = 0.1,
    detect: Mapping[str, float] | None = None,
    simulate: bool = False,
    rng: np.random.Generator | None = None,
) -> dict[str, PilotMetric]:
    """What a pilot's lifetimes say of every metric with a threshold.

    The distance to be seen is that of the pilot's mean from the threshold less its margin, or the one
    given in `detect`. Power is that of normal values, unless the pilot is skewed beyond doubt: then groups
    are redrawn from its own values. With `simulate` they are for every metric, and the error rate is found too.
    """
    rng = rng or np.random.default_rng(0)
    wanted = {METRICS.canonical(name): distance for name, distance in (detect or {}).items()}
    unknown = set(wanted) - set(bars)
    if unknown:
        raise PerdureError(f"{', '.join(sorted(unknown))}: not among the pilot's metrics ({', '.join(bars)})")
    return {
        name: _pilot(name, lives, bar, lifetimes, alpha, beta, wanted.get(name), rng, simulate)
        for name, bar in bars.items()
        if bar.threshold is not None or name in wanted
    }


def _pilot(
    name: str,
    lives: Sequence[Score],
    bar: Bar,
    lifetimes: int,
    alpha: float,
    beta: float,
    wanted: float | None,
    rng: np.random.Generator,
    simulate: bool,
) -> PilotMetric:
    values = defined(lives, name)
    n = len(values)
    if n < 2:
        return PilotMetric(name, n, why=f"{n} of {len(lives)} pilot lifetimes have a value; a spread needs two")
    mean = float(values.mean())
    if constant(values):
        return PilotMetric(name, n, mean, 0.0, bar.threshold, why="the pilot has no spread (sd 0), so k is not known")
    sd = float(values.std(ddof=1))
    low, high = t_interval(0.0, sd, lifetimes, 0.95)
    half = float(high - low) / 2
    passing = None if bar.threshold is None else bar.threshold - bar.sign * bar.margin
    away = bar.sign * (mean - passing) if passing is not None else None
    seen = wanted if wanted is not None else away
    assert seen is not None
    if seen <= 1e-12 * max(1.0, abs(mean)):
        return PilotMetric(
            name, n, mean, sd, bar.threshold, seen, seen / sd, half_width=half,
            why="the pilot does not lie beyond the threshold, so no number of lifetimes would show that it does",
        )  # fmt: skip
    k = seen / sd
    try:
        rule = max(2, lifetimes_normal(k, alpha, beta))
        two, one = lifetimes_exact(k, alpha, beta, "two"), lifetimes_exact(k, alpha, beta, "one")
    except PerdureError as problem:
        return PilotMetric(name, n, mean, sd, bar.threshold, seen, k, half_width=half, why=str(problem))
    skewness, uncertainty = _skewness(values)
    skewed = n >= _ENOUGH_TO_REDRAW and abs(skewness) > 2 * uncertainty
    foretold, simulated, error = power(lifetimes, k, alpha, "one"), None, None
    if simulate or skewed:
        # Values drawn again from n have a smaller spread than those n were drawn from.
        centred = (values - mean) * math.sqrt(n / (n - 1))
        redrawn = rejection_rate(centred + bar.sign * seen, 0.0, lifetimes, rng, alpha=alpha, sign=bar.sign)
        foretold = redrawn if skewed else foretold
        simulated = redrawn if simulate else None
        error = rejection_rate(centred, 0.0, lifetimes, rng, alpha=alpha, sign=bar.sign)
    return PilotMetric(
        name,
        n,
        mean,
        sd,
        bar.threshold,
        seen,
        k,
        rule,
        two,
        one,
        half,
        skewness,
        foretold,
        "redrawn" if skewed else "normal",
        simulated,
        error,
    )


def spread_known(n: int, level: float = 0.95) -> tuple[float, float]:
    """Between which multiples of the sd of n normal values their true one lies, with confidence `level`."""
    from scipy.special import chdtri  # type: ignore[import-untyped]

    freedom = n - 1.0
    least, most = chdtri(freedom, (1 - level) / 2), chdtri(freedom, (1 + level) / 2)
    return math.sqrt(freedom / float(least)), math.sqrt(freedom / float(most))


def _skewness(values: Array) -> tuple[float, float]:
    """A sample's skewness, corrected for its size (Joanes and Gill 1998, G₁), and its standard error; 0 of two."""
    n = len(values)
    if n < 3:
        return 0.0, math.inf
    centred = values - values.mean()
    biased = float((centred**3).mean()) / float((centred**2).mean()) ** 1.5
    corrected = biased * math.sqrt(n * (n - 1)) / (n - 2)
    return corrected, math.sqrt(6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))
