"""The checklist of a report on continual learning, after the guidelines of Hsu et al. 2018.

It covers the three basic metrics, baselines, the same architecture and tasks for all systems, cost, and several runs.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from perdure.metrics.matrix_formulas import average_accuracy, bwt, learning_accuracy
from perdure.reports.thinned import MEMORY_COLUMNS, thinned_lifetime
from perdure.stats.groups import GroupedSurvey
from perdure.text import number

State = Literal["present", "missing", "cannot be seen", "does not apply"]
_BASIC = (average_accuracy.name, bwt.name, learning_accuracy.name)
_NAIVE = re.compile(r"naive|sequential|fine.?tun|forget", re.IGNORECASE)
_JOINT = re.compile(r"joint|offline|multi.?task", re.IGNORECASE)


class ChecklistItem(msgspec.Struct, frozen=True):
    """An item of the guidelines, its state, and the evidence or advice."""

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
    item = "Average accuracy, backward transfer (BWT) and learning accuracy"
    measured = {
        name: [life.score.metrics[name] for life in data.lifetimes if name in life.score.metrics] for name in _BASIC
    }
    absent = [name for name in _BASIC if all(value.value is None for value in measured[name])]
    if not absent:
        return ChecklistItem(item, "present", "in the tables")
    reasons = [value.why for life in data.lifetimes for name in absent if (value := life.score.metrics.get(name))]
    why = next(filter(None, reasons), "not scored under this preset")
    return ChecklistItem(item, "missing", f"{', '.join(absent)}: {why}")


def _baseline(data: GroupedSurvey, item: str, pattern: re.Pattern[str], advice: str) -> ChecklistItem:
    learners = dict.fromkeys(life.score.learner or "" for life in data.lifetimes)
    names = [*learners, *(group.group for group in data.groups)]
    name = next(filter(pattern.search, names), None)
    return ChecklistItem(item, "missing", f"add {advice}") if name is None else ChecklistItem(item, "present", name)


def _joint(data: GroupedSurvey) -> ChecklistItem:
    item = "Joint training as an upper bound"
    if data.survey.settings.get("joint") is not None:
        return ChecklistItem(item, "present", "given as the setting joint")
    return _baseline(data, item, _JOINT, "a learner called joint, or its accuracies with --joint")


def _architecture(data: GroupedSurvey) -> ChecklistItem:
    item = "The same architecture for all that is compared"
    if len(data.groups) < 2:
        return ChecklistItem(item, "does not apply", "one system is shown")
    return ChecklistItem(item, "cannot be seen", "logs do not hold it; say it in the text")


def _tasks(data: GroupedSurvey) -> ChecklistItem:
    item = "The same task configuration for all that is compared"
    if len(data.groups) < 2:
        return ChecklistItem(item, "does not apply", "one system is shown")
    task_sets = {
        group.group: frozenset(frozenset(life.score.tasks) for life in data.of_group(group)) for group in data.groups
    }
    if len(set(task_sets.values())) == 1:
        return ChecklistItem(item, "present", "all groups go through the same tasks")
    return ChecklistItem(item, "missing", "groups differ in their tasks: " + ", ".join(task_sets))


def _time(data: GroupedSurvey) -> ChecklistItem:
    item = "Training time"
    lifetimes = [thinned_lifetime(life) for life in data.lifetimes]
    timed = [(total, count) for total, count in (life.seconds for life in lifetimes) if total and count]
    stated = [cost.seconds for life in lifetimes for cost in life.costs.values() if cost.seconds]
    if timed:
        seconds = sum(total for total, _ in timed)
        each = number(seconds / sum(count for _, count in timed))
        text = f"{number(seconds)} s of learning in {len(timed)} lifetimes, {each} s per experience"
        return ChecklistItem(item, "present", text)
    if stated:
        return ChecklistItem(item, "present", f"{number(sum(stated))} s of learning, as the matrices state it")
    return ChecklistItem(item, "missing", "no timestamps that tell time apart")


def _memory(data: GroupedSurvey) -> ChecklistItem:
    item = "Memory used"
    costs = (cost for life in data.lifetimes for cost in thinned_lifetime(life).costs.values())
    stated = [cost.memory_mb for cost in costs if cost.memory_mb]
    if not stated:
        return ChecklistItem(item, "cannot be seen", f"log it as {MEMORY_COLUMNS[0]}, or say it in the text")
    return ChecklistItem(item, "present", f"{number(max(stated))} MB at most")


def _runs(data: GroupedSurvey) -> ChecklistItem:
    item = "Several runs from different seeds, with mean and spread"
    counts = [group.n for group in data.groups] or [len(data.lifetimes)]
    if min(counts) < 2:
        advice = "a group has fewer than two lifetimes; run more seeds (`perdure plan` says how many)"
        return ChecklistItem(item, "missing", advice)
    seeded = any(life.score.seed is not None for life in data.lifetimes)
    stated = "" if seeded else "; seeds are not stated in the logs"
    text = f"{', '.join(map(str, counts))} lifetimes per group, mean ± sd and interval{stated}"
    return ChecklistItem(item, "present", text)
