"""Grid of the first screen: learners by questions, each answer with its word, value and interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from perdure.metrics.declare import METRICS, Metric
from perdure.reports.axes import Scale, interval_mark, scale_over, tick_text, ticks
from perdure.reports.palette import VERDICTS
from perdure.reports.svg import Figure, colour_marks, rect, rule, text
from perdure.stats.answer import Question, questions
from perdure.stats.compare import Comparison, Difference
from perdure.stats.model import Estimate, Group
from perdure.text import interval, join_words, number, p_words, plural

_WIDTH, _HEIGHT, _EDGE = 180.0, 18.0, 6.0
_KINDS = {"better": "good", "worse": "poor", "no worse": "plain", "no better": "plain", "as good": "plain"}
_COMMON = "{columns}: compared with {baseline}, on one scale and with one target for all learners."
_OWN_EXPERTS = "Gains over own experts are in the statistics, because worse experts raise them."


class GridAxis(msgspec.Struct, frozen=True):
    """A question, and the scale of all its answers."""

    asks: str
    about: str
    metric: str
    svg: str
    """The scale's ticks."""


class GridCell(msgspec.Struct, frozen=True):
    """An answer: the verdict's word, the value, the interval as SVG, and a description."""

    word: str
    kind: str
    """good, poor, open, none, or plain if nothing is decided."""
    value: str
    svg: str
    description: str


class GridRow(msgspec.Struct, frozen=True):
    """A group's answers."""

    name: str
    lifetimes: str
    cells: tuple[GridCell, ...]


class Grid(msgspec.Struct, frozen=True):
    """Answers of groups to the same questions, in sections of one scenario type each."""

    axes: tuple[GridAxis, ...]
    sections: tuple[tuple[str, tuple[GridRow, ...]], ...]
    interval: str
    """The level of the intervals, and their source if that is not lifetimes."""
    margin: str
    """Meaning of the shaded margin; empty without one."""
    common: str = ""
    """Meaning of the columns that compare learners, and the absence of gains over own experts; empty without both."""

    @property
    def dense(self) -> bool:
        """Whether there are so many rows that they must be low."""
        return sum(len(rows) for _, rows in self.sections) > 6


def grids(
    groups: Sequence[Group], declared: Mapping[str, Metric], comparisons: Sequence[Comparison] = ()
) -> tuple[Grid, ...]:
    """Return a grid for logs and one for accuracy matrices, if there are groups of either.

    Learners of logs that are compared are shown on common references; gains over own experts are not among them.
    """
    by_kind = [[group for group in groups if bool(group.unit) is of_matrices] for of_matrices in (False, True)]
    return tuple(
        _grid(own, declared, comparisons if not own[0].unit else ())
        for own in by_kind
        if own and questions(own, declared)
    )


def _grid(groups: Sequence[Group], declared: Mapping[str, Metric], comparisons: Sequence[Comparison]) -> Grid:
    by_group = {group.group: comparison for group in groups if (comparison := _comparison_of(group, comparisons))}
    compared, asked = _columns(groups, declared, tuple(by_group.values()))
    estimates = {
        question.metric: [group.estimates[question.metric] for group in groups if question.metric in group.estimates]
        for question in asked
    }
    differences = {
        question.metric: [
            difference for comparison in by_group.values() if (difference := comparison.tested.get(question.metric))
        ]
        for question in compared
    }
    scales = {metric: _scale(of_metric) for metric, of_metric in estimates.items()}
    scales |= {metric: _difference_scale(of_metric) for metric, of_metric in differences.items()}
    columns = (*compared[:1], *asked, *compared[1:])
    scenario_types = list(dict.fromkeys(group.scenario_type or "" for group in groups))
    sections = []
    for scenario_type in scenario_types:
        own = [group for group in groups if (group.scenario_type or "") == scenario_type]
        learners = [group.learner for group in own]
        rows = []
        for group in own:
            name = group.group if group.group != "all" else group.learner or "all lifetimes"
            name = group.learner if group.learner and learners.count(group.learner) == 1 else name
            cells = tuple(
                _difference_cell(question.metric, group, by_group.get(group.group), comparisons, scales)
                if question in compared
                else _cell(group.estimates.get(question.metric), scales[question.metric])
                for question in columns
            )
            rows.append(GridRow(name, plural(group.n, "lifetime"), cells))
        sections.append((scenario_type if len(scenario_types) > 1 else "", tuple(rows)))
    every = [estimate for of_metric in estimates.values() for estimate in of_metric]
    first = next((estimate for estimate in every if estimate.low is not None), every[0])
    keeping = [estimate.margin for question in asked[:1] for estimate in estimates[question.metric]]
    shaded = f"shaded: a loss of up to {number(max(keeping))} counts as kept" if any(keeping) else ""
    axes = tuple(_axis(question, scales[question.metric]) for question in columns)
    common = _common_text(groups, compared, tuple(by_group.values()))
    return Grid(axes, tuple(sections), first.interval_name, shaded, common)


def _comparison_of(group: Group, comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the comparison of a group with its baseline, if there is one with tests."""
    own = (comparison for comparison in comparisons if comparison.tested)
    return next((comparison for comparison in own if comparison.pairing.ours[0].id in group.lives), None)


def _columns(
    groups: Sequence[Group], declared: Mapping[str, Metric], comparisons: Sequence[Comparison]
) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """Return the columns that compare learners (level reached, amount and speed of learning), and the other columns."""
    tested = dict.fromkeys(name for comparison in comparisons for name in comparison.tested)
    asked = questions(groups, declared)
    shown = {question.metric for question in asked}
    compared = tuple(
        Question(words.asks, name, words.about.partition(",")[0])
        for name in tested
        if name not in shown and (words := METRICS.get(name).words if name in METRICS else None) and words.asks
    )
    if compared:
        asked = tuple(question for question in asked if not declared[question.metric].expert)
    return compared, asked


def _common_text(groups: Sequence[Group], compared: Sequence[Question], comparisons: Sequence[Comparison]) -> str:
    if not compared:
        return ""
    columns = join_words([question.asks.rstrip("?") for question in compared])
    baselines = join_words(dict.fromkeys(comparison.baseline for comparison in comparisons))
    has_experts = any(estimate.bar.expert and estimate.n for group in groups for estimate in group.estimates.values())
    text = _COMMON.format(columns=columns, baseline=baselines)
    return f"{text} {_OWN_EXPERTS}" if has_experts else text


def _difference_scale(differences: Sequence[Difference]) -> Scale:
    ratio = all(difference.scale == "ratio" for difference in differences if difference.difference is not None)
    ends = [1.0 if ratio else 0.0]
    ends += [
        end
        for difference in differences
        for end in (difference.difference, difference.low, difference.high)
        if end is not None
    ]
    return scale_over(ends, _EDGE, _WIDTH - _EDGE, log=ratio, room=0.08)


def _difference_cell(
    metric: str,
    group: Group,
    own: Comparison | None,
    comparisons: Sequence[Comparison],
    scales: Mapping[str, Scale],
) -> GridCell:
    """Return the lead over the baseline, in the words of the comparison."""
    if own is None:
        if any(comparison.pairing.theirs[0].id in group.lives for comparison in comparisons):
            return GridCell("baseline", "none", "", "", "the learner that the others are compared with")
        return GridCell("not compared", "none", "", "", "no comparison with the baseline")
    difference = own.tested.get(metric)
    if difference is None or difference.difference is None:
        why, word = (difference.why, difference.word) if difference else (None, None)
        return GridCell(word or "not compared", "none", "", "", why or "a learner has no value")
    kind = _KINDS.get(difference.verdict or "", "open")
    null = 1.0 if difference.scale == "ratio" else 0.0
    value = number(difference.difference, difference.width)
    value = f"×{value}" if null else f"+{value}" if difference.difference > 0 else value
    scale = scales[metric]
    middle = _HEIGHT / 2
    axis = rule(_EDGE, middle, _WIDTH - _EDGE, middle) + rule(scale(null), 1, scale(null), _HEIGHT - 1, "axis")
    shape = {"good": "circle", "poor": "cross"}.get(kind, "square")
    mark = interval_mark(difference.difference, difference.low, difference.high, scale, middle, 4.6, shape)
    colour = "ink" if kind == "plain" else kind
    svg = Figure(_WIDTH, _HEIGHT, axis + colour_marks(colour, mark), difference.sentence).inline("tiny")
    word = difference.word or ("untested" if difference.ahead else "equal")
    return GridCell(word, kind, value, svg, difference.sentence)


def _scale(estimates: Sequence[Estimate]) -> Scale:
    """Return a scale over means, intervals, thresholds and margins."""
    ends = [
        end
        for estimate in estimates
        for end in (estimate.mean, estimate.low, estimate.high, estimate.bar.threshold)
        if end is not None
    ]
    log = (
        bool(estimates) and all(estimate.bar.scale == "log" for estimate in estimates) and all(end > 0 for end in ends)
    )
    margins = [_margin_end(estimate) for estimate in estimates]
    ends += [end for end in margins if end is not None and (end > 0 or not log)]
    return scale_over(ends, _EDGE, _WIDTH - _EDGE, log=log, room=0.08)


def _margin_end(estimate: Estimate) -> float | None:
    threshold = estimate.bar.threshold
    return None if threshold is None else threshold - estimate.bar.sign * estimate.margin


def _axis(question: Question, scale: Scale) -> GridAxis:
    values = ticks(scale, 4)
    if any(abs(scale(value) - scale(following)) < 24 for value, following in pairwise(values)):
        round_values = tuple(value for value in values if value in (0, 1)) or values[:1]
        values = ticks(scale, 2) if len(values) > 3 else round_values
    marks = rule(_EDGE, 1, _WIDTH - _EDGE, 1) + "".join(
        rule(scale(value), 1, scale(value), 4)
        + text(min(max(scale(value), 10), _WIDTH - 12), 14, tick_text(value), 9.5, "soft", anchor="middle")
        for value in values
    )
    return GridAxis(question.asks, question.about, question.metric, Figure(_WIDTH, 16, marks, "").inline("tiny"))


def _cell(estimate: Estimate | None, scale: Scale) -> GridCell:
    if estimate is None or estimate.mean is None:
        return GridCell("not measured", "none", "", "", (estimate.absent if estimate else None) or "no value")
    kind = VERDICTS.get(estimate.verdict or "", ("plain", ""))[0]
    value = number(estimate.mean, estimate.width)
    if estimate.bar.threshold == 0 and estimate.mean > 0:
        value = f"+{value}"
    description = _description(estimate, value)
    svg = _interval_svg(estimate, estimate.mean, scale, kind, description)
    return GridCell(estimate.word or estimate.verdict or "", kind, value, svg, description)


def _description(estimate: Estimate, value: str) -> str:
    parts = [f"{estimate.metric.replace('_', ' ')} {value}"]
    if estimate.low is not None:
        parts.append(f"{estimate.interval_name} {interval(estimate.low, estimate.high, ' to ')}")
    if estimate.p is not None:
        tails = "one-tailed " if estimate.tails == "one" else ""
        parts.append(f"{tails}{p_words(estimate.p)} against {number(estimate.against)}")
    without = f", {estimate.missing} without a value" if estimate.missing else ""
    parts.append(plural(estimate.n, "lifetime") + without)
    meaning = f": {estimate.says}" if estimate.says else ""
    return "; ".join(parts) + meaning + (f". {estimate.note}" if estimate.note else "")


def _interval_svg(estimate: Estimate, mean: float, scale: Scale, kind: str, description: str) -> str:
    """Return the interval with the threshold and its margin as SVG."""
    middle, parts = _HEIGHT / 2, list[str]()
    threshold, margin_end = estimate.bar.threshold, _margin_end(estimate)
    if threshold is not None and margin_end is not None and estimate.margin:
        low, high = sorted(min(max(scale(end), _EDGE), _WIDTH - _EDGE) for end in (threshold, margin_end))
        parts.append(colour_marks("good", rect(low, 1, high - low, _HEIGHT - 2, opacity=0.13)))
    parts.append(rule(_EDGE, middle, _WIDTH - _EDGE, middle))
    if threshold is not None:
        parts.append(rule(scale(threshold), 1, scale(threshold), _HEIGHT - 1, "axis"))
    shape = VERDICTS.get(estimate.verdict or "", ("", "circle"))[1]
    mark = interval_mark(mean, estimate.low, estimate.high, scale, middle, 4.6, shape)
    parts.append(colour_marks("ink" if kind == "plain" else kind, mark))
    return Figure(_WIDTH, _HEIGHT, "".join(parts), description).inline("tiny")
