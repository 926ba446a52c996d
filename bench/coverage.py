"""Do the intervals cover, does the test err as often as it says, does the plan come true?

Run as `python bench/coverage.py`. Groups of lifetimes of a learner whose traits are known are simulated in memory;
the truth is the mean over many more lives. Experts are noiseless, so the truth is that beside these experts.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perdure.scenario.model import Block, Scenario
from perdure.simulate import IdealLearner, metric_values
from perdure.stats.power import power, rejection_rate
from perdure.stats.threshold import one_tailed_t, t_interval

Array = npt.NDArray[np.float64]

LEARNER = IdealLearner(forgetting=0.2, forward=0.1, backward=0.05, noise=0.05, spread=0.2)
EXPERT = IdealLearner(pace=60)
TASKS = ("pong", "breakout", "freeway")


@dataclass(frozen=True)
class Trust:
    """What was promised of one metric, and what came true."""

    metric: str
    truth: float
    sd: float
    skewness: float
    covered: float
    """The share of nominal 95 % t intervals that hold the truth."""
    bootstrap_covered: float
    """The same of percentile-bootstrap intervals, for those who would rather use them."""
    rejected: float
    """How often the one-tailed test at .05 rejects where the truth is the threshold."""
    power_planned: float
    power_redrawn: float
    """What redrawing a pilot of a thousand lives foretells, as `perdure plan --simulate` does."""
    power_found: float
    """At one standard deviation above the threshold."""
    without_value: int


def scenario() -> Scenario:
    """Three tasks, each learned once, all evaluated before, between and after."""
    evaluation = [Block("evaluate", task, 10) for task in TASKS]
    phases = [[Block("learn", task, 100), *evaluation] for task in TASKS]
    return Scenario.of("condensed", [*evaluation, *(block for phase in phases for block in phase)])


def measured(
    groups: int = 2000, size: int = 11, truth_lives: int = 200_000, seed: int = 1, resamples: int = 1000
) -> tuple[Trust, ...]:
    """Every metric over `groups` groups of `size` lifetimes."""
    rng = np.random.default_rng(seed)
    many = metric_values(LEARNER, scenario(), truth_lives, rng, EXPERT)
    drawn = metric_values(LEARNER, scenario(), groups * size, rng, EXPERT)
    return tuple(_trust(name, many[name], drawn[name].reshape(groups, size), rng, resamples) for name in many)


def _trust(name: str, many: Array, groups: Array, rng: np.random.Generator, resamples: int) -> Trust:
    known = many[~np.isnan(many)]
    truth, sd = float(known.mean()), float(known.std())
    n = (~np.isnan(groups)).sum(axis=1).astype(np.float64)
    mean, spread = np.nanmean(groups, axis=1), np.nanstd(groups, axis=1, ddof=1)
    low, high = t_interval(mean, spread, n, 0.95)
    whole = groups[n == groups.shape[1]]
    resampled = np.stack(
        [one[rng.integers(len(one), size=(resamples, len(one)))].mean(axis=1) for one in whole]
    )  # one row of means per group
    boot_low, boot_high = np.quantile(resampled, [0.025, 0.975], axis=1)
    size = groups.shape[1]
    return Trust(
        name,
        truth,
        sd,
        float(((known - truth) ** 3).mean() / sd**3),
        float(np.mean((low <= truth) & (truth <= high))),
        float(np.mean((boot_low <= truth) & (truth <= boot_high))),
        float(np.mean(one_tailed_t(mean, spread, n, truth)[1] < 0.05)),
        power(size, 1.0, 0.05, "one"),
        rejection_rate(known[:1000] - known[:1000].mean() + sd, 0.0, size, rng),
        float(np.mean(one_tailed_t(mean, spread, n, truth - sd)[1] < 0.05)),
        int(np.isnan(groups).sum()),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--size", type=int, default=11)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.perf_counter()
    rows = measured(given.groups, given.size, seed=given.seed)
    print(f"{given.groups} groups of {given.size} lifetimes, seed {given.seed}; {LEARNER}")
    print(
        f"{'metric':<24} {'truth':>8} {'sd':>7} {'skew':>6} {'covered':>8} {'bootstrap':>9} {'rejected':>8} "
        f"{'planned':>8} {'redrawn':>8} {'found':>7} {'no value':>8}"
    )
    for one in rows:
        print(
            f"{one.metric:<24} {one.truth:>8.3f} {one.sd:>7.3f} {one.skewness:>6.2f} {one.covered:>8.1%} "
            f"{one.bootstrap_covered:>9.1%} {one.rejected:>8.1%} "
            f"{one.power_planned:>8.1%} {one.power_redrawn:>8.1%} {one.power_found:>7.1%} "
            f"{one.without_value:>8}"
        )
    print(
        "covered: nominal 95 % t intervals that hold the truth; bootstrap: the same of percentile intervals; "
        "rejected: one-tailed t at .05 with the truth as threshold; planned, redrawn, found: power at one sd above the "
        "threshold by the noncentral t, by redrawing a pilot of 1 000 lives, and in the groups"
    )
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
