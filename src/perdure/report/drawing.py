"""A scenario drawn as shapes: one row per task, high bars where it is learned, low ones where it is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perdure.report.palette import Look
from perdure.report.sketch import Sketch

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


def drawing(sketch: Sketch, looks: Mapping[str, Look], lifetimes: int = 1) -> Drawing | None:
    """The lifetime's blocks as bars; None where there are none."""
    if not sketch.stretches:
        return None
    left = 24 + 6.4 * min(26, max(len(task) for task in sketch.tasks))
    scale = (_WIDTH - left - 8) / sketch.experiences
    row = {task: 4 + at * _ROW for at, task in enumerate(sketch.tasks)}
    bars = []
    for one in sketch.stretches[:_MOST]:
        learns, sleeps = one.block.mode == "learn", one.block.subtype == "sleep"
        height = 16 if learns else 8
        word = ("learned" if learns else "evaluated") + (" asleep" if sleeps else "")
        bars.append(
            Bar(
                x=round(left + one.first * scale, 2),
                y=row[one.block.task] + (16 - height) / 2,
                width=round(max(1.2, one.length * scale), 2),
                height=height,
                colour=looks[one.block.task].colour,
                opacity=(0.95 if learns else 0.6) * (0.55 if sleeps else 1),
                title=f"{one.block.task}: {word}, {one.length} experiences",
            )
        )
    learning = sum(one.block.mode == "learn" for one in sketch.stretches)
    label = f"{learning} learning and {len(sketch.stretches) - learning} evaluation blocks of {len(row)} tasks"
    whose = f"{lifetimes} lifetimes like {sketch.id}" if lifetimes > 1 else sketch.id
    return Drawing(
        tuple(Row(task if len(task) <= 26 else task[:25] + "…", y) for task, y in row.items()),
        tuple(bars),
        left,
        _WIDTH,
        len(row) * _ROW + 8,
        label,
        f"{whose}: {label}, {sketch.experiences} experiences. High bars: learned; low bars: evaluated.",
    )
