"""Everything a report draws on: a survey whose lifetimes were sketched, their groups, and one look per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from perdure.curves.model import Curves
from perdure.errors import PerdureError, UnknownName
from perdure.frozen import frozen, replace
from perdure.gather.model import Life, Survey
from perdure.gather.survey import Source, survey
from perdure.metrics.engine.score import Score
from perdure.metrics.engine.settings import Settings
from perdure.reports.palette import Look, looks
from perdure.reports.sketch import Sketch, sketched
from perdure.stats.answer import called
from perdure.stats.compare import compare_lives
from perdure.stats.difference import Comparison
from perdure.stats.groups import groups as groups_of
from perdure.stats.groups import not_pooled, usable
from perdure.stats.model import LEVEL, Group

__all__ = [
    "Material",
    "against",
    "alike",
    "compared",
    "gather",
    "material",
    "names_of",
    "shown_metrics",
    "sketched",
]


@frozen(eq=False)
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


# --- groups side by side --------------------------------------------------------------------------


def alike(material: Material) -> tuple[tuple[Group, ...], ...]:
    """The groups that may be compared: of one scenario type, measure, unit, direction, bounds and preset.

    Protocols may differ: a run's protocol names its learner, so that two learners never share one.
    """
    kinds: dict[tuple[object, ...], list[Group]] = {}
    for group in material.groups:
        measured = (group.measure, group.unit, group.direction, tuple(sorted(group.bounds.items())))
        kinds.setdefault((group.scenario_type, *measured, group.preset), []).append(group)
    return tuple(map(tuple, kinds.values()))


def against(material: Material, baseline: str | None) -> tuple[Group, ...]:
    """What others are held against, at most one of each kind: of the name, or the last whose lifetimes count."""
    found: list[Group] = []
    known: dict[str, None] = {}
    for groups in alike(material):
        names = names_of(groups, material)
        known.update((names[group.group][0], None) for group in groups)
        called_so = [group for group in groups if group.n and (baseline is None or baseline in names[group.group])]
        found += called_so[-1:]
    if baseline is not None and not found:
        raise UnknownName("baseline", baseline, known)
    return tuple(found)


def compared(
    material: Material, groups: Sequence[Group], baseline: Group, metrics: Sequence[str] = (), *, brief: bool = False
) -> dict[str, Comparison]:
    """Group → its comparison with the baseline, by the test that `perdure compare` makes; `brief` names for tables."""
    survey = material.survey
    names = names_of(groups, material)
    by_id: dict[str, Score] = {life.id: life for life in usable(survey.scores)[0]}
    lives = {group.group: tuple(by_id[one] for one in group.lives if one in by_id) for group in groups}
    return {
        group.group: compare_lives(
            lives[group.group],
            lives[baseline.group],
            survey.bars,
            names=tuple(names[one.group][0] if brief else one.group for one in (group, baseline)),  # type: ignore[arg-type]
            level=survey.settings.get("level", LEVEL),
            metrics=metrics,
        )
        for group in groups
        if group is not baseline and lives[group.group] and lives[baseline.group]
    }


def shown_metrics(groups: Sequence[Group], metrics: Sequence[str] = ()) -> tuple[str, ...]:
    """What a table of these groups shows: what was asked for, else the headline metrics that any of them has.

    Where none leads, as under presets of other papers, it is those with a threshold, and else all that have values.
    """
    bars = {name: one.bar for group in groups for name, one in group.estimates.items() if one.n}
    for name in metrics:
        if all(name not in group.estimates for group in groups):
            raise UnknownName("metric of these lifetimes", name, bars)
    if metrics:
        return tuple(metrics)
    kind = "matrix" if groups[0].unit else "log"
    leading = tuple(name for name, bar in bars.items() if bar.headline == kind)
    return leading or tuple(name for name, bar in bars.items() if bar.threshold is not None) or tuple(bars)


def names_of(groups: Sequence[Group], material: Material) -> dict[str, tuple[str, ...]]:
    """Group → what its row is called, and then whatever else somebody may call it."""
    again = Counter(map(called, groups))
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        single = again[called(group)] == 1
        shown = group.learner if group.learner and single else group.group
        if group.scenario_type and single:
            shown = shown.replace(f" · {group.scenario_type}", "")
        who = next((one.score.identity for one in material.of_group(group)), None)
        also = (who.holder, who.argument) if who else ()
        found[group.group] = (shown, called(group), group.group, *(place for place in also if place))
    return found
