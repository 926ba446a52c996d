"""Several tests at once: p-values adjusted so that luck in one of them is not taken for a finding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given (Holm 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(one) for one in adjusted]


def bonferroni(p_values: Sequence[float]) -> list[float]:
    """Each p-value times their number, at most 1, in the order given."""
    return [min(1.0, float(one) * len(p_values)) for one in p_values]
