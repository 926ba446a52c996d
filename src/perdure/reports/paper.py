"""Tables for papers: methods by metrics, with intervals, the best in bold, and stars for differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.metrics import METRICS
from perdure.metrics.declare import Threshold
from perdure.reports.data import baselines, comparable_groups, compare_groups, group_names, table_metrics
from perdure.reports.tables import unit_text
from perdure.settings.presets import STANDARD
from perdure.stats.compare import Comparison, Difference
from perdure.stats.decide import EQUAL
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import LEVEL, Estimate, Group
from perdure.stats.pairing import Want
from perdure.tables import Cell, Column, Strong, Table, escape_markdown, needs_lualatex
from perdure.text import NOTHING, initials, interval, join_words, number, percent, plural

CONSTANT = "†"
"""Mark of a difference that is the same in every lifetime, so that no test has a p for it."""


def paper_tables(
    data: GroupedSurvey,
    *,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    title: str | None = None,
    paired: Want = "auto",
) -> tuple[Table, ...]:
    """Return a table for each scenario type and measure: the headline metrics that any method has, or `metrics`.

    The last method is the baseline unless one is named, as in `perdure compare`, and the marks come from the same test:
    p after Holm over the metrics that comparisons test and both could answer. `Column.about` is the id of the metric.
    """
    if data.apart and not data.groups:
        raise PerdureError(data.apart, "score them apart")
    bases = baselines(data, baseline)
    drafts = (_table(data, groups, bases, metrics, title, paired) for groups in comparable_groups(data))
    tables = tuple(table for table in drafts if table)
    if not tables:
        raise PerdureError(
            "no method has a lifetime that counts, or a value of a metric, so there is no table",
            "see perdure score for why",
        )
    return tables


def _table(
    data: GroupedSurvey,
    groups: Sequence[Group],
    bases: Sequence[Group],
    metrics: Sequence[str],
    title: str | None,
    paired: Want,
) -> Table | None:
    counted = [group for group in groups if group.n]
    if not counted or not (requested := table_metrics(counted, metrics)):
        return None
    names = {group: aliases[0] for group, aliases in group_names(groups, data).items()}
    base = next((group for group in bases if group in counted), None)
    compared = compare_groups(data, counted, base, requested, paired=paired) if base else {}
    bars = {name: estimate.bar for group in counted for name, estimate in group.estimates.items()}
    columns = [_metric_cells(counted, compared, name, bars[name]) for name in requested]
    headings = _headings(requested, data, counted[0], bars)
    rows: list[tuple[Cell, ...]] = [
        (names[group.group], group.n, *cells) for group, *cells in zip(counted, *columns, strict=True)
    ]
    cells = [str(cell) for column in columns for cell in column]
    level = next((estimate.level for group in counted for estimate in group.estimates.values()), LEVEL)
    notes = _notes(headings, [cell for column in columns for cell in column], level)
    if base and compared:
        notes += _mark_notes(names[base.group], tuple(compared.values()), "".join(cells), level)
    notes += _fewer_values(counted, names, headings)
    absent = [names[group.group] for group in groups if not group.n]
    if absent:
        notes.append(f"Without a lifetime that reached its end, and not shown: {join_words(absent)}.")
    if len({frozenset(life.score.tasks) for group in counted for life in data.of_group(group)}) > 1:
        notes.append("The methods did not learn the same tasks.")
    heads = (Column("Method"), Column("n", "number"), *headings)
    return Table(_caption(counted, title), heads, tuple(rows), " ".join(notes))


def combine_tables(tables: Sequence[Table]) -> Table:
    """Return one table of all rows; if there are several tables, its first column has their captions."""
    frames = [
        table.to_frame().select(pl.lit(table.caption).alias("table"), pl.all()).rename({"Method": "method"})
        for table in tables
    ]
    frame = pl.concat(frames, how="diagonal").with_columns(pl.col(pl.String).replace(NOTHING, None))
    frame = frame if len(tables) > 1 else frame.drop("table")
    return Table.of(frame.columns, frame.rows())


def latex_document(tables: Sequence[Table], about: str = "") -> str:
    r"""Return floats to include with \input; numbers are aligned at their decimal points."""
    lines = [
        f"% {' '.join(about.split())}" if about else "",
        r"% In the preamble: \usepackage{booktabs,siunitx}   (siunitx 3 or newer)",
    ]
    floats = [f"\n{table.to_latex(f'perdure-{index}')}" for index, table in enumerate(tables, 1)]
    if needs_lualatex("".join(floats)):
        lines.append("% Some names need LuaLaTeX, and a font that has their letters.")
    return "\n".join([*(line for line in lines if line), *floats]) + "\n"


def markdown_document(tables: Sequence[Table], about: str = "") -> str:
    """Return tables for a README or a supplement; `about` is a comment."""
    lines = [f"<!-- {escape_markdown(about).replace('--', '- -')} -->", ""] if about else []
    for table in tables:
        lines += [table.to_markdown(), ""]
    return "\n".join(lines)


# --- cells ----------------------------------------------------------------------------------------


def _metric_cells(
    groups: Sequence[Group], compared: Mapping[str, Comparison], metric: str, bar: Threshold
) -> list[Cell]:
    """Return the cell of each group, in bold if it shows the best mean."""
    estimates = [group.estimates.get(metric) for group in groups]
    cells = [_cell(estimate) for estimate in estimates]
    means = [
        (bar.sign * estimate.mean, mean)
        for estimate, (mean, _) in zip(estimates, cells, strict=True)
        if estimate and estimate.mean is not None
    ]
    best = max(means)[1] if len(means) > 1 else ""
    marked: list[Cell] = []
    for group, (mean, spread) in zip(groups, cells, strict=True):
        comparison = compared.get(group.group)
        difference = comparison.differences.get(metric) if comparison and mean != NOTHING else None
        text = f"{mean} {spread}".rstrip() + (_mark(difference) if difference else "")
        marked.append(Strong(text) if mean == best else text)
    return marked


def _cell(estimate: Estimate | None) -> tuple[str, str]:
    """Return the mean, and its interval: `± 0.4`, or `[1.1, 1.4]` if it is asymmetric."""
    if estimate is None or estimate.mean is None:
        return NOTHING, ""
    low, high = estimate.low, estimate.high
    if low is None or high is None or estimate.n < 2:  # the interval of one lifetime is not one over lifetimes
        return number(estimate.mean), ""
    mean = number(estimate.mean, estimate.width)
    above, below = high - estimate.mean, estimate.mean - low
    if abs(above - below) > 1e-9 * (above + below):
        return mean, f"[{interval(low, high, ', ')}]"
    decimals = len(mean.partition(".")[2])
    return mean, f"± {above:.{decimals}f}" if "e" not in mean else f"± {number(above)}"


def _mark(difference: Difference) -> str:
    """Return a star for each bound that p after Holm is below; exploratory metrics are not tested."""
    if difference.verdict is None and difference.why and EQUAL in difference.why and difference.ahead:
        return CONSTANT
    if difference.verdict is None or difference.p_holm is None:
        return ""
    return "*" * sum(difference.p_holm < bound for bound in _bounds(difference.level))


def _bounds(level: float) -> tuple[float, ...]:
    """Return the bounds of p for one, two and three stars."""
    error = round(1 - level, 12)
    return (error, *(bound for bound in (0.01, 0.001) if bound < error))


# --- words ----------------------------------------------------------------------------------------


def _headings(
    metrics: Sequence[str], data: GroupedSurvey, group: Group, bars: Mapping[str, Threshold]
) -> tuple[Column, ...]:
    """Return the heads `BWT (%) ↑`: initials, unit and direction."""
    declared = data.survey.metrics
    briefs = [(declared[name].initials if name in declared else "") or initials(name) for name in metrics]
    counts = Counter(briefs)
    columns: list[Column] = []
    for name, brief in zip(metrics, briefs, strict=True):
        unit = unit_text(declared[name], group.unit) if name in declared else ""
        text = brief if counts[brief] == 1 else name.replace("_", " ")
        suffix = f" ({unit})" if unit else ""
        columns.append(Column(f"{text}{suffix} {'↑' if bars[name].better == 'higher' else '↓'}", "value", name))
    return tuple(columns)


def _brief(heading: Column) -> str:
    return heading.name.rstrip(" ↑↓").partition(" (")[0]


def _caption(groups: Sequence[Group], title: str | None) -> str:
    first = groups[0]
    scenario = first.scenario_type
    if title:
        return f"{title}, {scenario}" if scenario else title
    measure = (first.measure or "scores").replace("_", " ")
    scenario = f", scenario type {scenario}" if scenario else ""
    preset = "" if first.preset == STANDARD else f", scored as {first.preset}"
    return f"{measure[:1].upper()}{measure[1:]} of {plural(len(groups), 'method')}{scenario}{preset}"


def _notes(headings: Sequence[Column], cells: Sequence[Cell], level: float) -> list[str]:
    """Return notes on abbreviations, intervals and bold numbers."""
    notes: list[str] = []
    spelled = {
        _brief(heading): METRICS.get(heading.about).spelled
        if heading.about in METRICS
        else heading.about.replace("_", " ")
        for heading in headings
    }
    meanings = [f"{name}: {meaning}" for name, meaning in spelled.items() if name.lower() != meaning]
    if meanings:
        notes.append(f"{'; '.join(meanings)}.")
    text = "".join(map(str, cells))
    spread = f"{percent(level)} interval"
    if "±" in text:
        notes.append(f"Mean over n lifetimes ± half the width of its {spread}.")
    if "[" in text:
        notes.append(f"Of ratios the geometric mean over lifetimes [{spread}].")
    if any(isinstance(cell, Strong) for cell in cells):
        notes.append("Bold: the best mean. ↑: higher is better; ↓: lower is better.")
    return notes


def _mark_notes(baseline: str, comparisons: Sequence[Comparison], cells: str, level: float) -> list[str]:
    tested = [difference for comparison in comparisons for difference in comparison.tested.values()]
    tests = list(dict.fromkeys(difference.test for difference in tested if difference.test))
    if not tests:
        why = next(filter(None, (difference.why for difference in tested)), "no metric in common")
        return [f"Not tested against {baseline}: {why}."]
    sizes = sorted({difference.family for difference in tested if difference.family})
    adjustment = f", adjusted by Holm over {join_words(sizes, 'or')} metrics" if sizes and sizes[-1] > 1 else ""
    stars = ", ".join(f"{'*' * count} p < {bound:g}" for count, bound in enumerate(_bounds(level), 1))
    note = f"Against {baseline}: {stars} (two-sided {join_words(tests, 'or')} test{adjustment})."
    notes = [note if "*" in cells else f"{note} No difference reaches p < {1 - level:g}."]
    if CONSTANT in cells:
        notes.append(f"{CONSTANT}: differs in every lifetime by the same, which is not tested.")
    return notes


def _fewer_values(groups: Sequence[Group], names: Mapping[str, str], headings: Sequence[Column]) -> list[str]:
    """Return a note on the cells of which fewer lifetimes have a value than the row's n."""
    fewer = [
        f"{names[group.group]}, {_brief(heading)}: n = {estimate.n}"
        for group in groups
        for heading in headings
        if (estimate := group.estimates.get(heading.about)) and 0 < estimate.n < group.n
    ]
    return [f"Fewer lifetimes have a value of {'; '.join(fewer)}."] if fewer else []
