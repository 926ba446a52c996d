"""The tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import mean

from msgspec.structs import replace

from perdure.curves.arrays import Array
from perdure.gather.model import ScoredLifetime
from perdure.metrics.declare import Metric, Threshold
from perdure.reports.figures import FigureView, NothingToDrawError
from perdure.reports.figures.declare import figure_metrics, flags_of
from perdure.reports.figures.matrices import mean_matrix
from perdure.reports.thinned import thinned
from perdure.settings.presets import STANDARD
from perdure.stats.capabilities import capabilities as capabilities_of
from perdure.stats.compare import Comparison
from perdure.stats.decide import decide, is_judged
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import LEVEL, Estimate, Group
from perdure.stats.sentences import MARKS, sentence
from perdure.stats.tally import Tally
from perdure.tables import Cell, Column, Table
from perdure.text import interval, number, p_text, plural, short

MOST_BLOCKS = 80
MOST_TASKS = 20


def metrics(data: GroupedSurvey, group: Group, *, judged: bool = True) -> Table:
    """Return the metrics of a group that are judged, with their verdicts, or else the others.

    The headline metrics of a matrix are in one table. Metrics without a value are listed by `without_value`.
    """
    rows: list[tuple[Cell, ...]] = []
    lives = data.of_group(group)
    said: dict[str, list[str]] = {}
    remarks: dict[str, list[str]] = {}
    for name, one in group.estimates.items():
        leads = one.verdict is not None or (one.bar.headline == "matrix" and group.unit is not None)
        if one.mean is None or leads != judged:
            continue
        for each in flags_of(lives, name):
            said.setdefault(f"{each.flag} ({each.n})", []).append(name)
        shown = (
            name,
            number(one.mean, one.width),
            interval(one.low, one.high, " to "),
            number(one.sd, one.width),
            one.n,
        )
        if not judged:
            rows.append(shown)
            for about in one.notes:
                remarks.setdefault(about, []).append(name)
            continue
        metric = data.survey.metrics.get(name)
        beyond = "" if one.above_count is None else f"{one.above_count}/{one.n}"
        rows.append(
            (
                *shown,
                _bar(metric, one),
                beyond,
                "" if one.verdict is None else number(one.against),
                "" if one.p is None else p_text(one.p),
                one.verdict or "",
                one.word or "",
                "; ".join(text for text in (one.says, one.why) if text),
            )
        )
    level = next((one.level for one in group.estimates.values()), 0.95)
    tails = "one-tailed" if group.preset != STANDARD else "two-sided"
    heads = (
        Column("metric", "id"),
        Column("mean", "number"),
        Column(f"{level:.0%} interval".replace("%", " %"), "span", "of the mean over lifetimes, Student's t"),
        Column("sd", "number", "with ddof 1; of logarithms for ratios"),
        Column("n", "number", "lifetimes with a value"),
    )
    against = (
        Column("threshold", "span", "beyond it, lifelong learning is demonstrated"),
        Column("beyond", "span", "lifetimes beyond the threshold"),
        Column("against", "span", "the value that p is held against"),
        Column("p", "span", f"{tails} t test, the interval's dual"),
        Column("verdict", "verdict"),
        Column("word"),
        Column("note"),
    )
    caption = f"{group.group}: {plural(group.n, 'lifetime')}" + ("" if judged else ", exploratory: no verdict")
    note = "; ".join(f"{', '.join(names)}: {flag}" for flag, names in said.items())
    flagged = f"Flags, with how many lifetimes: {note}." if note else ""
    remarked = "".join(f" {', '.join(names)}: {about}." for about, names in remarks.items())
    columns = (*heads, *against) if judged else heads
    return Table(caption, columns, tuple(rows), f"{flagged}{remarked}".strip()).filled()


def _bar(metric: Metric | None, one: Estimate) -> str:
    if metric:
        return metric.bar
    return "" if one.bar.threshold is None else f"{one.bar.threshold:g}"


def accuracy(data: GroupedSurvey, group: Group) -> Table:
    """Return the performance on each task (row) after each task (column) was learned; no rows for too many tasks."""
    try:
        found = mean_matrix(data, FigureView(group=group.group))
    except NothingToDrawError:
        return Table("Accuracy matrix", (), ())
    if len(found.tasks) > MOST_TASKS:
        return Table("Accuracy matrix", (), ())
    heads = (Column("evaluated", "id"), *(Column(f"after {task}", "number") for task in found.tasks))
    rows = tuple((task, *_known(row)) for task, row in zip(found.tasks, found.cells, strict=True))
    return Table(f"Accuracy matrix · {found.caption}", heads, rows)


def _known(values: Array) -> list[float | None]:
    return [None if isnan(value) else value for value in values.tolist()]


def without_value(estimates: Mapping[str, Estimate]) -> tuple[tuple[str, str], ...]:
    """Return reason and metrics, for metrics without a value in any lifetime."""
    reasons: dict[str, list[str]] = {}
    for name, one in estimates.items():
        if one.mean is None:
            reasons.setdefault(one.lacking, []).append(name)
    return tuple((why, ", ".join(names)) for why, names in reasons.items())


def comparison(found: Comparison) -> Table:
    """Return two groups, metric by metric."""
    level = next((one.level for one in found.differences.values()), 0.95)
    rows = tuple(
        (
            name,
            one.mean,
            one.baseline_mean,
            ("×" if one.scale == "ratio" else "") + number(one.difference, one.width),
            interval(one.low, one.high, " to "),
            "" if one.p is None else p_text(one.p),
            "" if one.p_holm is None else p_text(one.p_holm),
            one.word or "",
            one.hedges_g,
            one.improvement,
        )
        for name, one in found.differences.items()
    )
    return Table(
        f"{found.system} against {found.baseline}",
        (
            Column("metric", "id"),
            Column(found.system, "number"),
            Column(found.baseline, "number"),
            Column("difference", "span", "of ratios (×) the one over the other"),
            Column(f"{level:.0%} interval".replace("%", " %"), "span"),
            Column("p", "span", "two-sided: paired t or Welch's test"),
            Column("p after Holm", "span", "adjusted over the headline metrics that both could answer"),
            Column("so"),
            Column("Hedges' g", "number"),
            Column("improvement", "number", "the chance that a lifetime does better than one of the baseline"),
        ),
        rows,
        found.pairing.told,
    )


def comparison_sentences(found: Comparison) -> list[str]:
    """Return the result for each metric in a sentence."""
    return [sentence(difference, found.system, found.baseline) for difference in found.differences.values()]


def tallied(tally: Tally) -> tuple[Table, Table]:
    """Return t, and p with the number of thresholds met, of every system."""
    named = [Column(short(name), "number", name) for name in tally.metrics]
    heads = (Column("system"), Column("n", "number", "lifetimes"))
    ts: list[tuple[Cell, ...]] = []
    ps: list[tuple[Cell, ...]] = []
    for row in tally.rows:
        known = [row.decisions.get(name) for name in tally.metrics]
        ts.append(
            (
                row.system,
                row.n,
                *("–" if one is None or one.t is None else f"{one.t:.2f}".replace("-", "−") for one in known),
            )
        )
        ps.append(
            (row.system, row.n, *(p_text(one.p if one else None) for one in known), _of(*tally.met(system=row.system)))
        )
    ps.append(("met", "", *(_of(*tally.met(metric=name)) for name in tally.metrics), _of(*tally.met())))
    return (
        Table("Against the thresholds: t", (*heads, *named), tuple(ts)),
        Table("Against the thresholds: one-tailed p", (*heads, *named, Column("met", "number")), tuple(ps), tally.told),
    )


def _of(met: int, every: int) -> str:
    return f"{met} of {every}"


def lifetimes(data: GroupedSurvey) -> Table:
    """Return one row per lifetime: learner, seed, length and headline metrics."""
    shown = figure_metrics(data, FigureView())
    rows = tuple(
        (
            one.id,
            one.score.learner or "",
            one.score.seed,
            len(one.score.tasks),
            one.score.learning_experiences,
            one.score.evaluation_experiences,
            one.score.dropped_rows,
            *((one.score.metrics[name].value if name in one.score.metrics else None) for name in shown),
        )
        for one in data.lifetimes
    )
    heads = (
        Column("lifetime", "id"),
        Column("learner"),
        Column("seed", "number"),
        Column("tasks", "number"),
        Column("learning", "number", "learning experiences"),
        Column("evaluation", "number", "evaluation experiences"),
        Column("dropped", "number", "rows that do not count"),
    )
    return Table("Lifetimes", (*heads, *(Column(name, "number") for name in shown)), rows)


def costs(data: GroupedSurvey) -> Table:
    """Return the cost of learning each task per group, if it was logged: mean seconds and maximum memory."""
    rows: list[tuple[Cell, ...]] = []
    for group in data.groups:
        known = [thinned(life).costs for life in data.of_group(group)]
        for task in dict.fromkeys(task for one in known for task in one):
            costs = [one[task] for one in known if task in one]
            spent = [cost.seconds for cost in costs if cost.seconds is not None]
            used = [cost.memory_mb for cost in costs if cost.memory_mb is not None]
            rows.append((group.group, task, mean(spent) if spent else None, max(used, default=None)))
    heads = (Column("group", "id"), Column("task", "id"))
    more = (
        Column("seconds", "number", "of learning, the mean over lifetimes"),
        Column("memory (MB)", "number", "the most while it was learned, over lifetimes"),
    )
    return Table("Training time", (*heads, *more), tuple(rows)).filled()


def values(
    told: ScoredLifetime,
    declared: Mapping[str, Metric],
    bars: Mapping[str, Threshold],
    level: float = LEVEL,
    *,
    alone: bool = True,
) -> Table:
    """Return the metrics of one lifetime with flags; if it is `alone`, with verdicts by its own spread.

    One of several lifetimes gets no verdicts, because its group decides: chance would give some to any learner.
    """
    rows: list[tuple[Cell, ...]] = []
    for name, one in told.score.metrics.items():
        if one.value is not None:
            metric = declared.get(name)  # a file of scores may hold metrics that nothing here declares
            bar = bars.get(name, Threshold())
            judged = alone and is_judged(bar, (told.score,))
            verdict = decide((told.score,), name, bar, level).verdict if judged else None
            threshold = replace(metric, margin=0.0).bar if metric and metric.threshold is not None else ""
            rows.append((name, one.value, threshold, MARKS.get(verdict or "", ""), "; ".join(one.flags)))
    heads = (
        Column("metric", "id"),
        Column("value", "number"),
        Column("threshold", "span"),
        Column("by itself", "text", "✓ above, ✗ below, ? where its own spread does not rule chance out"),
        Column("flags"),
    )
    return Table(f"Metrics of {told.id}", heads, tuple(rows)).filled()


def blocks(told: ScoredLifetime) -> Table:
    """Return the first blocks of a lifetime, as measured."""
    drawn = thinned(told)
    every = drawn.blocks
    dormant = {one.index: one.dormant_units for one in told.score.blocks if one.dormant_units is not None}
    rows = tuple(
        (
            one.index,
            "learned" if one.block.mode == "learn" else "evaluated",
            one.block.task + (" (sleep)" if one.block.subtype == "sleep" else ""),
            one.length,
            number(one.mean, None if one.low is None or one.high is None else one.high - one.low),
            interval(one.low, one.high, " to "),
            *((dormant.get(one.index),) if dormant else ()),
        )
        for one in every[:MOST_BLOCKS]
    )
    more = len(every) - MOST_BLOCKS
    note = f"{more} more blocks; `perdure score --out` writes them all" if more > 0 else ""
    heads = (Column("block", "number"), Column("mode"), Column("task", "id"), Column("experiences", "number"))
    return Table(
        f"Blocks of {told.id}, {drawn.measure} as measured",
        (
            *heads,
            Column("mean", "number"),
            Column("95 % interval", "span"),
            *((Column("dormant", "number", "the mean share of units that no longer answer"),) if dormant else ()),
        ),
        rows,
        note,
    )


def capabilities(data: GroupedSurvey) -> Table:
    """Return each learner's Core Capabilities of 2019, and the questions behind each score."""
    rows: list[tuple[Cell, ...]] = []
    for one in capabilities_of(data.survey):
        rows.append((one.learner, one.name, one.why or "mean ratio to experts", "", one.score, len(one.syllabi)))
        rows += [("", "", each.question, each.metric, each.value, each.syllabi) for each in one.answers]
    heads = (Column("learner"), Column("capability"), Column("question"), Column("metric", "id"))
    return Table(
        "Core Capabilities of 2019",
        (*heads, Column("score", "number"), Column("syllabi", "number", "with a value")),
        tuple(rows),
    )


def definitions(declared: Mapping[str, Metric], shown: Sequence[str]) -> Table:
    """Return the meaning of each shown metric, from its declaration."""
    rows = tuple(
        (
            name,
            one.summary,
            one.needs + (", and an expert" if one.expert else ""),
            one.bar or ("" if one.better == "higher" else "lower is better"),
            one.condition,
            one.source,
        )
        for name, one in declared.items()
        if name in set(shown)
    )
    heads = (Column("metric", "id"), Column("what it says"), Column("the scenario needs"), Column("demonstrated when"))
    return Table("What is shown", (*heads, Column("condition"), Column("source")), rows)
