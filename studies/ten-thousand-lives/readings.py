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
"""Spearman's correlations over the lifetimes of Baker et al. 2023, Table 15."""


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
        return list(dict.fromkeys(one["family"] for one in self.about))


def share(frame: pl.DataFrame, count: str, of: str = "groups") -> float:
    """Over all groups together."""
    whole = float(frame[of].sum())
    return float(frame[count].sum()) / whole if whole else float("nan")


def told(results: Results, preset: str, metric: str, n: int, k: int) -> pl.DataFrame:
    """The rates of all cells for so many lives and experts, which do not matter to some."""
    alone = preset == "standard" and metric in ("pm", "ft", "bt")
    return results.rates.filter(preset=preset, metric=metric, n=n, k=5 if alone else k)


def errors(results: Results, preset: str, metric: str, n: int, k: int) -> tuple[float, float]:
    """Of the null: how often it is told to be better than nothing, and worse; that it keeps is true, and no error."""
    frame = told(results, preset, metric, n, k).filter(learner="separate")
    kept = (preset, metric) == ("standard", "pm")
    return share(frame, "gains" if kept else "met"), share(frame, "not_met")


def parts(results: Results, family: str, metric: str) -> dict[str, list[float]]:
    """The shares of seed, order and evaluations in the variance of a life's value, cell by cell."""
    frame = results.components.filter(family=family, metric=metric)
    table = np.maximum(frame.select(PARTS).to_numpy(), 0.0)
    shares = table / table.sum(axis=1, keepdims=True)
    return {name: shares[:, at].tolist() for at, name in enumerate(PARTS)}


def expert_share(results: Results, metric: str, family: str | None = None) -> list[float]:
    """What one expert of each task adds to the variance of a mean, over what one life adds, cell by cell."""
    frame = results.components.filter(metric=metric)
    frame = frame if family is None else frame.filter(family=family)
    lives = np.maximum(frame.select(PARTS).to_numpy(), 0.0).sum(axis=1)
    return (frame["expert"].to_numpy() / lives).tolist()


def scenario_of(family: str, layout: str) -> dict[str, Any]:
    """What the protocol says of a layout."""
    asked = tomllib.loads((HERE / f"{family}.toml").read_text(encoding="utf-8"))["scenarios"]
    found: dict[str, Any] = next(one for one in asked if one["layout"] == layout)
    return found


def best_evaluations(results: Results, family: str, metric: str = "pm") -> list[float]:
    """In condensed lives: how many evaluations per block buy most for the same experiences."""
    asked = scenario_of(family, "condensed")
    tasks = len(asked["tasks"])
    each = tasks * asked["learn"] / (tasks * (tasks + 1))  # learning experiences for each evaluation block
    frame = results.components.filter(family=family, metric=metric, layout="condensed")
    rest = np.maximum(frame["seed"].to_numpy() + frame["order"].to_numpy(), 1e-12)
    return np.sqrt(frame["evaluation"].to_numpy() * asked["evaluate"] / rest * each).tolist()


def next_expert(results: Results, metric: str, n: int = 11, k: int = 5) -> list[float]:
    """How many times as much the next expert takes off the variance as the next life, for the same experiences."""
    found = []
    for row in results.components.filter(metric=metric).iter_rows(named=True):
        one = scenario_of(row["family"], row["layout"])
        tasks = len(one["tasks"])
        rounds = one.get("superblocks", 1)
        life = tasks * one["learn"] + (tasks * rounds + 1) * tasks * one["evaluate"]
        lives = max(row["seed"], 0) + max(row["order"], 0) + max(row["evaluation"], 0)
        found.append((row["expert"] / k**2 / (tasks * one["learn"])) / (lives / n**2 / life))
    return found


def reversed_pairs(results: Results, metric: str) -> tuple[int, int]:
    """Pairs of learners that the layouts put in opposite orders, each beyond three standard errors; and all pairs."""
    frame = results.truth.filter(preset="standard", metric=metric, k=5)
    opposite = count = 0
    for family in results.families:
        some = {(row["learner"], row["layout"]): row for row in frame.filter(family=family).iter_rows(named=True)}
        for first, second in combinations(dict.fromkeys(learner for learner, _ in some), 2):
            count += 1
            apart = []
            for layout in ("condensed", "dispersed"):
                one, other = some[first, layout], some[second, layout]
                error = np.sqrt(one["sd"] ** 2 / one["lives"] + other["sd"] ** 2 / other["lives"])
                apart.append((one["mean"] - other["mean"]) / error)
            opposite += apart[0] * apart[1] < 0 and min(abs(one) for one in apart) > 3
    return int(opposite), count


def layouts_agree(results: Results, metric: str, family: str) -> float:
    """Spearman's correlation of the six learners' means in condensed and in dispersed lives."""
    frame = results.truth.filter(preset="standard", metric=metric, k=5, family=family)
    ranks = [frame.filter(layout=one)["mean"].rank().to_numpy() for one in ("condensed", "dispersed")]
    return float(np.corrcoef(*ranks)[0, 1])


def correlations(results: Results, first: str, second: str) -> tuple[list[float], float, float]:
    """Within each cell; over all lives; and over all lives, given the other metrics."""
    frame = results.correlations.filter(preset="standard", first=first, second=second)
    whole = frame.filter(learner="all", family="all")
    return frame.filter(pl.col("learner") != "all")["spearman"].to_list(), whole["spearman"][0], whole["partial"][0]


def seen(results: Results, metric: str, family: str | None = None) -> list[float]:
    """Of each cell and side: how often eleven lives see an effect of one standard deviation."""
    frame = results.planned.filter(metric=metric)
    frame = frame if family is None else frame.filter(family=family)
    return (frame["above"] / frame["groups"]).to_list() + (frame["below"] / frame["groups"]).to_list()


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
