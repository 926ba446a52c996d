"""Measure how often intervals cover the truth, the test errs, and plans hold.

Run as `python bench/coverage.py`. It simulates groups of lifetimes of a learner with known traits. The truth is the
value of the metric without noise. If the metric's mean differs from it, the metric is biased and its intervals cover
the wrong value. Experts are noiseless, so the truth is relative to these experts.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.log.model import Identity
from perdure.metrics import METRICS
from perdure.metrics.declare import Threshold
from perdure.metrics.measure import Measured
from perdure.metrics.score import Score
from perdure.scenario.model import Block, Scenario
from perdure.simulate import IdealLearner, metric_values, truth
from perdure.stats.interval import t_interval
from perdure.stats.pilot import pilot_metrics
from perdure.stats.power import power, redrawn_power

Array = npt.NDArray[np.float64]

LEARNER = IdealLearner(forgetting=0.2, forward=0.1, backward=0.05, noise=0.05, spread=0.2)
EXPERT = IdealLearner(pace=60)
TASKS = ("pong", "breakout", "freeway")
LONG_PILOT = 1000


@dataclass(frozen=True)
class Trust:
    """The promised and the measured properties of one metric."""

    metric: str
    truth: float
    """Value of the metric without noise."""
    bias: float
    """Mean of the metric over many lifetimes, minus the truth."""
    sd: float
    skewness: float
    covered: float
    """The share of nominal 95 % t intervals that hold the truth."""
    bootstrap_covered: float
    """The same of percentile-bootstrap intervals, for those who would rather use them."""
    met: float
    not_met: float
    """How often the deciding interval lies wholly above or below the truth, where 2.5 % each are promised."""
    power_normal: float
    """To see one standard deviation, if values were normal."""
    power_found: float
    """As it came out, at one standard deviation above the threshold."""
    planned: int
    """Lifetimes that see one standard deviation with 90 % power, as `perdure plan` says from a pilot of 1 000."""
    power_planned: float
    """The power that so many really have; `plans.py` asks the same of short pilots."""
    without_value: int


def scenario() -> Scenario:
    """Return a scenario of three tasks, each learned once, all evaluated before, between and after."""
    evaluation = [Block("evaluate", task, 10) for task in TASKS]
    phases = [[Block("learn", task, 100), *evaluation] for task in TASKS]
    return Scenario.of("condensed", [*evaluation, *(block for phase in phases for block in phase)])


def measured(
    groups: int = 2000,
    size: int = 11,
    truth_lives: int = 200_000,
    seed: int = 1,
    resamples: int = 1000,
) -> tuple[Trust, ...]:
    """Return every metric's results over `groups` groups of `size` lifetimes."""
    rng = np.random.default_rng(seed)
    causes = truth(LEARNER, scenario(), EXPERT, truth_lives, seed)
    true_values = metric_values(LEARNER, scenario(), truth_lives, rng, EXPERT)
    sampled = metric_values(LEARNER, scenario(), groups * size, rng, EXPERT)
    return tuple(
        _trust(
            name,
            float(_averaged(name, np.float64(causes[name]))),
            _averaged(name, true_values[name]),
            _averaged(name, sampled[name]).reshape(groups, size),
            rng,
            resamples,
        )
        for name in true_values
    )


def _averaged(name: str, values: Any) -> Any:
    """Return the values that are averaged over lifetimes: for a ratio, logarithms."""
    return np.log(values) if METRICS.get(name).scale == "log" else values


def _trust(
    name: str, cause: float, true_values: Array, groups: Array, rng: np.random.Generator, resamples: int
) -> Trust:
    known = true_values[~np.isnan(true_values)]
    mean_value, sd = float(known.mean()), float(known.std())
    n = (~np.isnan(groups)).sum(axis=1).astype(np.float64)
    mean, spread = np.nanmean(groups, axis=1), np.nanstd(groups, axis=1, ddof=1)
    low, high = t_interval(mean, spread, n, 0.95)
    complete = groups[n == groups.shape[1]]
    resampled = np.stack(
        [group[rng.integers(len(group), size=(resamples, len(group)))].mean(axis=1) for group in complete]
    )  # one row of means per group
    boot_low, boot_high = np.quantile(resampled, [0.025, 0.975], axis=1)
    size = groups.shape[1]
    # Power depends on the distance from the metric's mean, biased or not.
    lower, _ = t_interval(mean - (mean_value - sd), spread, n, 0.95)
    pilot = [
        Score(Identity(str(index)), {"metric": Measured(float(value))})
        for index, value in enumerate(known[:LONG_PILOT])
    ]
    plan = pilot_metrics(pilot, {"metric": Threshold(0.0, headline="log")}, size, detect={"metric": sd}, rng=rng)[
        "metric"
    ]
    assert plan.lifetimes is not None
    return Trust(
        name,
        cause,
        mean_value - cause,
        sd,
        float(((known - mean_value) ** 3).mean() / sd**3),
        float(np.mean((low <= cause) & (cause <= high))),
        float(np.mean((boot_low <= cause) & (cause <= boot_high))),
        float(np.mean(low > cause)),
        float(np.mean(high < cause)),
        power(size, 1.0),
        float(np.mean(lower > 0)),
        plan.lifetimes,
        redrawn_power([known], sd, plan.lifetimes, rng),
        int(np.isnan(groups).sum()),
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--size", type=int, default=11)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    rows = measured(options.groups, options.size, seed=options.seed)
    print(f"{options.groups} groups of {options.size} lifetimes, seed {options.seed}; {LEARNER}")
    print(
        f"{'metric':<24} {'truth':>8} {'bias':>7} {'sd':>7} {'skew':>6} {'covered':>8} {'bootstrap':>9} "
        f"{'met':>6} {'not met':>7} {'normal':>7} {'found':>6} {'planned':>7} {'has':>6}"
    )
    for row in rows:
        print(
            f"{row.metric:<24} {row.truth:>8.3f} {row.bias:>7.3f} {row.sd:>7.3f} {row.skewness:>6.2f} "
            f"{row.covered:>8.1%} {row.bootstrap_covered:>9.1%} {row.met:>6.1%} {row.not_met:>7.1%} "
            f"{row.power_normal:>7.1%} {row.power_found:>6.1%} {row.planned:>7} {row.power_planned:>6.1%}"
            + (f"  ({row.without_value} without a value)" if row.without_value else "")
        )
    print(
        "ratios as logarithms; truth: the value without noise; bias: how far the metric's own mean lies from it; "
        "covered: nominal 95 % t intervals that hold the truth; bootstrap: the same of percentile intervals; "
        "met, not met: intervals wholly above or below it; normal, found: power to see one sd if values were normal, "
        f"and in the groups; planned, has: lifetimes for 90 % by a pilot of {LONG_PILOT} lives, and their real power"
    )
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
