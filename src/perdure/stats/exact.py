"""Tests that try every way it could have come out: signs flipped, values shared out, orders changed."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain, combinations, permutations

import numpy as np
import numpy.typing as npt

from perdure.stats.model import Array

ALL_ORDERS = 8
"""Lifetimes; up to here all n! orders are tried, for Student's t is far off there."""
_ALL_SIGNS = 16  # pairs; up to here all 2ⁿ signs are
_WAYS = 50_000  # of sharing values out between two systems; up to here all are
_FLIPS = 9999


def sign_flip_test(differences: Array, rng: np.random.Generator, flips: int = _FLIPS) -> float:
    """Two-sided permutation test of paired differences: how rare so large a mean is when signs are luck.

    Exact up to 16 pairs; beyond that from `flips` random draws, the observed one counted in.
    """
    n = len(differences)
    observed = abs(float(differences.sum()))
    enough = observed * (1 - 1e-12)  # rounding must not turn the observed sum into a larger one
    if n <= _ALL_SIGNS:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(signs @ differences) >= enough))
    octets = -(-n // 8)
    drawn = np.frombuffer(rng.bytes(flips * octets), dtype=np.uint8).reshape(flips, octets)
    flipped = np.unpackbits(drawn, axis=1, count=n).astype(np.float64) @ differences
    beyond = int(np.count_nonzero(np.abs(differences.sum() - 2 * flipped) >= enough))
    return (beyond + 1) / (flips + 1)


def shared_out_test(ours: Array, theirs: Array) -> float | None:
    """Two-sided p over all ways to share the values out, where some are tied and all ways can be tried.

    SciPy takes the normal approximation as soon as values are tied, which two lifetimes may pass and no
    sharing out could.
    """
    together = np.concatenate([ours, theirs])
    ways = math.comb(len(together), len(ours))
    if ways > _WAYS or len(set(together.tolist())) == len(together):
        return None
    ordered = np.sort(together)
    ranks = (np.searchsorted(ordered, together, "left") + np.searchsorted(ordered, together, "right")) / 2.0
    chosen = np.fromiter(chain.from_iterable(combinations(range(len(together)), len(ours))), np.intp)
    sums = ranks[chosen].reshape(ways, len(ours)).sum(axis=1)
    away = np.abs(sums - sums.mean())
    return float(np.mean(away >= abs(float(ranks[: len(ours)].sum()) - float(sums.mean())) - 1e-9))


def reordered_test(ours: Array, theirs: Array) -> float:
    """The share of all orders of one column that correlate with the other as strongly as the one found."""
    from scipy import stats  # type: ignore[import-untyped]

    first, second = (ranks - ranks.mean() for ranks in (stats.rankdata(ours), stats.rankdata(theirs)))
    found = abs(float((first * second).sum()))
    return float(np.mean(np.abs((second[_orders(len(second))] * first).sum(axis=1)) >= found - 1e-9))


@lru_cache(maxsize=ALL_ORDERS)
def _orders(n: int) -> npt.NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)
