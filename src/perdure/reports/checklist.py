"""The checklist of a report on continual learning, after the guidelines of Hsu et al. 2018.

It covers the three basic metrics, baselines, the same architecture and tasks for all systems, cost, and several runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from perdure.gather.model import ScoredLifetime
from perdure.metrics.matrix_formulas import average_accuracy, bwt, learning_accuracy
from perdure.reports.thinned import MEMORY_COLUMNS, thinned
from perdure.stats.groups import GroupedSurvey
from perdure.text import number

State = Literal["present", "missing", "cannot be seen", "does not apply"]
_BASIC = (average_accuracy.name, bwt.name, learning_accuracy.name)
_NAIVE = re.compile(r"naive|sequential|fine.?tun|forget", re.IGNORECASE)
_JOINT = re.compile(r"joint|offline|multi.?task", re.IGNORECASE)


class ChecklistItem(msgspec.Struct, frozen=True):
    """An item of the guidelines: its state, and what was found or what to add."""

    what: str
    state: State
    found: str


def checklist(data: GroupedSurvey) -> tuple[ChecklistItem, ...]:
    """Check every item of the guidelines."""
    return (
        _basic(data),
        _baseline(data, "A naive sequential baseline", _NAIVE, "a learner called naive, sequential or finetune"),
        _joint(data),
        _architecture(data),
        _tasks(data),
        _time(data),
        _memory(data),
        _runs(data),
    )


def _basic(data: GroupedSurvey) -> ChecklistItem:
    what = "Average accuracy, backward transfer (BWT) and learning accuracy"
    absent = [
        name
        for name in _BASIC
        if not any(name in one.score.metrics and one.score.metrics[name].value is not None for one in data.lifetimes)
    ]
    if not absent:
        return ChecklistItem(what, "present", "in the tables")
    why = next(
        (
            one.score.metrics[name].why
            for one in data.lifetimes
            for name in absent
            if name in one.score.metrics and one.score.metrics[name].why
        ),
        "not scored under this preset",
    )
    return ChecklistItem(what, "missing", f"{', '.join(absent)}: {why}")


def _learners(data: GroupedSurvey) -> list[str]:
    return [*dict.fromkeys(one.score.learner or "" for one in data.lifetimes), *(one.group for one in data.groups)]


def _baseline(data: GroupedSurvey, what: str, pattern: re.Pattern[str], advice: str) -> ChecklistItem:
    found = [name for name in _learners(data) if pattern.search(name)]
    return ChecklistItem(what, "present", found[0]) if found else ChecklistItem(what, "missing", f"add {advice}")


def _joint(data: GroupedSurvey) -> ChecklistItem:
    what = "Joint training as an upper bound"
    if data.survey.settings.get("joint") is not None:
        return ChecklistItem(what, "present", "given with --joint")
    return _baseline(data, what, _JOINT, "a learner called joint, or its accuracies with --joint")


def _architecture(data: GroupedSurvey) -> ChecklistItem:
    what = "The same architecture for all that is compared"
    if len(data.groups) < 2:
        return ChecklistItem(what, "does not apply", "one system is shown")
    return ChecklistItem(what, "cannot be seen", "logs do not hold it; say it in the text")


def _tasks(data: GroupedSurvey) -> ChecklistItem:
    what = "The same task configuration for all that is compared"
    if len(data.groups) < 2:
        return ChecklistItem(what, "does not apply", "one system is shown")
    sets = {group.group: _task_sets(data.of_group(group)) for group in data.groups}
    if len({frozenset(found) for found in sets.values()}) == 1:
        return ChecklistItem(what, "present", "all groups go through the same tasks")
    return ChecklistItem(what, "missing", "groups differ in their tasks: " + ", ".join(sets))


def _task_sets(lives: Sequence[ScoredLifetime]) -> set[frozenset[str]]:
    return {frozenset(one.score.tasks) for one in lives}


def _time(data: GroupedSurvey) -> ChecklistItem:
    what = "Training time"
    every = [thinned(life) for life in data.lifetimes]
    timed = [(life.seconds[0], life.seconds[1]) for life in every if life.seconds[0] and life.seconds[1]]
    stated = [cost.seconds for life in every for cost in life.costs.values() if cost.seconds]
    if not timed and stated:
        return ChecklistItem(what, "present", f"{number(sum(stated))} s of learning, as the matrices state it")
    if not timed:
        return ChecklistItem(what, "missing", "no timestamps that tell time apart")
    seconds = sum(total or 0.0 for total, _ in timed)
    each = seconds / sum(count for _, count in timed)
    return ChecklistItem(
        what, "present", f"{number(seconds)} s of learning in {len(timed)} lifetimes, {number(each)} s each time"
    )


def _memory(data: GroupedSurvey) -> ChecklistItem:
    what = "Memory used"
    costs = (cost for life in data.lifetimes for cost in thinned(life).costs.values())
    stated = [cost.memory_mb for cost in costs if cost.memory_mb]
    if not stated:
        return ChecklistItem(what, "cannot be seen", f"log it as {MEMORY_COLUMNS[0]}, or say it in the text")
    return ChecklistItem(what, "present", f"{number(max(stated))} MB at most")


def _runs(data: GroupedSurvey) -> ChecklistItem:
    what = "Several runs from different seeds, with mean and spread"
    counts = [group.n for group in data.groups] or [len(data.lifetimes)]
    if min(counts) < 2:
        return ChecklistItem(
            what, "missing", "a group has fewer than two lifetimes; run more seeds (`perdure plan` says how many)"
        )
    seeds = [one.score.seed for one in data.lifetimes if one.score.seed is not None]
    stated = "" if seeds else "; seeds are not stated in the logs"
    return ChecklistItem(
        what, "present", f"{', '.join(map(str, counts))} lifetimes per group, mean ± sd and interval{stated}"
    )
