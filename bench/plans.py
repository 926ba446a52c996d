"""Measure how many plans from short pilots have the power that they promise, or nearly.

Run as `python bench/plans.py`. Pilots are drawn from known populations. `perdure plan --pilot` estimates the lifetimes
that detect an effect with 90 % power, and new groups of that size show how often they do.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from perdure.log.model import Identity
from perdure.metrics.declare import Threshold
from perdure.metrics.measure import Measured
from perdure.metrics.score import Score
from perdure.stats.pilot import pilot_metrics
from perdure.stats.power import lifetimes_exact, redrawn_power

Array = npt.NDArray[np.float64]
EFFECTS = (0.5, 1.0)
MANY = 400_000
BARS = {"metric": Threshold(0.0, headline="log")}


def _failed(rng: np.random.Generator, size: int) -> Array:
    """Return values of which one in five fails, five sd below the others."""
    return rng.normal(size=size) - 5.0 * (rng.random(size) < 0.2)


def _outliers(rng: np.random.Generator, size: int) -> Array:
    """Return values of which one in ten comes from a population five times as wide."""
    return rng.normal(size=size) * np.where(rng.random(size) < 0.1, 5.0, 1.0)


def _collapsed(rng: np.random.Generator, size: int) -> Array:
    """Return values of which one in ten is eight sd below the others. 31 % of pilots of eleven miss them."""
    return rng.normal(size=size) - 8.0 * (rng.random(size) < 0.1)


POPULATIONS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "one in five failed": _failed,
    "skewed to the left": lambda rng, size: -rng.exponential(size=size),
    "log-normal, to the left": lambda rng, size: -np.exp(0.5 * rng.normal(size=size)),
    "10 % outliers, wide": _outliers,
    "10 % collapsed": _collapsed,
}


@dataclass(frozen=True)
class Held:
    """Results of plans for one effect in one population."""

    population: str
    effect: float
    """In sd of the population."""
    known: int
    """Lifetimes that a known spread of normal values would need."""
    planned: float
    """The median of the planned numbers."""
    holds: float
    """The share of plans with at least 80 % power."""
    as_promised: float
    """With at least 90 %."""
    plain_holds: float
    """The share with at least 80 %, had the pilot's sd been taken as it is."""


def held(name: str, population: Array, effect: float, pilots: int = 200, size: int = 11, seed: int = 1) -> Held:
    """Return the results of plans from `pilots` pilots of `size` lifetimes of `population`."""
    rng = np.random.default_rng(seed)
    population = (population - population.mean()) / population.std()

    @cache
    def real(lifetimes: int) -> float:
        return redrawn_power([population], effect, lifetimes, np.random.default_rng([seed, lifetimes]), resamples=8_000)

    planned, plain = [], []
    for values in population[rng.integers(len(population), size=(pilots, size))]:
        lives = [Score(Identity(str(index)), {"metric": Measured(float(value))}) for index, value in enumerate(values)]
        pilot = pilot_metrics(lives, BARS, size, detect={"metric": effect}, rng=rng)["metric"]
        assert pilot.lifetimes is not None, pilot
        assert pilot.plain is not None, pilot
        planned.append(pilot.lifetimes)
        plain.append(pilot.plain)
    powers = np.array([real(count) for count in planned])
    return Held(
        name,
        effect,
        lifetimes_exact(effect) or 0,
        float(np.median(planned)),
        float(np.mean(powers >= 0.8)),
        float(np.mean(powers >= 0.9)),
        float(np.mean([real(count) >= 0.8 for count in plain])),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pilots", type=int, default=400)
    parser.add_argument("--size", type=int, default=11)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    print(f"{options.pilots} pilots of {options.size} lifetimes each, seed {options.seed}; plans promise 90 % power")
    print(
        f"{'population':<24} {'effect':>6} {'known':>6} {'planned':>8} {'≥ 80 %':>7} {'≥ 90 %':>7} "
        f"{'sd as seen, ≥ 80 %':>19}"
    )
    for name, draw in POPULATIONS.items():
        population = draw(np.random.default_rng(options.seed), MANY)
        for effect in EFFECTS:
            result = held(name, population, effect, options.pilots, options.size, options.seed)
            print(
                f"{result.population:<24} {result.effect:>6g} {result.known:>6} "
                f"{result.planned:>8.0f} {result.holds:>7.1%} {result.as_promised:>7.1%} {result.plain_holds:>19.1%}",
                flush=True,
            )
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
