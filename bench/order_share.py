"""Does the interval of the share of the order of tasks contain the true share?

Run as `python bench/order_share.py`. Groups of lifetimes are drawn with a known variance between orders and within
them, from values that are normal, skewed, or collapse in one lifetime of ten.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

from perdure.log.model import Identity
from perdure.metrics.measure import Measured
from perdure.metrics.score import Score
from perdure.stats.decide import Sample
from perdure.stats.spread import spread_of

Array = npt.NDArray[np.float64]
SIZES = ((5, 5), (9, 2), (4, 4, 4), (4, 3, 2), (12, 2, 2), (2, 3, 4, 5, 6, 7, 8, 9, 10))
SHARES = (0.0, 0.2, 0.5, 0.9)
SHAPES = ("normal", "skewed", "collapsing")


def noise(shape: str, count: int, rng: np.random.Generator) -> Array:
    """Return values with mean 0 and variance 1."""
    if shape == "skewed":
        variance = np.exp(0.64)
        return np.asarray((rng.lognormal(0, 0.8, count) - np.exp(0.32)) / np.sqrt((variance - 1) * variance))
    values = rng.normal(size=count)
    return values if shape == "normal" else (values + 1 - 10.0 * (rng.random(count) < 0.1)) / np.sqrt(10)


def coverage(shape: str, sizes: tuple[int, ...], share: float, groups: int, seed: int = 1) -> tuple[float, float]:
    """Return the shares of groups whose interval contains `share`, and whose interval is above 0."""
    rng = np.random.default_rng(seed)
    lives = [
        Score(Identity(f"{order}-{number}", order=(str(order),)), {"metric": Measured(0.0)})
        for order, size in enumerate(sizes)
        for number in range(size)
    ]
    held = above = 0
    for _ in range(groups):
        effects = np.repeat(rng.normal(0, np.sqrt(share), len(sizes)), sizes)
        values = effects + np.sqrt(1 - share) * noise(shape, len(lives), rng)
        spread = spread_of(Sample(values, "linear"), lives, "metric")
        assert spread.low is not None
        assert spread.high is not None
        held += spread.low <= share <= spread.high
        above += spread.low > 0
    return held / groups, above / groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1000)
    groups = parser.parse_args().groups
    print("contains the true share (is above 0)".rjust(60))
    print(f"{'values':11}{'lifetimes per order':22}" + "".join(f"{share:>15.0%}" for share in SHARES))
    for shape in SHAPES:
        for sizes in SIZES:
            cells = (coverage(shape, sizes, share, groups) for share in SHARES)
            row = "".join(f"{held:>7.1%} ({above:>5.1%})" for held, above in cells)
            print(f"{shape:11}{' '.join(map(str, sizes)):22}{row}", flush=True)


if __name__ == "__main__":
    main()
