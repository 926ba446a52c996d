"""The power curve as a picture: one SVG, made of text."""

from __future__ import annotations

from pathlib import Path

from perdure import files
from perdure.errors import PerdureError
from perdure.stats.plan import Plan

__all__ = ["bars", "power_svg", "save_power"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 640, 380, 56, 40, 20, 48
_BLOCKS = " ▏▎▍▌▋▊▉█"


def save_power(plan: Plan, file: Path) -> None:
    """Write the power curve to an SVG file."""
    if file.suffix != ".svg":
        raise PerdureError("the power curve is written as SVG", "choose a name that ends in .svg", file=file)
    try:
        files.deliver(file, power_svg(plan).encode())
    except OSError as problem:
        raise PerdureError(f"cannot be written ({problem.strerror})", "choose another place", file=file) from problem


def power_svg(plan: Plan) -> str:
    """Power over lifetimes, with the wanted power and the planned number marked."""
    first, last = plan.curve[0][0], plan.curve[-1][0]

    def x(lifetimes: float) -> float:
        return _LEFT + (lifetimes - first) / max(last - first, 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(power: float) -> float:
        return _HEIGHT - _BOTTOM - power * (_HEIGHT - _TOP - _BOTTOM)

    path = " ".join(f"{x(count):.1f},{y(reached):.1f}" for count, reached in plan.curve)
    ticks = sorted({round(first + (last - first) * part / 6) for part in range(7)})
    target = 1 - plan.beta
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
            f'font-size="12" role="img" aria-label="Power over number of lifetimes">'
        ),
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="14">Power to see {plan.k:g} sd at α = {plan.alpha:g}</text>',
        *(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(p):.1f}" y2="{y(p):.1f}" stroke="#dddddd"/>'
            f'<text x="{_LEFT - 8}" y="{y(p) + 4:.1f}" text-anchor="end">{p:.0%}</text>'
            for p in (0, 0.2, 0.4, 0.6, 0.8, 1.0)
        ),
        *(f'<text x="{x(one):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{one}</text>' for one in ticks),
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 10}" text-anchor="middle">lifetimes</text>',
        (
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(target):.1f}" y2="{y(target):.1f}" '
            f'stroke="#888888" stroke-dasharray="4 4"/>'
        ),
        (
            f'<line x1="{x(plan.lifetimes):.1f}" x2="{x(plan.lifetimes):.1f}" y1="{_TOP}" '
            f'y2="{_HEIGHT - _BOTTOM}" stroke="#888888" stroke-dasharray="4 4"/>'
        ),
        f'<polyline points="{path}" fill="none" stroke="#0072b2" stroke-width="2.5"/>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def bars(power: float, width: int = 20) -> str:
    """A power as a bar of characters, for a terminal."""
    eighths = round(power * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_BLOCKS[rest] if rest else "")).ljust(width)
