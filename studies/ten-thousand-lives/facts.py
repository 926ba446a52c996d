"""Every number of the pages by its name in the templates, computed from `results/`."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
import polars as pl
from readings import (
    EXPERTS,
    LIVES,
    NAMES,
    PARTS,
    PUBLISHED_48,
    TABLE_15,
    Results,
    balance,
    best_evaluations,
    borne_out,
    correlations,
    detected,
    detected_one_tailed,
    errors,
    expert_share,
    family_correlations,
    gaps,
    halves_off,
    layouts_agree,
    next_expert,
    parts,
    rates_of,
    reversed_pairs,
    same_ends,
    scenario_of,
    share,
    verdicts,
    wrong_by_own,
)
from tables import (
    between,
    correlation_table,
    coverage_table,
    null_table,
    number,
    parts_table,
    percent,
    truth_table,
    verdict_table,
)

__all__ = ["facts"]


def facts(results: Results) -> dict[str, str]:
    """Return every number as text, by name."""
    return dict(_facts(results))


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    lives = sum(2 * condition["lives"] for condition in results.about)
    experts = sum(3 * condition["experts"] for condition in results.about)
    yield "lives", f"{lives:,}".replace(",", " ")
    yield "experts", f"{experts:,}".replace(",", " ")
    # naive, EWC and separate learn a single task identically from the same seeds: one set of experts.
    own_experts = sum(
        3 * condition["experts"] for condition in results.about if condition["learner"] not in ("ewc", "separate")
    )
    yield "experts_distinct", f"{own_experts:,}".replace(",", " ")
    yield "diverged", str(sum(condition["diverged"] for condition in results.about))
    yield "device", results.about[0]["device"].partition(": ")[2]
    yield "jax", results.about[0]["versions"]["jax"]
    took = [
        [condition["seconds"]["in all"] for condition in results.about if condition["family"] == name]
        for name in results.families
    ]
    yield "minutes", f"{sum(max(seconds) for seconds in took) / 60:.0f}"
    groups = rates_of(results, "standard", "pm", 3, 5).filter(learner="separate")["groups"]
    yield "groups", str(int(groups.sum()))
    yield "groups_each", str(int(groups[0]))
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
    by_family = [sum(errors(results, "baker-2023", "ft", 11, 5, family)) for family in results.families]
    for family, covered in zip(results.families, by_family, strict=True):
        yield f"baker_ft_11_{family}", percent(covered)
    every = [rates_of(results, "standard", metric, n, 5) for metric in NAMES for n in LIVES]
    covered_shares = [share(frame, "covered", "with_interval") for frame in every]
    yield "standard_covers", between([percent(bound, 1) for bound in (min(covered_shares), max(covered_shares))])
    ten = [rates_of(results, "standard", metric, n, 10) for metric in ("rp", "se") for n in LIVES]
    yield "standard_covers_ten", percent(min(share(frame, "covered", "with_interval") for frame in ten))
    wide = rates_of(results, "standard", "se", 30, 5)
    cells = (wide["covered"] / wide["with_interval"]).to_list()
    yield "se_covers_cells", between([percent(bound) for bound in (min(cells), max(cells))])
    for metric, n in (("rp", 30), ("se", 30), ("ft", 3), ("bt", 3)):
        covered = share(rates_of(results, "baker-2023", metric, n, 5), "covered", "with_interval")
        yield f"baker_{metric}_covers_{n}", percent(covered)
    for metric in ("pm", "ft", "rp"):
        for n in (3, 30):
            frame = results.rankings.filter(preset="standard", metric=metric, n=n, k=5)
            yield f"ranked_{metric}_{n}", percent(share(frame, "all_right"))
    yield from _ties(results)
    pairs = results.pairs.with_columns((pl.col("apart").abs() / pl.col("sd")).alias("effect")).filter(k=5)
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
        yield f"baker_own_{metric}", percent(wrong_by_own(results, "baker-2023", metric, 30), 1)
    with_experts = results.pairs.filter(metric="rp", n=11)
    for k in EXPERTS:
        yield f"told_rp_{k}", percent(share(with_experts.filter(k=k), "told_right"))
    yield from _opposite(results)


def _ties(results: Results) -> Iterator[tuple[str, str]]:
    """Yield counts of pairs and rankings within three standard errors, and how often clear rankings are right."""
    pairs = tied = count = 0
    clear = []
    for metric in NAMES:
        for (family, layout), differences in gaps(results, metric).items():
            near = sum(abs(difference) < 3 for difference in differences.values())
            pairs, tied, count = pairs + len(differences), tied + near, count + 1
            if not near:
                clear.append((metric, family, layout))
    yield "tied_pairs", str(tied)
    yield "tied_of", str(pairs)
    yield "tied_rankings", str(count - len(clear))
    yield "rankings_of", str(count)
    some = pl.DataFrame(clear, schema=["metric", "family", "layout"], orient="row")
    for n in (3, 30):
        frame = results.rankings.filter(preset="standard", n=n, k=5).join(some, on=["metric", "family", "layout"])
        yield f"ranked_clear_{n}", percent(share(frame, "all_right"))


def _opposite(results: Results) -> Iterator[tuple[str, str]]:
    """Yield in how many cells a paper's mean over all lifetimes contradicts the mean logarithm."""
    frame = results.truth.filter(pl.col("k") == 5, pl.col("learner") != "separate")
    standard = frame.filter(preset="standard").select(
        "family", "learner", "layout", "metric", pl.col("mean").alias("ours")
    )
    baker = frame.filter(preset="baker-2023").join(standard, on=["family", "learner", "layout", "metric"])
    for metric in ("ft", "bt", "se"):
        some = baker.filter(metric=metric)
        yield f"opposite_{metric}", str(len(some.filter((pl.col("mean") - 1) * pl.col("ours") < 0)))
        yield "opposite_of", str(len(some))
        yield (
            f"opposite_{metric}_arcade",
            str(len(some.filter((pl.col("mean") - 1) * pl.col("ours") < 0, family="arcade"))),
        )


def _variance(results: Results) -> Iterator[tuple[str, str]]:
    for metric in ("pm", "ft", "bt"):
        middle = [median(parts(results, family, metric)["evaluation"]) for family in results.families]
        yield f"evaluation_{metric}", between([percent(bound) for bound in (min(middle), max(middle))])
    totals = np.maximum(results.components.select(PARTS).to_numpy(), 0.0).sum(axis=1)
    errs = results.components.select(f"{name}_se" for name in PARTS).to_numpy() / totals[:, None]
    yield "share_error", percent(float(errs.max()))
    orders = [median(parts(results, family, metric)["order"]) for family in results.families for metric in NAMES]
    yield "order_most", percent(max(orders))
    every = [
        value for family in results.families for metric in NAMES for value in parts(results, family, metric)["order"]
    ]
    yield "order_worst", percent(max(every))
    for name, metrics, families in (
        ("halves_near", ("pm",), results.families),
        ("halves_batches", ("ft", "bt"), ["gaussians", "digits"]),
        ("halves_far", ("ft", "bt"), ["arcade"]),
    ):
        off = halves_off(results, metrics, families)
        yield name, between([f"{bound:.2f}" for bound in (min(off), max(off))])
    for family in results.families:
        for layout in ("condensed", "dispersed"):
            best = best_evaluations(results, family, layout)
            yield f"evaluations_{family}_{layout}", between([f"{bound:.0f}" for bound in (min(best), max(best))])
        yield f"ran_{family}", str(scenario_of(family, "condensed")["evaluate"])
    batches = [count for family in ("gaussians", "digits") for count in best_evaluations(results, family, "condensed")]
    yield "evaluations_batches", between([f"{bound:.0f}" for bound in (min(batches), max(batches))])
    every = [count for family in results.families for count in best_evaluations(results, family, "dispersed")]
    yield "evaluations_dispersed", between([f"{bound:.0f}" for bound in (min(every), max(every))])
    for metric in ("rp", "se"):
        yield f"expert_{metric}", f"{median(expert_share(results, metric)):.2f}"
        yield f"open_{metric}", f"{median(expert_share(results, metric)) / 5 * 11:.1f}"
        yield f"next_{metric}", f"{np.median(next_expert(results, metric)):.1f}"
        yield f"next_{metric}_least", f"{next_expert(results, metric).min():.1f}"
        yield f"next_{metric}_more", percent(float((next_expert(results, metric) > 1).mean()))
        yield f"next_{metric}_whole", f"{np.median(next_expert(results, metric, whole=True)):.1f}"
        yield f"next_{metric}_ten", f"{np.median(next_expert(results, metric, k=10)):.1f}"
        borne = borne_out(results, metric)
        yield f"borne_{metric}", f"{median(borne):.2f} ({min(borne):.2f} to {max(borne):.2f})"
        yield f"balance_{metric}", f"{np.median(balance(results, metric)):.1f}"
    for family in results.families:
        frame = rates_of(results, "standard", "pm", 11, 5).filter(learner="separate", family=family)
        yield f"keeps_{family}", percent(share(frame, "met"))
        sds = results.truth.filter(preset="standard", metric="pm", k=5, family=family)["sd"]
        yield f"pm_sd_{family}", between([f"{bound:.1f}" for bound in (sds.min(), sds.max())])


def _agreement(results: Results) -> Iterator[tuple[str, str]]:
    for metric in NAMES:
        opposite, count = reversed_pairs(results, metric)
        yield f"reversed_{metric}", str(opposite)
        yield "reversed_of", str(count)
    best, worst, count = same_ends(results)
    yield "best_same", str(best)
    yield "worst_same", str(worst)
    yield "ends_of", str(count)
    agreements = [layouts_agree(results, metric, family) for metric in NAMES for family in results.families]
    yield "layouts_middle", number(median(agreements))
    yield "layouts_least", number(min(agreements))
    for first, second in (("pm", "bt"), ("rp", "se")):
        cells, pooled, partial = correlations(results, first, second)
        yield f"{first}_{second}", number(pooled)
        yield f"{first}_{second}_partial", number(partial)
        yield f"{first}_{second}_within", number(median(cells))
        yield f"{first}_{second}_48", number(PUBLISHED_48[first, second])
        yield f"{first}_{second}_paper", number(correlations(results, first, second, "baker-2023")[1])
    yield "ft_rp", number(correlations(results, "ft", "rp")[1])
    yield "ft_rp_most", number(max(correlations(results, "ft", "rp")[0]))
    yield "ft_rp_paper", number(correlations(results, "ft", "rp", "baker-2023")[1])
    for first, second in (("pm", "rp"), ("pm", "se")):
        yield f"{first}_{second}", number(correlations(results, first, second)[1])
        some = family_correlations(results, first, second)
        yield f"{first}_{second}_family", number(median(some))
        yield f"{first}_{second}_family_range", f"{number(min(some))} to {number(max(some))}"
    others = [two for two in TABLE_15 if two not in (("pm", "bt"), ("rp", "se"))]
    yield "others_most", number(max(abs(correlations(results, *two)[1]) for two in others))


def _eleven(results: Results) -> Iterator[tuple[str, str]]:
    for metric in NAMES:
        powers = detected(results, metric)
        yield f"seen_{metric}", percent(median(powers))
        yield f"seen_{metric}_range", between([percent(bound) for bound in (min(powers), max(powers))])
    for metric in ("pm", "ft", "bt"):
        yield f"one_tailed_{metric}", percent(median(detected_one_tailed(results, metric)))
    batches = [
        power
        for family in ("gaussians", "digits")
        for m in ("pm", "ft", "bt")
        for power in detected(results, m, family)
    ]
    yield "seen_batches", between([percent(bound) for bound in (min(batches), max(batches))])
    skewed = [power for metric in ("ft", "bt") for power in detected(results, metric, "arcade")]
    yield "seen_skewed", between([percent(bound) for bound in (min(skewed), max(skewed))])
    frame = results.planned
    yield "false_eleven", percent(share(frame, "false"), 1)
