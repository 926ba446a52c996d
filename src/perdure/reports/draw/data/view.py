"""What every figure's data shares: how it is looked at, how many lifetimes are behind it, and what they carry."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal

import numpy as np

from perdure.frozen import frozen
from perdure.gather.model import Life
from perdure.reports.material import Material
from perdure.stats.estimate import Flagged, flags_in, flags_of_scores
from perdure.words import plural

__all__ = [
    "Flagged",
    "Nothing",
    "View",
    "Whose",
    "counted_text",
    "flags_in",
    "flags_of",
    "flags_text",
    "lifetimes_text",
    "plain_data",
    "view_of",
    "whose",
]


@frozen
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


def view_of(found: Material, name: str | None, **how: Any) -> View:
    """A view of the lifetime of this name, or else of the group; `how` is what `View` has besides."""
    if name in {one.id for one in found.lives}:
        return View(lifetime=name, **how)
    return View(group=name, **how)


@frozen
class Nothing:
    """There is nothing to draw."""

    why: str


@frozen
class Whose:
    """The lifetimes that a figure may average, and what to call them."""

    lives: tuple[Life, ...]
    name: str
    """The lifetime, or the group; nothing for the one group of all."""


def whose(material: Material, view: View) -> Whose:
    """One lifetime, or those of a group: what a figure of a mean is about."""
    lives, _ = material.together(view.lifetime, view.group)
    if len(lives) == 1:
        return Whose(lives, lives[0].id)
    chosen = material.group(view.group)
    return Whose(lives, chosen.group if chosen and chosen.group != "all" else "")


def counted_text(found: Whose, counts: Iterable[int]) -> str:
    """How many lifetimes are behind each value: `means of 2 to 5 of 11 lifetimes`; nothing for one lifetime alone."""
    every = len(found.lives)
    known = [count for count in counts if count]
    if every == 1 or not known:
        return ""
    least, most = min(known), max(known)
    many = f"{least}" if least == most else f"{least} to {most}"
    return f"mean{'s' if least != most else ''} of {many}{f' of {every}' if least != every else ''} lifetimes"


def lifetimes_text(found: Whose, counts: Iterable[int]) -> str:
    """Whose values these are, and how many lifetimes are behind each: `keeper, mean of 3 of 11 lifetimes`."""
    return ", ".join(part for part in (found.name, counted_text(found, counts)) if part)


def flags_of(lives: Sequence[Life], metric: str) -> tuple[Flagged, ...]:
    """The flags of a metric's values over lifetimes; a lifetime without a value has none."""
    return flags_of_scores([one.score for one in lives], metric)


def flags_text(flags: Sequence[Flagged]) -> str:
    """`relearned (3 lifetimes); …`, or nothing."""
    return "; ".join(f"{one.flag} ({plural(one.n, 'lifetime')})" for one in flags)


def plain_data(value: Any) -> Any:
    """Figure data as JSON can hold it: objects, lists, numbers, text; what is absent is null."""
    if is_dataclass(value):
        return {one.name: plain_data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist())
    if isinstance(value, list | tuple):
        return [plain_data(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
