"""Write the study's pages and figures from `results/`: python answers.py.

The templates `summary.md` (a docs page) and `details.md` (RESULTS.md) have names for numbers, `{like_this}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from facts import facts
from figures import bars, dots, lines
from readings import HERE, LIVES, NAMES, PRESETS, TABLE_15, Results, correlations, detected, errors, parts, share

__all__ = ["DOCS", "PAGE", "figures", "pages"]

DOCS = HERE.parents[1] / "docs" / "why"
PAGE = "ten-thousand-lives"
PLACES = [str(n) for n in LIVES]


def pages(results: Results) -> dict[Path, str]:
    """Return the text of each page, by its file."""
    numbers = facts(results)
    templates = {DOCS / f"{PAGE}.md": "summary.md", HERE / "RESULTS.md": "details.md"}
    return {file: (HERE / name).read_text(encoding="utf-8").format_map(numbers) for file, name in templates.items()}


def figures(results: Results) -> Iterator[tuple[str, str]]:
    """Yield each figure with its name."""
    panels = {
        NAMES[metric]: {preset: [sum(errors(results, preset, metric, n, 5)) for n in LIVES] for preset in PRESETS}
        for metric in NAMES
    }
    title = "False verdicts on a learner that neither forgets nor transfers, 5 experts per task (dashed: promised)"
    across = "lifetimes; promised are 5 % (standard) and 10 % (the papers)"
    yield "null", lines(title, panels, PLACES, across=across, promised=(0.05, 0.10))
    frame = results.rankings.filter(k=5)
    panels = {
        NAMES[metric]: {
            preset: [share(frame.filter(preset=preset, metric=metric, n=n), "all_right") for n in LIVES]
            for preset in PRESETS
        }
        for metric in NAMES
    }
    title = "How often so many lifetimes of each put all six learners in the right order (5 experts per task)"
    yield "rankings", lines(title, panels, PLACES, across="lifetimes")
    rows = {}
    for family in results.families:
        for metric, name in NAMES.items():
            shares_by_part = parts(results, family, metric)
            rows[f"{family}, {name}"] = {part: median(shares) for part, shares in shares_by_part.items()}
    title = "Where the variance of a lifetime's value comes from (medians, which need not add up to 100 %)"
    yield "parts", bars(title, rows)
    related = {two: correlations(results, *two) for two in TABLE_15}
    points = {
        f"{NAMES[first]} and {NAMES[second]}": {
            "lives of one learner": related[first, second][0],
            "all lives": [related[first, second][1]],
            "all lives, by baker-2023": [correlations(results, first, second, "baker-2023")[1]],
            "Baker et al. 2023": [printed],
        }
        for (first, second), printed in TABLE_15.items()
    }
    title = "How far two metrics rank lifetimes alike (Spearman's ρ)"
    yield "correlations", dots(title, points, low=-1, high=1, mark=0, across="ρ", percent=False)
    points = {
        NAMES[metric]: {family: detected(results, metric, family) for family in results.families} for metric in NAMES
    }
    title = "How often 11 lifetimes see an effect of one standard deviation; promised are 90 %"
    yield "eleven", dots(title, points, low=0, high=1, mark=0.9, across="groups of 11 that see it (RP, SE: 5 experts)")


def main() -> None:
    """Write the pages and their figures."""
    results = Results()
    folder = DOCS / PAGE
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(results):
        Path(folder / f"{name}.svg").write_text(figure, encoding="utf-8")
    for file, text in pages(results).items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
