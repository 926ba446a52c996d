"""Reduce the run's arrays to tables: python condense.py DIR. Needs Polars and SciPy; writes `results/*.parquet`.

lives          each lifetime's five headline metrics by `standard` with 5 experts, and the order of its tasks
truth          mean and sd of every cell and metric over all lifetimes
rates          verdicts of groups of n lifetimes with k experts, and how often their interval contains the truth
pairs          how often two learners are ranked in the wrong order, or differ significantly
rankings       how often all six are in the right order, and how often the best one is first
components     components of the variance
correlations   correlations of metrics
planned        how often 11 lifetimes detect an effect of one standard deviation
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from judging import (
    HEADLINE,
    MARGIN,
    PRESETS,
    among_lives,
    expert_parts,
    groups_of,
    interval,
    life_values,
    questions,
    threshold,
    verdicts_on,
)
from run import FAMILIES, LEARNERS
from scipy.stats import rankdata
from summaries import EXPERTS, LIVES

HERE = Path(__file__).parent
LAYOUTS = ("condensed", "dispersed")
STEPS = {"pm": 0.01, "ft": 0.001, "bt": 0.001, "rp": 0.001, "se": 0.001}
"""How finely a life's values are kept."""
SLICES = 20  # of the lifetimes, for the intervals of variances
Array = Any
Cells = dict[tuple[str, str, str], dict[str, Array]]


def read(folder: Path) -> tuple[Cells, list[dict[str, Any]]]:
    """Read the summaries of every cell, and the conditions of their runs."""
    cells: Cells = {}
    conditions = []
    for family in FAMILIES:
        for learner in LEARNERS:
            file = folder / f"{family}-{learner}.npz"
            if not file.exists():
                continue
            with np.load(file) as archive:
                diverged = sum(int((~archive[f"{layout}/sound"]).sum()) for layout in LAYOUTS)
                conditions.append(json.loads(str(archive["about"])) | {"diverged": diverged})
                for layout in LAYOUTS:
                    prefix = f"{layout}/"
                    arrays = {name[len(prefix) :]: archive[name] for name in archive.files if name.startswith(prefix)}
                    cells[family, learner, layout] = arrays
    return cells, conditions


def lives(cells: Cells) -> pl.DataFrame:
    """Round values to a ten-thousandth of their spread."""
    frames = []
    for (family, learner, layout), summed in cells.items():
        tasks = summed["experts"].shape[0]
        weights = tasks ** np.arange(summed["order"].shape[1])
        columns = {
            name: np.round(life_values(summed, "standard", name, 5) / step).astype(np.int16)
            for name, step in STEPS.items()
        }
        frames.append(
            pl.DataFrame(
                {"family": family, "learner": learner, "layout": layout}
                | {"order": (summed["order"] * weights).sum(axis=1).astype(np.int32)}
                | columns
            )
        )
    return pl.concat(frames).with_columns(pl.col("family", "learner", "layout").cast(pl.Categorical()))


def truth(cells: Cells) -> Iterator[dict[str, Any]]:
    for cell, summed in cells.items():
        for preset in PRESETS:
            for metric in HEADLINE:
                for k in sorted({k for _, k in questions(preset, metric)}):
                    values = life_values(summed, preset, metric, k)
                    known = values[np.isfinite(values)]
                    yield _named(cell) | {
                        "preset": preset,
                        "metric": metric,
                        "k": k,
                        "mean": _true(summed, preset, metric, k),
                        "sd": float(known.std(ddof=1)),
                        "lives": len(known),
                        "missing": len(values) - len(known),
                    }


def _true(summed: dict[str, Array], preset: str, metric: str, k: int) -> float:
    """Return the mean over all lifetimes and all experts, not only those of a few groups."""
    if preset == "standard" and metric == "rp":
        return float((summed["learned"].mean(axis=0) - summed["experts"].mean(axis=1)).mean())
    return float(np.nanmean(life_values(summed, preset, metric, k)))


def rates(cells: Cells) -> Iterator[dict[str, Any]]:
    for cell, summed in cells.items():
        for preset in PRESETS:
            for metric in HEADLINE:
                for n, k in questions(preset, metric):
                    counts = verdicts_on(summed, preset, metric, n, k)
                    true = _true(summed, preset, metric, k)
                    decided = np.isfinite(counts.low)
                    holds = (counts.low <= true) & (true <= counts.high)
                    less = threshold(preset, metric) - (MARGIN if preset == "standard" and metric == "pm" else 0.0)
                    wrong = (counts.verdict == 1) & (true < less) | (counts.verdict == -1) & (true > less)
                    yield _named(cell) | {
                        "preset": preset,
                        "metric": metric,
                        "n": n,
                        "k": k,
                        "groups": len(counts.mean),
                        "met": int((counts.verdict == 1).sum()),
                        "not_met": int((counts.verdict == -1).sum()),
                        "gains": int((counts.gains & decided).sum()),
                        "wrong": int(wrong.sum()),
                        "with_interval": int(decided.sum()),
                        "covered": int((holds & decided).sum()),
                    }


def pairs(cells: Cells) -> Iterator[dict[str, Any]]:
    """Yield how two learners compare, paired by seed and order, each with separate experts unless they are identical.

    naive, EWC and separate learn a single task identically from the same seeds, so they share one set of experts.
    """
    for family, layout in {(cell[0], cell[2]): None for cell in cells}:
        learners = [learner for learner in LEARNERS if (family, learner, layout) in cells]
        for metric in HEADLINE:
            for k in EXPERTS if metric in ("rp", "se") else (5,):
                by_learner = {learner: cells[family, learner, layout] for learner in learners}
                values = {learner: life_values(by_learner[learner], "standard", metric, k) for learner in learners}
                means = {learner: _true(by_learner[learner], "standard", metric, k) for learner in learners}
                for first, second in combinations(learners, 2):
                    apart = means[first] - means[second]
                    sd = float(among_lives(values[first] - values[second]).std())
                    for n in LIVES:
                        yield {
                            "family": family,
                            "layout": layout,
                            "metric": metric,
                            "first": first,
                            "second": second,
                            "n": n,
                            "k": k,
                            "apart": apart,
                            "sd": sd,
                        } | _told(by_learner, values, (first, second), metric, n, k, apart)


def _told(
    by_learner: Any, values: Any, two: tuple[str, str], metric: str, n: int, k: int, apart: float
) -> dict[str, int]:
    first, second = two
    differences = groups_of(values[first] - values[second], n)
    parts = None
    own_experts = metric in ("rp", "se") and not np.array_equal(
        by_learner[first]["experts"], by_learner[second]["experts"]
    )
    if own_experts and k >= 3:
        parts = np.concatenate([expert_parts(by_learner[learner], metric, n, k) for learner in two], axis=1)
    mean, half = interval(differences, parts, k, 0.95)
    if own_experts and k < 3:
        half = np.full_like(half, np.inf)
    return {
        "groups": len(mean),
        "swapped": int((mean * apart < 0).sum()),
        "told_right": int((np.sign(apart) * mean > half).sum()),
        "told_wrong": int((-np.sign(apart) * mean > half).sum()),
    }


def rankings(cells: Cells) -> Iterator[dict[str, Any]]:
    for family, layout in {(cell[0], cell[2]): None for cell in cells}:
        learners = [learner for learner in LEARNERS if (family, learner, layout) in cells]
        for preset in PRESETS:
            for metric in HEADLINE:
                for n, k in questions(preset, metric):
                    summed = [cells[family, learner, layout] for learner in learners]
                    true = np.array([_true(cell, preset, metric, k) for cell in summed])
                    cut = [groups_of(life_values(cell, preset, metric, k), n) for cell in summed]
                    means = np.stack([interval(grouped, None, k, 0.95)[0] for grouped in cut])
                    right = np.argsort(true)[::-1]
                    order = np.argsort(-means, axis=0)
                    two = combinations(range(len(learners)), 2)
                    agreeing = [np.sign((true[a] - true[b]) * (means[a] - means[b])) for a, b in two]
                    yield {
                        "family": family,
                        "layout": layout,
                        "preset": preset,
                        "metric": metric,
                        "n": n,
                        "k": k,
                        "groups": means.shape[1],
                        "best": learners[right[0]],
                        "best_first": int((order[0] == right[0]).sum()),
                        "all_right": int((order == right[:, None]).all(axis=0).sum()),
                        "kendall": float(np.nanmean(agreeing)),
                    }


def components(cells: Cells) -> Iterator[dict[str, Any]]:
    """Yield the components of a lifetime's variance (order, evaluations, seed), and of an expert's.

    Evaluations: the halves of a block differ only by chance. Order: lifetimes of different orders differ. The rest is
    the seed's: initial weights, training samples, exploration. Standard errors come from slices.
    """
    for cell, summed in cells.items():
        orders = np.unique(summed["order"], axis=0, return_inverse=True)[1].ravel()
        for metric in HEADLINE:
            values = life_values(summed, "standard", metric, 5)
            halves = [summed.get(f"half_{half}_{metric}") for half in (0, 1)]
            if metric in ("rp", "se"):  # whole groups only
                values = among_lives(values)
            shares = _parts(values, halves, orders[: len(values)])
            count = len(values) // SLICES
            cut = [slice(index * count, (index + 1) * count) for index in range(SLICES)]
            slices = [
                _parts(values[part], [None if half is None else half[part] for half in halves], orders[part])
                for part in cut
            ]
            facts = dict(zip(("order", "evaluation", "seed"), shares, strict=True))
            errors = np.std(slices, axis=0, ddof=1) / np.sqrt(SLICES)
            facts |= {f"{name}_se": float(error) for name, error in zip(tuple(facts), errors, strict=True)}
            expert, expert_se = _expert_part(summed, metric)
            yield _named(cell) | {"metric": metric} | facts | {"expert": expert, "expert_se": expert_se}


def _parts(values: Array, halves: list[Array | None], orders: Array) -> tuple[float, float, float]:
    _, place, counts = np.unique(orders, return_inverse=True, return_counts=True)
    total, kinds = len(values), len(counts)
    means = np.bincount(place, values) / counts
    within = ((values - means[place]) ** 2).sum() / max(total - kinds, 1)
    between = (counts * (means - values.mean()) ** 2).sum() / max(kinds - 1, 1)
    usual = (total - (counts**2).sum() / total) / max(kinds - 1, 1)
    order = (between - within) / usual
    evaluation = 0.0
    if halves[0] is not None and halves[1] is not None:
        evaluation = float((halves[0].astype(np.float64) - halves[1]).var(ddof=1) / 4)
    return float(order), evaluation, float(within - evaluation)


def _expert_part(summed: dict[str, Array], metric: str) -> tuple[float, float]:
    """Return the variance that one expert per task adds to a group's mean. More lifetimes do not reduce it."""
    tasks = summed["experts"].shape[0]
    if metric == "rp":
        experts = summed["experts"].astype(np.float64)
        slices = (
            np.array([part.var(axis=1, ddof=1).sum() for part in np.array_split(experts, SLICES, axis=1)]) / tasks**2
        )
        return float(experts.var(axis=1, ddof=1).sum() / tasks**2), float(slices.std(ddof=1) / np.sqrt(SLICES))
    if metric == "se":
        spread = summed["se_spread"][:, -1, -1].sum(axis=1) / tasks**2  # 30 lives, 10 experts
        return float(spread.mean()), float(spread.std(ddof=1) / np.sqrt(len(spread)))
    return 0.0, 0.0


def correlations(cells: Cells) -> Iterator[dict[str, Any]]:
    """Yield Spearman's correlations within each cell and over all lifetimes; partial ones given the other metrics."""
    for preset in ("standard", "baker-2023"):
        matrices = {}
        for cell, summed in cells.items():
            values = np.stack([life_values(summed, preset, metric, 5) for metric in HEADLINE])
            values = values[:, np.isfinite(values).all(axis=0)]
            matrices[cell] = values
            yield from _correlated(cell, preset, values)
        for layout in LAYOUTS:
            for family in FAMILIES:
                some = [matrix for cell, matrix in matrices.items() if (cell[0], cell[2]) == (family, layout)]
                if some:
                    yield from _correlated((family, "all", layout), preset, np.concatenate(some, axis=1))
        pooled = np.concatenate(list(matrices.values()), axis=1)
        yield from _correlated(("all", "all", "all"), preset, pooled)


def _correlated(cell: tuple[str, str, str], preset: str, values: Array) -> Iterator[dict[str, Any]]:
    ranks = np.stack([rankdata(value) for value in values])
    plain = np.corrcoef(ranks)
    inverse = np.linalg.pinv(plain)
    for index, first in enumerate(HEADLINE):
        for to in range(index + 1, len(HEADLINE)):
            yield _named(cell) | {
                "preset": preset,
                "first": first,
                "second": HEADLINE[to],
                "lives": values.shape[1],
                "spearman": float(plain[index, to]),
                "partial": float(-inverse[index, to] / np.sqrt(inverse[index, index] * inverse[to, to])),
            }


def planned(cells: Cells) -> Iterator[dict[str, Any]]:
    """Yield how often 11 lifetimes detect an effect of exactly one sd (made by moving the threshold), or of none."""
    count = 11
    for cell, summed in cells.items():
        for metric in HEADLINE:
            k = 5
            values = life_values(summed, "standard", metric, k)
            true, sd = _true(summed, "standard", metric, k), float(among_lives(values).std())
            with_experts = metric in ("rp", "se")
            cut = groups_of(values, count)
            if not with_experts:  # no experts are shared, so that every eleven lives are a group
                cut = values[: len(values) // count * count].reshape(-1, count)
            parts = expert_parts(summed, metric, count, k) if with_experts else None
            mean, half = interval(cut, parts, k, 0.95)
            ends = mean - half, mean + half
            skew = float((((values - values.mean()) / sd) ** 3).mean()) if sd else 0.0
            yield _named(cell) | {
                "metric": metric,
                "groups": len(mean),
                "above": int((ends[0] > true - sd).sum()),
                "below": int((ends[1] < true + sd).sum()),
                "false": int(((ends[0] > true) | (ends[1] < true)).sum()),
                "skew": skew,
            }


def _named(cell: tuple[str, str, str]) -> dict[str, Any]:
    return dict(zip(("family", "learner", "layout"), cell, strict=True))


def main() -> None:
    """Write every table."""
    cells, conditions = read(Path(sys.argv[1]))
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "results"
    folder.mkdir(exist_ok=True)
    tables: dict[str, pl.DataFrame] = {"lives": lives(cells)}
    for make in (truth, rates, pairs, rankings, components, correlations, planned):
        frame = pl.DataFrame(list(make(cells)), infer_schema_length=None)
        texts = [name for name, kind in frame.schema.items() if kind == pl.String]
        tables[make.__name__] = frame.with_columns(pl.col(texts).cast(pl.Categorical()))
        print(make.__name__, len(frame), flush=True)
    for name, frame in tables.items():
        floats = [column for column, kind in frame.schema.items() if kind == pl.Float64]
        frame.with_columns(pl.col(floats).cast(pl.Float32)).write_parquet(
            folder / f"{name}.parquet", compression="zstd", compression_level=19, statistics=False
        )
    (folder / "about.json").write_text(json.dumps(conditions, indent=1) + "\n", encoding="utf-8")
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    print(json.dumps(sizes), f"{sum(sizes.values()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
