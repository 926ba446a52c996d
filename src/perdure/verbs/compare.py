"""compare: which system does better, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from perdure.errors import UnknownNameError
from perdure.gather.model import ScoredLifetime, Survey
from perdure.gather.survey import Frame, Source
from perdure.settings import Settings
from perdure.verbs.logs import Logs, surveyed

if TYPE_CHECKING:
    from perdure.stats.systems import Comparisons


def compare(
    logs: Logs,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    *,
    baseline: str | None = None,
    scenario_types: bool = False,
    paired: Literal["auto", "yes", "no"] = "auto",
    order: bool = False,
    seed: int = 0,
) -> Comparisons:
    """Which system does better, by how much, and how sure that is; the last one is the baseline unless it is named.

    Each place of `logs` is a system, one that holds several learners a system for each; with `scenario_types` the
    scenario types that each learner lived are. `order` adds almost stochastic order; `seed` is that of resampling.
    """
    from perdure.stats.systems import compare_scenario_types, compare_systems, systems_of

    if paired not in ("auto", "yes", "no"):
        raise UnknownNameError("value of paired", str(paired), ("auto", "yes", "no"))
    settings = Settings.given_or_default(settings)
    found = _apart(surveyed(logs, experts, settings), settings.group, as_learners=scenario_types)
    how: dict[str, Any] = {
        "metrics": settings.ids,
        "paired": paired,
        "level": settings.level,
        "order": order,
        "seed": seed,
    }
    if scenario_types:
        return compare_scenario_types(found, baseline, **how)
    return compare_systems(systems_of(found), baseline, **how)


def _apart(found: Survey, pattern: str | None, *, as_learners: bool) -> Survey:
    """The survey as it is, or each group of a pattern as if it were an argument, or a learner."""
    if pattern is None:
        return found
    from perdure.stats.groups import split

    groups = {life.id: name for name, lives in split(found.scores, pattern).items() for life in lives}

    def named(life: ScoredLifetime) -> ScoredLifetime:
        who, name = life.score.identity, groups[life.id]
        who = replace(who, learner=name) if as_learners else replace(who, argument=name)
        return replace(life, score=replace(life.score, identity=who))

    return replace(found, lifetimes=tuple(named(one) for one in found.lifetimes if one.id in groups))
