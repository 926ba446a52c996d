"""The sample-size rule of Baker et al. 2023, for `lifetimes = "auto"` in protocols and for plans."""

from __future__ import annotations

import math
from statistics import NormalDist

from perdure.errors import PerdureError


def lifetimes_by_rule(k: float, alpha: float = 0.05, beta: float = 0.1, *, unpaired: bool = False) -> int:
    """Return `ceil(((z₁₋α⸝₂ + z₁₋β)/k)²)`, the rule of Baker et al. 2023, App. D: 11 for k = 1, α = .05, β = .1.

    It treats the sd as known, so it is slightly below the number that the test needs. Unpaired learners need twice as
    many.
    """
    check_rates(k, alpha, beta)
    quantile = NormalDist().inv_cdf
    least = ((quantile(alpha / 2) + quantile(beta)) / k) ** 2 * (2 if unpaired else 1)
    # Rounding of the quantiles must not turn an effect for which n lifetimes just suffice into n + 1.
    return max(1, math.ceil(least * (1 - 1e-12)))


def check_rates(k: float, alpha: float, beta: float) -> None:
    """Refuse an effect that is not positive, and error rates of a test without information."""
    if not (math.isfinite(k) and k > 0):
        raise PerdureError(f"k is {k:g}", "give the effect to detect as a positive number of standard deviations")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value < 1:
            raise PerdureError(f"{name} is {value:g}", "give an error rate between 0 and 1")
    if alpha + beta >= 1:
        raise PerdureError(f"alpha {alpha:g} and beta {beta:g} add up to 1 or more", "choose smaller ones")
