"""What all figures share: paper, axes, legends, and how they say that there is nothing to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perdure.report.palette import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "PALE",
    "Looks",
    "below",
    "counted",
    "empty",
    "fitted",
    "headed",
    "paper",
    "plain",
    "short",
    "task_legend",
    "tidy",
    "wrapped",
]

INK, PALE = "#222222", "#8a8a8a"
Looks = Mapping[str, Look]
"""How each task is drawn, in every figure."""
_WIDTH = 9.0


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


def task_legend(figure: Figure, tasks: Sequence[str], looks: Looks, *, markers: bool = True) -> None:
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
