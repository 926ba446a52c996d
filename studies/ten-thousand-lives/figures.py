"""Small figures as SVG text: lines side by side, stacked bars, and dots in rows; the colours are those of reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from perdure.reports.palette import COLOURS

__all__ = ["bars", "dots", "lines"]

_LEFT, _TOP, _BOTTOM = 64, 58, 46
_GREY, _FAINT = "#777777", "#dddddd"


def lines(
    title: str,
    panels: Mapping[str, Mapping[str, Sequence[float | None]]],
    places: Sequence[str],
    *,
    across: str,
    promised: Sequence[float] = (),
    top: float = 1.0,
) -> str:
    """Draw a panel per metric with a line per series over the same places; shares from 0 to `top`."""
    wide, high, gap = 150, 190, 14
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    width = _LEFT + len(panels) * (wide + gap)
    parts = [*_legend(names)]

    def y(value: float) -> float:
        return _TOP + high - min(value, top) / top * high

    for index, (panel, series) in enumerate(panels.items()):
        left = _LEFT + index * (wide + gap)
        step = wide / len(places)
        parts.append(_text(left + wide / 2, _TOP - 8, panel, anchor="middle", bold=True))
        for share in (0, 0.25, 0.5, 0.75, 1):
            parts.append(_line(left, y(share * top), left + wide, y(share * top), _FAINT))
            if index == 0:
                parts.append(_text(left - 6, y(share * top) + 4, f"{share * top:.0%}", anchor="end"))
        parts += [_line(left, y(share), left + wide, y(share), _GREY, dashed=True) for share in promised]
        for place, name in enumerate(places):
            parts.append(_text(left + (place + 0.5) * step, _TOP + high + 16, name, anchor="middle"))
        for name, values in series.items():
            colour = COLOURS[names.index(name)]
            known = [(left + (place + 0.5) * step, y(value)) for place, value in enumerate(values) if value is not None]
            joined = " ".join(f"{x:.1f},{height:.1f}" for x, height in known)
            parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{height:.1f}" r="3" fill="{colour}"/>' for x, height in known]
    parts.append(_text(_LEFT + (width - _LEFT) / 2, _TOP + high + 36, across, anchor="middle"))
    return _whole(title, width, _TOP + high + _BOTTOM, parts)


def bars(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """Draw a bar per row, divided into shares."""
    wide, tall, left = 520, 20, 210
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    parts = [*_legend(names, left)]
    for index, (row, shares) in enumerate(rows.items()):
        top, x = _TOP + index * (tall + 5), float(left)
        parts.append(_text(left - 8, top + 14, row, anchor="end"))
        for name, share in shares.items():
            colour = COLOURS[names.index(name)]
            parts.append(f'<rect x="{x:.1f}" y="{top}" width="{share * wide:.1f}" height="{tall}" fill="{colour}"/>')
            if share >= 0.08:
                parts.append(_text(x + share * wide / 2, top + 14, f"{share:.0%}", anchor="middle", colour="white"))
            x += share * wide
    return _whole(title, left + wide + 20, _TOP + len(rows) * (tall + 5) + 10, parts)


def dots(
    title: str,
    rows: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    low: float,
    high: float,
    mark: float | None,
    across: str,
    percent: bool = True,
) -> str:
    """Draw a row per name with the dots of each series, and a line at the promised value."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    wide, tall, left = 520, 5 + 7 * len(names), 210
    parts = [*_legend(names)]
    below = _TOP + len(rows) * tall

    def x(value: float) -> float:
        return left + (min(max(value, low), high) - low) / (high - low) * wide

    for tick in range(5):
        value = low + (high - low) * tick / 4
        parts.append(_line(x(value), _TOP - 4, x(value), below, _FAINT))
        label = f"{value:.0%}" if percent else f"{value:.2g}".replace("-", "−")
        parts.append(_text(x(value), below + 16, label, anchor="middle"))
    if mark is not None:
        parts.append(_line(x(mark), _TOP - 4, x(mark), below, _GREY, dashed=True))
    for index, (row, series) in enumerate(rows.items()):
        middle = _TOP + (index + 0.5) * tall
        parts.append(_text(left - 8, middle + 4, row, anchor="end"))
        for number, (name, values) in enumerate(series.items()):
            colour, shift = COLOURS[names.index(name)], (number - (len(series) - 1) / 2) * 7
            parts += [
                f'<circle cx="{x(value):.1f}" cy="{middle + shift:.1f}" r="3.2" fill="{colour}" fill-opacity="0.75"/>'
                for value in values
            ]
    parts.append(_text(left + wide / 2, below + 36, across, anchor="middle"))
    return _whole(title, left + wide + 24, below + _BOTTOM, parts)


def _legend(names: Sequence[str], left: float = _LEFT) -> list[str]:
    parts, x = [], float(left)
    for index, name in enumerate(names):
        parts.append(f'<rect x="{x:.1f}" y="28" width="10" height="10" fill="{COLOURS[index]}"/>')
        parts.append(_text(x + 15, 37, name))
        x += 30 + 7 * len(name)
    return parts


def _text(x: float, y: float, words: str, *, anchor: str = "start", bold: bool = False, colour: str = "#222222") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dash}/>'


def _whole(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" '
        f'font-size="11.5" role="img" aria-label="{escape(title)}">'
    )
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head, ground, _text(14, 17, title, bold=True), *parts, "</svg>"]) + "\n"
