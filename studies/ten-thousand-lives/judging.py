"""Verdicts of many groups of lifetimes at once, by the rules of the decision layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit
from summaries import EXPERTS, GROUP, LIVES, MOST

__all__ = [
    "HEADLINE",
    "MARGIN",
    "PRESETS",
    "Verdicts",
    "among_lives",
    "expert_parts",
    "groups_of",
    "interval",
    "life_values",
    "questions",
    "threshold",
    "verdicts_on",
]

HEADLINE = ("pm", "ft", "bt", "rp", "se")
PRESETS = ("standard", "baker-2023", "new-2022")
MARGIN = 5.0
"""Points of maintenance that `standard` allows."""
Array = Any


@dataclass(frozen=True)
class Verdicts:
    """Intervals of groups and their verdicts: 1 met, −1 not met, 0 undecided."""

    mean: Array
    low: Array
    high: Array
    verdict: Array
    gains: Array
    """Whether all of the interval lies above the threshold itself; of maintenance that is more than keeping."""


def life_values(summed: Any, preset: str, metric: str, k: int) -> Array:
    """Return a value per lifetime on the deciding scale: logarithms of ratios for `standard`, raw for the papers."""
    if preset != "standard":
        name = preset.partition("-")[0]
        return summed[f"{'baker' if metric == 'rp' else name}_{k}_{metric}"].astype(np.float64)
    if metric == "rp":
        lives = len(summed["learned"])
        first = np.arange(lives) // GROUP * MOST
        experts = np.stack([summed["experts"][:, first + expert] for expert in range(k)]).mean(axis=0)
        return (summed["learned"] - experts.T).mean(axis=1).astype(np.float64)
    return summed[f"se_{k}" if metric == "se" else metric].astype(np.float64)


def threshold(preset: str, metric: str) -> float:
    """Return the threshold of lifelong learning on the deciding scale."""
    if metric == "pm" or preset == "standard" or (preset == "new-2022" and metric in ("ft", "bt")):
        return 0.0
    return 1.0


def groups_of(values: Array, n: int) -> Array:
    """Return the first n lifetimes of every complete group."""
    count = len(values) // GROUP
    return values[: count * GROUP].reshape(count, GROUP)[:, :n]


def among_lives(values: Array) -> Array:
    """Return the values minus the contribution of the group's shared experts."""
    shared = groups_of(values, GROUP)
    left = (shared - shared.mean(axis=1, keepdims=True)) * np.sqrt(GROUP / (GROUP - 1))
    return left.ravel()


def expert_parts(summed: Any, metric: str, n: int, k: int) -> Array:
    """Return the variance that the choice of k experts adds to a group's mean by task: groups × tasks."""
    count = len(summed["learned"]) // GROUP
    tasks = summed["experts"].shape[0]
    if metric == "se":
        spread = summed["se_spread"][:, LIVES.index(n), (MOST // 2, MOST).index(k)]
    else:
        experts = summed["experts"][:, : count * MOST].reshape(tasks, count, MOST)[:, :, :k]
        spread = experts.astype(np.float64).var(axis=-1, ddof=1).T
    return spread / (k * tasks**2)


def interval(values: Array, experts: Array | None, k: int, level: float) -> tuple[Array, Array]:
    """Return the mean of each group and half the width of its interval.

    Degrees of freedom are Satterthwaite's. With 3 or 4 lifetimes and experts, the quantiles of both are weighted by
    their variances instead.
    """
    known = np.isfinite(values)
    count = known.sum(axis=1)
    mean = np.where(known, values, 0).sum(axis=1) / np.maximum(count, 1)
    squares = (np.where(known, values - mean[:, None], 0) ** 2).sum(axis=1)
    freedom = np.maximum(count - 1, 1).astype(float)
    variance = squares / freedom / np.maximum(count, 1)
    quantile = stdtrit(freedom, 0.5 + level / 2)
    if experts is not None:
        of_experts = experts.sum(axis=1)
        below = (experts**2).sum(axis=1) / (k - 1)
        expert_freedom = np.where(below > 0, of_experts**2 / np.where(below > 0, below, 1), 1)
        total = variance + of_experts
        below += variance**2 / freedom
        freedom = np.where(below > 0, total**2 / np.where(below > 0, below, 1), freedom)
        weighted = variance * quantile + of_experts * stdtrit(expert_freedom, 0.5 + level / 2)
        few = (count < 5) & (total > 0)
        quantile = np.where(few, weighted / np.where(few, total, 1), stdtrit(freedom, 0.5 + level / 2))
        variance = total
    half = quantile * np.sqrt(variance)
    return np.where(count > 0, mean, np.nan), np.where(count > 1, half, np.nan)


def verdicts_on(summed: Any, preset: str, metric: str, n: int, k: int) -> Verdicts:
    """Return the verdict on every group with n lifetimes and k experts."""
    values = groups_of(life_values(summed, preset, metric, k), n)
    standard = preset == "standard"
    with_experts = standard and metric in ("rp", "se")
    few = with_experts and k < 3
    parts = expert_parts(summed, metric, n, k) if with_experts and not few else None
    mean, half = interval(values, parts, k, 0.95 if standard else 0.90)
    if few:
        half = np.full_like(half, np.nan)  # too few experts: a value, and nothing decided
    bar = threshold(preset, metric)
    less = bar - (MARGIN if standard and metric == "pm" else 0.0)
    tolerance = 1e-7 if metric == "pm" or not standard else 1e-9
    low, high = mean - half, mean + half
    verdict = np.where(low > less + tolerance, 1, np.where(high < less - tolerance, -1, 0))
    return Verdicts(mean, low, high, np.where(np.isfinite(half), verdict, 0), low > bar + tolerance)


def questions(preset: str, metric: str) -> list[tuple[int, int]]:
    """Yield the numbers of lifetimes and experts to examine; one number of experts if the metric has none."""
    some = EXPERTS if preset != "standard" or metric in ("rp", "se") else (5,)
    return [(n, k) for n in LIVES for k in some]
