"""The grid of the first screen: learners by questions, each answer with its word, value and interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from perdure.metrics.declare import Metric
from perdure.reports.axes import Scale, interval_mark, scale_over, tick_text, ticks
from perdure.reports.palette import VERDICTS
from perdure.reports.svg import Figure, coloured, rect, rule, text
from perdure.stats.answer import Question, questions
from perdure.stats.model import Estimate, Group
from perdure.text import interval, number, p_words, plural

_WIDE, _DEEP, _EDGE = 180.0, 18.0, 6.0


class GridAxis(msgspec.Struct, frozen=True):
    """A question, and the scale of all its answers."""

    asks: str
    about: str
    metric: str
    drawn: str
    """The scale's ticks, as SVG."""


class GridCell(msgspec.Struct, frozen=True):
    """An answer: the verdict's word, the value, the interval as SVG, and a description."""

    word: str
    kind: str
    """good, poor, open, none, or plain if nothing is decided."""
    value: str
    drawn: str
    told: str


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
        """Whether rows must be low because there are many."""
        return sum(len(rows) for _, rows in self.sections) > 6


def grids(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[Grid, ...]:
    """Return a grid for logs and one for accuracy matrices, if there are groups of either."""
    apart = [[one for one in groups if bool(one.unit) is of_matrices] for of_matrices in (False, True)]
    return tuple(_grid(some, declared) for some in apart if some and questions(some, declared))


def _grid(groups: Sequence[Group], declared: Mapping[str, Metric]) -> Grid:
    asked = questions(groups, declared)
    found = {one.metric: [group.estimates.get(one.metric) for group in groups] for one in asked}
    scales = {one.metric: _scale([each for each in found[one.metric] if each]) for one in asked}
    kinds = list(dict.fromkeys(group.scenario_type or "" for group in groups))
    sections = []
    for kind in kinds:
        own = [group for group in groups if (group.scenario_type or "") == kind]
        learners = [group.learner for group in own]
        rows = tuple(
            GridRow(
                group.learner if group.learner and learners.count(group.learner) == 1 else _named(group),
                plural(group.n, "lifetime"),
                tuple(_cell(group.estimates.get(one.metric), scales[one.metric]) for one in asked),
            )
            for group in own
        )
        sections.append((kind if len(kinds) > 1 else "", rows))
    first = next(one for each in found.values() for one in each if one)
    most = max((each.margin for each in found[asked[0].metric] if each), default=0.0)
    margin = f"shaded: a loss of up to {number(most)} counts as kept" if most else ""
    return Grid(
        tuple(_axis(one, scales[one.metric]) for one in asked),
        tuple(sections),
        f"{first.level:.0%}".replace("%", " %"),
        margin,
    )


def _named(group: Group) -> str:
    return group.group if group.group != "all" else group.learner or "all lifetimes"


def _scale(found: Sequence[Estimate]) -> Scale:
    ends = [end for one in found for end in (one.mean, one.low, one.high, one.bar.threshold) if end is not None]
    log = bool(found) and all(one.bar.scale == "log" for one in found) and all(end > 0 for end in ends)
    less = [one.bar.threshold - one.bar.sign * one.margin for one in found if one.bar.threshold is not None]
    return scale_over([*ends, *(one for one in less if one > 0 or not log)], _EDGE, _WIDE - _EDGE, log=log, room=0.08)


def _axis(one: Question, scale: Scale) -> GridAxis:
    marks = ticks(scale, 4)
    if any(abs(scale(one) - scale(other)) < 24 for one, other in pairwise(marks)):
        marks = ticks(scale, 2) if len(marks) > 3 else tuple(one for one in marks if one in (0, 1)) or marks[:1]
    drawn = rule(_EDGE, 1, _WIDE - _EDGE, 1) + "".join(
        rule(scale(value), 1, scale(value), 4)
        + text(min(max(scale(value), 10), _WIDE - 12), 14, tick_text(value), 9.5, "soft", at="middle")
        for value in marks
    )
    return GridAxis(one.asks, one.about, one.metric, Figure(_WIDE, 16, drawn, "").inline("tiny"))


def _cell(one: Estimate | None, scale: Scale) -> GridCell:
    if one is None or one.mean is None:
        return GridCell("not measured", "none", "", "", (one.absent if one else None) or "no value")
    kind = VERDICTS.get(one.verdict or "", ("plain", ""))[0]
    width = None if one.low is None or one.high is None else one.high - one.low
    value = number(one.mean, width)
    if one.bar.threshold == 0 and one.mean > 0:
        value = f"+{value}"
    word = one.word or one.verdict or ""
    told = _told(one, value)
    return GridCell(word, kind, value, _drawn(one, scale, kind, told), told)


def _told(one: Estimate, value: str) -> str:
    parts = [f"{one.metric.replace('_', ' ')} {value}"]
    if one.low is not None:
        parts.append(f"{one.level:.0%} interval {interval(one.low, one.high, ' to ')}".replace("%", " %"))
    if one.p is not None:
        parts.append(f"{'one-tailed ' if one.tails == 'one' else ''}{p_words(one.p)} against {number(one.against)}")
    parts.append(plural(one.n, "lifetime") + (f", {one.missing} without a value" if one.missing else ""))
    said = f": {one.says}" if one.says else ""
    return "; ".join(parts) + said + (f". {one.note}" if one.note else "")


def _drawn(one: Estimate, scale: Scale, kind: str, told: str) -> str:
    middle, parts = _DEEP / 2, list[str]()
    threshold, margin = one.bar.threshold, one.margin
    if threshold is not None and margin:
        ends = sorted(
            min(max(scale(end), _EDGE), _WIDE - _EDGE) for end in (threshold, threshold - one.bar.sign * margin)
        )
        parts.append(coloured("good", rect(ends[0], 1, ends[1] - ends[0], _DEEP - 2, opacity=0.13)))
    parts.append(rule(_EDGE, middle, _WIDE - _EDGE, middle))
    if threshold is not None:
        parts.append(rule(scale(threshold), 1, scale(threshold), _DEEP - 1, "axis"))
    _, shape = VERDICTS.get(one.verdict or "", ("", "circle"))
    assert one.mean is not None
    drawn = interval_mark(one.mean, one.low, one.high, scale, middle, 4.6, shape)
    parts.append(coloured("ink" if kind == "plain" else kind, drawn))
    return Figure(_WIDE, _DEEP, "".join(parts), told).inline("tiny")
