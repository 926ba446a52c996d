"""Variants: what counts as a task when a lifetime is scored."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Literal, cast, get_args

from msgspec.structs import replace

from perdure.errors import UnknownNameError
from perdure.scenario.model import Block, Scenario, Task
from perdure.scenario.parameters import set_text

Mode = Literal["name", "params", "agnostic"]
"""What is a task: the label as logged, the label with its parameter set, or the task without its variant."""
Variants = Literal["name", "params", "agnostic", "aware"]
"""The values of the option; `aware` is a synonym of `name`."""


def mode(word: str) -> Mode:
    """Return the mode that an option's value means."""
    if word not in get_args(Variants):
        raise UnknownNameError("variants", word, get_args(Variants))
    return "name" if word == "aware" else cast("Mode", word)


def numbered(label: str, taken: Collection[str]) -> Iterator[str]:
    """Yield `label_v1`, `label_v2`, … without the names that are taken."""
    return (name for number in itertools.count(1) if (name := f"{label}_v{number}") not in taken)


def under(scenario: Scenario, variants: Variants) -> Scenario:
    """Return the scenario as it is scored if variants count in this way.

    Blocks that become one task become one block only if a log would give them one number.
    """
    match mode(variants):
        case "params":
            return _by_params(scenario)
        case "agnostic":
            return _agnostic(scenario)
    return scenario


def _by_params(scenario: Scenario) -> Scenario:
    sets: dict[str, dict[str, Block]] = {}
    for block in scenario.blocks:
        sets.setdefault(block.task, {}).setdefault(set_text(block.params), block)
    several = {label: found for label, found in sets.items() if len(found) > 1}
    if not several:
        return scenario
    kept = sets.keys() - several.keys()
    names = {label: dict(zip(found, numbered(label, kept), strict=False)) for label, found in several.items()}
    tasks = [task for task in scenario.tasks if task.label in kept]
    for label, found in several.items():
        env = next(task.env for task in scenario.tasks if task.label == label)
        tasks += [Task(label, names[label][text][len(label) + 1 :], env, one.params) for text, one in found.items()]
    blocks = [
        replace(block, task=names[block.task][set_text(block.params)]) if block.task in several else block
        for block in scenario.blocks
    ]
    return Scenario.of(scenario.name, blocks, tasks, scenario.info)


def _agnostic(scenario: Scenario) -> Scenario:
    names = {task.label: task.name for task in scenario.tasks}
    blocks: list[Block] = []
    for block in scenario.blocks:
        name = names[block.task]
        bare = replace(block, task=name, variant=block.task if block.task != name else "")
        last = blocks[-1] if blocks else None
        if last and _place(last) == _place(bare):
            both = None if last.length is None or bare.length is None else last.length + bare.length
            params = last.params if last.params == bare.params else {}
            blocks[-1] = replace(last, length=both, params=params, variant=last.variant)
        else:
            blocks.append(bare)
    tasks = {task.name: Task(task.name, env=task.env) for task in reversed(scenario.tasks)}
    return Scenario.of(scenario.name, blocks, tasks.values(), scenario.info)


def _place(block: Block) -> tuple[object, ...]:
    return block.group, block.mode, block.subtype, block.task
