"""The sites of the 2019 metrics.

In a syllabus of 2019 the parameter sets of a task are variations of one task. So metrics of tasks (transfer,
recovery) go by names without variants, and metrics of blocks go by labels with parameters.
"""

# ruff: noqa: D403 - the docstrings of sites complete "the scenario needs …"

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from perdure.scenario.model import Block, Scenario
from perdure.scenario.parameters import set_text
from perdure.scenario.sites import LIFETIME, Site, between_learning_blocks, visible_evaluations

_Set = tuple[str, str]


def _set(block: Block) -> _Set:
    """Return the task of a block, and its parameters as text."""
    return block.task, set_text(block.params)


def every_block(scenario: Scenario) -> Iterator[Site]:
    """a block"""
    if scenario.blocks:
        yield Site(LIFETIME, {"everything": tuple(range(len(scenario.blocks)))})


def tested_after_learning(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated after it was learned with the same parameters"""
    learned: dict[_Set, int] = {}
    visible = set(visible_evaluations(scenario))
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn":
            learned[_set(block)] = index
        elif index in visible and _set(block) in learned:
            yield Site(block.task, {"test": (index,), "train": (learned[_set(block)],)})


def learned_again(scenario: Scenario) -> Iterator[Site]:
    """a task learned at least twice while awake, with the same or other parameters"""
    return between_learning_blocks(scenario, _names(scenario))


def first_learning_of_each_set(scenario: Scenario) -> Iterator[Site]:
    """a task learned"""
    first: dict[_Set, int] = {}
    for index in scenario.where("learn"):
        first.setdefault(_set(scenario.blocks[index]), index)
    return (Site(label, {"learned": (index,)}) for (label, _), index in first.items())


# --- transfer between tasks ----------------------------------------------------------------------


class _Stretch(Struct):
    """Consecutive learning blocks of one task, with any parameters and with any evaluations in between."""

    name: str
    blocks: list[int] = []
    labels: dict[str, None] = {}

    @property
    def label(self) -> str:
        """The label that was learned, or the task if there were several."""
        return next(iter(self.labels)) if len(self.labels) == 1 else self.name


def evaluated_before_learned(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated after another one was learned, and before it is learned itself"""
    for index, name, stretches, last in _evaluations(scenario):
        if name not in last:
            flags = ("several tasks were learned before",) if len(last) > 1 else ()
            yield Site((stretches[-1].label, scenario.blocks[index].task), {"test": (index,)}, flags)


def evaluated_after_both(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated after it was learned, and another one after it"""
    for index, name, stretches, last in _evaluations(scenario):
        since = len(stretches) - 1 - last.get(name, len(stretches))
        if since > 0:
            flags = ("several tasks were learned since",) if since > 1 else ()
            yield Site((stretches[-1].label, scenario.blocks[index].task), {"test": (index,)}, flags)


def _evaluations(scenario: Scenario) -> Iterator[tuple[int, str, list[_Stretch], dict[str, int]]]:
    """Yield the evaluations after some learning, with the task, the stretches so far and the last stretch per task."""
    names, visible = _names(scenario), set(visible_evaluations(scenario))
    stretches: list[_Stretch] = []
    last: dict[str, int] = {}
    for index, block in enumerate(scenario.blocks):
        name = names[block.task]
        if block.mode == "learn":
            _extend(stretches, name, index, block.task)
            last[name] = len(stretches) - 1
        elif stretches and index in visible:
            yield index, name, stretches, last


# --- transfer of continual learning --------------------------------------------------------------


def recovered_after_another(scenario: Scenario) -> Iterator[Site]:
    """two tasks learned one after the other, each in two blocks or more"""
    for before, after in _one_after_another(scenario):
        yield Site(_pair(before, after), {"before": tuple(before.blocks), "after": tuple(after.blocks)})


def maintained_after_another(scenario: Scenario) -> Iterator[Site]:
    """two tasks learned one after the other, each in two blocks or more and evaluated after them"""
    tests: dict[int, list[int]] = {}
    for site in tested_after_learning(scenario):
        tests.setdefault(site.blocks["train"][0], []).append(site.blocks["test"][0])
    for before, after in _one_after_another(scenario):
        blocks: dict[str, tuple[int, ...]] = {}
        for name, stretch in (("before", before), ("after", after)):
            tested = [train for train in stretch.blocks if train in tests]
            blocks[name] = tuple(train for train in tested for _ in tests[train])
            blocks[f"{name}_tests"] = tuple(test for train in tested for test in tests[train])
        if blocks["before"] and blocks["after"]:
            yield Site(_pair(before, after), blocks)


def learned_after_another(scenario: Scenario) -> Iterator[Site]:
    """two tasks learned one after the other, each in two blocks or more"""
    yield from recovered_after_another(scenario)
    yield from maintained_after_another(scenario)


def _pair(before: _Stretch, after: _Stretch) -> tuple[str, str]:
    # The value belongs to the second task of the pair, so that one is a label: that of the last set learned.
    return before.label, next(reversed(after.labels))


def _one_after_another(scenario: Scenario) -> Iterator[tuple[_Stretch, _Stretch]]:
    """Return pairs of consecutive stretches with at least two learning blocks each."""
    names = _names(scenario)
    stretches: list[_Stretch] = []
    for index in scenario.where("learn"):
        label = scenario.blocks[index].task
        _extend(stretches, names[label], index, label)
    return (pair for pair in pairwise(stretches) if min(len(stretch.blocks) for stretch in pair) > 1)


def _extend(stretches: list[_Stretch], name: str, index: int, label: str) -> None:
    if not stretches or stretches[-1].name != name:
        stretches.append(_Stretch(name))
    stretches[-1].blocks.append(index)
    stretches[-1].labels[label] = None


def _names(scenario: Scenario) -> dict[str, str]:
    """Return the task without its variant for each label."""
    return {task.label: task.name for task in scenario.tasks}
