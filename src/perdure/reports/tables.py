"""The tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import mean

from msgspec.structs import replace

from perdure.gather.model import ScoredLifetime
from perdure.metrics.declare import Metric, Threshold
from perdure.metrics.learning import final_performance
from perdure.reports.figures import FigureView, NothingToDrawError
from perdure.reports.figures.declare import figure_metrics, flags_of
from perdure.reports.figures.matrices import mean_matrix
from perdure.reports.thinned import thinned_lifetime
from perdure.settings.presets import STANDARD
from perdure.stats.capabilities import capabilities as capabilities_of
from perdure.stats.compare import Comparison
from perdure.stats.decide import decide, is_judged, margin_of
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import LEVEL, Estimate, Group
from perdure.stats.sentences import MARKS
from perdure.stats.tally import Tally
from perdure.tables import Cell, Column, Table
from perdure.text import initials, interval, mean_text, number, p_text, percent, plural

MOST_BLOCKS = 80
MOST_TASKS = 20
_UNITS = {"percent": "%", "fraction": "of 1"}


def unit_text(metric: Metric, unit: str | None) -> str:
    """Return a metric's unit: that of the accuracy matrix, or empty for values as measured."""
    return _UNITS.get(unit or "", "") if metric.unit == "measure" else metric.unit


def metrics(data: GroupedSurvey, group: Group, *, judged: bool = True) -> Table:
    """Return the metrics of a group that are judged, with their verdicts, or else the others.

    The headline metrics of a matrix are in one table. Metrics without a value are listed by `metrics_without_value`.
    """
    estimates = {
        name: estimate
        for name, estimate in group.estimates.items()
        if estimate.mean is not None
        and judged is (estimate.verdict is not None or (estimate.bar.headline == "matrix" and group.unit is not None))
    }
    rows: list[tuple[Cell, ...]] = []
    notes: dict[str, list[str]] = {}
    remarks: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        for item in flags_of(data.of_group(group), name):
            notes.setdefault(f"{item.flag} ({item.n})", []).append(name)
        if not judged:
            for note in estimate.notes:
                remarks.setdefault(note, []).append(name)
        spread = interval(estimate.low, estimate.high, " to ")
        # The sd of logarithms is not in the unit of the mean and its interval.
        sd = f"{number(estimate.sd, 2 * (estimate.sd or 0))} (ln)" if estimate.scale == "log" and estimate.sd else None
        sd = sd or number(estimate.sd, estimate.width)
        values = (number(estimate.mean, estimate.width), spread, sd, estimate.n)
        rows.append((name, *values, *(_verdict_cells(data, name, estimate) if judged else ())))
    known = [estimate for estimate in group.estimates.values() if estimate.low is not None]
    over_items = bool(known) and known[0].over == "items"
    columns = [
        Column("metric", "id"),
        Column("mean", "number"),
        Column(
            known[0].interval_name if known else f"{percent(LEVEL)} interval",
            "span",
            "of the value, by the spread of its items" if over_items else "of the mean over lifetimes, Student's t",
        ),
        Column("sd", "number", "with ddof 1; (ln): of logarithms, for ratios"),
        Column("n", "number", "lifetimes with a value"),
    ]
    if judged:
        tails = "one-tailed" if group.preset != STANDARD else "two-sided"
        columns += [
            Column("threshold", "span", "beyond it, lifelong learning is demonstrated"),
            Column("beyond", "span", "lifetimes beyond the threshold minus its margin"),
            Column("against", "span", "the value that the test of p compares with"),
            Column("p", "span", f"{tails} t test, the interval's dual"),
            Column("verdict", "verdict"),
            Column("word"),
            Column("note"),
        ]
    caption = f"{group.group}: {plural(group.n, 'lifetime')}" + ("" if judged else ", exploratory: no verdict")
    flags = "; ".join(f"{', '.join(names)}: {flag}" for flag, names in notes.items())
    parts = [f"Flags, with the number of lifetimes: {flags}."] if flags else []
    parts += [f"{', '.join(names)}: {remark}." for remark, names in remarks.items()]
    return Table(caption, tuple(columns), tuple(rows), " ".join(parts)).drop_empty_columns()


def _verdict_cells(data: GroupedSurvey, name: str, estimate: Estimate) -> tuple[Cell, ...]:
    metric, threshold = data.survey.metrics.get(name), estimate.bar.threshold
    return (
        replace(metric, margin=estimate.margin).bar if metric else "" if threshold is None else f"{threshold:g}",
        "" if estimate.above_count is None else f"{estimate.above_count}/{estimate.n}",
        "" if estimate.verdict is None else number(estimate.against),
        "" if estimate.p is None else p_text(estimate.p),
        estimate.verdict or "",
        estimate.word or "",
        "; ".join(text for text in (estimate.says, estimate.why) if text),
    )


def accuracy(data: GroupedSurvey, group: Group) -> Table:
    """Return the performance on each task (row) after each task (column) was learned; no rows for too many tasks."""
    try:
        matrix = mean_matrix(data, FigureView(group=group.group))
    except NothingToDrawError:
        return Table("Accuracy matrix", (), ())
    if len(matrix.tasks) > MOST_TASKS:
        return Table("Accuracy matrix", (), ())
    columns = (Column("evaluated", "id"), *(Column(name, "number") for name in matrix.moments))
    rows = tuple(
        (task, *(None if isnan(value) else value for value in row.tolist()))
        for task, row in zip(matrix.rows, matrix.cells, strict=True)
    )
    return Table(f"Accuracy matrix · {matrix.caption}", columns, rows)


def metrics_without_value(estimates: Mapping[str, Estimate]) -> tuple[tuple[str, str], ...]:
    """Return reason and metrics, for metrics without a value in any lifetime."""
    reasons: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        if estimate.mean is None:
            reasons.setdefault(estimate.lacking, []).append(name)
    return tuple((why, ", ".join(names)) for why, names in reasons.items())


def comparison(compared: Comparison) -> Table:
    """Return two groups, metric by metric."""
    level = next((difference.level for difference in compared.differences.values()), LEVEL)
    rows = tuple(
        (
            name,
            mean_text(difference.mean, difference.sd, ratio=difference.scale == "ratio"),
            mean_text(difference.baseline_mean, difference.baseline_sd, ratio=difference.scale == "ratio"),
            ("×" if difference.scale == "ratio" else "") + number(difference.difference, difference.width),
            interval(difference.low, difference.high, " to "),
            "" if difference.p is None else p_text(difference.p),
            "" if difference.p_holm is None else p_text(difference.p_holm),
            difference.word or ("exploratory" if name not in compared.tested else "untested"),
            difference.hedges_g,
            "" if difference.improvement is None else percent(difference.improvement),
        )
        for name, difference in compared.differences.items()
    )
    columns = (
        Column("metric", "id"),
        Column(compared.system, "number"),
        Column(compared.baseline, "number"),
        Column("difference", "span", "of ratios (×) the one over the other"),
        Column(f"{percent(level)} interval", "span"),
        Column("p", "span", "two-sided: paired t or Welch's test"),
        Column("p after Holm", "span", "adjusted over all metrics tested together; it decides"),
        Column("verdict"),
        Column("Hedges' g", "number"),
        Column("better in", "span", "the chance that a lifetime does better than one of the baseline"),
    )
    section = f"{compared.section}: " if compared.section else ""
    return Table(f"{section}{compared.system} against {compared.baseline}", columns, rows, compared.pairing.told)


def comparison_sentences(compared: Comparison) -> list[str]:
    """Return the result for each metric in a sentence."""
    return [difference.sentence for difference in compared.tested.values()]


def tally_tables(tally: Tally) -> tuple[Table, Table]:
    """Return t, and p with the number of thresholds met, of every system."""
    names = [Column(initials(name), "number", name) for name in tally.metrics]
    columns = (Column("system"), Column("n", "number", "lifetimes"), *names)
    t_rows: list[tuple[Cell, ...]] = []
    p_rows: list[tuple[Cell, ...]] = []
    for row in tally.rows:
        decisions = [row.decisions.get(name) for name in tally.metrics]
        ts = ["–" if not item or item.t is None else f"{item.t:.2f}".replace("-", "−") for item in decisions]
        ps = [p_text(item.p if item else None) for item in decisions]
        t_rows.append((row.system, row.n, *ts))
        p_rows.append((row.system, row.n, *ps, "{} of {}".format(*tally.met(system=row.system))))
    totals = ["{} of {}".format(*tally.met(metric=name)) for name in tally.metrics]
    p_rows.append(("met", "", *totals, "{} of {}".format(*tally.met())))
    return (
        Table("Against the thresholds: t", columns, tuple(t_rows)),
        Table("Against the thresholds: one-tailed p", (*columns, Column("met", "number")), tuple(p_rows), tally.told),
    )


def lifetimes(data: GroupedSurvey) -> Table:
    """Return one row per lifetime: learner, seed, length and headline metrics."""
    leading = figure_metrics(data, FigureView(), judged=False)
    rows = tuple(
        (
            life.id,
            life.score.learner or "",
            life.score.seed,
            len(life.score.tasks) or None,
            *_counts(life),
            *((life.score.metrics[name].value if name in life.score.metrics else None) for name in leading),
        )
        for life in data.lifetimes
    )
    columns = (
        Column("lifetime", "id"),
        Column("learner"),
        Column("seed", "number"),
        Column("tasks", "number"),
        Column("learning", "number", "learning experiences"),
        Column("evaluation", "number", "evaluation experiences"),
        Column("dropped", "number", "rows that do not count"),
    )
    table = Table("Lifetimes", (*columns, *(Column(name, "number") for name in leading)), rows)
    empty = [place for place in range(len(columns)) if all(row[place] in ("", None) for row in rows)]
    return table.drop(*(columns[place].name for place in empty))


def _counts(life: ScoredLifetime) -> tuple[int | None, ...]:
    """Return the learning and evaluation experiences, and the dropped rows, of a log; matrices and scores have none."""
    counts = (life.score.learning_experiences, life.score.evaluation_experiences, life.score.dropped_rows)
    return counts if any(counts) else (None, None, None)


def costs(data: GroupedSurvey) -> Table:
    """Return the cost of learning each task per group, if it was logged, and the performance that it ends with."""
    rows: list[tuple[Cell, ...]] = []
    for group in data.groups:
        lifetimes = data.of_group(group)
        by_lifetime = [thinned_lifetime(life).costs for life in lifetimes]
        finals = [life.score.metrics.get(final_performance.name) for life in lifetimes]
        for task in dict.fromkeys(task for costs in by_lifetime for task in costs):
            costs = [costs[task] for costs in by_lifetime if task in costs]
            seconds = [cost.seconds for cost in costs if cost.seconds is not None]
            memory = [cost.memory_mb for cost in costs if cost.memory_mb is not None]
            level = [value for final in finals if final for value in final.by.get(task, ())]
            found = (mean(values) if values else None for values in (seconds, level))
            rows.append((group.group, task, *found, max(memory, default=None)))
    columns = (
        Column("group", "id"),
        Column("task", "id"),
        Column("seconds", "number", "of learning, the mean over lifetimes"),
        Column("final", "number", "final performance, the mean over lifetimes"),
        Column("memory (MB)", "number", "the most while it was learned, over lifetimes"),
    )
    return Table("Training time", columns, tuple(rows)).drop_empty_columns()


def values(
    life: ScoredLifetime,
    declared: Mapping[str, Metric],
    bars: Mapping[str, Threshold],
    level: float = LEVEL,
    *,
    with_verdicts: bool = True,
) -> Table:
    """Return the metrics of one lifetime with flags, and verdicts by its own spread if `with_verdicts`.

    One of several lifetimes should get no verdicts, because its group decides: chance gives some to any learner.
    """
    rows: list[tuple[Cell, ...]] = []
    for name, measured in life.score.metrics.items():
        if measured.value is not None:
            metric = declared.get(name)  # a file of scores may hold metrics that nothing here declares
            bar = bars.get(name, Threshold())
            judged = with_verdicts and is_judged(bar, (life.score,))
            verdict = decide((life.score,), name, bar, level).verdict if judged else None
            threshold = replace(metric, margin=0.0).bar if metric and metric.threshold is not None else ""
            unit = unit_text(metric, life.score.identity.unit) if metric else ""
            rows.append(
                (name, measured.value, unit, threshold, MARKS.get(verdict or "", ""), "; ".join(measured.flags))
            )
    columns = (
        Column("metric", "id"),
        Column("value", "number"),
        Column("unit"),
        Column("threshold", "span"),
        Column("by itself", "text", "✓ above, ✗ below, ? if its own spread does not rule chance out"),
        Column("flags"),
    )
    return Table(f"Metrics of {life.id}", columns, tuple(rows)).drop_empty_columns()


def blocks(life: ScoredLifetime) -> Table:
    """Return the first blocks of a lifetime, as measured."""
    thinned = thinned_lifetime(life)
    measured = [block for block in thinned.blocks if block.length]  # of a matrix, its evaluations
    dormant = {block.index: block.dormant_units for block in life.score.blocks if block.dormant_units is not None}
    rows = tuple(
        (
            block.index,
            {"learn": "learned", "evaluate": "evaluated", "probe": "probed"}[block.block.mode],
            block.block.task + (" (sleep)" if block.block.subtype == "sleep" else ""),
            block.length,
            number(block.mean, None if block.low is None or block.high is None else block.high - block.low),
            interval(block.low, block.high, " to "),
            *((dormant.get(block.index),) if dormant else ()),
        )
        for block in measured[:MOST_BLOCKS]
    )
    columns = [
        Column("block", "number"),
        Column("mode"),
        Column("task", "id"),
        Column("experiences", "number"),
        Column("mean", "number"),
        Column("95 % interval", "span"),
    ]
    if dormant:
        columns.append(Column("dormant", "number", "the mean share of units that no longer answer"))
    more = len(measured) - MOST_BLOCKS
    note = f"{more} more blocks; `perdure score --out` writes them all" if more > 0 else ""
    return Table(f"Blocks of {life.id}, {thinned.measure} as measured", tuple(columns), rows, note)


def capabilities(data: GroupedSurvey) -> Table:
    """Return each learner's Core Capabilities of 2019, and the questions behind each score."""
    rows: list[tuple[Cell, ...]] = []
    for item in capabilities_of(data.survey):
        rows.append((item.learner, item.name, item.meaning, "", item.score, len(item.syllabi)))
        rows += [("", "", part.question, part.metric, part.value, part.syllabi) for part in item.answers]
    columns = (
        Column("learner"),
        Column("capability"),
        Column("question"),
        Column("metric", "id"),
        Column("score", "number"),
        Column("syllabi", "number", "with a value"),
    )
    return Table("Core Capabilities of 2019", columns, tuple(rows))


def definitions(data: GroupedSurvey, metrics: Sequence[str]) -> Table:
    """Return the definition of each of these metrics, from its declaration, with the margin in the lifetimes' unit."""
    scores = data.survey.scores
    rows = tuple(
        (
            name,
            metric.summary,
            unit_text(metric, next((group.unit for group in data.groups), None)),
            metric.needs + (", and an expert" if metric.expert else ""),
            replace(metric, margin=margin_of(data.survey.bars[name], scores)[0]).bar
            or ("" if metric.better == "higher" else "lower is better"),
            metric.condition,
            metric.source,
        )
        for name, metric in data.survey.metrics.items()
        if name in set(metrics)
    )
    columns = (
        Column("metric", "id"),
        Column("definition"),
        Column("unit"),
        Column("the scenario needs"),
        Column("demonstrated when"),
        Column("condition"),
        Column("source"),
    )
    return Table("Metrics shown", columns, rows)
