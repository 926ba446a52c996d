"""The tables of the pages, and the format of their numbers; from `results/`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np
from readings import (
    EXPERTS,
    LIVES,
    NAMES,
    PRESETS,
    PUBLISHED_48,
    TABLE_15,
    Results,
    correlations,
    errors,
    expert_share,
    family_correlations,
    parts,
    rates_of,
    share,
    verdicts,
)

__all__ = [
    "between",
    "correlation_table",
    "coverage_table",
    "null_table",
    "number",
    "parts_table",
    "percent",
    "truth_table",
    "verdict_table",
]


def truth_table(results: Results) -> str:
    """Return means over all condensed lifetimes: maintenance in points, the others as ratios."""
    frame = results.truth.filter(preset="standard", layout="condensed", k=5)
    rows = ["| family | learner | PM | FT | BT | RP | SE |", "|---|---|---|---|---|---|---|"]
    for (family, learner), some in frame.group_by("family", "learner", maintain_order=True):
        means = dict(some.select("metric", "mean").iter_rows())
        cells = [f"{means['pm']:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")]
        cells += [f"{np.exp(means[metric]):.2f}" for metric in ("ft", "bt", "rp", "se")]
        rows.append(f"| {family} | {learner} | {' | '.join(cells)} |")
    return "\n".join(rows)


def null_table(results: Results) -> str:
    """Return false verdicts on the null, better and worse, by metric, preset and number of lifetimes."""
    rows = ["| | preset | k | n = 3 | 5 | 11 | 30 |", "|---|---|---|---|---|---|---|"]
    for metric, name in NAMES.items():
        for preset in PRESETS:
            without_experts = preset == "standard" and metric in ("pm", "ft", "bt")
            for k in (5,) if without_experts else (5, 10) if preset == "standard" else EXPERTS:
                by_count = [errors(results, preset, metric, n, k) for n in LIVES]
                cells = [f"{100 * better:.1f} / {100 * worse:.1f}" for better, worse in by_count]
                rows.append(f"| {name} | {preset} | {'–' if without_experts else k} | {' | '.join(cells)} |")
    return "\n".join(rows)


def coverage_table(results: Results) -> str:
    """Return how often intervals contain the truth over all cells, and the minimum of a cell at 11 lifetimes."""
    rows = ["| | preset | level | n = 3 | 5 | 11 | 30 | worst of 36, n = 11 |", "|---|---|---|---|---|---|---|---|"]
    for metric, name in NAMES.items():
        for preset in PRESETS:
            frames = [rates_of(results, preset, metric, n, 5) for n in LIVES]
            cells = [percent(share(frame, "covered", "with_interval")) for frame in frames]
            least = float((frames[2]["covered"] / frames[2]["with_interval"]).min())  # type: ignore[arg-type]
            level = "95 %" if preset == "standard" else "90 %"
            rows.append(f"| {name} | {preset} | {level} | {' | '.join(cells)} | {percent(least)} |")
    return "\n".join(rows)


def parts_table(results: Results) -> str:
    """Return the components of a lifetime's variance: median and range over learners and layouts."""
    rows = ["| family | | seed | order | evaluations | an expert beside a life |", "|---|---|---|---|---|---|"]
    for family in results.families:
        for metric, name in NAMES.items():
            shares = parts(results, family, metric)
            cells = [
                f"{percent(median(values))} ({percent(min(values))}–{percent(max(values))})"
                for values in shares.values()
            ]
            expert_shares = expert_share(results, metric, family)
            ratio = (
                f"{median(expert_shares):.2f} ({min(expert_shares):.2f}–{max(expert_shares):.2f})"
                if metric in ("rp", "se")
                else "–"
            )
            rows.append(f"| {family} | {name} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(rows)


def correlation_table(results: Results) -> str:
    """Return the study's correlations next to the paper's."""
    rows = [
        "| | all lives | given the others | one family and layout | one learner | by `baker-2023` | Baker | 48 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (first, second), printed in TABLE_15.items():
        cells, pooled, partial = correlations(results, first, second)
        within = [
            f"{number(median(some))} ({number(min(some))} to {number(max(some))})"
            for some in (family_correlations(results, first, second), cells)
        ]
        paper = number(correlations(results, first, second, "baker-2023")[1])
        row = [f"{NAMES[first]}, {NAMES[second]}", number(pooled), number(partial), *within, paper]
        row += [number(printed), number(PUBLISHED_48[first, second])]
        rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows)


def verdict_table(results: Results) -> str:
    """Return right and wrong verdicts on the other five learners; the rest is undecided."""
    rows = ["| | preset | n = 3 | 5 | 11 | 30 |", "|---|---|---|---|---|---|"]
    for metric, name in NAMES.items():
        for preset in PRESETS:
            by_count = [verdicts(results, preset, metric, n) for n in LIVES]
            cells = [f"{100 * right:.0f} / {100 * wrong:.1f}" for right, wrong in by_count]
            rows.append(f"| {name} | {preset} | {' | '.join(cells)} |")
    return "\n".join(rows)


def percent(value: float, places: int = 0) -> str:
    """Format a share as `5 %`."""
    return f"{100 * value:.{places}f} %"


def number(value: float) -> str:
    """Format a correlation as papers print it: `−.25`."""
    text = f"{value:.2f}"
    return ("0" if float(text) == 0 else text).replace("0.", ".").replace("-", "−")


def between(ends: Sequence[str]) -> str:
    """Format a range as `33 to 80 %`, or one number if both are equal."""
    low, high = ends
    if low == high:
        return low
    return f"{low.removesuffix(' %')} to {high}"
