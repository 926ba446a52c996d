"""Tables for papers: methods by metrics, with intervals, the best in bold, and stars for differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from perdure.errors import PerdureError
from perdure.metrics import METRICS
from perdure.metrics.engine.metric import Bar
from perdure.reports.data import baselines, comparable_groups, compare_groups, group_names, table_metrics
from perdure.settings.presets import STANDARD
from perdure.stats.difference import Comparison, Difference
from perdure.stats.model import LEVEL, Estimate, Group
from perdure.stats.scored import GroupedSurvey
from perdure.tables import Column, Strong, Table
from perdure.text import NOTHING, interval, listed, number, plural, short

_UNITS = {"percent": "%", "fraction": "of 1", "raw": ""}
CONSTANT = "†"
"""Of a difference that no lifetime varies in, so that no test has a p for it."""


class PaperCell(msgspec.Struct, frozen=True):
    """One metric of one method, as text."""

    mean: str = NOTHING
    spread: str = ""
    """`± 0.4`, or `[1.1, 1.4]` for an asymmetric interval; empty without one."""
    mark: str = ""
    best: bool = False

    @property
    def text(self) -> str:
        """The cell as plain text."""
        return " ".join(one for one in (self.mean, self.spread) if one) + self.mark


class Heading(msgspec.Struct, frozen=True):
    """A metric as the head of a column."""

    metric: str
    brief: str
    unit: str
    better: str

    @property
    def text(self) -> str:
        """`BWT (%) ↑`: initials, unit and direction."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.brief}{unit} {self.arrow}"

    @property
    def arrow(self) -> str:
        """Up if higher is better."""
        return "↑" if self.better == "higher" else "↓"


class PaperRow(msgspec.Struct, frozen=True):
    """One method."""

    method: str
    n: int
    cells: tuple[PaperCell, ...]


class PaperTable(msgspec.Struct, frozen=True):
    """Methods that may be compared: of one scenario type, and measured in the same way."""

    caption: str
    headings: tuple[Heading, ...]
    rows: tuple[PaperRow, ...]
    notes: tuple[str, ...] = ()
    baseline: str = ""
    """The method that others are compared with; empty if nothing could be compared."""
    comparisons: tuple[Comparison, ...] = ()

    def table(self) -> Table:
        """Return the table with its cells as text, the best in bold."""
        columns = (Column("Method"), Column("n", "number"), *(Column(one.text, "number") for one in self.headings))
        rows = (
            (row.method, str(row.n), *(Strong(cell.text) if cell.best else cell.text for cell in row.cells))
            for row in self.rows
        )
        return Table(self.caption, columns, tuple(rows), " ".join(self.notes))


def paper_tables(
    data: GroupedSurvey, *, baseline: str | None = None, metrics: Sequence[str] = (), title: str | None = None
) -> tuple[PaperTable, ...]:
    """A table for each scenario type and measure: the headline metrics that any method has, or `metrics`.

    The last method is the baseline unless one is named, as in `perdure compare`, and the marks come from the same test:
    p after Holm over the headline metrics that both could answer.
    """
    if data.apart and not data.groups:
        raise PerdureError(data.apart, "score them apart")
    baselines(data, baseline)  # one that nobody is called is an error before any work
    made = (_table(data, groups, baseline, metrics, title) for groups in comparable_groups(data))
    found = tuple(one for one in made if one.rows)
    if not found:
        raise PerdureError(
            "no method has a lifetime that counts, or a value of a metric, so there is no table",
            "see perdure score for why",
        )
    return found


def _table(
    data: GroupedSurvey,
    groups: Sequence[Group],
    baseline: str | None,
    metrics: Sequence[str],
    title: str | None,
) -> PaperTable:
    counted = [group for group in groups if group.n]
    if not counted or not (shown := table_metrics(counted, metrics)):
        return PaperTable("", (), ())
    names = group_names(groups, data)
    base = next((one for one in baselines(data, baseline) if one in counted), None)
    made = compare_groups(data, counted, base, shown, brief=True) if base else {}
    bars = {name: one.bar for group in counted for name, one in group.estimates.items()}
    rows = [
        PaperRow(
            names[group.group][0],
            group.n,
            tuple(_cell(group.estimates.get(name), made.get(group.group), name) for name in shown),
        )
        for group in counted
    ]
    table = PaperTable(
        _caption(counted, title),
        _headings(shown, data, counted[0], bars),
        _with_best(rows, counted, shown, bars),
        baseline=names[base.group][0] if base and made else "",
        comparisons=tuple(made.values()),
    )
    absent = [names[one.group][0] for one in groups if not one.n]
    task_sets = {frozenset(one.score.tasks) for group in counted for one in data.of_group(group)}
    return msgspec.structs.replace(table, notes=_notes(table, counted, absent, same_tasks=len(task_sets) < 2))


# --- cells ----------------------------------------------------------------------------------------


def _cell(one: Estimate | None, compared: Comparison | None, metric: str) -> PaperCell:
    if one is None or one.mean is None:
        return PaperCell()
    difference = compared.differences.get(metric) if compared else None
    mark = _mark(difference) if difference else ""
    if one.low is None or one.high is None or one.n < 2:  # one lifetime's own interval is not about others
        return PaperCell(number(one.mean), "", mark)
    mean = number(one.mean, one.width)
    above, below = one.high - one.mean, one.mean - one.low
    if abs(above - below) <= 1e-9 * (above + below):
        decimals = len(mean.partition(".")[2])
        return PaperCell(mean, f"± {above:.{decimals}f}" if "e" not in mean else f"± {number(above)}", mark)
    return PaperCell(mean, f"[{interval(one.low, one.high, ', ')}]", mark)


def _mark(one: Difference) -> str:
    """A star for each of the bounds that p after Holm lies below; exploratory metrics are not tested."""
    if one.word in ("better", "worse") and one.p is None:
        return CONSTANT
    if one.word is None or one.p_holm is None:
        return ""
    return "*" * sum(one.p_holm < bound for bound in _bounds(one.level))


def _bounds(level: float) -> tuple[float, ...]:
    """What one, two and three stars mean."""
    error = round(1 - level, 12)
    return (error, *(bound for bound in (0.01, 0.001) if bound < error))


def _with_best(
    rows: Sequence[PaperRow], groups: Sequence[Group], shown: Sequence[str], bars: Mapping[str, Bar]
) -> tuple[PaperRow, ...]:
    """The rows with the best mean of each metric marked, and those that are written as it is."""
    best: dict[int, str] = {}
    for at, name in enumerate(shown):
        known = [
            (bars[name].sign * one.mean, row.cells[at].mean)
            for row, group in zip(rows, groups, strict=True)
            if (one := group.estimates.get(name)) and one.mean is not None
        ]
        if len(known) > 1:
            best[at] = max(known)[1]
    return tuple(
        PaperRow(
            row.method,
            row.n,
            tuple(msgspec.structs.replace(cell, best=best.get(at) == cell.mean) for at, cell in enumerate(row.cells)),
        )
        for row in rows
    )


# --- words ----------------------------------------------------------------------------------------


def _headings(shown: Sequence[str], data: GroupedSurvey, group: Group, bars: Mapping[str, Bar]) -> tuple[Heading, ...]:
    declared = data.survey.metrics
    briefs = [(declared[name].initials if name in declared else "") or short(name) for name in shown]
    again = Counter(briefs)
    found: list[Heading] = []
    for name, brief in zip(shown, briefs, strict=True):
        metric = declared.get(name)
        unit = metric.unit if metric else ""
        unit = _UNITS.get(group.unit or "", unit) if unit == "measure" else unit
        text = brief if again[brief] == 1 else name.replace("_", " ")
        found.append(Heading(name, text, "" if unit == "measure" else unit, bars[name].better))
    return tuple(found)


def _spelled(metric: str) -> str:
    """Its name for people, by its declaration where there is one."""
    return METRICS.get(metric).spelled if metric in METRICS else metric.replace("_", " ")


def _caption(groups: Sequence[Group], title: str | None) -> str:
    first = groups[0]
    if title:
        where = f", {first.scenario_type}" if first.scenario_type else ""
        return f"{title}{where}"
    what = (first.measure or "scores").replace("_", " ")
    where = f", scenario type {first.scenario_type}" if first.scenario_type else ""
    preset = "" if first.preset == STANDARD else f", scored as {first.preset}"
    return f"{what[:1].upper()}{what[1:]} of {plural(len(groups), 'method')}{where}{preset}"


def _notes(table: PaperTable, groups: Sequence[Group], absent: Sequence[str], *, same_tasks: bool) -> tuple[str, ...]:
    found: list[str] = []
    brief = {one.brief: _spelled(one.metric) for one in table.headings}
    meant = [f"{name}: {meaning}" for name, meaning in brief.items() if name.lower() != meaning]
    if meant:
        found.append(f"{'; '.join(meant)}.")
    cells = [cell for row in table.rows for cell in row.cells]
    level = next((one.level for group in groups for one in group.estimates.values()), LEVEL)
    spread = f"{level:.0%} interval".replace("%", " %")
    if any(cell.spread.startswith("±") for cell in cells):
        found.append(f"Mean over n lifetimes ± half the width of its {spread}.")
    if any(cell.spread.startswith("[") for cell in cells):
        found.append(f"Of ratios the geometric mean over lifetimes [{spread}].")
    if any(cell.best for cell in cells):
        found.append("Bold: the best mean. ↑: higher is better; ↓: lower is better.")
    found += _about_marks(table, cells, level)
    found += _fewer(table, groups)
    if absent:
        found.append(f"Without a lifetime that reached its end, and not shown: {listed(absent)}.")
    if not same_tasks:
        found.append("The methods did not learn the same tasks.")
    return tuple(found)


def _about_marks(table: PaperTable, cells: Sequence[PaperCell], level: float) -> list[str]:
    if not table.comparisons:
        return []
    tests = list(dict.fromkeys(one.test for made in table.comparisons for one in made.tested.values() if one.test))
    if not tests:
        return [f"Not tested against {table.baseline}: fewer than three lifetimes of one of the two."]
    sizes = sorted({one.family for made in table.comparisons for one in made.tested.values() if one.family})
    over = f", adjusted by Holm over {listed(sizes, 'or')} metrics" if sizes and sizes[-1] > 1 else ""
    stars = ", ".join(f"{'*' * (at + 1)} p < {bound:g}" for at, bound in enumerate(_bounds(level)))
    said = f"Against {table.baseline}: {stars} (two-sided {listed(tests, 'or')} test{over})."
    found = [said if any("*" in cell.mark for cell in cells) else f"{said} No difference reaches p < {1 - level:g}."]
    if any(cell.mark == CONSTANT for cell in cells):
        found.append(f"{CONSTANT}: differs in every lifetime by the same, so that there is no p.")
    return found


def _fewer(table: PaperTable, groups: Sequence[Group]) -> list[str]:
    """Of which cells fewer lifetimes have a value than the row's n says."""
    found = [
        f"{row.method}, {heading.brief}: n = {one.n}"
        for row, group in zip(table.rows, groups, strict=True)
        for heading in table.headings
        if (one := group.estimates.get(heading.metric)) and 0 < one.n < row.n
    ]
    return [f"Fewer lifetimes have a value of {'; '.join(found)}."] if found else []
