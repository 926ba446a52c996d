"""Build the metric pages: formula, sites, threshold, null bench and weakness, from the declarations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perdure.metrics.declare import Metric
    from perdure.scenario.model import Block, Scenario
    from perdure.scenario.sites import Site

__all__ = ["NULL", "SYMBOLS", "drawing", "metric_pages", "null_rows", "small_scenarios", "table"]

NULL = Path(__file__).parents[1] / "docs" / "data"
"""Where `python bench/null.py --preset NAME --json docs/data/null-NAME.json` writes what each preset says of a null."""

SYMBOLS: Mapping[str, str] = {
    r"\mathrm{EP}(b)": "the mean of an evaluation block",
    r"\mathrm{TLP}(b)": "the mean of the last tenth of a learning block",
    r"\text{learned}_k": "the k-th value of the blocks in that role; *n* values in all",
    r"L_k,\; E_k": "the learner's and an expert's joined learning curve of one task; *m* is the shorter length",
    r"S,\; X,\; B": "of a joined curve *C*: its last tenth; when it reaches the target; the first tenth of learner and "
    "experts together",
    r"R,\; D": "the time until a task is recovered; how far it had dropped",
    r"\beta": "the least-squares slope of the values over their index",
    r"s_k,\; \mathrm{sat}(b),\; K": "under `framework-2019`: a block's moving average; its highest value; "
    "which part of that is left in evaluation",
    "A_{i,j}": "the evaluation of the i-th task after the j-th was learned, as measured; *T* tasks",
    r"R_i,\; J_i": "performance of an untrained, and of a jointly trained learner on the i-th task",
}
"""What the formulas say, sign by sign."""


def metric_pages() -> dict[str, str]:
    """Return the page `metrics`, which lists all metrics, and a page for each id."""
    by_id: dict[str, dict[str, Metric]] = {}
    for preset, name, declared in _bound():
        by_id.setdefault(name, {})[preset] = declared
    pages = {f"metrics/{name}": _page(name, bound) for name, bound in by_id.items()}
    return {"metrics": _index(by_id), **pages}


def _bound() -> Iterator[tuple[str, str, Metric]]:
    """Yield preset, id and declaration, the standard preset first, and last the metrics of comparisons only."""
    from perdure.metrics import METRICS
    from perdure.metrics.presets import PRESETS, chosen_metrics

    for preset in PRESETS:
        yield from ((preset.name, name, declared) for name, declared in chosen_metrics(preset).items())
    yield from (("", metric.name, metric) for metric in METRICS if not metric.preset)


_INDEX = """# Metrics

Each is one declaration; its page, lint, tables and verdicts derive from it. What all of them share is said in
[what the numbers mean](../why/what-the-numbers-mean.md), what conditions and capabilities are in
[what lifelong learning is](../why/what-lifelong-learning-is.md).
"""


def _index(by_id: Mapping[str, Mapping[str, Metric]]) -> str:
    listed: dict[str, list[tuple[str, ...]]] = {}
    for name, bound in by_id.items():
        preset, metric = next(iter(bound.items()))
        row = (f"[`{name}`](metrics/{name}.md)", metric.summary, metric.bar, metric.condition, metric.capability)
        listed.setdefault(preset, []).append(row)
    parts = [_INDEX]
    for preset, rows in listed.items():
        heading = ("id", "what it says", "demonstrated", "condition", "capability")
        title = f"Of the preset {preset}" if preset else "Of comparisons only"
        parts.append(f"\n## {title}\n\n{table(heading, rows)}")
    parts.append("\n## Signs\n\nWords in a formula are the roles that the drawing below it names.\n\n")
    parts.append(table(("sign", "meaning"), ((_math(sign), meaning) for sign, meaning in SYMBOLS.items())))
    return "".join(parts)


def _page(name: str, bound: Mapping[str, Metric]) -> str:
    (first, declared), *others = bound.items()
    remarks = "".join(f"{remark}\n\n" for remark in declared.remarks)
    holder = f"`{first}`" if first else "comparisons"
    weakness = f"{declared.weakness[:1].upper()}{declared.weakness[1:]}" or "None is known."
    parts = [
        f"# {name}\n\n{declared.summary}\n\n",
        f"## Formula\n\n{_math(declared.equation, display=True)}\n\n" if declared.equation else "",
        f"{remarks}[What the signs mean](../metrics.md#signs)\n\n",
        f"## Where it is read\n\nIt needs {_needs(declared)}.\n\n{drawing(declared)}\n\n",
        f"## What it is held against\n\n{table(('preset', holder), _facts(declared))}\n",
        f"## Weaknesses\n\n{weakness}\n\n",
        f"## Under a null\n\n{_null(name, bound)}",
    ]
    same = []
    for preset, metric in others:
        differs = _difference(metric, declared)
        same += [] if differs else [f"`{preset}`"]
        parts.append(f"\n## Under {preset}\n\n{differs}" if differs else "")
    parts.append(f"\nThe same under {', '.join(same)}, on curves prepared as it says.\n" if same else "")
    return "".join(parts)


def _needs(metric: Metric) -> str:
    return metric.needs + (", and experts" if metric.expert else "")


def _facts(metric: Metric) -> Iterator[tuple[str, str]]:
    combination = (metric.combine.__doc__ or "").partition(";")[0].strip().rstrip(".")
    facts = {
        "also called": ", ".join(metric.aliases),
        "variant of": f"[`{metric.variant_of}`]({metric.variant_of}.md)" if metric.variant_of else "",
        "unit": metric.unit,
        "better": metric.better,
        "over places": combination[:1].lower() + combination[1:] + (", of logarithms" if metric.scale == "log" else ""),
        "demonstrates lifelong learning": metric.bar or "no threshold",
        "verdict": "yes" if metric.headline and metric.threshold is not None else "none: exploratory",
        "in comparisons": _compared(metric),
        "called good": metric.good.words if metric.good else "",
        "condition": metric.condition,
        "core capability": metric.capability,
        "source": metric.source,
    }
    return ((name, fact) for name, fact in facts.items() if fact)


def _compared(metric: Metric) -> str:
    """Return the words and the margin of a metric that is tested when learners are compared."""
    if not metric.compared:
        return "exploratory: relative to own experts" if metric.headline and metric.expert else ""
    margin = metric.compared.margin
    size = f"a factor of {margin:g}" if metric.scale == "log" else f"{margin:g} points"
    return f"*{metric.compared.better}* or *{metric.compared.worse}*; margin {size}"


def _difference(metric: Metric, standard: Metric) -> str:
    """Return how another preset's declaration differs from the first."""
    known = {"needs": _needs(standard), **dict(_facts(standard))}
    facts = {"needs": _needs(metric), **dict(_facts(metric))}
    # Margins are those of `standard`; the presets of papers compare without.
    rows = [(key, fact) for key, fact in facts.items() if key != "in comparisons" and known.get(key) != fact]
    parts = [
        f"{metric.summary}\n\n" if metric.summary != standard.summary else "",
        f"{_math(metric.equation, display=True)}\n\n" if metric.equation not in {"", standard.equation} else "",
        table(("differs", "here"), rows) if rows else "",
        f"\nWeakness: {metric.weakness}\n" if metric.weakness not in {"", standard.weakness} else "",
    ]
    return "".join(parts)


# --- formulas -------------------------------------------------------------------------------------


def _math(latex: str, *, display: bool = False) -> str:
    """Convert LaTeX to MathML, which browsers draw without a script."""
    from latex2mathml.converter import convert

    return str(convert(latex, display="block" if display else "inline"))


# --- results of bench/null.py ---------------------------------------------------------------------


_OF_A_NULL = """What is said of a learner that neither forgets nor transfers: every verdict on it is an error. Shares of
groups, in the middle and in the worst of [all kinds of lives and experts](../../why/how-sure-are-we.md); of performance
maintenance under `standard`: *gains* and *forgets*.
"""


def _null(name: str, presets: Iterable[str]) -> str:
    rows = [row for preset in presets for row in null_rows(name, preset)]
    if not rows:
        return "Not measured.\n"
    heading = ("preset", "groups", "mean over groups", "met", "not met", "intervals that hold the truth")
    return f"{_OF_A_NULL}\n{table(heading, rows)}"


def null_rows(name: str, preset: str, folder: Path = NULL) -> Iterator[tuple[str, ...]]:
    """Return a preset's rows of the null bench: range of means, median and worst shares over all cells."""
    from perdure.text import initials

    file = folder / f"null-{preset}.json"
    if not file.is_file():
        return
    report: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    cells = [row[initials(name)] for row in report["cells"].values() if initials(name) in row]
    if cells:
        means = [row["mean"] for row in cells]
        covered = [row["covered"] for row in cells if "covered" in row]
        yield (
            f"`{preset}`",
            f"{report['groups']} of each of {len(cells)} kinds",
            f"{min(means):.3g} … {max(means):.3g}",
            *(_shares([row[verdict] for row in cells], max) for verdict in ("met", "not_met")),
            _shares(covered, min) if covered else "",
        )


def _shares(values: Sequence[float], worst: Callable[[Sequence[float]], float]) -> str:
    return f"{100 * median(values):.3g} %, worst {100 * worst(values):.3g} %"


# --- sites ----------------------------------------------------------------------------------------

_LANE, _LEARNING, _EVALUATION, _GAP, _LEFT = 34, 62, 16, 3, 26


def small_scenarios() -> Iterator[Scenario]:
    """Return small scenarios to draw a metric's sites on; the first with a site is used."""
    from perdure.scenario.model import Block, Scenario

    def lifetime(learned: str, evaluated: str = "ab") -> Scenario:
        blocks: list[Block] = [Block("evaluate", task, 10) for task in evaluated]
        for task in learned:
            blocks += [Block("learn", task, 100), *(Block("evaluate", other, 10) for other in evaluated)]
        return Scenario.of("small", blocks)

    def changing(first: str, second: str) -> Scenario:
        """Return the 2019 transfer assessment: parameter sets, learned in turn and then evaluated."""
        blocks: list[Block] = []
        for learned, group in ((first, 0), (second, 2)):
            blocks += [Block("learn", learned, 100, {"width": width}, group=group) for width in (1, 2)]
            for task in (first, second):
                blocks += [Block("evaluate", task, 10, {"width": width}, group=group + 1) for width in (1, 2)]
        return Scenario.of("small", blocks)

    yield from (lifetime("ab"), lifetime("aba"), lifetime("ababa"), lifetime("ab", "abc"), lifetime("abcd", "abcd"))
    yield changing("a", "b")
    yield Scenario.of("small", [Block("learn", task, 100) for task in "aba"])
    probed = [Block("learn", "b", 100), Block("probe", "a", 10, inside=50), Block("evaluate", "a", 10)]
    yield Scenario.of("small", [Block("learn", "a", 100), Block("evaluate", "a", 10), *probed])


def drawing(metric: Metric) -> str:
    """Draw a metric's sites on a small scenario as SVG: the first site with its roles, then the others."""
    for scenario in small_scenarios():
        sites = tuple(metric.sites(scenario))
        if sites:
            return _drawn(scenario, sites)
    return ""


def _drawn(scenario: Scenario, sites: Sequence[Site]) -> str:
    from perdure.scenario.sites import key_text

    roles: dict[int, list[str]] = {}
    for role, read in sites[0].blocks.items():
        for index in read:
            roles.setdefault(index, []).append("read" if role == "at" else role)
    others = {index for site in sites[1:] for read in site.blocks.values() for index in read}
    lanes = {task.label: lane for lane, task in enumerate(scenario.tasks)}
    parts, left = [], _LEFT
    for task, lane in lanes.items():
        parts.append(f'<text x="4" y="{lane * _LANE + 28}">{escape(task)}</text>')
    for index, block in enumerate(scenario.blocks):
        width = _LEARNING if block.mode == "learn" else _EVALUATION
        shade = 1.0 if index in roles else 0.45 if index in others else 0.12
        top = lanes[block.task] * _LANE + 14
        parts.append(_box(block, left, top, width, shade))
        if index in roles:
            label = escape(", ".join(roles[index]))
            parts.append(f'<text x="{left + width / 2:g}" y="{top - 3}" text-anchor="middle">{label}</text>')
        left += width + _GAP
    height = len(lanes) * _LANE + 6
    picture = (
        f'<svg viewBox="0 0 {left} {height}" style="width:100%;max-width:{1.5 * left:g}px" role="img" font-size="10" '
        f'fill="currentColor" stroke="currentColor" stroke-width="0">{"".join(parts)}</svg>'
    )
    more = f"; {len(sites) - 1} more in grey" if len(sites) > 1 else ""
    first = key_text(sites[0].key)
    label = f"Filled: learned; framed: evaluated. Dark, with its role: the first place ({escape(first)}){more}."
    return f"<figure>{picture}<figcaption>{label}</figcaption></figure>"


def _box(block: Block, left: float, top: float, width: float, shade: float) -> str:
    place = f'x="{left:g}" y="{top}" width="{width}" height="16" rx="2"'
    if block.mode == "learn":
        return f'<rect {place} fill-opacity="{shade}"/>'
    return f'<rect {place} fill="none" stroke-width="2.5" stroke-opacity="{shade}"/>'


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = (heading, ["---"] * len(heading), *([cell.replace("|", r"\|") for cell in row] for row in rows))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
