"""A scenario drawn as shapes: one row per task, high bars where it is learned, low ones where it is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perdure.report.draw.data.lives import ScenarioData
from perdure.report.draw.data.view import Nothing
from perdure.report.palette import Look

__all__ = ["Bar", "Drawing", "Row", "drawing"]

_WIDTH, _ROW = 1000, 22
_MOST = 3000


@dataclass(frozen=True)
class Row:
    """A task's name, and where its row begins."""

    task: str
    y: float


@dataclass(frozen=True)
class Bar:
    """A block."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    opacity: float
    title: str


@dataclass(frozen=True)
class Drawing:
    """Everything that an SVG of the scenario needs."""

    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    left: float
    width: float
    height: float
    label: str
    caption: str


def drawing(data: ScenarioData | Nothing, looks: Mapping[str, Look], lifetimes: int = 1) -> Drawing | None:
    """A lifetime's blocks as bars; None where there are none."""
    if isinstance(data, Nothing):
        return None
    left = 24 + 6.4 * min(26, max(len(task) for task in data.tasks))
    scale = (_WIDTH - left - 8) / data.spans[-1].last
    row = {task: 4 + at * _ROW for at, task in enumerate(data.tasks)}
    bars = []
    for one in data.spans[:_MOST]:
        learns = one.mode == "learn"
        height = 16 if learns else 8
        word = ("learned" if learns else "evaluated") + (" asleep" if one.asleep else "")
        bars.append(
            Bar(
                x=round(left + one.first * scale, 2),
                y=row[one.task] + (16 - height) / 2,
                width=round(max(1.2, (one.last - one.first) * scale), 2),
                height=height,
                colour=looks[one.task].colour,
                opacity=(0.95 if learns else 0.6) * (0.55 if one.asleep else 1),
                title=f"{one.task}: {word}, {one.experiences} experiences",
            )
        )
    learning = sum(one.mode == "learn" for one in data.spans)
    label = f"{learning} learning and {len(data.spans) - learning} evaluation blocks of {len(row)} tasks"
    whose = f"{lifetimes} lifetimes like {data.id}" if lifetimes > 1 else data.id
    experiences = sum(one.experiences for one in data.spans)
    return Drawing(
        tuple(Row(task if len(task) <= 26 else task[:25] + "…", y) for task, y in row.items()),
        tuple(bars),
        left,
        _WIDTH,
        len(row) * _ROW + 8,
        label,
        f"{whose}: {label}, {experiences} experiences. High bars: learned; low bars: evaluated.",
    )
