"""A kind of figure is one declaration: the data it shows, and the function below `@figure` that draws it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from perdure.errors import PerdureError, UnknownName
from perdure.frozen import frozen
from perdure.reports.draw.data.view import Nothing, View
from perdure.reports.draw.svg.axes import Looks
from perdure.reports.draw.svg.paper import Figure, Paper
from perdure.reports.material import Material

__all__ = ["KINDS", "Kind", "figure", "kind_called"]

Paint = TypeVar("Paint", bound=Callable[..., Figure])


@frozen
class Kind:
    """One kind of figure: what it shows, and how that is drawn."""

    name: str
    data: Callable[[Material, View | None], Any]
    """What it shows, or that there is nothing; drawing needs nothing else of the lifetimes."""
    paint: Callable[[Any, Looks, Paper], Figure]
    summary: str

    def drawn(self, data: Any, looks: Looks, paper: Paper | None = None) -> Figure:
        """Its data on paper; where there is nothing to draw, that is an error and says why."""
        if isinstance(data, Nothing):
            raise PerdureError(f"nothing to draw as {self.name}: {data.why}", "choose another kind of figure")
        return self.paint(data, looks, paper or Paper())


KINDS: dict[str, Kind] = {}
"""Name → kind, in the order in which lists and the gallery show them."""


def kind_called(name: str) -> Kind:
    """The kind of this name; an unknown one offers the nearest."""
    if name not in KINDS:
        raise UnknownName("figure", name, KINDS)
    return KINDS[name]


def figure(shows: Callable[[Material, View | None], Any]) -> Callable[[Paint], Paint]:
    """Declare the decorated function to draw what `shows` gives; lists, `perdure figure` and the gallery follow.

    Its name is the figure's, its docstring's first line says what there is to be seen.
    """

    def declared(paint: Paint) -> Paint:
        name = paint.__name__.replace("_", "-")
        KINDS[name] = Kind(name, shows, paint, (inspect.getdoc(paint) or "").partition("\n")[0])
        return paint

    return declared
