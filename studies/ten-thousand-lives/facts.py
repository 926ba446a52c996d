"""Every number that the page says, by the name that stands in `page.md`; from `results/` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np
import polars as pl
from readings import (
    EXPERTS,
    LIVES,
    NAMES,
    PARTS,
    PRESETS,
    TABLE_15,
    Results,
    best_evaluations,
    correlations,
    errors,
    expert_share,
    layouts_agree,
    next_expert,
    parts,
    reversed_pairs,
    scenario_of,
    seen,
    share,
    told,
    verdicts,
)

__all__ = ["facts"]

# --- the page -------------------------------------------------------------------------------------


def facts(results: Results) -> dict[str, str]:
    """All of them, as they are printed."""
    return dict(_facts(results))


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    lives = sum(2 * one["lives"] for one in results.about)
    experts = sum(3 * one["experts"] for one in results.about)
    yield "lives", f"{lives:,}".replace(",", " ")
    yield "experts", f"{experts:,}".replace(",", " ")
    yield "diverged", str(sum(one["diverged"] for one in results.about))
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
