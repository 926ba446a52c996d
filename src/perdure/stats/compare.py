"""Two systems, metric by metric: the difference, how sure it is, and how large."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from perdure.metrics.declare import Bar
from perdure.metrics.score import Score
from perdure.stats.exact import shared_out_test, sign_flip_test
from perdure.stats.model import LEVEL, Array
from perdure.stats.multiple import holm
from perdure.stats.order import almost_stochastic_order
from perdure.stats.pairing import Pairing, Want, pair
from perdure.stats.robust import probability_of_improvement
from perdure.stats.threshold import ALPHA, constant

__all__ = [
    "Comparison",
    "Difference",
    "Summary",
    "compare_lives",
    "compare_values",
    "decided",
    "hedges_g",
    "smallest_p",
]


@dataclass(frozen=True)
class Difference:
    """One metric of a system against a baseline; None is what could not be said, and `why` says why."""

    metric: str
    n: int
    baseline_n: int
    """The same as n where lifetimes are paired."""
    mean: float | None = None
    baseline_mean: float | None = None
    sd: float | None = None
    baseline_sd: float | None = None
    difference: float | None = None
    """System minus baseline, as measured: positive is larger, not necessarily better."""
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    test: str | None = None
    statistic: float | None = None
    p: float | None = None
    p_holm: float | None = None
    """Adjusted over the metrics that were tested."""
    permutation_p: float | None = None
    improvement: float | None = None
    """How likely a lifetime of the system does better than one of the baseline; ties count half."""
    cliffs_delta: float | None = None
    hedges_g: float | None = None
    """Both effect sizes are positive where the system does better."""
    order: float | None = None
    """Almost stochastic order: below 0.5 the system is almost always better. None unless asked for."""
    better: str = "higher"
    why: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The difference as one JSON object."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "metric"}


@dataclass(frozen=True)
class Summary:
    """One metric of one system by itself."""

    n: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True)
class Comparison:
    """A system against a baseline over all metrics they share."""

    system: str
    baseline: str
    scenario_type: str | None
    measure: str | None
    pairing: Pairing
    differences: Mapping[str, Difference] = field(hash=False)
    alone: Mapping[str, tuple[Summary, Summary]] = field(default_factory=dict, hash=False)
    """Metric → what each of the two is by itself, over all its lifetimes, with or without a partner."""
    only_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """System → metrics that the other has no value of."""
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def least_p(self) -> float:
        """The smallest p that any metric could have after Holm, whatever the lifetimes had shown."""
        tests = sum(one.p is not None for one in self.differences.values())
        return tests * smallest_p(len(self.pairing.ours), len(self.pairing.theirs), paired=self.pairing.paired)

    def as_json(self) -> dict[str, Any]:
        """The comparison as one JSON object, with the result of each metric in words."""
        from perdure.stats.words import sentence

        return {
            "system": self.system,
            "baseline": self.baseline,
            "scenario_type": self.scenario_type,
            "measure": self.measure,
            "paired": self.pairing.paired,
            "pairing": self.pairing.told,
            "n": len(self.pairing.ours),
            "baseline_n": len(self.pairing.theirs),
            "metrics": {
                name: {**one.as_json(), "sentence": sentence(one, self.system, self.baseline, self.least_p)}
                for name, one in self.differences.items()
            },
            "only_in": {name: list(metrics) for name, metrics in self.only_in.items()},
            "left_out": [{"id": name, "why": why} for name, why in self.left_out],
            "notes": list(self.notes),
        }


def compare_lives(
    ours: Sequence[Score],
    theirs: Sequence[Score],
    bars: Mapping[str, Bar],
    *,
    names: tuple[str, str] = ("A", "B"),
    paired: Want = "auto",
    level: float = LEVEL,
    order: bool = False,
    seed: int = 0,
) -> Comparison:
    """Every metric of `bars` that both systems have; Holm's adjustment runs over those that were tested."""
    pairing = pair(ours, theirs, paired)
    differences: dict[str, Difference] = {}
    only_in: dict[str, list[str]] = {names[0]: [], names[1]: []}
    for place, (metric, bar) in enumerate(bars.items()):
        mine, other = _column(pairing.ours, metric), _column(pairing.theirs, metric)
        there = (not np.isnan(mine).all(), not np.isnan(other).all())
        if there[0] != there[1]:
            only_in[names[0] if there[0] else names[1]].append(metric)
        if not all(there):
            continue
        differences[metric] = compare_values(
            mine,
            other,
            bar,
            metric,
            paired=pairing.paired,
            level=level,
            order=order,
            rng=np.random.default_rng([seed, place]),
        )
    tested = [name for name, one in differences.items() if one.p is not None]
    adjusted = holm([differences[name].p or 0.0 for name in tested])
    for name, p in zip(tested, adjusted, strict=True):
        differences[name] = replace(differences[name], p_holm=p)
    first = (*ours, *theirs)[0]
    return Comparison(
        names[0],
        names[1],
        first.scenario_type,
        first.measure,
        pairing,
        differences,
        {name: (_summary(ours, name), _summary(theirs, name)) for name in differences},
        {name: tuple(metrics) for name, metrics in only_in.items() if metrics},
        pairing.left_out,
        _too_few(pairing, len(tested)),
    )


def _summary(lives: Sequence[Score], metric: str) -> Summary:
    values = _column(lives, metric)
    known = values[~np.isnan(values)]
    return Summary(len(known), float(known.mean()) if len(known) else None, _sd(known) if len(known) > 1 else None)


def smallest_p(n: int, baseline_n: int, *, paired: bool) -> float:
    """What the clearest difference gives: a rank test knows only so many orders."""
    return float(2.0 ** (1 - n) if paired else 2 / math.comb(n + baseline_n, n))


def _too_few(pairing: Pairing, tests: int) -> tuple[str, ...]:
    """A warning where even the clearest difference could not pass."""
    n, m = len(pairing.ours), len(pairing.theirs)
    if not tests or smallest_p(n, m, paired=pairing.paired) * tests < ALPHA:
        return ()
    given = f"{n} pairs" if pairing.paired else f"{n} and {m} lifetimes"
    advice = "run more lifetimes" + (", or name fewer metrics" if tests > 1 else "")
    return (
        f"{given} and {tests} metric{'s' if tests > 1 else ''}: no p can fall below {ALPHA:g} after Holm; {advice}",
    )


def _column(lives: Sequence[Score], metric: str) -> Array:
    found = (life.values.get(metric) for life in lives)
    return np.array([math.nan if value is None else value for value in found], dtype=np.float64)


def compare_values(
    ours: Array,
    theirs: Array,
    bar: Bar | None = None,
    metric: str = "",
    *,
    paired: bool = False,
    level: float = LEVEL,
    order: bool = False,
    rng: np.random.Generator | None = None,
) -> Difference:
    """One metric of two systems; NaN stands for a lifetime without a value, and takes its partner with it."""
    bar, rng = bar or Bar(), rng or np.random.default_rng(0)
    given = len(ours), len(theirs)
    ours, theirs = _without_rounding(ours, theirs)
    if paired:
        both = ~(np.isnan(ours) | np.isnan(theirs))
        ours, theirs = ours[both], theirs[both]
    else:
        ours, theirs = ours[~np.isnan(ours)], theirs[~np.isnan(theirs)]
    why = _missing(given, (len(ours), len(theirs)), paired)
    made = Difference(metric, len(ours), len(theirs), level=level, better=bar.better, why=why)
    if not len(ours) or not len(theirs):
        return replace(made, why="no pair has both values" if paired else "a system has no value")
    made = replace(
        made,
        mean=float(ours.mean()),
        baseline_mean=float(theirs.mean()),
        difference=float(ours.mean() - theirs.mean()),
        improvement=_improvement(ours, theirs, bar, paired),
    )
    delta = 2 * probability_of_improvement(bar.sign * ours, bar.sign * theirs) - 1
    made = replace(made, cliffs_delta=delta)
    if len(ours) < 2 or len(theirs) < 2:
        return replace(made, why=_joined("one lifetime has no spread, so nothing is tested", why))
    made = replace(made, sd=_sd(ours), baseline_sd=_sd(theirs), hedges_g=hedges_g(ours, theirs, bar.sign))
    if order:
        made = replace(made, order=almost_stochastic_order(bar.sign * ours, bar.sign * theirs, rng))
    return _tested_pairs(made, ours - theirs, rng) if paired else _tested_apart(made, ours, theirs)


def _without_rounding(ours: Array, theirs: Array) -> tuple[Array, Array]:
    """Both to twelve digits: what the last bits of a float say is no difference between two systems."""
    known = np.abs(np.concatenate([ours, theirs]))
    unit = 1e-12 * max(1.0, float(np.nanmax(known, initial=0.0)))
    return np.round(ours / unit) * unit, np.round(theirs / unit) * unit


def _tested_pairs(made: Difference, differences: Array, rng: np.random.Generator) -> Difference:
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    n = len(differences)
    half = float(stdtrit(n - 1.0, 0.5 + made.level / 2)) * _sd(differences) / math.sqrt(n)
    middle = float(differences.mean())
    made = replace(made, low=middle - half, high=middle + half, test="Wilcoxon signed-rank")
    if constant(differences) and abs(middle) < 1e-12:
        return replace(made, p=1.0, permutation_p=1.0, why=_joined("the systems agree in every pair", made.why))
    statistic, p = _wilcoxon(differences)
    return replace(made, statistic=statistic, p=p, permutation_p=sign_flip_test(differences, rng))


def _wilcoxon(differences: Array) -> tuple[float, float]:
    from scipy import stats  # type: ignore[import-untyped]

    # Ties and zeros leave the exact table; SciPy then enumerates or approximates, by itself.
    found = stats.wilcoxon(differences)
    return float(found.statistic), float(found.pvalue)


def _tested_apart(made: Difference, ours: Array, theirs: Array) -> Difference:
    from scipy import stats
    from scipy.special import stdtrit

    parts = np.array([ours.var(ddof=1) / len(ours), theirs.var(ddof=1) / len(theirs)])
    made = replace(made, test="Mann–Whitney")
    middle = float(ours.mean() - theirs.mean())
    if parts.sum() > 0:
        # Welch: the systems need not be equally spread.
        freedom = parts.sum() ** 2 / float((parts**2 / np.array([len(ours) - 1, len(theirs) - 1])).sum())
        half = float(stdtrit(freedom, 0.5 + made.level / 2)) * math.sqrt(parts.sum())
        made = replace(made, low=middle - half, high=middle + half)
    else:
        made = replace(made, low=middle, high=middle, why=_joined("both systems have sd 0", made.why))
    found = stats.mannwhitneyu(ours, theirs, alternative="two-sided")
    p = shared_out_test(ours, theirs)
    return replace(made, statistic=float(found.statistic), p=float(found.pvalue) if p is None else p)


def hedges_g(ours: Array, theirs: Array, sign: float = 1.0) -> float | None:
    """The difference in pooled standard deviations, corrected for small n (Hedges 1981); None where both sd are 0."""
    freedom = len(ours) + len(theirs) - 2
    pooled = ((len(ours) - 1) * ours.var(ddof=1) + (len(theirs) - 1) * theirs.var(ddof=1)) / freedom
    if pooled <= 0 or (constant(ours) and constant(theirs)):
        return None
    return float(sign * (ours.mean() - theirs.mean()) / math.sqrt(pooled) * (1 - 3 / (4 * freedom - 1)))


def _improvement(ours: Array, theirs: Array, bar: Bar, paired: bool) -> float:
    if not paired:
        return probability_of_improvement(bar.sign * ours, bar.sign * theirs)
    ahead = bar.sign * (ours - theirs)
    return float(np.mean(ahead > 0) + np.mean(ahead == 0) / 2)


def _sd(values: Array) -> float:
    return 0.0 if constant(values) else float(values.std(ddof=1))


def _missing(given: tuple[int, int], used: tuple[int, int], paired: bool) -> str | None:
    lost = given[0] - used[0] if paired else given[0] - used[0] + given[1] - used[1]
    return f"{lost} {'pairs' if paired else 'lifetimes'} without a value are left out" if lost else None


def _joined(first: str, second: str | None) -> str:
    return f"{first}; {second}" if second else first


def decided(one: Difference) -> bool:
    """Whether the adjusted test tells the systems apart."""
    return one.p_holm is not None and one.p_holm < ALPHA
