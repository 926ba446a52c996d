"""Correlate metrics: Spearman's rank correlation over lifetimes, by pair of metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
from msgspec import Struct, to_builtins

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.metrics.score import Score
from perdure.results import LeftOut
from perdure.stats.decide import values_of
from perdure.stats.interval import ALL_ORDERS, constant, exact_spearman_test, holm
from perdure.stats.model import Array, Document
from perdure.text import plural

_FEWEST = 3


class Correlation(Struct, frozen=True):
    """Two metrics over the lifetimes that have both. Unknown values are None, and `why` gives the reason."""

    first: str
    second: str
    n: int
    rho: float | None = None
    p: float | None = None
    """Two-sided."""
    p_holm: float | None = None
    why: str | None = None


class Correlations(Document, frozen=True):
    """Correlations of every pair of metrics.

    Attributes
    ----------
    pairs
        One correlation per pair.
    n
        Number of lifetimes.
    preset
        Preset of the scores.
    left_out
        Path and reason of lifetimes that were not used.
    """

    JSON: ClassVar = (
        *("perdure", "schema", "definitions", "preset", "n", "correlations:pairs", "left_out:excluded"),
        *("settings", "settings_from"),
    )

    pairs: tuple[Correlation, ...]
    n: int
    preset: str
    left_out: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Correlation]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return f"Correlations({len(self)} pairs of metrics over {self.n} lifetimes, preset {self.preset})"

    @property
    def excluded(self) -> tuple[LeftOut, ...]:
        """Logs that were given and not used."""
        return tuple(LeftOut(path, why) for path, why in self.left_out)

    def table(self) -> pl.DataFrame:
        """Return one row per pair."""
        kinds = {"first": pl.String(), "second": pl.String(), "n": pl.Int64(), "rho": pl.Float64(), "p": pl.Float64()}
        schema = {**kinds, "p_holm": pl.Float64(), "why": pl.String()}
        return pl.DataFrame(to_builtins(self.pairs), schema=schema)


def spearman_p(rho: float, n: int) -> float:
    """Return the two-sided p of a rank correlation, by Student's t with n − 2 degrees of freedom.

    Never below that of the one order in n! and its mirror that give a correlation of 1.
    """
    from scipy.special import stdtr  # type: ignore[import-untyped]

    if n <= 2:
        raise PerdureError(f"a correlation of {n} lifetimes has no p", "give three or more")
    least = 2 / math.factorial(n) if n < 20 else 0.0
    if abs(rho) >= 1:
        return least
    t = rho * math.sqrt((n - 2) / ((1 - rho) * (1 + rho)))
    return max(least, float(2 * stdtr(n - 2.0, -abs(t))))


def correlate(lives: Sequence[Score], metrics: Sequence[str]) -> tuple[Correlation, ...]:
    """Correlate every pair of metrics, in order; each over the lifetimes that have both values."""
    columns = {name: values_of(lives, name) for name in metrics}
    found = [_pair(first, second, columns) for first, second in combinations(metrics, 2)]
    tested = [one for one in found if one.p is not None]
    adjusted = dict(zip((id(one) for one in tested), holm([one.p or 0.0 for one in tested]), strict=True))
    return tuple(
        Correlation(one.first, one.second, one.n, one.rho, one.p, adjusted.get(id(one)), one.why) for one in found
    )


def _pair(first: str, second: str, columns: Mapping[str, Array]) -> Correlation:
    both = ~(np.isnan(columns[first]) | np.isnan(columns[second]))
    ours, theirs = columns[first][both], columns[second][both]
    n = len(ours)
    if n < _FEWEST:
        return Correlation(first, second, n, why=f"both in {plural(n, 'lifetime')}; a correlation needs {_FEWEST}")
    for name, values in ((first, ours), (second, theirs)):
        if constant(values):
            return Correlation(first, second, n, why=f"{name} is the same in all lifetimes that have both")
    from scipy import stats  # type: ignore[import-untyped]

    rho = float(np.clip(stats.spearmanr(ours, theirs).statistic, -1.0, 1.0))
    p = spearman_p(rho, n) if n > ALL_ORDERS else exact_spearman_test(ours, theirs)
    return Correlation(first, second, n, rho, p)
