"""Every kind of figure: a name, what it shows as data, a function that draws that, and a line that says what it is."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perdure.errors import PerdureError, UnknownName
from perdure.gather.survey import Source
from perdure.report.draw import data
from perdure.report.draw.data import Nothing, View
from perdure.report.draw.matplotlib import groups, lives, matrices, places
from perdure.report.draw.matplotlib.axes import Looks, empty
from perdure.report.material import Material, gather

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "SUFFIXES", "Kind", "Nothing", "View", "draw", "save"]

SUFFIXES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Kind:
    """One kind of figure: what it shows, and how that is drawn."""

    name: str
    data: Callable[[Material, View | None], Any]
    """What it shows, or that there is nothing; a renderer needs nothing else of the lifetimes."""
    paint: Callable[[Any, Looks], Figure]
    summary: str

    def drawn(self, data: Any, looks: Looks) -> Figure:
        """Its data by matplotlib; a figure of nothing says why."""
        return empty(data.why) if isinstance(data, Nothing) else self.paint(data, looks)


def _kind(paint: Callable[[Any, Looks], Figure], shows: Callable[[Material, View | None], Any]) -> Kind:
    return Kind(paint.__name__.replace("_", "-"), shows, paint, (inspect.getdoc(paint) or "").partition("\n")[0])


KINDS: dict[str, Kind] = {
    one.name: one
    for one in (
        _kind(lives.lifetime, data.lifetime),
        _kind(lives.raw, data.raw),
        _kind(lives.evaluations, data.evaluations),
        _kind(lives.experts, data.experts),
        _kind(lives.scenario, data.scenario),
        _kind(places.annotated, data.annotated),
        _kind(places.over_time, data.over_time),
        _kind(matrices.transfer, data.transfer),
        _kind(matrices.accuracy, data.accuracy),
        _kind(matrices.learning_final, data.learning_final),
        _kind(matrices.forgetting, data.forgetting),
        _kind(matrices.trajectories, data.accuracy),
        _kind(matrices.overview, data.overview),
        _kind(groups.metrics, data.metrics),
        _kind(groups.stability_plasticity, data.stability_plasticity),
        _kind(groups.efficiency_maintenance, data.efficiency_maintenance),
        _kind(groups.performance_cost, data.performance_cost),
        _kind(groups.radar, data.radar),
        _kind(groups.profiles, data.profiles),
        _kind(groups.power, data.power),
        _kind(groups.capabilities, data.capabilities),
    )
}
"""Name → kind, in the order in which a report shows them."""


def draw(kind: str, of: Material | Source | Sequence[Source], view: View | None = None) -> Figure:
    """The figure called `kind`, of logs or of what was gathered from them; an unknown one offers the nearest."""
    if kind not in KINDS:
        raise UnknownName("figure", kind, KINDS)
    material = of if isinstance(of, Material) else gather(of)
    return KINDS[kind].drawn(KINDS[kind].data(material, view), material.looks)


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
