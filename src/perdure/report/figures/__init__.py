"""Every kind of figure: a name, a function that returns a matplotlib figure, and a line that says what it shows."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.errors import PerdureError, UnknownName
from perdure.report.figures import groups, lives, matrices
from perdure.report.figures.axes import View
from perdure.report.material import Material

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "SUFFIXES", "Kind", "View", "draw", "save"]

SUFFIXES = (".png", ".svg", ".pdf")
_DRAWN = (
    lives.lifetime,
    lives.raw,
    lives.evaluations,
    lives.experts,
    lives.scenario,
    matrices.transfer,
    matrices.accuracy,
    matrices.learning_final,
    matrices.forgetting,
    matrices.trajectories,
    groups.metrics,
    groups.stability_plasticity,
    groups.efficiency_maintenance,
    groups.radar,
    groups.profiles,
    groups.power,
)


@dataclass(frozen=True)
class Kind:
    """One kind of figure."""

    name: str
    draw: Callable[[Material, View | None], Figure]
    summary: str


def _kind(function: Callable[[Material, View | None], Figure]) -> Kind:
    return Kind(function.__name__.replace("_", "-"), function, (inspect.getdoc(function) or "").partition("\n")[0])


KINDS: dict[str, Kind] = {one.name: one for one in map(_kind, _DRAWN)}
"""Name → kind, in the order in which a report shows them."""


def draw(kind: str, material: Material, view: View | None = None) -> Figure:
    """The figure called `kind`; an unknown one offers the nearest."""
    if kind not in KINDS:
        raise UnknownName("figure", kind, KINDS)
    return KINDS[kind].draw(material, view)


def save(figure: Figure, to: str | os.PathLike[str], *, dpi: int = 160) -> None:
    """Write a figure as PNG, SVG or PDF, by its suffix; the same figure gives the same bytes."""
    target = Path(to)
    if target.suffix.lower() not in SUFFIXES:
        raise PerdureError(
            f"{target}: a figure is written as {', '.join(SUFFIXES)}, by its suffix; found {target.suffix!r}"
        )
    from matplotlib import rc_context

    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(target.suffix.lower())
    try:
        with rc_context({"svg.hashsalt": "perdure", "svg.fonttype": "none"}):
            figure.savefig(target, dpi=dpi, metadata=dates, facecolor="white")
    except OSError as problem:
        raise PerdureError(f"{target}: cannot be written ({problem.strerror or problem})") from problem
