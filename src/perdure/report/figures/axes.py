"""What all figures share: paper, axes, legends, and how they say that there is nothing to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from perdure.errors import PerdureError
from perdure.report.palette import Look
from perdure.report.sketch import Line, Sketch, Stretch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "PALE",
    "View",
    "below",
    "counted",
    "empty",
    "fitted",
    "headed",
    "paper",
    "places",
    "plain",
    "short",
    "span",
    "task_legend",
    "tidy",
    "used",
    "wrapped",
]

INK, PALE = "#222222", "#8a8a8a"
_WIDTH = 9.0


@dataclass(frozen=True)
class View:
    """How a figure looks at the lifetimes; every kind takes the same one."""

    lifetime: str | None = None
    """Which lifetime, where a figure shows one; the first if not said."""
    group: str | None = None
    """Which group, where a figure shows the mean of one; the first if not said."""
    axis: Literal["experiences", "steps"] = "experiences"
    values: Literal["auto", "measured", "scaled"] = "auto"
    """As measured, or 1 to 101 by each task's range; `auto` scales only where tasks could not share an axis."""
    metrics: tuple[str, ...] = ()
    """Which metrics, where a figure shows several; those with a threshold if not said."""


def paper(height: float = 4.2, width: float = _WIDTH) -> Figure:
    """A blank figure that lays itself out."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=110)


def tidy(axes: Axes, title: str = "", x: str = "", y: str = "") -> Axes:
    """Two spines, a faint grid, words in one size; the title is plain text already."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=INK, labelsize=8.5, length=3)
    axes.grid(visible=True, color="#000000", alpha=0.08, linewidth=0.7)
    axes.set_axisbelow(True)
    if title:
        axes.set_title(title, loc="left", fontsize=10.5, color=INK)
    axes.set_xlabel(plain(x), fontsize=9, color=INK)
    axes.set_ylabel(plain(y), fontsize=9, color=INK)
    return axes


def plain(text: str) -> str:
    """Text from a log as it stands: matplotlib would take dollar signs for mathematics."""
    return text.replace("\\", "\\\\").replace("$", r"\$") if "$" in text else text


def short(text: str, most: int = 22) -> str:
    """A name that fits: its beginning and its end, which is where names differ."""
    if len(text) <= most:
        return plain(text)
    head = (most - 1) * 2 // 3
    return plain(f"{text[:head]}…{text[head + 1 - most :]}")


def empty(why: str) -> Figure:
    """A figure that says why there is nothing on it."""
    figure = paper(2.2)
    figure.text(
        0.5, 0.5, plain(f"Nothing to draw: {why}."), ha="center", va="center", fontsize=11, color=PALE, wrap=True
    )
    return figure


def below(figure: Figure, handles: Sequence[Any], labels: Sequence[str], most: int = 26) -> None:
    """A legend under everything, in as many columns as the labels leave room for; the figure grows with its rows."""
    if not handles:
        return
    named = [short(label, most) for label in labels]
    size = 8.5 if len(named) <= 12 else 7.5
    width = figure.get_figwidth()
    widest = max(len(name) for name in named)
    columns = max(1, min(len(named), int(width / (0.55 + widest * size * 0.0088))))
    rows = -(-len(named) // columns)
    figure.set_figheight(figure.get_figheight() + 0.06 + rows * size * 0.0205)
    figure.legend(
        handles,
        named,
        loc="outside lower center",
        ncols=columns,
        fontsize=size,
        frameon=False,
        handlelength=2.2,
        columnspacing=1.4,
        labelcolor=INK,
    )


def headed(figure: Figure, title: str) -> None:
    """A title for the whole figure, at its left edge: it may be wider than the axes."""
    room = int(figure.get_figwidth() * 12.5)
    figure.suptitle(wrapped(title, room), x=0.012, ha="left", fontsize=10.5, color=INK)


def wrapped(text: str, room: int) -> str:
    """Text on one line of `room` characters, or on two; only what fits neither is shortened."""
    from textwrap import wrap

    if len(text) <= room:
        return plain(text)
    parts = wrap(text, room, break_on_hyphens=False)
    rest = text[len(parts[0]) :].strip()
    return f"{plain(parts[0])}\n{short(rest, room)}"


def counted(axes: Axes) -> None:
    """Large counts on the x axis as 200k or 1M."""
    from matplotlib.ticker import EngFormatter

    if axes.get_xlim()[1] >= 100_000:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def fitted(count: int, least: float, each: float, most: float) -> float:
    """A height for `count` rows: not below `least`, not above `most`."""
    return float(min(most, max(least, each * count)))


def used(sketch: Sketch, view: View) -> Literal["measured", "scaled"]:
    """Which values are drawn: as measured, unless asked otherwise or the tasks' ranges do not go together."""
    if view.values != "auto":
        return view.values
    widths = [one.high - one.low for one in sketch.ranges.values() if one.high > one.low]
    if not widths:
        return "measured"
    whole = max(one.high for one in sketch.ranges.values()) - min(one.low for one in sketch.ranges.values())
    return "scaled" if max(widths) > 5 * min(widths) or whole > 4 * max(widths) else "measured"


def span(stretch: Stretch, view: View) -> tuple[float, float]:
    """Where a block begins and ends on the x axis."""
    if view.axis == "experiences":
        return stretch.first, stretch.first + stretch.length
    if stretch.steps is None:
        raise PerdureError(
            "no column of this log counts steps (looked for: steps, step_count, episode_steps, episode_step_count); "
            "log one, or draw over experiences"
        )
    return stretch.steps


def places(stretch: Stretch, line: Line, view: View) -> np.ndarray[Any, Any]:
    """Where the points of a block's line lie on the x axis."""
    if view.axis == "experiences":
        return stretch.first + line.x + 0.5
    span(stretch, view)
    assert line.steps is not None
    return line.steps


def task_legend(figure: Figure, tasks: Sequence[str], looks: Mapping[str, Look], *, markers: bool = True) -> None:
    """The tasks with their colours, lines and markers, under the figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=looks[task].colour,
            linestyle=looks[task].line,
            linewidth=1.8,
            marker=looks[task].marker if markers else "",
            markersize=5,
        )
        for task in tasks
    ]
    below(figure, handles, tasks)
