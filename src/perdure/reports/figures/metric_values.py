"""Figures of the values behind metrics: over a lifetime, and at the evaluations that they compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from perdure.gather.model import ScoredLifetime
from perdure.metrics import METRICS
from perdure.metrics.presets import headline
from perdure.reports.axes import Panel, PanelSpec, compose, multiples, task_entries
from perdure.reports.figures.curves import block_ends, lifetime_curves, scale_values, x_label
from perdure.reports.figures.declare import FigureView, NothingToDrawError, Numbers, figure, first_life, task_looks
from perdure.reports.figures.lifetimes import lifetime_panel
from perdure.reports.svg import Canvas, Figure, colour_marks, marker, path, rect, rule, stroke, text, text_width
from perdure.reports.thinned import ThinnedBlock, thinned_lifetime
from perdure.scenario.sites import LIFETIME, between_learning_blocks
from perdure.stats.groups import GroupedSurvey
from perdure.text import initials, number

_MOST_WORDS = 30  # places with numbers; more are arrows only
_NO_BLOCKS = "no lifetime whose blocks are known"


class ComparedEvaluations(msgspec.Struct, frozen=True):
    """Two evaluations of a task that a metric compares, and the metric's value."""

    metric: str
    key: str
    task: str
    blocks: tuple[int, int]
    before: tuple[float, float]
    """x and y of the mean of the earlier evaluation."""
    after: tuple[float, float]
    value: float


@figure
def annotated(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the evaluations behind PM, FT and BT; dashed: the reference, arrow: the value compared with it.

    Metrics that compare the same two evaluations share an arrow. For a transfer from one task to another only the first
    is marked, which counts.
    """
    life, looks = _life_with_blocks(data, view), task_looks(data)
    curves = lifetime_curves(life, view)
    marks = [mark for name in view.metrics or _evaluation_metrics() for mark in _compared_evaluations(life, name, view)]
    if not marks:
        raise NothingToDrawError("this lifetime has no two evaluations that maintenance or transfer compares")
    places: dict[tuple[int, int], list[ComparedEvaluations]] = {}
    for mark in marks:
        places.setdefault(mark.blocks, []).append(mark)

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        body, bottom, panel = lifetime_panel(curves, looks, msgspec.structs.replace(inner, tall=inner.tall * 1.3), top)
        arrows = [colour_marks(looks[values[0].task], _arrow(panel, values[0], inner)) for values in places.values()]
        words = _value_labels(panel, list(places.values()), inner) if len(places) <= _MOST_WORDS else ""
        return body + "".join(arrows) + words, bottom

    note = "Dashed: at the evaluation compared with; arrow: to the one compared. PM in points, FT and BT ratios."
    label = f"Where maintenance and transfer are read in {life.id}"
    entries = task_entries(curves.tasks, looks)
    return compose(canvas, life.id, label, draw, entries, note, {"life": curves, "marks": marks})


@figure
def over_time(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the values behind each metric over a lifetime, one panel per metric, a line per task or pair."""
    life, looks, declared = _life_with_blocks(data, view), task_looks(data), data.survey.metrics
    panels: list[Numbers] = [
        {
            "metric": name,
            "unit": declared[name].unit,
            "threshold": declared[name].threshold,
            "lines": lines,
        }
        for name in view.metrics or over_time_metrics()
        if (lines := list(_lines(life, name, view)))
    ]
    if not panels:
        names = ", ".join(view.metrics) or "maintenance, transfer and recovery"
        raise NothingToDrawError(f"no value of {names} that belongs to some blocks rather than to the whole lifetime")
    specs = []
    for panel in panels:
        moments = [moment for line in panel["lines"] for moment in line["moments"]]
        bar = [] if panel["threshold"] is None else [panel["threshold"]]
        x, y = np.array([moment["x"] for moment in moments]), np.array([*(moment["value"] for moment in moments), *bar])
        specs.append(PanelSpec(panel["metric"].replace("_", " "), [x], [y], panel["unit"]))

    def draw(index: int, place: Panel, inner: Canvas) -> str:
        panel, parts = panels[index], []
        if panel["threshold"] is not None:
            level = place.y(panel["threshold"])
            parts.append(rule(place.left, level, place.right, level, "axis", 1, "4 3"))
        for line in panel["lines"]:
            look, moments = looks[line["task"]], line["moments"]
            x, y = [place.x(moment["x"]) for moment in moments], [place.y(moment["value"]) for moment in moments]
            body = stroke(path(x, y), 1.3, dash=look.dash)
            for across, up, moment in zip(x, y, moments, strict=True):
                words = f"{line['key']}: {number(moment['value'])}"
                body += marker(look.shape, across, up, inner.size * 0.32, words)
            parts.append(colour_marks(look, body, task=look.position))
        return "".join(parts)

    drawn_tasks = {line["task"] for panel in panels for line in panel["lines"]}
    tasks = [task for task in life.score.tasks if task in drawn_tasks]
    label_x = x_label(thinned_lifetime(life), view)
    return multiples(
        specs,
        draw,
        canvas,
        life.id,
        f"The values behind metrics over {life.id}",
        x=label_x,
        y="",
        entries=task_entries(tasks, looks),
        height=15,
        data={"id": life.id, "x": label_x, "tasks": tasks, "panels": panels},
    )


def over_time_metrics() -> tuple[str, ...]:
    """Return the metrics that are shown over time by default."""
    return (*_evaluation_metrics(), *recovery_metrics())


def recovery_metrics() -> tuple[str, ...]:
    """Return the metrics that are read between two learning blocks of a task."""
    return tuple(metric.name for metric in METRICS if metric.sites is between_learning_blocks)


def _evaluation_metrics() -> tuple[str, ...]:
    """Return the headline metrics that compare two evaluations of a task."""
    return tuple(name for name in headline() if METRICS.get(name).compares)


def _life_with_blocks(data: GroupedSurvey, view: FigureView) -> ScoredLifetime:
    life = first_life(data, view, _NO_BLOCKS)
    if not thinned_lifetime(life).blocks:
        raise NothingToDrawError(_NO_BLOCKS)
    return life


def _lines(life: ScoredLifetime, name: str, view: FigureView) -> Iterator[Numbers]:
    """Yield the values of a metric per task or pair, each with its blocks and the end of the last block."""
    blocks = {block.index: block for block in thinned_lifetime(life).blocks}
    measured = life.score.metrics.get(name)
    for key, sites in measured.at.items() if measured else ():
        assert measured is not None
        moments = [
            {"blocks": read, "x": block_ends(blocks[read[-1]], view)[1], "value": value}
            for read, value in zip(sites, measured.by[key], strict=True)
            if key != LIFETIME and read[-1] in blocks
        ]
        if moments:
            yield {"key": key, "task": key.rpartition("→")[2], "moments": moments}


def _compared_evaluations(life: ScoredLifetime, name: str, view: FigureView) -> Iterator[ComparedEvaluations]:
    measured = life.score.metrics.get(name)
    evaluations = {block.index: block for block in thinned_lifetime(life).blocks if block.block.mode != "learn"}
    for key, sites in measured.at.items() if measured else ():
        assert measured is not None
        counted = 1 if "→" in key else len(sites)
        for read, value in zip(sites[:counted], measured.by[key], strict=False):
            if len(read) == 2 and evaluations.keys() >= set(read):
                before, after = (_place(life, evaluations[index], view) for index in read)
                task = key.rpartition("→")[2]
                yield ComparedEvaluations(name, key, task, (read[0], read[1]), before, after, value)


def _place(life: ScoredLifetime, block: ThinnedBlock, view: FigureView) -> tuple[float, float]:
    """Return x and y of the mean of an evaluation."""
    mean = scale_values(thinned_lifetime(life), view, block.block.task, np.array([block.mean]))[0]
    return sum(block_ends(block, view)) / 2, float(mean)


def _arrow(panel: Panel, mark: ComparedEvaluations, canvas: Canvas) -> str:
    x0, y0, x1, y1 = panel.x(mark.before[0]), panel.y(mark.before[1]), panel.x(mark.after[0]), panel.y(mark.after[1])
    direction = 1 if y1 > y0 else -1
    parts = [stroke(path([x0, x1], [y0, y0]), 1.0, dash=(4, 2.5), opacity=0.8)]
    if abs(y1 - y0) > 1:
        head = min(canvas.small * 0.5, abs(y1 - y0))
        back = y1 - direction * head
        parts.append(stroke(path([x1, x1], [y0, y1]), 1.4))
        parts.append(stroke(path([x1 - head * 0.7, x1, x1 + head * 0.7], [back, y1, back]), 1.4))
    return "".join(parts)


def _value_labels(panel: Panel, places: Sequence[Sequence[ComparedEvaluations]], canvas: Canvas) -> str:
    """Return the values next to their arrows, each where it covers no other; values without room are left out."""
    size, parts = canvas.small * 0.9, list[str]()
    boxes: list[tuple[float, float, float, float]] = []
    for marks in places:
        x1, y1, y0 = panel.x(marks[0].after[0]), panel.y(marks[0].after[1]), panel.y(marks[0].before[1])
        lines = [f"{initials(mark.metric)} {mark.value:.3g}".replace("-", "−") for mark in marks]
        wide, deep = max(text_width(line, size) for line in lines), size * 1.1 * len(lines)
        first = y0 + size * 0.3 if y1 <= y0 else y0 - size * 0.4 - deep
        tops = [first + sign * step * size / 2 for step in range(_MOST_WORDS) for sign in (1, -1)]
        box = next(
            (
                (left, left + wide, top, top + deep)
                for top in tops
                for left in (x1 - size * 0.4 - wide, x1 + size * 0.4)
                if panel.left <= left <= panel.right - wide
                and panel.top <= top <= panel.bottom - deep
                and not any(
                    left < right and start < left + wide and top < below and above < top + deep
                    for start, right, above, below in boxes
                )
            ),
            None,
        )
        if box is None:
            continue
        boxes.append(box)
        left, right, top, _ = box
        parts.append(rect(left - 1, top, right - left + 2, deep, fill="#ffffff", opacity=0.8, more=' class="paper"'))
        parts += [text(left, top + size * 1.1 * (index + 0.8), line, size) for index, line in enumerate(lines)]
    return "".join(parts)
