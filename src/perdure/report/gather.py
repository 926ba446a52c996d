"""Everything a report draws on, gathered in one pass: each lifetime is read, scored and sketched once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from perdure.errors import NotALog, PerdureError, UnknownName
from perdure.metrics.many import Scores, describe, find_lifetimes
from perdure.metrics.score import Scorer
from perdure.metrics.serving import idle
from perdure.metrics.settings import Settings
from perdure.report.palette import Look, looks
from perdure.report.tell import COLUMNS, How, Told, told_all
from perdure.stats.groups import groups as groups_of
from perdure.stats.groups import name_of, split
from perdure.stats.model import Group
from perdure.stats.sources import pool_of

__all__ = ["Material", "Told", "gather", "material", "renamed"]


@dataclass(frozen=True, eq=False)
class Material:
    """Lifetimes scored the same way, their groups, and one look per task."""

    lives: tuple[Told, ...]
    scores: Scores
    groups: tuple[Group, ...]
    apart: str | None = None
    """Why no groups could be formed, in words."""

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Every task, in the order in which lifetimes first learn it."""
        return tuple(dict.fromkeys(task for one in self.lives for task in one.sketch.tasks))

    @cached_property
    def looks(self) -> dict[str, Look]:
        """Task → how it is drawn, in every figure."""
        return looks(self.tasks)

    def life(self, name: str | None = None) -> Told | None:
        """The lifetime of this name, the first where none is given; None where there is none at all."""
        if name is None:
            return self.lives[0] if self.lives else None
        for one in self.lives:
            if one.id == name:
                return one
        raise UnknownName("lifetime", name, [one.id for one in self.lives])

    def group(self, name: str | None = None) -> Group | None:
        """The group of this name, the first where none is given; None where there are no groups."""
        if name is None:
            return self.groups[0] if self.groups else None
        for one in self.groups:
            if one.group == name:
                return one
        raise UnknownName("group", name, [one.group for one in self.groups])

    def together(self, life: str | None = None, group: str | None = None) -> tuple[tuple[Told, ...], str]:
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

    def partial(self, group: Group) -> tuple[Told, ...]:
        """The lifetimes of a group that are shown but do not count, because they did not reach their end."""
        unfinished = {name for name, _ in group.left_out}
        return tuple(one for one in self.lives if one.id in unfinished)

    def of_group(self, group: Group) -> tuple[Told, ...]:
        """The lifetimes of a group."""
        wanted = set(group.lives)
        return tuple(one for one in self.lives if one.id in wanted)


def gather(
    logs: Sequence[str | os.PathLike[str]],
    experts: Sequence[str | os.PathLike[str]] = (),
    settings: Settings | None = None,
    *,
    group: str | None = None,
    columns: Mapping[str, str] | None = None,
    pixels: int | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Material:
    """Every lifetime at or below `logs`, scored and sketched.

    One that cannot be read is left out with the reason; where none can, that reason is raised.
    `pixels` is how wide a sketch is; many lifetimes get less each, so that a report stays small.
    """
    settings = settings or Settings()
    found, own_experts = find_lifetimes(logs, experts)
    width = pixels or max(150, min(COLUMNS, 7500 // max(1, len(found))))
    how = How(settings, tuple(map(str, experts)), dict(columns or {}), width, tuple(map(str, own_experts)))
    scorer = Scorer(settings)  # what is misspelt fails here, before any log is read
    done = told_all(how, found, jobs, progress)
    lives = _named_apart(
        [(one.id or str(one.path), each.told) for one, each in zip(found, done, strict=True) if each.told is not None]
    )
    problems = [(str(one.path), each.why) for one, each in zip(found, done, strict=True) if each.why is not None]
    if not lives:
        why = problems[0][1] if problems else f"no lifetime among {len(own_experts)} experts"
        raise NotALog(why if len(problems) < 2 else f"{why} (and {len(problems) - 1} more that cannot be read)")
    served = {name for one in done for name in one.served}
    unserved = {name: why for one in done for name, why in one.unserved if name not in served}
    unserved |= {name: why for name, why in idle(own_experts, (one.run for one in found)) if name not in served}
    described = describe(settings, scorer, (*how.experts, *how.own_experts), how.columns)
    return material(lives, scorer, described, (*problems, *unserved.items()), group)


def material(
    lives: Sequence[Told],
    scorer: Scorer,
    described: Mapping[str, Any],
    left_out: tuple[tuple[str, str], ...] = (),
    group: str | None = None,
) -> Material:
    """Lifetimes that were told one by one, brought together and grouped."""
    scores = Scores(tuple(one.score for one in lives), left_out, described, scorer.preset.name, scorer.metrics)
    if group is not None:
        return Material(tuple(lives), scores, groups_of(scores, group))
    try:
        return Material(tuple(lives), scores, _named_briefly(groups_of(scores), scores))
    except PerdureError as problem:
        # What must not be pooled can still be looked at one by one.
        return Material(tuple(lives), scores, (), str(problem))


def renamed(told: Told, name: str) -> Told:
    """The lifetime under another name."""
    if told.id == name:
        return told
    return replace(told, score=replace(told.score, id=name), sketch=replace(told.sketch, id=name))


def _named_apart(lives: Sequence[tuple[str, Told]]) -> list[Told]:
    """The lifetimes, given with the names of their places; those that share an id are called by their places."""
    again = Counter(told.id for _, told in lives)
    return [renamed(told, place) if again[told.id] > 1 else told for place, told in lives]


def _named_briefly(groups: Sequence[Group], scores: Scores) -> tuple[Group, ...]:
    """The groups without their protocols in their names, where learner and scenario type tell them apart."""
    lives = pool_of(scores).lives
    several = len({life.measure for life in lives}) > 1
    brief = {name: name_of(replace(part[0], protocol=None), measure=several) for name, part in split(lives).items()}
    again = Counter(brief.values())
    return tuple(
        _called(one, brief[one.group]) if again[brief[one.group]] == 1 and brief[one.group] != "all" else one
        for one in groups
    )


def _called(group: Group, name: str) -> Group:
    estimates = {metric: replace(one, group=name) for metric, one in group.estimates.items()}
    learned = group.learned_only
    return replace(group, group=name, estimates=estimates, learned_only=_called(learned, name) if learned else None)
