"""Figures of lifetimes, by their kinds: drawn, and written to files.

Importing this package declares them all, in the order in which they are listed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from perdure import files
from perdure.errors import PerdureError
from perdure.gather.survey import Source
from perdure.log.read import refuse_overwriting
from perdure.reports.draw.data.view import Nothing, View, view_of
from perdure.reports.draw.fonts import font_faces
from perdure.reports.draw.kinds import KINDS, Kind, kind_called
from perdure.reports.draw.svg.paper import COLUMN, PAGE, Figure, Paper
from perdure.reports.material import Material, gather

# In the order in which figures are listed: importing these declares them.
from perdure.reports.draw.svg import lives, places, matrices, groups  # noqa: F401 # isort: skip

__all__ = [
    "KINDS",
    "SUFFIXES",
    "Figure",
    "Kind",
    "Nothing",
    "Paper",
    "Size",
    "View",
    "draw",
    "kind_called",
    "paper_of",
    "save",
    "style_of",
    "view_of",
]

SUFFIXES = (".png", ".svg", ".pdf")
Size = float | Literal["column", "page"]
"""How wide: a column or a page of a paper, or inches."""
_NARROWEST, _WIDEST = 2.0, 40.0
_DPI = 200


def draw(
    kind: str,
    of: Material | Source | Sequence[Source],
    view: View | None = None,
    *,
    size: Size = "page",
    title: str | None = None,
) -> Figure:
    """The figure called `kind`, of logs or of what was gathered from them; an unknown one offers the nearest.

    `size` is `column`, `page` or inches; `title` stands over it instead of its own, and an empty one leaves it off.
    """
    chosen, paper = kind_called(kind), paper_of(size, title)
    material = of if isinstance(of, Material) else gather(of)
    return chosen.drawn(chosen.data(material, view), material.looks, paper)


def paper_of(size: Size | str, title: str | None = None) -> Paper:
    """Paper of a size as people give it."""
    named = {"column": COLUMN, "page": PAGE}
    try:
        width = named.get(str(size)) or float(size)
    except ValueError:
        width = 0.0
    if not _NARROWEST <= width <= _WIDEST:
        raise PerdureError(
            f"a figure cannot be as wide as {size!r}", f"say column, page, or {_NARROWEST:g} to {_WIDEST:g} inches"
        )
    return Paper.inches(width, title)


def style_of(file: str | os.PathLike[str] | None) -> str:
    """A style sheet as it stands in a file."""
    try:
        return Path(file).read_text(encoding="utf-8") if file is not None else ""
    except (OSError, UnicodeDecodeError) as problem:
        raise PerdureError(
            f"no style sheet ({getattr(problem, 'strerror', None) or problem})", "give a file of CSS", file=file
        ) from problem


def save(figure: Figure, to: str | os.PathLike[str], *, style: str = "", dpi: int = _DPI) -> None:
    """Write a figure as SVG, PDF or PNG, by its suffix; `style` is CSS over its own.

    PDF and SVG hold the letters they need as TrueType fonts, and text stays text; a style sheet that names fonts of
    its own has an SVG without.
    """
    target = Path(to)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise PerdureError(
            f"a figure cannot be written as {target.suffix!r}", f"choose one of {', '.join(SUFFIXES)}", file=target
        )
    refuse_overwriting(target)
    try:
        files.deliver(target, _written(figure, suffix, style, dpi))
    except OSError as problem:
        raise PerdureError(
            f"cannot be written ({problem.strerror or problem})", "choose another place", file=target
        ) from problem


def _written(figure: Figure, suffix: str, style: str, dpi: int) -> bytes:
    if suffix == ".svg":
        return figure.svg(style if "font-family" in style else font_faces(figure.body) + style).encode()
    import vl_convert

    try:
        if suffix == ".pdf":  # whose unit is a point: an inch has 72 of them, and 96 of SVG's pixels
            return bytes(vl_convert.svg_to_pdf(figure.svg(style, scale=72 / 96)))
        return bytes(vl_convert.svg_to_png(figure.svg(style), scale=dpi / 96))
    except ValueError as problem:
        raise PerdureError(
            f"the figure cannot be written as {suffix}: {problem}", "write it as .svg, or change its style"
        ) from problem
