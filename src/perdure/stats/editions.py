"""Scores of two editions of the definitions side by side: which value moved, and which definition moved it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perdure.frozen import frozen
from perdure.gather.score_files import FIRST_EDITION
from perdure.metrics.engine.presets import CHANGED
from perdure.metrics.engine.score import Score

__all__ = ["Moved", "moved", "two_editions"]

_SAME = "its definition is the same; what was scored, or how, differs"


@frozen
class Moved:
    """One metric over the lifetimes that both editions scored."""

    metric: str
    n: int
    """Lifetimes that have a value in both."""
    old: float | None
    """The mean of their values in the first edition."""
    new: float | None
    changed: int
    """How many of the values differ."""
    because: str
    """What moved them, in words; blank where nothing moved."""

    def as_json(self) -> dict[str, Any]:
        """The metric as one JSON object."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def two_editions(lives: Sequence[Score]) -> bool:
    """Whether these are scores of one preset in its first edition and in the present one."""
    presets = {life.preset for life in lives}
    return len(presets) == 2 and len({one.removesuffix(FIRST_EDITION) for one in presets}) == 1


def moved(lives: Sequence[Score]) -> tuple[Moved, ...]:
    """Each metric that both editions know, over the lifetimes that are in both, by what their manifests call them."""
    old = {_same(life): life for life in lives if life.preset.endswith(FIRST_EDITION)}
    new = {_same(life): life for life in lives if not life.preset.endswith(FIRST_EDITION)}
    both = [(old[key], new[key]) for key in old if key in new]
    names = dict.fromkeys(name for _, later in both for name in later.values)
    reasons = CHANGED.get(both[0][1].preset, {}) if both else {}
    found: list[Moved] = []
    for name in names:
        known = [(before.value(name), after.value(name)) for before, after in both]
        pairs = np.array([pair for pair in known if None not in pair], dtype=np.float64).reshape(-1, 2)
        if not len(pairs):
            continue
        changed = int(np.count_nonzero(~np.isclose(pairs[:, 0], pairs[:, 1], rtol=1e-9, atol=1e-9)))
        why = reasons.get(name, _SAME) if changed else ""
        found.append(Moved(name, len(pairs), float(pairs[:, 0].mean()), float(pairs[:, 1].mean()), changed, why))
    return tuple(found)


def _same(life: Score) -> tuple[Any, ...]:
    """What a lifetime goes by in both: its recorded id and seed, else the last name of its id."""
    who = life.identity
    name = who.recorded or who.id.removeprefix(f"{who.argument}#").rpartition("/")[2]
    return name, who.seed
