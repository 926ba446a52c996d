"""GroupedSurvey: scored lifetimes and their groups, which `score` prints, reports show and figures draw."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import ScoredLifetime, Survey
from perdure.results import sealed
from perdure.stats.groups import groups, not_pooled
from perdure.stats.model import Group


class GroupedSurvey(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Lifetimes scored the same way, and their groups."""

    survey: Survey
    groups: tuple[Group, ...]
    apart: str | None = None
    """Why lifetimes could not be grouped."""

    @property
    def lifetimes(self) -> tuple[ScoredLifetime, ...]:
        """The lifetimes, in the order in which they were given."""
        return self.survey.lifetimes

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Path and reason of what does not count: unreadable logs, and lifetimes that did not reach their end."""
        return (*self.survey.left_out, *(pair for group in self.groups for pair in group.left_out))

    @property
    def whole(self) -> bool:
        """Whether everything that was given counts, in a group."""
        return not (self.left_out or self.survey.faults or self.apart)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Every task, in the order in which lifetimes first learn it."""
        return tuple(dict.fromkeys(task for score in self.survey.scores for task in score.tasks))

    def life(self, name: str) -> ScoredLifetime:
        """Return the lifetime of this id, or whose id ends with it; an unknown one offers the nearest."""
        named = [life for life in self.lifetimes if life.id == name]
        named = named or [life for life in self.lifetimes if life.id.endswith(f"/{name}")]
        if len(named) == 1:
            return named[0]
        raise UnknownNameError("lifetime", name, [life.id for life in self.lifetimes])

    def group(self, name: str) -> Group:
        """Return the group of this name; an unknown one offers the nearest."""
        for group in self.groups:
            if group.group == name:
                return group
        raise UnknownNameError("group", name, [group.group for group in self.groups])

    def of_group(self, group: Group) -> tuple[ScoredLifetime, ...]:
        """Return the lifetimes of a group."""
        wanted = set(group.lives)
        return tuple(life for life in self.lifetimes if life.id in wanted)

    def partial(self, group: Group) -> tuple[ScoredLifetime, ...]:
        """Return the lifetimes of a group that did not reach their end; they are shown but do not count."""
        unfinished = {name for name, _ in group.left_out}
        return tuple(life for life in self.lifetimes if life.id in unfinished)

    def as_json(self) -> dict[str, Any]:
        """Return everything that was scored, as `score.schema.json` describes it."""
        from perdure.stats.capabilities import capabilities

        return sealed(
            {
                **self.survey.facts(),
                "thresholds": _thresholds(self.survey),
                "capabilities": [capability.as_json() for capability in capabilities(self.survey)],
                "groups": [group.as_json() for group in self.groups],
                "not_grouped": self.apart,
            }
        )


def group_survey(survey: Survey, pattern: str | None = None) -> GroupedSurvey:
    """Group lifetimes, or keep the reason why they cannot be grouped. With a pattern, that reason is an error."""
    pattern = survey.settings.get("group") if pattern is None else pattern
    if pattern is not None:
        return GroupedSurvey(survey, groups(survey, pattern))
    try:
        return GroupedSurvey(survey, groups(survey), "; ".join(not_pooled(survey.scores)) or None)
    except PerdureError as problem:
        # Lifetimes that must not be pooled can still be looked at one by one.
        return GroupedSurvey(survey, (), str(problem))


def _thresholds(survey: Survey) -> dict[str, dict[str, Any]]:
    """Return the thresholds, so that a file of scores has them where the metrics are not declared."""
    return {
        name: {
            "threshold": metric.threshold,
            "margin": metric.margin,
            "better": metric.better,
            "inclusive": metric.inclusive,
            "headline": metric.headline,
            "scale": metric.scale,
            "expert": metric.expert,
        }
        for name, metric in survey.metrics.items()
    }
