"""Figures of lifetimes: one function each, by their names in `FIGURES`; `save_figure` writes one to a file.

Importing this package declares all kinds of figures, in the order in which they are listed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from perdure import files
from perdure.errors import MissingExtraError, PerdureError
from perdure.log.read import refuse_overwriting
from perdure.reports.figures.declare import FIGURES, FigureKind, FigureView, NothingToDrawError, figure_kind, view_of
from perdure.reports.svg import COLUMN, PAGE, Canvas, Figure

# In the order in which figures are listed.
from perdure.reports.figures import lifetimes, metric_values, transfer, matrices, groups  # noqa: F401 # isort: skip

__all__ = [
    "FIGURES",
    "SUFFIXES",
    "Canvas",
    "Figure",
    "FigureKind",
    "FigureView",
    "NothingToDrawError",
    "Size",
    "canvas_of",
    "figure_kind",
    "read_style",
    "save_figure",
    "view_of",
]

SUFFIXES = (".svg", ".png", ".pdf")
Size = float | Literal["column", "page"]
"""Width: a column or a page of a paper, or inches."""
_NARROWEST, _WIDEST = 2.0, 40.0
_DPI = 200


def canvas_of(size: Size | str, title: str | None = None) -> Canvas:
    """Return a canvas of a named width, or of a width in inches."""
    inches = {"column": COLUMN, "page": PAGE}
    try:
        width = inches.get(str(size)) or float(size)
    except ValueError:
        width = 0.0
    if not _NARROWEST <= width <= _WIDEST:
        raise PerdureError(
            f"a figure cannot be as wide as {size!r}", f"say column, page, or {_NARROWEST:g} to {_WIDEST:g} inches"
        )
    return Canvas.inches(width, title)


def read_style(file: str | os.PathLike[str] | None) -> str:
    """Read a style sheet. Return an empty one without a file."""
    try:
        return Path(file).read_text(encoding="utf-8") if file is not None else ""
    except (OSError, UnicodeDecodeError) as problem:
        raise PerdureError(
            f"no style sheet ({getattr(problem, 'strerror', None) or problem})", "give a file of CSS", file=file
        ) from problem


def save_figure(figure: Figure, to: str | os.PathLike[str], *, style: str = "", dpi: int = _DPI) -> None:
    """Write a figure as SVG, PDF or PNG.

    Text stays text in SVG and PDF. A PDF embeds its fonts as TrueType; an SVG names font families. PDF and PNG need the
    extra `figures`.

    Parameters
    ----------
    figure
        The figure.
    to
        Output file. Its suffix decides the format.
    style
        CSS that is added to the figure's.
    dpi
        Resolution of a PNG.

    Raises
    ------
    PerdureError
        If the suffix is unknown, or the file cannot be written.

    Examples
    --------
    >>> figure = perdure.figure("lifetime", "logs/naive-0")
    >>> perdure.save_figure(figure, "lifetime.svg")
    """
    target = Path(to)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise PerdureError(
            f"a figure cannot be written as {target.suffix!r}", f"choose one of {', '.join(SUFFIXES)}", file=target
        )
    refuse_overwriting(target)
    try:
        files.deliver(target, _encode(figure, suffix, style, dpi))
    except OSError as problem:
        raise PerdureError(
            f"cannot be written ({problem.strerror or problem})", "choose another place", file=target
        ) from problem


def _encode(figure: Figure, suffix: str, style: str, dpi: int) -> bytes:
    if suffix == ".svg":
        return figure.svg(style).encode()
    try:
        import vl_convert
    except ImportError as problem:
        raise MissingExtraError("vl-convert-python", "figures", f"a figure as {suffix}") from problem

    try:
        if suffix == ".pdf":  # an inch has 72 points, and 96 SVG pixels
            return bytes(vl_convert.svg_to_pdf(figure.svg(style, scale=72 / 96)))
        return bytes(vl_convert.svg_to_png(figure.svg(style), scale=dpi / 96))
    except ValueError as problem:
        raise PerdureError(
            f"the figure cannot be written as {suffix}: {problem}", "write it as .svg, or change its style"
        ) from problem
