"""Every number that the page says, by the name that stands in `page.md`; from `results/` alone."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
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


# --- the page -------------------------------------------------------------------------------------


def facts(results: Results) -> dict[str, str]:
    """All of them, as they are printed."""
    return dict(_facts(results))


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    lives = sum(2 * one["lives"] for one in results.about)
    experts = sum(3 * one["experts"] for one in results.about)
    yield "lives", f"{lives:,}".replace(",", " ")
    yield "experts", f"{experts:,}".replace(",", " ")
    yield "device", results.about[0]["device"].partition(": ")[2]
    yield "jax", results.about[0]["versions"]["jax"]
    took = [[one["seconds"]["in all"] for one in results.about if one["family"] == name] for name in results.families]
    yield "minutes", f"{sum(max(one) for one in took) / 60:.0f}"
    yield "groups", str(int(told(results, "standard", "pm", 3, 5).filter(learner="separate")["groups"].sum()))
    yield "truth_table", truth_table(results)
    yield "null_table", null_table(results)
    yield "coverage_table", coverage_table(results)
    yield "verdict_table", verdict_table(results)
    yield "parts_table", parts_table(results)
    yield "correlation_table", correlation_table(results)
    yield from _wrong(results)
    yield from _variance(results)
    yield from _agreement(results)
    yield from _eleven(results)


def _wrong(results: Results) -> Iterator[tuple[str, str]]:
    both = [sum(errors(results, "standard", metric, n, k)) for metric in NAMES for n in LIVES for k in (5, 10)]
    yield "standard_most", percent(max(both))
    for metric in ("ft", "bt", "rp", "se"):
        for n in (11, 30):
            yield f"baker_{metric}_{n}", percent(sum(errors(results, "baker-2023", metric, n, 5)))
            yield f"new_{metric}_{n}", percent(sum(errors(results, "new-2022", metric, n, 5)))
    yield "baker_rp_30_1", percent(sum(errors(results, "baker-2023", "rp", 30, 1)))
    every = [told(results, "standard", metric, n, 5) for metric in NAMES for n in LIVES]
    held = [share(one, "covered", "with_interval") for one in every]
    yield "standard_covers", between([percent(one, 1) for one in (min(held), max(held))])
    for metric in ("rp", "se"):
        found = share(told(results, "baker-2023", metric, 30, 5), "covered", "with_interval")
        yield f"baker_{metric}_covers_30", percent(found)
    for metric in ("pm", "ft", "rp"):
        for n in (3, 30):
            frame = results.rankings.filter(preset="standard", metric=metric, n=n, k=5)
            yield f"ranked_{metric}_{n}", percent(share(frame, "all_right"))
    pairs = results.pairs.with_columns((pl.col("apart").abs() / pl.col("sd")).alias("effect")).filter(k=5)
    for n in (3, 11):
        yield f"swapped_{n}", percent(share(pairs.filter(n=n), "swapped"))
    wrong = [share(pairs.filter(n=n, metric=metric), "told_wrong") for n in LIVES for metric in NAMES]
    yield "told_wrong", percent(max(wrong), 1)
    for name, low, high in (("small", 0.0, 0.3), ("large", 1.0, 1e9)):
        some = pairs.filter(pl.col("effect") >= low, pl.col("effect") < high, pl.col("n") == 11)
        yield f"swapped_{name}", percent(share(some, "swapped"), 1 if name == "large" else 0)
    yield "small_pairs", percent(len(pairs.filter(pl.col("effect") < 0.3, pl.col("n") == 11)) / len(pairs.filter(n=11)))
    standard = [verdicts(results, "standard", metric, n)[1] for metric in NAMES for n in LIVES]
    yield "wrong_most", percent(max(standard), 1)
    for metric in ("ft", "bt", "se"):
        yield f"baker_wrong_{metric}", percent(verdicts(results, "baker-2023", metric, 30)[1])
    beside = results.pairs.filter(metric="rp", n=11)
    for k in EXPERTS:
        yield f"told_rp_{k}", percent(share(beside.filter(k=k), "told_right"))
    yield from _opposite(results)


def _opposite(results: Results) -> Iterator[tuple[str, str]]:
    """Cells in which a paper's own mean over all lives says the opposite of the mean logarithm."""
    frame = results.truth.filter(pl.col("k") == 5, pl.col("learner") != "separate")
    ours = frame.filter(preset="standard").select("family", "learner", "layout", "metric", pl.col("mean").alias("ours"))
    theirs = frame.filter(preset="baker-2023").join(ours, on=["family", "learner", "layout", "metric"])
    for metric in ("ft", "bt", "se"):
        some = theirs.filter(metric=metric)
        yield f"opposite_{metric}", str(len(some.filter((pl.col("mean") - 1) * pl.col("ours") < 0)))
        yield "opposite_of", str(len(some))


def _variance(results: Results) -> Iterator[tuple[str, str]]:
    for metric in ("pm", "ft", "bt"):
        middle = [median(parts(results, family, metric)["evaluation"]) for family in results.families]
        yield f"evaluation_{metric}", between([percent(one) for one in (min(middle), max(middle))])
    whole = np.maximum(results.components.select(PARTS).to_numpy(), 0.0).sum(axis=1)
    errs = results.components.select(f"{name}_se" for name in PARTS).to_numpy() / whole[:, None]
    yield "share_error", percent(float(errs.max()))
    orders = [median(parts(results, family, metric)["order"]) for family in results.families for metric in NAMES]
    yield "order_most", percent(max(orders))
    every = [one for family in results.families for metric in NAMES for one in parts(results, family, metric)["order"]]
    yield "order_worst", percent(max(every))
    for family in results.families:
        yield f"evaluations_{family}", f"{median(best_evaluations(results, family)):.0f}"
        yield f"ran_{family}", str(scenario_of(family, "condensed")["evaluate"])
    for metric in ("rp", "se"):
        yield f"expert_{metric}", f"{median(expert_share(results, metric)):.2f}"
        yield f"next_{metric}", f"{median(next_expert(results, metric)):.1f}"
        yield f"next_{metric}_least", f"{min(next_expert(results, metric)):.1f}"
        yield f"next_{metric}_ten", f"{median(next_expert(results, metric, k=10)):.1f}"
        # Where the next expert buys as much as the next life: k / n is the root of their ratio at k = n.
        yield f"balance_{metric}", f"{median(np.sqrt(next_expert(results, metric, n=1, k=1))):.1f}"
    for family in results.families:
        frame = told(results, "standard", "pm", 11, 5).filter(learner="separate", family=family)
        yield f"keeps_{family}", percent(share(frame, "met"))
        sds = results.truth.filter(preset="standard", metric="pm", k=5, family=family)["sd"]
        yield f"pm_sd_{family}", between([f"{one:.1f}" for one in (sds.min(), sds.max())])


def _agreement(results: Results) -> Iterator[tuple[str, str]]:
    for metric in NAMES:
        opposite, count = reversed_pairs(results, metric)
        yield f"reversed_{metric}", str(opposite)
        yield "reversed_of", str(count)
    found = [layouts_agree(results, metric, family) for metric in NAMES for family in results.families]
    yield "layouts_middle", number(median(found))
    yield "layouts_least", number(min(found))
    for first, second in (("pm", "bt"), ("rp", "se")):
        cells, whole, partial = correlations(results, first, second)
        yield f"{first}_{second}", number(whole)
        yield f"{first}_{second}_partial", number(partial)
        yield f"{first}_{second}_within", number(median(cells))
    yield "ft_rp", number(correlations(results, "ft", "rp")[1])
    yield "ft_rp_most", number(max(correlations(results, "ft", "rp")[0]))
    yield "pm_se", number(correlations(results, "pm", "se")[1])
    others = [two for two in TABLE_15 if two not in (("pm", "bt"), ("rp", "se"))]
    yield "others_most", number(max(abs(correlations(results, *two)[1]) for two in others))


def _eleven(results: Results) -> Iterator[tuple[str, str]]:
    for metric in NAMES:
        found = seen(results, metric)
        yield f"seen_{metric}", percent(median(found))
        yield f"seen_{metric}_range", between([percent(one) for one in (min(found), max(found))])
    frame = results.planned
    yield "false_eleven", percent(share(frame, "false"), 1)


# --- tables and words -----------------------------------------------------------------------------


def truth_table(results: Results) -> str:
    """The means over all lives, condensed: maintenance in points, the others as ratios."""
    frame = results.truth.filter(preset="standard", layout="condensed", k=5)
    rows = ["| family | learner | PM | FT | BT | RP | SE |", "|---|---|---|---|---|---|---|"]
    for (family, learner), some in frame.group_by("family", "learner", maintain_order=True):
        means = dict(some.select("metric", "mean").iter_rows())
        cells = [f"{means['pm']:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")]
        cells += [f"{np.exp(means[metric]):.2f}" for metric in ("ft", "bt", "rp", "se")]
        rows.append(f"| {family} | {learner} | {' | '.join(cells)} |")
    return "\n".join(rows)


def null_table(results: Results) -> str:
    """False verdicts on the null, better and worse, for every metric, preset and number of lives."""
    rows = ["| | preset | k | n = 3 | 5 | 11 | 30 |", "|---|---|---|---|---|---|---|"]
    for metric, name in NAMES.items():
        for preset in PRESETS:
            alone = preset == "standard" and metric in ("pm", "ft", "bt")
            for k in (5,) if alone else (5, 10) if preset == "standard" else EXPERTS:
                found = [errors(results, preset, metric, n, k) for n in LIVES]
                cells = [f"{100 * better:.1f} / {100 * worse:.1f}" for better, worse in found]
                rows.append(f"| {name} | {preset} | {'–' if alone else k} | {' | '.join(cells)} |")
    return "\n".join(rows)


def coverage_table(results: Results) -> str:
    """How often an interval holds the truth, over all cells; and the least of any cell at 11 lives."""
    rows = ["| | preset | level | n = 3 | 5 | 11 | 30 | worst of 36, n = 11 |", "|---|---|---|---|---|---|---|---|"]
    for metric, name in NAMES.items():
        for preset in PRESETS:
            frames = [told(results, preset, metric, n, 5) for n in LIVES]
            cells = [percent(share(one, "covered", "with_interval")) for one in frames]
            least = float((frames[2]["covered"] / frames[2]["with_interval"]).min())  # type: ignore[arg-type]
            level = "95 %" if preset == "standard" else "90 %"
            rows.append(f"| {name} | {preset} | {level} | {' | '.join(cells)} | {percent(least)} |")
    return "\n".join(rows)


def parts_table(results: Results) -> str:
    """Shares of the variance of a life's value: the median over learners and layouts, and how far they range."""
    rows = ["| family | | seed | order | evaluations | an expert beside a life |", "|---|---|---|---|---|---|"]
    for family in results.families:
        for metric, name in NAMES.items():
            found = parts(results, family, metric)
            cells = [f"{percent(median(one))} ({percent(min(one))}–{percent(max(one))})" for one in found.values()]
            beside = expert_share(results, metric, family)
            ratio = f"{median(beside):.2f} ({min(beside):.2f}–{max(beside):.2f})" if metric in ("rp", "se") else "–"
            rows.append(f"| {family} | {name} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(rows)


def correlation_table(results: Results) -> str:
    """Ours beside the paper's."""
    rows = ["| | all lives | given the others | lives of one learner | Baker et al. 2023 |", "|---|---|---|---|---|"]
    for (first, second), printed in TABLE_15.items():
        cells, whole, partial = correlations(results, first, second)
        within = f"{number(median(cells))} ({number(min(cells))} to {number(max(cells))})"
        name = f"{NAMES[first]}, {NAMES[second]}"
        rows.append(f"| {name} | {number(whole)} | {number(partial)} | {within} | {number(printed)} |")
    return "\n".join(rows)


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


def verdict_table(results: Results) -> str:
    """Right and wrong verdicts on the other five learners; the rest is undecided."""
    rows = ["| | preset | n = 3 | 5 | 11 | 30 |", "|---|---|---|---|---|---|"]
    for metric, name in NAMES.items():
        for preset in PRESETS:
            found = [verdicts(results, preset, metric, n) for n in LIVES]
            cells = [f"{100 * right:.0f} / {100 * wrong:.1f}" for right, wrong in found]
            rows.append(f"| {name} | {preset} | {' | '.join(cells)} |")
    return "\n".join(rows)


def percent(value: float, places: int = 0) -> str:
    """`5 %`."""
    return f"{100 * value:.{places}f} %"


def number(value: float) -> str:
    """`−.25`: a correlation as papers print it."""
    text = f"{value:.2f}"
    return ("0" if float(text) == 0 else text).replace("0.", ".").replace("-", "−")


def between(ends: Sequence[str]) -> str:
    """`33 to 80 %`; once where both are the same."""
    low, high = ends
    if low == high:
        return low
    return f"{low.removesuffix(' %')} to {high}"


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
