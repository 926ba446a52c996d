"""The study's answers: from `results/*.parquet` to the numbers, the figures and the page; python answers.py.

`page.md` is the page with names in place of numbers, `{like_this}`; nothing on the page is typed by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from figures import bars, dots, lines

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "why"
PAGE = "ten-thousand-lives.md"
NAMES = {"pm": "PM", "ft": "FT", "bt": "BT", "rp": "RP", "se": "SE"}
PRESETS = ("standard", "baker-2023", "new-2022")
LIVES = (3, 5, 11, 30)
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
"""Spearman's correlations over the systems of Baker et al. 2023, Table 15."""


class Results:
    """The tables, read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.about = json.loads((folder / "about.json").read_text(encoding="utf-8"))

    def __getattr__(self, name: str) -> pl.DataFrame:
        frame = pl.read_parquet(self._folder / f"{name}.parquet")
        texts = [column for column, kind in frame.schema.items() if kind == pl.Categorical]
        return frame.with_columns(pl.col(texts).cast(pl.String))


def share(frame: pl.DataFrame, count: str, of: str = "groups") -> float:
    """All groups together."""
    whole = float(frame[of].sum())
    return float(frame[count].sum()) / whole if whole else float("nan")


def false_verdicts(frame: pl.DataFrame) -> float:
    """Of the null: told that it does better or worse than nothing; that it keeps is true, and no error."""
    kept = (frame["preset"][0], frame["metric"][0]) == ("standard", "pm")
    return share(frame, "gains" if kept else "met") + share(frame, "not_met")


def null(results: Results, preset: str, metric: str, n: int, k: int) -> pl.DataFrame:
    """The rates of the learner that neither forgets nor transfers, in all families and layouts."""
    alone = preset == "standard" and metric in ("pm", "ft", "bt")
    some = {"learner": "separate", "preset": preset, "metric": metric, "n": n, "k": 5 if alone else k}
    return results.rates.filter(**some)


# --- figures --------------------------------------------------------------------------------------


def figures(results: Results) -> Iterator[tuple[str, str]]:
    """Each figure by its name."""
    panels = {
        f"{NAMES[metric]}": {
            preset: [false_verdicts(null(results, preset, metric, n, 5)) for n in LIVES] for preset in PRESETS
        }
        for metric in NAMES
    }
    title = "Verdicts on a learner that neither forgets nor transfers: every one is an error (5 experts)"
    yield "null", lines(title, panels, [str(n) for n in LIVES], across="lifetimes", nominal=0.05)
    parts = shares(results)
    yield "components", bars("Where the variance of a lifetime's value comes from (median over learners)", parts)
    found = results.rankings.filter(k=5)
    panels = {
        NAMES[metric]: {
            preset: [share(found.filter(preset=preset, metric=metric, n=n), "all_right") for n in LIVES]
            for preset in PRESETS
        }
        for metric in NAMES
    }
    title = "How often n lifetimes of each of six learners put all six in the right order (5 experts)"
    yield "rankings", lines(title, panels, [str(n) for n in LIVES], across="lifetimes")
    rows = {
        f"{NAMES[first]} and {NAMES[second]}": {
            "lives of one learner": within(results, first, second),
            "all lives": [correlation(results, first, second)],
            "Baker et al. 2023": [printed],
        }
        for (first, second), printed in TABLE_15.items()
    }
    title = "Spearman's correlation of two metrics"
    yield "correlations", dots(title, rows, low=-1, high=1, mark=0, across="ρ", percent=False)
    rule = results.planned
    rows = {
        NAMES[metric]: {
            family: sides(rule.filter(metric=metric, family=family))
            for family in rule["family"].unique(maintain_order=True)
        }
        for metric in NAMES
    }
    title = "How often 11 lifetimes see an effect of one standard deviation (RP, SE: 5 experts)"
    yield "eleven", dots(title, rows, low=0, high=1, mark=0.9, across="groups of 11 that see it", percent=True)


def shares(results: Results) -> dict[str, dict[str, float]]:
    """By family and metric, the shares of seed, order and evaluations in the variance of a life's value."""
    frame = results.components.with_columns(
        pl.max_horizontal(pl.col(name), pl.lit(0.0)).alias(name) for name in ("seed", "order", "evaluation")
    )
    whole = pl.col("seed") + pl.col("order") + pl.col("evaluation")
    rows = {}
    for family in frame["family"].unique(maintain_order=True):
        for metric in NAMES:
            some = frame.filter(family=family, metric=metric).select(
                (pl.col(name) / whole).alias(name) for name in ("seed", "order", "evaluation")
            )
            found = {name: float(some[name].median()) for name in some.columns}  # type: ignore[arg-type]
            total = sum(found.values()) or 1.0
            rows[f"{family}, {NAMES[metric]}"] = {name: one / total for name, one in found.items()}
    return rows


def within(results: Results, first: str, second: str) -> list[float]:
    """In each cell: of lives of one learner, one family, one layout."""
    frame = results.correlations.filter(preset="standard", first=first, second=second)
    return frame.filter(pl.col("learner") != "all")["spearman"].drop_nans().to_list()


def correlation(results: Results, first: str, second: str, what: str = "spearman") -> float:
    """Over all lives."""
    return float(
        results.correlations.filter(preset="standard", learner="all", family="all", first=first, second=second)[what][0]
    )


def sides(frame: pl.DataFrame) -> list[float]:
    """Of each cell: how often an effect of one sd is seen, on either side."""
    return (frame["above"] / frame["groups"]).to_list() + (frame["below"] / frame["groups"]).to_list()


def main() -> None:
    """Write the figures and the page."""
    results = Results(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results")
    into = Path(sys.argv[2]) if len(sys.argv) > 2 else DOCS
    (into / "ten-thousand-lives").mkdir(parents=True, exist_ok=True)
    for name, drawn in figures(results):
        (into / "ten-thousand-lives" / f"{name}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
