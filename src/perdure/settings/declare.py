"""A setting is one declaration, on its field: flags, help, panel, what it takes, and where it comes from otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from perdure.frozen import frozen
from perdure.settings.kinds import Kind

__all__ = ["MATRICES", "METRICS", "PREPARATION", "READING", "STATISTICS", "Option", "option"]

PREPARATION = "Preparation"
METRICS = "Metrics"
MATRICES = "Accuracy matrices"
READING = "Reading"
STATISTICS = "Statistics"


@frozen
class Option:
    """How one setting is given; its key in files and in JSON is the name of its field."""

    flag: str
    kind: Kind
    help: str
    panel: str | None = None
    """None is among the everyday options, which come first."""
    otherwise: str = "preset"
    """Where its value comes from where nobody gives one: the preset, or the log."""
    decides: bool = True
    """Whether lifetimes scored with another value of it may not be pooled with these."""
    also: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """A further flag → the value that it stands for; the opposite of a switch is one, so that a file can be undone."""
    prepares: bool = False
    """Whether it is a field of `Prep`, and None there is the preset's."""


def option(default: Any, flags: str, kind: Kind, said: str, panel: str | None = None, **more: Any) -> Any:
    """A field with its declaration; `flags` is one, or a switch and its opposite: `--clamp/--no-clamp`."""
    flag, _, opposite = flags.partition("/")
    also = {**more.pop("also", {}), **({opposite: False} if opposite else {})}
    declared = {"option": Option(flag, kind, said, panel, also=also, **more)}
    if isinstance(default, dict):
        return field(default_factory=dict, hash=False, metadata=declared)
    return field(default=default, hash=None if kind.hashable else False, metadata=declared)
