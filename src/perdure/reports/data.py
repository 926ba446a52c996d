"""Data behind reports: lifetimes gathered with their curves, and groups that may be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from perdure.curves.model import Curves
from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.survey import Frame, Source, survey
from perdure.metrics.score import Score
from perdure.reports.thinned import thin_lifetime
from perdure.settings import Settings
from perdure.stats.answer import called, title
from perdure.stats.compare import Comparison
from perdure.stats.groups import GroupedSurvey, group_survey, usable
from perdure.stats.model import LEVEL, Group
from perdure.stats.pairing import Want
from perdure.stats.systems import compare_with_baseline


def gather(
    logs: Source | Sequence[Source] | Frame,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    *,
    group: str | None = None,
    look: Callable[[Curves, int], Any] = thin_lifetime,
    **how: Any,
) -> GroupedSurvey:
    """Score and group every lifetime at or below `logs`, and thin its curves; `how` goes to `perdure.survey`."""
    return group_survey(survey(logs, experts, settings, look=look, learning=True, **how), group)


def comparable_groups(data: GroupedSurvey) -> tuple[tuple[Group, ...], ...]:
    """Return sets of groups that may be compared: same scenario type, measure, unit, direction, bounds and preset.

    Protocols may differ: a run's protocol names its learner, so that two learners never share one.
    """
    kinds: dict[tuple[object, ...], list[Group]] = {}
    for group in data.groups:
        measured = (group.measure, group.unit, group.direction, tuple(sorted(group.bounds.items())))
        kinds.setdefault((group.scenario_type, *measured, group.preset), []).append(group)
    return tuple(map(tuple, kinds.values()))


def baselines(data: GroupedSurvey, name: str | None) -> tuple[Group, ...]:
    """Return at most one baseline per set of comparable groups: the named one, or the last that has lifetimes."""
    bases: list[Group] = []
    known: dict[str, None] = {}
    for groups in comparable_groups(data):
        names = group_names(groups, data)
        known.update((names[group.group][0], None) for group in groups)
        given = {name, PurePath(name or "").name}  # a name, or a path such as runs/ewc
        matching = [group for group in groups if group.n and (name is None or not given.isdisjoint(names[group.group]))]
        bases += matching[-1:]
    if name is not None and not bases:
        if data.apart:  # no group has the learner's name
            what, _, fix = data.apart.rpartition("; ")
            raise PerdureError(what, fix, where=f"--baseline {name}")
        raise UnknownNameError("baseline", name, known)
    return tuple(bases)


def compare_groups(
    data: GroupedSurvey,
    groups: Sequence[Group],
    baseline: Group,
    metrics: Sequence[str] = (),
    *,
    paired: Want = "auto",
) -> dict[str, Comparison]:
    """Compare each group with the baseline as `perdure compare` does. Groups are named as in tables."""
    survey = data.survey
    names = {name: rows[0] for name, rows in group_names(groups, data).items()}
    by_id: dict[str, Score] = {score.id: score for score in usable(survey.scores)[0]}
    scores = {
        names[group.group]: tuple(by_id[lifetime] for lifetime in group.lives if lifetime in by_id) for group in groups
    }
    scores = {name: own for name, own in scores.items() if own}
    if names[baseline.group] not in scores:
        return {}
    comparisons, _ = compare_with_baseline(
        scores,
        names[baseline.group],
        survey.bars,
        level=survey.settings.get("level", LEVEL),
        metrics=metrics,
        paired=paired,
    )
    by_name = {comparison.system: comparison for comparison in comparisons}
    return {group: by_name[name] for group, name in names.items() if name in by_name}


def table_metrics(groups: Sequence[Group], metrics: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the metrics that a table of these groups shows: the requested ones, else headline metrics with a value.

    Under presets without headline metrics these are the metrics with a threshold, or else all that have values.
    """
    bars = {name: estimate.bar for group in groups for name, estimate in group.estimates.items() if estimate.n}
    for name in metrics:
        if all(name not in group.estimates for group in groups):
            raise UnknownNameError("metric of these lifetimes", name, bars)
    if metrics:
        return tuple(metrics)
    kind = "matrix" if groups[0].unit else "log"
    leading = tuple(name for name, bar in bars.items() if bar.headline == kind)
    return leading or tuple(name for name, bar in bars.items() if bar.threshold is not None) or tuple(bars)


def group_names(groups: Sequence[Group], data: GroupedSurvey) -> dict[str, tuple[str, ...]]:
    """Map each group to the name of its row, followed by the other names that a user may give."""
    counts = Counter(map(called, groups))
    names: dict[str, tuple[str, ...]] = {}
    for group in groups:
        single = counts[called(group)] == 1
        row_name = group.learner if group.learner and single else group.group
        if group.scenario_type and single:
            row_name = row_name.replace(f" · {group.scenario_type}", "")
        identity = next((life.score.identity for life in data.of_group(group)), None)
        places = (identity.holder, identity.argument, PurePath(identity.argument).name) if identity else ()
        printed = (title(group, groups).partition(": ")[0], group.group.replace(" · ", ", "))  # as by `score`
        names[group.group] = (row_name, called(group), group.group, *printed, *filter(None, places))
    return names
