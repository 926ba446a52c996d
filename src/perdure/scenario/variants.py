"""Which variant of its task a parameter set is, and what a scenario is where variants count otherwise.

In a syllabus every distinct parameter set of a task is a variant: named by `$variant`, else `v1`, `v2`, … in
order of appearance. A task with one unnamed parameter set has no variant suffix.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from msgspec.structs import replace

from perdure.errors import UnknownName
from perdure.scenario.model import Block, Scenario, Task
from perdure.scenario.parameters import set_text

if TYPE_CHECKING:
    from perdure.scenario.grammar import Episode, Run
    from perdure.scenario.header import Header
    from perdure.scenario.problems import Notes

__all__ = ["Mode", "Variants", "mode", "numbered", "tasks_of_runs", "under"]

Mode = Literal["name", "params", "agnostic"]
"""What is a task: the label as logged, the label with its parameter set, or the task without its variant."""
Variants = Literal["name", "params", "agnostic", "aware"]
"""What a user may say; `aware` is another word for `name`."""


def mode(word: str) -> Mode:
    """The mode that a user's word means."""
    if word not in get_args(Variants):
        raise UnknownName("variants", word, get_args(Variants))
    return "name" if word == "aware" else cast("Mode", word)


def numbered(label: str, taken: Collection[str]) -> Iterator[str]:
    """`label_v1`, `label_v2`, …, without those that something else is called by."""
    return (name for number in itertools.count(1) if (name := f"{label}_v{number}") not in taken)


def under(scenario: Scenario, variants: Variants) -> Scenario:
    """The scenario as it is scored where variants count in this way.

    Blocks that become one task are one block only where a log would give them one number.
    """
    return _UNDER[mode(variants)](scenario)


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


_UNDER: Mapping[Mode, Callable[[Scenario], Scenario]] = {
    "name": lambda scenario: scenario,
    "params": _by_params,
    "agnostic": _agnostic,
}


def tasks_of_runs(runs: Sequence[Run], header: Header, note: Notes) -> list[Task]:
    """The task, in its variant, of each run; equal runs share one object."""
    first: dict[int, Run] = {}
    for run in runs:
        first.setdefault(id(run.episode), run)
    by_name: dict[str, list[Run]] = {}
    for run in first.values():
        by_name.setdefault(run.episode.name.lower(), []).append(run)
    tasks: dict[int, Task] = {}
    labels: dict[str, str] = {}
    for name, group in by_name.items():
        made: dict[str, Task] = {}
        for run, variant in zip(group, _variants(name, group, note), strict=True):
            task = made.setdefault(variant, _task(name, variant, group[0].episode, run.episode, header))
            if labels.setdefault(task.label, name) != name:
                note(
                    "error",
                    run.steps,
                    f"the task {name!r} and the task {labels[task.label]!r} are both logged as {task.label!r}",
                    "rename the task, or its variant",
                )
            tasks[id(run.episode)] = task
        _check_names(name, group[0], made, header, note)
    return [tasks[id(run.episode)] for run in runs]


def _task(name: str, variant: str, first: Episode, episode: Episode, header: Header) -> Task:
    declared = header.tasks.get(name)
    env = declared.env if declared and declared.env else first.name
    return Task(name, variant, env, dict(episode.params), declared.bounds if declared else None)


def _variants(name: str, group: Sequence[Run], note: Notes) -> list[str]:
    """A variant's name for each parameter set of one task."""
    named: dict[str, tuple[Any, ...]] = {}
    for run in group:
        variant, key = run.episode.variant, run.episode.key
        if variant is not None and named.setdefault(variant, key) != key:
            note(
                "error",
                run.steps,
                f"the variant {variant!r} of {name!r} has two parameter sets",
                "give each set its own $variant, or write a distribution such as $choice",
            )
    # An unnamed set that equals a named one is that variant. Without parameters nothing says that it does.
    by_key = {key: variant for variant, key in reversed(named.items()) if key}
    if not named and len(group) == 1:
        return [""]
    unused = (f"v{number}" for number in itertools.count(1) if f"v{number}" not in named)
    return [run.episode.variant or by_key.get(run.episode.key) or next(unused) for run in group]


def _check_names(name: str, first: Run, made: Mapping[str, Task], header: Header, note: Notes) -> None:
    if "_" in name and "" in made:
        note(
            "warning",
            first.steps,
            f"the task {name!r} has an underscore and no variant",
            "logs divide task and variant at the last underscore; use a dash, or name a $variant",
        )
    declared = header.tasks[name].variants if name in header.tasks else {}
    for variant in made:
        if declared and variant not in declared:
            note(
                "warning",
                first.steps,
                f"the variant {variant!r} of {name!r} is not among those that 'tasks' declares",
                f"declared: {', '.join(declared)}; add it, or name one of these by $variant",
            )
