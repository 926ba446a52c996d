"""On 400 random sets statistics are those of SciPy, and of statsmodels, rliable and deep-significance if installed.

Sets are normal, skewed, or rounded until values tie; every agreement is to 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]
from tests.stats.lives import life, lives

from perdure.metrics.declare import Threshold
from perdure.metrics.score import Score
from perdure.stats.compare import Difference, compare_lives, with_secondary
from perdure.stats.correlate import correlate
from perdure.stats.decide import decide
from perdure.stats.interval import holm
from perdure.stats.robust import interquartile_mean, probability_of_improvement, violation_ratio

SETS = 400
PM = "performance_maintenance"
BAR = Threshold(0.0, headline="log")
CLOSE = 1e-9


def sets(fewest: int = 3, most: int = 25) -> Iterator[tuple[np.ndarray, np.ndarray, np.random.Generator]]:
    """Two samples of their own lengths, and what draws more."""
    rng = np.random.default_rng(20231)
    for number in range(SETS):
        n, m = rng.integers(fewest, most, size=2)
        ours, theirs = rng.normal(0.3, 1, n), rng.normal(0, rng.uniform(0.5, 3), m)
        if number % 3 == 1:
            ours, theirs = np.exp(ours), np.exp(theirs)
        if number % 3 == 2:
            ours, theirs = np.round(ours, 1), np.round(theirs, 1)
        yield ours, theirs, rng


def test_t_against_a_threshold_is_scipys() -> None:
    for ours, _, _ in sets():
        made = decide(lives([float(one) for one in ours]), PM, BAR)
        expected = stats.ttest_1samp(ours, 0.0)
        interval = expected.confidence_interval(0.95)
        found = (made.t, made.p, made.low, made.high)
        assert found == pytest.approx((expected.statistic, expected.pvalue, *interval), rel=CLOSE, abs=1e-12)


def test_the_papers_one_tailed_t_is_scipys() -> None:
    for ours, _, _ in sets():
        made = decide(lives([float(one) for one in ours], preset="baker-2023"), PM, BAR)
        expected = stats.ttest_1samp(ours, 0.0, alternative="greater")
        assert (made.t, made.p) == pytest.approx((expected.statistic, expected.pvalue), rel=CLOSE, abs=1e-12)


def test_welchs_test_is_scipys() -> None:
    for ours, theirs, _ in sets(fewest=13):
        found = compare_lives(_lives(ours), _lives(theirs), {PM: BAR}, paired="no").differences[PM]
        expected = stats.ttest_ind(ours, theirs, equal_var=False)
        numbers = (expected.statistic, expected.df, expected.pvalue)
        assert (found.statistic, found.df, found.p) == pytest.approx(numbers, rel=CLOSE, abs=1e-12)


def test_the_paired_test_is_scipys() -> None:
    # Few enough pairs that the flips counted beside the test take no time.
    for ours, _, rng in sets(most=10):
        partner = ours + rng.normal(0.2, 1, len(ours))
        found = compare_lives(_lives(ours), _lives(partner), {PM: BAR}, paired="yes").differences[PM]
        expected = stats.ttest_rel(ours, partner)
        numbers = (expected.statistic, expected.pvalue)
        assert (found.statistic, found.p) == pytest.approx(numbers, rel=CLOSE, abs=1e-12)


def test_u_is_scipys_where_nothing_is_tied() -> None:
    for at, (ours, theirs, rng) in enumerate(sets()):
        if at % 3 == 2:
            continue
        rank = with_secondary(_blank(), ours, theirs, 1.0, 1e-12, order=False, rng=rng)
        u = stats.mannwhitneyu(ours, theirs, alternative="two-sided")
        assert (rank.rank_p, rank.improvement) == pytest.approx(
            (u.pvalue, u.statistic / (len(ours) * len(theirs))), rel=CLOSE
        )
        assert probability_of_improvement(ours, theirs) == pytest.approx(
            u.statistic / (len(ours) * len(theirs)), rel=CLOSE
        )


def test_spearmans_rho_is_scipys_and_so_is_its_p_where_orders_are_too_many_to_count() -> None:
    for ours, _, rng in sets(fewest=11, most=40):
        other = ours + rng.normal(0, 1, len(ours))
        pairs = zip(ours, other, strict=True)
        both = [life(f"{at}", values={"a": float(a), "b": float(b)}) for at, (a, b) in enumerate(pairs)]
        (found,) = correlate(both, ["a", "b"])
        expected = stats.spearmanr(ours, other)
        assert (found.rho, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=CLOSE, abs=1e-12)


def test_the_interquartile_mean_is_scipys_trimmed_mean() -> None:
    for ours, _, _ in sets():
        assert float(interquartile_mean(ours)) == pytest.approx(stats.trim_mean(ours, 0.25), rel=CLOSE, abs=1e-12)


def test_the_interquartile_mean_and_improvement_are_rliables() -> None:
    theirs_metrics = pytest.importorskip("rliable.metrics", reason="rliable is not installed")
    for ours, theirs, _ in sets():
        mean = theirs_metrics.aggregate_iqm(ours[:, np.newaxis])
        assert float(interquartile_mean(ours)) == pytest.approx(mean, rel=CLOSE, abs=1e-12)
        better = theirs_metrics.probability_of_improvement(ours[:, np.newaxis], theirs[:, np.newaxis])
        assert probability_of_improvement(ours, theirs) == pytest.approx(float(better), rel=CLOSE)


def test_holm_is_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    for ours, _, _ in sets():
        p = stats.norm.sf(np.abs(ours))
        assert holm([float(one) for one in p]) == pytest.approx(multitest.multipletests(p, method="holm")[1], rel=CLOSE)


def test_holm_is_the_smallest_level_at_which_stepping_down_rejects() -> None:
    """The procedure itself, level by level, where no other implementation is at hand."""
    for ours, _, _ in sets():
        p = stats.norm.sf(np.abs(ours))
        for at, adjusted in enumerate(holm([float(one) for one in p])):
            if adjusted < 1:
                assert _steps_down(p, adjusted + CLOSE)[at]
            assert not _steps_down(p, adjusted - CLOSE)[at]


def test_the_violation_ratio_is_that_of_deep_significance() -> None:
    aso = pytest.importorskip("deepsig.aso", reason="deep-significance is not installed")
    for ours, theirs, _ in sets(most=12):
        # Its quantile functions are flat between these points, so that the sum is the integral.
        cells = len(ours) * len(theirs)
        points = (np.arange(cells) + 0.5) / cells
        gap = aso.get_quantile_function(ours)(points) - aso.get_quantile_function(theirs)(points)
        expected = (gap[gap < 0] ** 2).sum() / (gap**2).sum() if gap.any() else 0.5
        assert float(violation_ratio(ours, theirs)) == pytest.approx(expected, rel=CLOSE, abs=1e-12)
    # Its own sum is over a grid, and drops the first point: as close as the grid is fine.
    ours, theirs = np.array([0.1, 0.9, 1.4, 2.0]), np.array([0.4, 0.6, 1.0, 2.5, 0.2])
    near = aso.compute_violation_ratio(ours, theirs, dt=1e-4)
    assert float(violation_ratio(ours, theirs)) == pytest.approx(near, abs=1e-3)


def _lives(values: np.ndarray) -> tuple[Score, ...]:
    return lives([float(one) for one in values])


def _blank() -> Difference:
    return Difference(PM, 0, 0)


def _steps_down(p: np.ndarray, level: float) -> np.ndarray:
    """Holm 1979: from the smallest p on, reject while p ≤ level over the number that is left."""
    rejected = np.zeros(len(p), dtype=bool)
    for step, at in enumerate(np.argsort(p, kind="stable")):
        if p[at] > level / (len(p) - step):
            break
        rejected[at] = True
    return rejected
