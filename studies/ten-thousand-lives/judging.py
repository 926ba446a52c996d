"""What a paper would have said: the verdicts of many groups of lives at once, as the decision layer has them."""

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
    "Said",
    "among_lives",
    "expert_parts",
    "groups_of",
    "interval",
    "life_values",
    "questions",
    "said",
    "threshold",
]

HEADLINE = ("pm", "ft", "bt", "rp", "se")
PRESETS = ("standard", "baker-2023", "new-2022")
MARGIN = 5.0
"""Points of maintenance that `standard` allows."""
Array = Any


@dataclass(frozen=True)
class Said:
    """The intervals of groups, and where they lie: 1 met, −1 not met, 0 undecided."""

    mean: Array
    low: Array
    high: Array
    verdict: Array
    gains: Array
    """Whether all of the interval lies above the threshold itself; of maintenance that is more than keeping."""


def life_values(summed: Any, preset: str, metric: str, k: int) -> Array:
    """A value per life, on the scale that decides: logarithms of ratios for `standard`, as they are for the papers."""
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
    """Where lifelong learning begins, on the scale that decides."""
    if metric == "pm" or preset == "standard" or (preset == "new-2022" and metric in ("ft", "bt")):
        return 0.0
    return 1.0


def groups_of(values: Array, n: int) -> Array:
    """The first n lives of every whole group."""
    count = len(values) // GROUP
    return values[: count * GROUP].reshape(count, GROUP)[:, :n]


def among_lives(values: Array) -> Array:
    """The values less what a group's lives share, its experts: what is left differs as lives of one group do."""
    shared = groups_of(values, GROUP)
    left = (shared - shared.mean(axis=1, keepdims=True)) * np.sqrt(GROUP / (GROUP - 1))
    return left.ravel()


def expert_parts(summed: Any, metric: str, n: int, k: int) -> Array:
    """What the choice of k experts adds to the variance of a group's mean, task by task: groups × tasks."""
    count = len(summed["learned"]) // GROUP
    tasks = summed["experts"].shape[0]
    if metric == "se":
        spread = summed["se_spread"][:, LIVES.index(n), (MOST // 2, MOST).index(k)]
    else:
        experts = summed["experts"][:, : count * MOST].reshape(tasks, count, MOST)[:, :, :k]
        spread = experts.astype(np.float64).var(axis=-1, ddof=1).T
    return spread / (k * tasks**2)


def interval(values: Array, experts: Array | None, k: int, level: float) -> tuple[Array, Array]:
    """The mean of each group, and half the width of its interval; Satterthwaite's degrees of freedom."""
    known = np.isfinite(values)
    count = known.sum(axis=1)
    mean = np.where(known, values, 0).sum(axis=1) / np.maximum(count, 1)
    squares = (np.where(known, values - mean[:, None], 0) ** 2).sum(axis=1)
    freedom = np.maximum(count - 1, 1).astype(float)
    variance = squares / freedom / np.maximum(count, 1)
    if experts is not None:
        total = variance + experts.sum(axis=1)
        below = variance**2 / freedom + (experts**2).sum(axis=1) / (k - 1)
        freedom = np.where(below > 0, total**2 / np.where(below > 0, below, 1), freedom)
        variance = total
    half = stdtrit(freedom, 0.5 + level / 2) * np.sqrt(variance)
    return np.where(count > 0, mean, np.nan), np.where(count > 1, half, np.nan)


def said(summed: Any, preset: str, metric: str, n: int, k: int) -> Said:
    """What is said of every group with n lives and k experts."""
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
    return Said(mean, low, high, np.where(np.isfinite(half), verdict, 0), low > bar + tolerance)


def questions(preset: str, metric: str) -> list[tuple[int, int]]:
    """The numbers of lives and experts that are asked about; the experts do not matter to what has none."""
    some = EXPERTS if preset != "standard" or metric in ("rp", "se") else (5,)
    return [(n, k) for n in LIVES for k in some]
