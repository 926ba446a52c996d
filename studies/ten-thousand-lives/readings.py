"""What the results say: the tables of `results/`, and what is read off them."""

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
    """The tables, each read when it is first asked for."""

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
        """In the order in which they were lived."""
        return list(dict.fromkeys(condition["family"] for condition in self.about))


def share(frame: pl.DataFrame, count: str, of: str = "groups") -> float:
    """Over all groups together."""
    total = float(frame[of].sum())
    return float(frame[count].sum()) / total if total else float("nan")


def told(results: Results, preset: str, metric: str, n: int, k: int) -> pl.DataFrame:
    """The rates of all cells for so many lives and experts, which do not matter to some."""
    without_experts = preset == "standard" and metric in ("pm", "ft", "bt")
    return results.rates.filter(preset=preset, metric=metric, n=n, k=5 if without_experts else k)


def errors(
    results: Results, preset: str, metric: str, n: int, k: int, family: str | None = None
) -> tuple[float, float]:
    """Of the null: how often it is told to be better than nothing, and worse; that it keeps is true, and no error."""
    frame = told(results, preset, metric, n, k).filter(learner="separate")
    frame = frame if family is None else frame.filter(family=family)
    for_maintenance = (preset, metric) == ("standard", "pm")
    return share(frame, "gains" if for_maintenance else "met"), share(frame, "not_met")


def parts(results: Results, family: str, metric: str) -> dict[str, list[float]]:
    """The shares of seed, order and evaluations in the variance of a life's value, cell by cell.

    Without the separate learner, of which nothing but evaluations can move PM, FT and BT.
    """
    frame = results.components.filter(pl.col("learner") != "separate", family=family, metric=metric)
    table = np.maximum(frame.select(PARTS).to_numpy(), 0.0)
    shares = table / table.sum(axis=1, keepdims=True)
    return {name: shares[:, index].tolist() for index, name in enumerate(PARTS)}


def expert_share(results: Results, metric: str, family: str | None = None) -> list[float]:
    """What one expert of each task adds to the variance of a mean, over what one life adds, cell by cell."""
    frame = results.components.filter(metric=metric)
    frame = frame if family is None else frame.filter(family=family)
    lives = np.maximum(frame.select(PARTS).to_numpy(), 0.0).sum(axis=1)
    return (frame["expert"].to_numpy() / lives).tolist()


def scenario_of(family: str, layout: str) -> dict[str, Any]:
    """What the protocol says of a layout."""
    scenarios = tomllib.loads((HERE / f"{family}.toml").read_text(encoding="utf-8"))["scenarios"]
    scenario: dict[str, Any] = next(scenario for scenario in scenarios if scenario["layout"] == layout)
    return scenario


def halves_off(results: Results, metrics: Sequence[str], families: Sequence[str]) -> list[float]:
    """Of the separate learner, whose PM, FT and BT are evaluation noise alone: that by halves, over its variance."""
    frame = results.components.filter(learner="separate").join(
        results.truth.filter(preset="standard", k=5), on=["family", "learner", "layout", "metric"]
    )
    some = frame.filter(pl.col("metric").is_in(metrics), pl.col("family").is_in(families))
    return (some["evaluation"] / some["sd"] ** 2).to_list()


def best_evaluations(results: Results, family: str, layout: str) -> list[float]:
    """By metric (PM, FT, BT), the middle of five learners: how many evaluations per block buy most for the same cost.

    Of the separate learner it would be ever more of them.
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
    """Cell by cell: an expert's part of the variance over a life's, and its experiences over a life's, all tasks."""
    costs = []
    for family, layout in results.components.filter(metric=metric).select("family", "layout").iter_rows():
        scenario = scenario_of(family, layout)
        tasks = len(scenario["tasks"])
        evaluations = (tasks * scenario.get("superblocks", 1) + 1) * tasks * scenario["evaluate"]
        costs.append(tasks * scenario["learn"] / (tasks * scenario["learn"] + evaluations))
    return np.array(expert_share(results, metric)), np.array(costs)


def next_expert(results: Results, metric: str, n: int = 11, k: int = 5, *, whole: bool = False) -> np.ndarray:
    """How many times as much the next expert of each task takes off the variance as its experiences spent on lives.

    Or, with `whole`, as one whole life more, which costs more.
    """
    ratio, cost = _beside(results, metric)
    lives = np.ones_like(cost) if whole else cost
    return np.asarray(ratio * (1 / k - 1 / (k + 1)) / (1 / n - 1 / (n + lives)))


def balance(results: Results, metric: str) -> np.ndarray:
    """How many experts of each task for every life buy most for the same experiences."""
    ratio, cost = _beside(results, metric)
    return np.asarray(np.sqrt(ratio / cost))


def group_means(results: Results, metric: str) -> dict[tuple[Any, ...], np.ndarray]:
    """Of every cell the means of its groups of 30, which share experts, from the lives as they are kept."""
    from condense import STEPS
    from judging import groups_of
    from summaries import GROUP

    cells = results.lives.group_by("family", "learner", "layout", maintain_order=True)
    return {cell: groups_of(some[metric].to_numpy() * STEPS[metric], GROUP).mean(axis=1) for cell, some in cells}


def borne_out(results: Results, metric: str) -> list[float]:
    """Cell by cell: how far means of 30 lives beside 5 experts vary, over what lives' and experts' parts say."""
    means = group_means(results, metric)
    return [
        float(means[row["family"], row["learner"], row["layout"]].var(ddof=1))
        / (sum(max(row[name], 0.0) for name in PARTS) / 30 + row["expert"] / 5)
        for row in results.components.filter(metric=metric).iter_rows(named=True)
    ]


def gaps(results: Results, metric: str) -> dict[tuple[str, str], dict[tuple[str, str], float]]:
    """By family and layout, how many standard errors two learners lie apart over all lives.

    Lives of the same seed and order are compared, and a group that shares experts counts once.
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
    """Pairs of learners that the layouts put in opposite orders, each beyond three standard errors; and all pairs."""
    differences = gaps(results, metric)
    both = [
        (gap, differences[family, "dispersed"][two])
        for family in results.families
        for two, gap in differences[family, "condensed"].items()
    ]
    return sum(first * second < 0 and min(abs(first), abs(second)) > 3 for first, second in both), len(both)


def same_ends(results: Results) -> tuple[int, int, int]:
    """In how many families and metrics both layouts have the same best learner, and the same worst; and of how many."""
    best = worst = count = 0
    for metric in NAMES:
        for family in results.families:
            frame = results.truth.filter(preset="standard", metric=metric, k=5, family=family)
            ends = [frame.filter(layout=layout).sort("mean")["learner"] for layout in ("condensed", "dispersed")]
            best, worst, count = best + (ends[0][-1] == ends[1][-1]), worst + (ends[0][0] == ends[1][0]), count + 1
    return best, worst, count


def layouts_agree(results: Results, metric: str, family: str) -> float:
    """Spearman's correlation of the six learners' means in condensed and in dispersed lives."""
    frame = results.truth.filter(preset="standard", metric=metric, k=5, family=family)
    ranks = [frame.filter(layout=layout)["mean"].rank().to_numpy() for layout in ("condensed", "dispersed")]
    return float(np.corrcoef(*ranks)[0, 1])


def correlations(
    results: Results, first: str, second: str, preset: str = "standard"
) -> tuple[list[float], float, float]:
    """Within each cell; over all lives; and over all lives, given the other metrics."""
    frame = results.correlations.filter(preset=preset, first=first, second=second)
    pooled = frame.filter(learner="all", family="all")
    return frame.filter(pl.col("learner") != "all")["spearman"].to_list(), pooled["spearman"][0], pooled["partial"][0]


def family_correlations(results: Results, first: str, second: str) -> list[float]:
    """Over the lives of all learners in one family and layout."""
    frame = results.correlations.filter(preset="standard", first=first, second=second, learner="all")
    return frame.filter(pl.col("family") != "all")["spearman"].to_list()


def seen(results: Results, metric: str, family: str | None = None) -> list[float]:
    """Of each cell and side: how often eleven lives see an effect of one standard deviation."""
    frame = results.planned.filter(metric=metric)
    frame = frame if family is None else frame.filter(family=family)
    return (frame["above"] / frame["groups"]).to_list() + (frame["below"] / frame["groups"]).to_list()


def seen_one_tailed(results: Results, metric: str) -> list[float]:
    """As `seen`, by a one-tailed test at .05, as Baker et al. test; of what is not held against experts."""
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
    """Of the other five learners: how often a verdict is wrong by the preset's own mean over all lives."""
    return share(told(results, preset, metric, n, k).filter(pl.col("learner") != "separate"), "wrong")


def verdicts(results: Results, preset: str, metric: str, n: int, k: int = 5) -> tuple[float, float]:
    """Of learners for which something is true: how often a verdict says so, and how often it says the opposite.

    True is what the mean over all lives says, of ratios the mean logarithm, where it lies beyond three standard errors.
    """
    level = -5.0 if (preset, metric) == ("standard", "pm") else 0.0
    frame = results.truth.filter(pl.col("preset") == "standard", pl.col("k") == 5, pl.col("metric") == metric)
    known = frame.filter(pl.col("learner") != "separate").with_columns((pl.col("mean") - level).alias("beyond"))
    known = known.filter(pl.col("beyond").abs() > 3 * pl.col("sd") / pl.col("lives").sqrt())
    both = told(results, preset, metric, n, k).join(known, on=["family", "learner", "layout"])
    up = pl.col("beyond") > 0
    sums = both.select(
        pl.when(up).then("met").otherwise("not_met").sum().alias("right"),
        pl.when(up).then("not_met").otherwise("met").sum().alias("wrong"),
        pl.col("groups").sum(),
    )
    return float(sums["right"][0] / sums["groups"][0]), float(sums["wrong"][0] / sums["groups"][0])


# --- what a plan carries ---------------------------------------------------------------------------


def priors(results: Results) -> dict[str, dict[str, tuple[float, float]]]:
    """By metric, how much lives, differences of pairs, and experts of a task differ, in half and nine in ten cells."""
    return {
        metric: {
            "lives": _usual(_spreads(results, metric)),
            "pairs": _usual(results.pairs.filter(metric=metric, n=LIVES[0], k=5)["sd"].to_list()),
            "experts": _usual(np.sqrt(3 * results.components.filter(metric=metric)["expert"].to_numpy())),
        }
        for metric in NAMES
    }


def _spreads(results: Results, metric: str) -> list[float]:
    """In each cell, the standard deviation among the lives of a group, as they are kept."""
    from condense import STEPS
    from judging import among_lives

    cells = results.lives.group_by("family", "learner", "layout", maintain_order=True)
    return [float(among_lives(some[metric].to_numpy() * STEPS[metric]).std()) for _, some in cells]


def _usual(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    middle, high = np.quantile(values, (0.5, 0.9))
    return float(f"{middle:.2g}"), float(f"{high:.2g}")
