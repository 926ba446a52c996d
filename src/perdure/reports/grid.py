"""Grid of the first screen: learners by questions, each answer with its word, value and interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from perdure.metrics.declare import Metric
from perdure.reports.axes import Scale, interval_mark, scale_over, tick_text, ticks
from perdure.reports.palette import VERDICTS
from perdure.reports.svg import Figure, colour_marks, rect, rule, text
from perdure.stats.answer import Question, questions
from perdure.stats.model import Estimate, Group
from perdure.text import interval, number, p_words, percent, plural

_WIDTH, _HEIGHT, _EDGE = 180.0, 18.0, 6.0


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
    level: str
    margin: str
    """Meaning of the shaded margin; empty without one."""

    @property
    def dense(self) -> bool:
        """Whether there are so many rows that they must be low."""
        return sum(len(rows) for _, rows in self.sections) > 6


def grids(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[Grid, ...]:
    """Return a grid for logs and one for accuracy matrices, if there are groups of either."""
    kinds = [[group for group in groups if bool(group.unit) is of_matrices] for of_matrices in (False, True)]
    return tuple(_grid(own, declared) for own in kinds if own and questions(own, declared))


def _grid(groups: Sequence[Group], declared: Mapping[str, Metric]) -> Grid:
    asked = questions(groups, declared)
    estimates = {
        question.metric: [group.estimates[question.metric] for group in groups if question.metric in group.estimates]
        for question in asked
    }
    scales = {metric: _scale(of_metric) for metric, of_metric in estimates.items()}
    scenario_types = list(dict.fromkeys(group.scenario_type or "" for group in groups))
    sections = []
    for scenario_type in scenario_types:
        own = [group for group in groups if (group.scenario_type or "") == scenario_type]
        learners = [group.learner for group in own]
        rows = []
        for group in own:
            name = group.group if group.group != "all" else group.learner or "all lifetimes"
            rows.append(
                GridRow(
                    group.learner if group.learner and learners.count(group.learner) == 1 else name,
                    plural(group.n, "lifetime"),
                    tuple(_cell(group.estimates.get(metric), scale) for metric, scale in scales.items()),
                )
            )
        sections.append((scenario_type if len(scenario_types) > 1 else "", tuple(rows)))
    first = next(estimate for of_metric in estimates.values() for estimate in of_metric)
    most = max((estimate.margin for estimate in estimates[asked[0].metric]), default=0.0)
    margin = f"shaded: a loss of up to {number(most)} counts as kept" if most else ""
    axes = tuple(_axis(question, scales[question.metric]) for question in asked)
    return Grid(axes, tuple(sections), percent(first.level), margin)


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
        parts.append(f"{percent(estimate.level)} interval {interval(estimate.low, estimate.high, ' to ')}")
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
