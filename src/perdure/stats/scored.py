"""Grouped: everything that was scored, as one document: lifetimes, their groups, what each metric is held against."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from perdure.errors import PerdureError
from perdure.gather.model import Survey
from perdure.results import sealed
from perdure.stats.groups import groups, not_pooled
from perdure.stats.model import Group

__all__ = ["Grouped", "grouped"]


class Grouped(Struct, frozen=True, eq=False):
    """A survey, and what its groups come to."""

    survey: Survey
    groups: tuple[Group, ...]
    apart: str | None = None
    """Why lifetimes could not be grouped, in words."""

    @property
    def whole(self) -> bool:
        """Whether everything that was given counts, and in a group."""
        whole = not (self.survey.left_out or self.survey.faults or self.apart)
        return whole and not any(group.left_out for group in self.groups)

    def as_json(self) -> dict[str, Any]:
        """Everything that was scored, as `score.schema.json` describes it."""
        from perdure.stats.capabilities import capabilities

        return sealed(
            {
                **self.survey.facts(),
                "thresholds": _thresholds(self.survey),
                "capabilities": [one.as_json() for one in capabilities(self.survey)],
                "groups": [one.as_json() for one in self.groups],
                "not_grouped": self.apart,
            }
        )


def grouped(survey: Survey) -> Grouped:
    """The lifetimes in groups, or why they cannot be; a pattern that someone gave is an error to them instead."""
    try:
        return Grouped(survey, groups(survey), "; ".join(not_pooled(survey.scores)) or None)
    except PerdureError as problem:
        if survey.settings.get("group"):
            raise
        return Grouped(survey, (), str(problem))


def _thresholds(survey: Survey) -> dict[str, dict[str, Any]]:
    """What each metric is held against, so that scores keep it where the file that declared them is not at hand."""
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
