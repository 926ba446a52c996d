"""The interval of a mean by Student's t, and the sign test."""

from __future__ import annotations

import numpy as np

from perdure.stats.model import Array

__all__ = ["ALPHA", "constant", "sign_test", "t_interval", "two_sided_sign_test"]

ALPHA = 0.05
_ROUNDING = 1e-12  # values that differ by less than this share of their size are the same value


def t_interval(mean: Array | float, sd: Array | float, n: Array | float, level: float) -> tuple[Array, Array]:
    """The t interval of a mean. At five lifetimes a percentile bootstrap would cover 83 % where it says 95 %."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    half = stdtrit(np.asarray(n) - 1.0, 0.5 + level / 2) * np.asarray(sd) / np.sqrt(n)
    return np.asarray(mean - half), np.asarray(mean + half)


def sign_test(above: int, n: int) -> float:
    """How likely it is that `above` or more of `n` lie beyond a threshold that is the median."""
    from scipy.special import bdtrc

    return float(bdtrc(above - 1, n, 0.5)) if above else 1.0


def two_sided_sign_test(differences: Array) -> float:
    """How likely so uneven a share of signs is by chance; what lies at 0 speaks for neither side."""
    above, below = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    return min(1.0, 2 * sign_test(max(above, below), above + below)) if above + below else 1.0


def constant(values: Array) -> bool:
    """Whether all values are the same up to rounding, so that their sd means nothing."""
    size = max(1.0, float(np.abs(values).max()))
    return float(values.max() - values.min()) <= _ROUNDING * size
