"""Which variant of its task a parameter set is (definitions §1).

Every distinct parameter set of a task is a variant: named by `$variant`, else `v1`, `v2`, … in order of
appearance. A task with one unnamed parameter set has no variant suffix.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from perdure.scenario.grammar import Episode, Run
from perdure.scenario.header import Header
from perdure.scenario.model import Task
from perdure.scenario.problems import Notes

__all__ = ["tasks_of_runs"]


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
