"""What a reader should find in a report of continual learning, and what of it is there.

After the reporting guidelines of Hsu et al. 2018: the three basic metrics, baselines, the same
architecture and task configuration for all that is compared, cost, and several runs with their spread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from perdure.frozen import frozen
from perdure.gather.model import Life
from perdure.metrics.matrix.common import average_accuracy, bwt, learning_accuracy
from perdure.reports.material import Material
from perdure.reports.sketch import MEMORY_COLUMNS
from perdure.words import number

__all__ = ["Item", "checklist"]

State = Literal["present", "missing", "cannot be seen", "does not apply"]
_BASIC = (average_accuracy.name, bwt.name, learning_accuracy.name)
_NAIVE = re.compile(r"naive|sequential|fine.?tun|forget", re.IGNORECASE)
_JOINT = re.compile(r"joint|offline|multi.?task", re.IGNORECASE)


@frozen
class Item:
    """One thing to report: whether it is here, and what was found or what to add."""

    what: str
    state: State
    found: str


def checklist(material: Material) -> tuple[Item, ...]:
    """Every item of the guidelines, held against what was gathered."""
    return (
        _basic(material),
        _baseline(material, "A naive sequential baseline", _NAIVE, "a learner called naive, sequential or finetune"),
        _joint(material),
        _architecture(material),
        _tasks(material),
        _time(material),
        _memory(material),
        _runs(material),
    )


def _basic(material: Material) -> Item:
    what = "Average accuracy, backward transfer (BWT) and learning accuracy"
    absent = [
        name
        for name in _BASIC
        if not any(name in one.score.metrics and one.score.metrics[name].value is not None for one in material.lives)
    ]
    if not absent:
        return Item(what, "present", "in the tables")
    why = next(
        (
            one.score.metrics[name].why
            for one in material.lives
            for name in absent
            if name in one.score.metrics and one.score.metrics[name].why
        ),
        "not scored under this preset",
    )
    return Item(what, "missing", f"{', '.join(absent)}: {why}")


def _learners(material: Material) -> list[str]:
    return [*dict.fromkeys(one.score.learner or "" for one in material.lives), *(one.group for one in material.groups)]


def _baseline(material: Material, what: str, pattern: re.Pattern[str], advice: str) -> Item:
    found = [name for name in _learners(material) if pattern.search(name)]
    return Item(what, "present", found[0]) if found else Item(what, "missing", f"add {advice}")


def _joint(material: Material) -> Item:
    what = "Joint training as an upper bound"
    if material.survey.settings.get("joint") is not None:
        return Item(what, "present", "given with --joint")
    return _baseline(material, what, _JOINT, "a learner called joint, or its accuracies with --joint")


def _architecture(material: Material) -> Item:
    what = "The same architecture for all that is compared"
    if len(material.groups) < 2:
        return Item(what, "does not apply", "one system is shown")
    return Item(what, "cannot be seen", "logs do not hold it; say it in the text")


def _tasks(material: Material) -> Item:
    what = "The same task configuration for all that is compared"
    if len(material.groups) < 2:
        return Item(what, "does not apply", "one system is shown")
    sets = {group.group: _task_sets(material.of_group(group)) for group in material.groups}
    if len({frozenset(found) for found in sets.values()}) == 1:
        return Item(what, "present", "all groups go through the same tasks")
    return Item(what, "missing", "groups differ in their tasks: " + ", ".join(sets))


def _task_sets(lives: Sequence[Life]) -> set[frozenset[str]]:
    return {frozenset(one.score.tasks) for one in lives}


def _time(material: Material) -> Item:
    what = "Training time"
    timed = [
        (one.sketch.seconds[0], one.sketch.seconds[1])
        for one in material.lives
        if one.sketch.seconds[0] and one.sketch.seconds[1]
    ]
    stated = [cost.seconds for one in material.lives for cost in one.sketch.costs.values() if cost.seconds]
    if not timed and stated:
        return Item(what, "present", f"{number(sum(stated))} s of learning, as the matrices state it")
    if not timed:
        return Item(what, "missing", "no timestamps that tell time apart")
    seconds = sum(total or 0.0 for total, _ in timed)
    each = seconds / sum(count for _, count in timed)
    return Item(
        what, "present", f"{number(seconds)} s of learning in {len(timed)} lifetimes, {number(each)} s each time"
    )


def _memory(material: Material) -> Item:
    what = "Memory used"
    stated = [cost.memory_mb for one in material.lives for cost in one.sketch.costs.values() if cost.memory_mb]
    if not stated:
        return Item(what, "cannot be seen", f"log it as {MEMORY_COLUMNS[0]}, or say it in the text")
    return Item(what, "present", f"{number(max(stated))} MB at most")


def _runs(material: Material) -> Item:
    what = "Several runs from different seeds, with mean and spread"
    counts = [group.n for group in material.groups] or [len(material.lives)]
    if min(counts) < 2:
        return Item(
            what, "missing", "a group has fewer than two lifetimes; run more seeds (`perdure plan` says how many)"
        )
    seeds = [one.score.seed for one in material.lives if one.score.seed is not None]
    stated = "" if seeds else "; seeds are not stated in the logs"
    return Item(what, "present", f"{', '.join(map(str, counts))} lifetimes per group, mean ± sd and interval{stated}")
