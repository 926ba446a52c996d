"""Figures of where and when metrics are read: values over a lifetime, and the evaluations they compare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perdure.frozen import replace
from perdure.reports.draw.data import places
from perdure.reports.draw.data.places import AnnotatedData, Mark, OverTimeData, OverTimePanel
from perdure.reports.draw.kinds import figure
from perdure.reports.draw.svg.axes import Looks, Panel, compose, task_entries
from perdure.reports.draw.svg.lives import life_panel
from perdure.reports.draw.svg.multiples import Cell, multiples
from perdure.reports.draw.svg.paper import Figure, Paper, coloured, marker, path, rect, rule, stroke, text, width_of
from perdure.words import number, short

__all__ = ["annotated", "over_time"]

_MOST_WORDS = 30  # more places than this are arrows without numbers


@figure(places.annotated)
def annotated(data: AnnotatedData, looks: Looks, paper: Paper) -> Figure:
    """One lifetime with the places where PM, FT and BT are read: dashed at what is compared with, an arrow to what is.

    Metrics that compare the same two evaluations share an arrow.
    """
    places: dict[tuple[int, int], list[Mark]] = {}
    for one in data.marks:
        places.setdefault(one.blocks, []).append(one)
    note = "Dashed: at the evaluation compared with; arrow: to the one compared. PM in points, FT and BT ratios."

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        body, bottom, panel = life_panel(data.life, looks, replace(inner, tall=inner.tall * 1.3), top)
        worded = len(places) <= _MOST_WORDS
        arrows = [coloured(looks[some[0].task], _arrow(panel, some, inner)) for some in places.values()]
        words = _words(panel, list(places.values()), inner) if worded else ""
        return body + "".join(arrows) + words, bottom

    label = f"Where maintenance and transfer are read in {data.life.id}"
    return compose(paper, data.life.id, label, draw, task_entries(data.life.tasks, looks), note)


def _arrow(panel: Panel, marks: Sequence[Mark], paper: Paper) -> str:
    (x0, y0), (x1, y1) = _ends(panel, marks)
    way = 1 if y1 > y0 else -1
    parts = [stroke(path([x0, x1], [y0, y0]), 1.0, dash=(4, 2.5), opacity=0.8)]
    if abs(y1 - y0) > 1:
        head = min(paper.small * 0.5, abs(y1 - y0))
        parts.append(stroke(path([x1, x1], [y0, y1]), 1.4))
        parts.append(stroke(path([x1 - head * 0.7, x1, x1 + head * 0.7], [y1 - way * head, y1, y1 - way * head]), 1.4))
    return "".join(parts)


def _ends(panel: Panel, marks: Sequence[Mark]) -> tuple[tuple[float, float], tuple[float, float]]:
    before, after = marks[0].before, marks[0].after
    return (panel.x(before[0]), panel.y(before[1])), (panel.x(after[0]), panel.y(after[1]))


def _words(panel: Panel, places: Sequence[Sequence[Mark]], paper: Paper) -> str:
    """What was read at each place, beside its arrow; what would lie on other words moves away from the arrow's end."""
    small, parts = paper.small, list[str]()
    taken: list[tuple[float, float, float, float]] = []
    for marks in places:
        _, (x1, y1) = _ends(panel, marks)
        y0 = panel.y(marks[0].before[1])
        said = [f"{short(one.metric)} {one.value:.3g}".replace("-", "−") for one in marks]
        wide, deep = max(width_of(line, small * 0.9) for line in said), small * len(said)
        left, down = max(panel.left, x1 - small * 0.35 - wide), y1 <= y0
        top = y0 + small * 0.2 if down else y0 - small * 0.3 - deep
        for _ in range(_MOST_WORDS):
            under = [
                one for one in taken if left < one[1] and one[0] < left + wide and top < one[3] and one[2] < top + deep
            ]
            if not under:
                break
            top = max(one[3] for one in under) + 1 if down else min(one[2] for one in under) - deep - 1
        top = min(max(top, panel.top), panel.bottom - deep)
        taken.append((left, left + wide, top, top + deep))
        parts.append(rect(left - 1, top, wide + 2, deep, fill="#ffffff", opacity=0.8, more=' class="paper"'))
        parts += [text(left, top + small * (at + 0.82), line, small * 0.9) for at, line in enumerate(said)]
    return "".join(parts)


@figure(places.over_time)
def over_time(data: OverTimeData, looks: Looks, paper: Paper) -> Figure:
    """How the values behind each metric change over a lifetime, one panel per metric, a line per task or pair."""
    cells = []
    for panel in data.panels:
        moments = [one for line in panel.lines for one in line.moments]
        bar = [] if panel.threshold is None else [panel.threshold]
        y = np.array([*(one.value for one in moments), *bar])
        cells.append(Cell(panel.metric.replace("_", " "), [np.array([one.x for one in moments])], [y], panel.unit))

    def drawn(at: int, panel: Panel, inner: Paper) -> str:
        return _moments(data.panels[at], panel, looks, inner)

    entries = task_entries(data.tasks, looks)
    label = f"The values behind metrics over {data.id}"
    return multiples(cells, drawn, paper, data.id, label, x=data.x, y="", entries=entries, height=15)


def _moments(panel: OverTimePanel, place: Panel, looks: Looks, paper: Paper) -> str:
    parts = []
    if panel.threshold is not None:
        at = place.y(panel.threshold)
        parts.append(rule(place.left, at, place.right, at, "axis", 1, "4 3"))
    for line in panel.lines:
        look = looks[line.task]
        x, y = [place.x(one.x) for one in line.moments], [place.y(one.value) for one in line.moments]
        dots = "".join(
            marker(look.shape, a, b, paper.size * 0.32, f"{line.key}: {number(one.value)}")
            for a, b, one in zip(x, y, line.moments, strict=True)
        )
        parts.append(coloured(look, stroke(path(x, y), 1.3, dash=look.dash) + dots, task=list(looks).index(line.task)))
    return "".join(parts)
