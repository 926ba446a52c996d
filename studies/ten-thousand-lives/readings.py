"""The tables of `results/`, and statistics computed from them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

HERE = Path(__file__).parent
NAMES = {"pm": "PM", "ft": "FT", "bt": "BT", "rp": "RP", "se": "SE"}
PRESETS = ("standard", "baker-2023", "new-2022")
LIVES, EXPERTS = (3, 5, 11, 30), (1, 2, 5, 10)
PARTS = ("seed", "order", "evaluation")
TABLE_15 = {
    ("pm", "ft"): 0.06,
    ("pm", "bt"): 0.33,
    ("pm", "rp"): -0.20,
    ("pm", "se"): -0.25,
    ("ft", "bt"): -0.09,
    ("ft", "rp"): 0.45,
    ("ft", "se"): 0.01,
    ("bt", "rp"): -0.15,
    ("bt", "se"): -0.16,
    ("rp", "se"): 0.36,
}
"""Spearman's correlations over the lifetimes of Baker et al. 2023, Table 15: about 80, as their p values say."""
PUBLISHED_48 = {
    ("pm", "ft"): -0.55,
    ("pm", "bt"): 0.80,
    ("pm", "rp"): -0.53,
    ("pm", "se"): 0.22,
    ("ft", "bt"): -0.57,
    ("ft", "rp"): 0.56,
    ("ft", "se"): -0.17,
    ("bt", "rp"): -0.48,
    ("bt", "se"): 0.21,
    ("rp", "se"): 0.10,
}
"""The same over the 48 lifetimes that l2metrics publishes with their scores: one learner, half of them condensed."""


class Results:
    """The tables, each read on first use."""

    def __init__(self, folder: Path = HERE / "results") -> None:
        self._folder = folder
        self._read: dict[str, pl.DataFrame] = {}
        self.about: list[dict[str, Any]] = json.loads((folder / "about.json").read_text(encoding="utf-8"))

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name not in self._read:
            frame = pl.read_parquet(self._folder / f"{name}.parquet")
            texts = [column for column, kind in frame.schema.items() if kind == pl.Categorical]
            self._read[name] = frame.with_columns(pl.col(texts).cast(pl.String))
        return self._read[name]

    @property
    def families(self) -> list[str]:
        """Families in the order of their runs."""
        return list(dict.fromkeys(condition["family"] for condition in self.about))


def share(frame: pl.DataFrame, count: str, of: str = "groups") -> float:
    """Return a share over all groups."""
    total = float(frame[of].sum())
    return float(frame[count].sum()) / total if total else float("nan")


def rates_of(results: Results, preset: str, metric: str, n: int, k: int) -> pl.DataFrame:
    """Return the rates of all cells for n lifetimes and k experts (k is ignored for metrics without experts)."""
    without_experts = preset == "standard" and metric in ("pm", "ft", "bt")
    return results.rates.filter(preset=preset, metric=metric, n=n, k=5 if without_experts else k)


def errors(
    results: Results, preset: str, metric: str, n: int, k: int, family: str | None = None
) -> tuple[float, float]:
    """Return how often the null learner is wrongly judged better and worse. The verdict "keeps" is correct."""
    frame = rates_of(results, preset, metric, n, k).filter(learner="separate")
    frame = frame if family is None else frame.filter(family=family)
    for_maintenance = (preset, metric) == ("standard", "pm")
    return share(frame, "gains" if for_maintenance else "met"), share(frame, "not_met")


def parts(results: Results, family: str, metric: str) -> dict[str, list[float]]:
    """Return the shares of seed, order and evaluations in a lifetime's variance, by cell.

    The separate learner is left out, because only evaluations change its PM, FT and BT.
    """
    frame = results.components.filter(pl.col("learner") != "separate", family=family, metric=metric)
    table = np.maximum(frame.select(PARTS).to_numpy(), 0.0)
    shares = table / table.sum(axis=1, keepdims=True)
    return {name: shares[:, index].tolist() for index, name in enumerate(PARTS)}


def expert_share(results: Results, metric: str, family: str | None = None) -> list[float]:
    """Return the variance that one expert per task adds, divided by that of one lifetime, by cell."""
    frame = results.components.filter(metric=metric)
    frame = frame if family is None else frame.filter(family=family)
    lives = np.maximum(frame.select(PARTS).to_numpy(), 0.0).sum(axis=1)
    return (frame["expert"].to_numpy() / lives).tolist()


def scenario_of(family: str, layout: str) -> dict[str, Any]:
    """Return the protocol's table of a layout."""
    scenarios = tomllib.loads((HERE / f"{family}.toml").read_text(encoding="utf-8"))["scenarios"]
    scenario: dict[str, Any] = next(scenario for scenario in scenarios if scenario["layout"] == layout)
    return scenario


def halves_off(results: Results, metrics: Sequence[str], families: Sequence[str]) -> list[float]:
    """Return the noise estimated by halves over the variance, for the separate learner, which has no other variance."""
    frame = results.components.filter(learner="separate").join(
        results.truth.filter(preset="standard", k=5), on=["family", "learner", "layout", "metric"]
    )
    some = frame.filter(pl.col("metric").is_in(metrics), pl.col("family").is_in(families))
    return (some["evaluation"] / some["sd"] ** 2).to_list()


def best_evaluations(results: Results, family: str, layout: str) -> list[float]:
    """Return the most efficient number of evaluations per block by metric (PM, FT, BT): the median of five learners.

    The separate learner has no optimum: more evaluations always help.
    """
    scenario = scenario_of(family, layout)
    tasks = len(scenario["tasks"])
    # learning experiences for each evaluation block
    each = scenario["learn"] / (tasks * scenario.get("superblocks", 1) + 1)
    frame = results.components.filter(pl.col("learner") != "separate", family=family, layout=layout)
    counts = []
    for metric in ("pm", "ft", "bt"):
        some = frame.filter(metric=metric)
        rest = np.maximum(some["seed"].to_numpy() + some["order"].to_numpy(), 1e-12)
        counts.append(float(np.median(np.sqrt(some["evaluation"].to_numpy() * scenario["evaluate"] / rest * each))))
    return counts


def _beside(results: Results, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return by cell the variance and the experiences of experts, divided by those of a lifetime."""
    costs = []
    for family, layout in results.components.filter(metric=metric).select("family", "layout").iter_rows():
        scenario = scenario_of(family, layout)
        tasks = len(scenario["tasks"])
        evaluations = (tasks * scenario.get("superblocks", 1) + 1) * tasks * scenario["evaluate"]
        costs.append(tasks * scenario["learn"] / (tasks * scenario["learn"] + evaluations))
    return np.array(expert_share(results, metric)), np.array(costs)


def next_expert(results: Results, metric: str, n: int = 11, k: int = 5, *, whole: bool = False) -> np.ndarray:
    """Return how much more the next expert per task reduces the variance than as many experiences spent on lifetimes.

    With `whole`, the comparison is one more lifetime, which costs more.
    """
    ratio, cost = _beside(results, metric)
    lives = np.ones_like(cost) if whole else cost
    return np.asarray(ratio * (1 / k - 1 / (k + 1)) / (1 / n - 1 / (n + lives)))


def balance(results: Results, metric: str) -> np.ndarray:
    """Return the most efficient number of experts per task and lifetime."""
    ratio, cost = _beside(results, metric)
    return np.asarray(np.sqrt(ratio / cost))


def group_means(results: Results, metric: str) -> dict[tuple[Any, ...], np.ndarray]:
    """Yield the means of groups of 30 lifetimes, which share experts, by cell."""
    from condense import STEPS
    from judging import groups_of
    from summaries import GROUP

    cells = results.lives.group_by("family", "learner", "layout", maintain_order=True)
    return {cell: groups_of(some[metric].to_numpy() * STEPS[metric], GROUP).mean(axis=1) for cell, some in cells}


def borne_out(results: Results, metric: str) -> list[float]:
    """Return by cell the variance of means of 30 lifetimes with 5 experts, divided by the predicted one."""
    means = group_means(results, metric)
    return [
        float(means[row["family"], row["learner"], row["layout"]].var(ddof=1))
        / (sum(max(row[name], 0.0) for name in PARTS) / 30 + row["expert"] / 5)
        for row in results.components.filter(metric=metric).iter_rows(named=True)
    ]


def gaps(results: Results, metric: str) -> dict[tuple[str, str], dict[tuple[str, str], float]]:
    """Return the difference of two learners in standard errors over all lifetimes, by family and layout.

    Lifetimes are paired by seed and order, and a group that shares experts counts once.
    """
    means = group_means(results, metric)
    learners = list(dict.fromkeys(learner for _, learner, _ in means))
    differences: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for family in results.families:
        for layout in ("condensed", "dispersed"):
            for first, second in combinations(learners, 2):
                apart = means[family, first, layout] - means[family, second, layout]
                error = apart.std(ddof=1) / np.sqrt(len(apart))
                differences.setdefault((family, layout), {})[first, second] = float(apart.mean() / error)
    return differences


def reversed_pairs(results: Results, metric: str) -> tuple[int, int]:
    """Return the number of pairs that the layouts rank in opposite orders by over three standard errors, and of all."""
    differences = gaps(results, metric)
    both = [
        (gap, differences[family, "dispersed"][two])
        for family in results.families
        for two, gap in differences[family, "condensed"].items()
    ]
    return sum(first * second < 0 and min(abs(first), abs(second)) > 3 for first, second in both), len(both)


def same_ends(results: Results) -> tuple[int, int, int]:
    """Return in how many families and metrics both layouts share the best learner, the worst one, and the total."""
    best = worst = count = 0
    for metric in NAMES:
        for family in results.families:
            frame = results.truth.filter(preset="standard", metric=metric, k=5, family=family)
            ends = [frame.filter(layout=layout).sort("mean")["learner"] for layout in ("condensed", "dispersed")]
            best, worst, count = best + (ends[0][-1] == ends[1][-1]), worst + (ends[0][0] == ends[1][0]), count + 1
    return best, worst, count


def layouts_agree(results: Results, metric: str, family: str) -> float:
    """Return Spearman's correlation of the six learners' means in condensed and in dispersed lifetimes."""
    frame = results.truth.filter(preset="standard", metric=metric, k=5, family=family)
    ranks = [frame.filter(layout=layout)["mean"].rank().to_numpy() for layout in ("condensed", "dispersed")]
    return float(np.corrcoef(*ranks)[0, 1])


def correlations(
    results: Results, first: str, second: str, preset: str = "standard"
) -> tuple[list[float], float, float]:
    """Return the correlations within each cell, over all lifetimes, and over all given the other metrics."""
    frame = results.correlations.filter(preset=preset, first=first, second=second)
    pooled = frame.filter(learner="all", family="all")
    return frame.filter(pl.col("learner") != "all")["spearman"].to_list(), pooled["spearman"][0], pooled["partial"][0]


def family_correlations(results: Results, first: str, second: str) -> list[float]:
    """Return correlations over the lifetimes of all learners in one family and layout."""
    frame = results.correlations.filter(preset="standard", first=first, second=second, learner="all")
    return frame.filter(pl.col("family") != "all")["spearman"].to_list()


def detected(results: Results, metric: str, family: str | None = None) -> list[float]:
    """Return how often eleven lifetimes detect an effect of one standard deviation, by cell and side."""
    frame = results.planned.filter(metric=metric)
    frame = frame if family is None else frame.filter(family=family)
    return (frame["above"] / frame["groups"]).to_list() + (frame["below"] / frame["groups"]).to_list()


def detected_one_tailed(results: Results, metric: str) -> list[float]:
    """Return `detected` for the one-tailed test at .05 of Baker et al.; only for metrics without experts."""
    from condense import STEPS
    from judging import interval

    shares = []
    for _, some in results.lives.group_by("family", "learner", "layout", maintain_order=True):
        values = some[metric].to_numpy() * STEPS[metric]
        mean, half = interval(values[: len(values) // 11 * 11].reshape(-1, 11), None, 0, 0.90)
        true, sd = values.mean(), values.std()
        shares += [float((mean - half > true - sd).mean()), float((mean + half < true + sd).mean())]
    return shares


def wrong_by_own(results: Results, preset: str, metric: str, n: int, k: int = 5) -> float:
    """Return how often verdicts on the other five learners contradict the preset's mean over all lifetimes."""
    return share(rates_of(results, preset, metric, n, k).filter(pl.col("learner") != "separate"), "wrong")


def verdicts(results: Results, preset: str, metric: str, n: int, k: int = 5) -> tuple[float, float]:
    """Return how often verdicts are right and opposite, for learners whose true side is known.

    The true side is that of the mean over all lifetimes (of logarithms for ratios), beyond three standard errors.
    """
    level = -5.0 if (preset, metric) == ("standard", "pm") else 0.0
    frame = results.truth.filter(pl.col("preset") == "standard", pl.col("k") == 5, pl.col("metric") == metric)
    known = frame.filter(pl.col("learner") != "separate").with_columns((pl.col("mean") - level).alias("beyond"))
    known = known.filter(pl.col("beyond").abs() > 3 * pl.col("sd") / pl.col("lives").sqrt())
    both = rates_of(results, preset, metric, n, k).join(known, on=["family", "learner", "layout"])
    up = pl.col("beyond") > 0
    sums = both.select(
        pl.when(up).then("met").otherwise("not_met").sum().alias("right"),
        pl.when(up).then("not_met").otherwise("met").sum().alias("wrong"),
        pl.col("groups").sum(),
    )
    return float(sums["right"][0] / sums["groups"][0]), float(sums["wrong"][0] / sums["groups"][0])


# --- priors of plans ------------------------------------------------------------------------------


def priors(results: Results) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the spread of lifetimes, paired differences and experts by metric: the median and the 90th percentile."""
    return {
        metric: {
            "lives": _usual(_spreads(results, metric)),
            "pairs": _usual(results.pairs.filter(metric=metric, n=LIVES[0], k=5)["sd"].to_list()),
            "experts": _usual(np.sqrt(3 * results.components.filter(metric=metric)["expert"].to_numpy())),
        }
        for metric in NAMES
    }


def _spreads(results: Results, metric: str) -> list[float]:
    """Return the standard deviation among the lifetimes of a group, by cell."""
    from condense import STEPS
    from judging import among_lives

    cells = results.lives.group_by("family", "learner", "layout", maintain_order=True)
    return [float(among_lives(some[metric].to_numpy() * STEPS[metric]).std()) for _, some in cells]


def _usual(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    middle, high = np.quantile(values, (0.5, 0.9))
    return float(f"{middle:.2g}"), float(f"{high:.2g}")
