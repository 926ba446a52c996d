"""Everything a report draws on: a survey whose lifetimes were sketched, their groups, and one look per task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from perdure.curves.model import Curves
from perdure.errors import PerdureError, UnknownName
from perdure.gather.model import Life, Survey
from perdure.gather.survey import Source, survey
from perdure.metrics.engine.settings import Settings
from perdure.report.palette import Look, looks
from perdure.report.sketch import Sketch, sketched
from perdure.stats.groups import groups as groups_of
from perdure.stats.groups import not_pooled
from perdure.stats.model import Group

__all__ = ["Material", "gather", "material", "sketched"]


@dataclass(frozen=True, eq=False)
class Material:
    """Lifetimes scored the same way, their groups, and one look per task."""

    survey: Survey
    groups: tuple[Group, ...]
    apart: str | None = None
    """Why no groups could be formed, in words."""

    @property
    def lives(self) -> tuple[Life, ...]:
        """The lifetimes, in the order in which they were given."""
        return self.survey.lives

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """What was given and does not count: what cannot be read, and lifetimes that did not reach their end."""
        return (*self.survey.left_out, *(pair for group in self.groups for pair in group.left_out))

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Every task, in the order in which lifetimes first learn it."""
        return tuple(dict.fromkeys(task for one in self.lives for task in one.sketch.tasks))

    @cached_property
    def looks(self) -> dict[str, Look]:
        """Task → how it is drawn, in every figure."""
        return looks(self.tasks)

    def life(self, name: str | None = None) -> Life | None:
        """The lifetime of this name, the first where none is given; None where there is none at all."""
        if name is None:
            return self.lives[0] if self.lives else None
        named = [one for one in self.lives if one.id == name]
        named = named or [one for one in self.lives if one.id.endswith(f"/{name}")]
        if len(named) == 1:
            return named[0]
        raise UnknownName("lifetime", name, [one.id for one in self.lives])

    def group(self, name: str | None = None) -> Group | None:
        """The group of this name, the first where none is given; None where there are no groups."""
        if name is None:
            return self.groups[0] if self.groups else None
        for one in self.groups:
            if one.group == name:
                return one
        raise UnknownName("group", name, [one.group for one in self.groups])

    def together(self, life: str | None = None, group: str | None = None) -> tuple[tuple[Life, ...], str]:
        """The lifetimes that a figure may average, and what to call them: one, or those of a group."""
        if life is not None:
            found = self.life(life)
            return ((found,), found.id) if found else ((), "")
        chosen = self.group(group)
        lives = (self.of_group(chosen) or self.partial(chosen)[:1]) if chosen else self.lives[:1]
        if len(lives) == 1:
            return lives, lives[0].id
        called = f"{chosen.group}, " if chosen and chosen.group != "all" else ""
        return lives, f"{called}mean of {len(lives)} lifetimes"

    def partial(self, group: Group) -> tuple[Life, ...]:
        """The lifetimes of a group that are shown but do not count, because they did not reach their end."""
        unfinished = {name for name, _ in group.left_out}
        return tuple(one for one in self.lives if one.id in unfinished)

    def of_group(self, group: Group) -> tuple[Life, ...]:
        """The lifetimes of a group."""
        wanted = set(group.lives)
        return tuple(one for one in self.lives if one.id in wanted)


def gather(
    logs: Source | Sequence[Source],
    experts: Source | Sequence[Source] = (),
    settings: Settings | None = None,
    *,
    group: str | None = None,
    look: Callable[[Curves, int], Any] = sketched,
    **how: Any,
) -> Material:
    """Every lifetime at or below `logs`, scored and sketched; `how` is what `perdure.survey` takes besides."""
    return material(survey(logs, experts, settings, look=look, **how), group)


def material(found: Survey, group: str | None = None) -> Material:
    """A survey, grouped; of lifetimes that are known by their scores alone, nothing is drawn."""
    found = replace(found, lives=tuple(map(_shown, found.lives)))
    if group is not None or found.settings.get("group") is not None:
        return Material(found, groups_of(found, group))
    try:
        return Material(found, groups_of(found), "; ".join(not_pooled(found.scores)) or None)
    except PerdureError as problem:
        # What must not be pooled can still be looked at one by one.
        return Material(found, (), str(problem))


def _shown(life: Life) -> Life:
    """The lifetime with a sketch that goes by its id."""
    if life.seen is None:
        return replace(life, seen=_unseen(life))
    return life if life.seen.id == life.id else replace(life, seen=replace(life.seen, id=life.id))


def _unseen(life: Life) -> Sketch:
    return Sketch(life.id, life.score.measure or "", lower=frozenset(), tasks=life.score.tasks, stretches=(), ranges={})
