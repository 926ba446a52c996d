"""Syllabus: a scenario as its JSON file has it, read and written.

The language is that of S003 (`$phase`, `$repeat`, `$episode`, `$info`); the header, `$variant`,
distributions, wake and sleep, and lengths in steps are Perdure's additions.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from perdure import files
from perdure.errors import ScenarioError
from perdure.results import Shown
from perdure.scenario.document import Steps, as_text, decode
from perdure.scenario.grammar import Run, runs
from perdure.scenario.header import read_header
from perdure.scenario.l2logger_input import instructions_of_input
from perdure.scenario.model import Block, Scenario, Task
from perdure.scenario.problems import Notes, Problem
from perdure.scenario.sources import name_of, source
from perdure.scenario.variants import tasks_of_runs
from perdure.words import plural

__all__ = ["Syllabus", "parse_syllabus", "read_syllabus", "syllabus_text", "write_syllabus"]


class Syllabus(Shown, Struct, frozen=True):
    """A scenario, and what of its file a scenario does not hold; all tuples run parallel to its blocks."""

    scenario: Scenario
    phases: tuple[str, ...]
    steps: tuple[int | None, ...]
    """The length of a block in steps, where it is given so; its `length` is then None."""
    infos: tuple[Mapping[str, Any], ...]
    """The `$info` in force where a block begins."""
    places: tuple[Steps, ...] = ()
    """Where in the file a block begins; empty for a syllabus that was composed."""

    def __eq__(self, other: object) -> bool:
        """Compare everything but places, which depend on how the file was written."""
        if not isinstance(other, Syllabus):
            return NotImplemented
        ours, theirs = astuple(self)[:-1], astuple(other)[:-1]
        return ours == theirs

    def __hash__(self) -> int:
        return hash((self.scenario, self.phases, self.steps))

    def __repr__(self) -> str:
        return f"Syllabus({self.scenario.name!r}, {self.scenario.counted})"


def read_syllabus(path: str | os.PathLike[str]) -> Syllabus:
    """The syllabus in a file; a file with errors is refused, and the first of them are named."""
    syllabus, problems = parse_syllabus(*source(path))
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        listed = "".join(f"\n  {problem}" for problem in errors[:5])
        rest = f"\n  and {len(errors) - 5} more" if len(errors) > 5 else ""
        raise ScenarioError(
            f"not a valid syllabus, {plural(len(errors), 'error')}", f"perdure lint shows all:{listed}{rest}", file=path
        )
    return syllabus


def parse_syllabus(text: str | bytes, place: str = "syllabus") -> tuple[Syllabus, tuple[Problem, ...]]:
    """What `text` describes, and every problem of the language in it.

    `place` is where it was found: it stands in messages, and its last part is the name where the header
    gives none. Instructions with errors are left out. What is no syllabus raises a ScenarioError.
    """
    document = decode(as_text(text, place) if isinstance(text, bytes) else text, place)
    note = Notes()
    instructions = _instructions(document, place)
    header = read_header(document, name_of(place), note)
    found = runs(instructions, header, note)
    tasks = tasks_of_runs(found, header, note)
    if not found and not any(problem.level == "error" for problem in note.problems()):
        note(
            "error",
            ("instructions",),
            "no episode at all",
            'add {"$phase": "1.train"} and {"$repeat": {"$episode": …}, "count": N}',
        )
    for declared in set(header.tasks) - {task.name for task in tasks}:
        note(
            "warning",
            ("tasks",),
            f"the task {declared!r} is described and never occurs",
            "remove it, or check its name",
        )
    return _syllabus(header.name, header.info, found, tasks), note.problems()


def _instructions(value: dict[str, Any], place: str) -> Iterable[tuple[Steps, Any]]:
    if "instructions" not in value:
        instructions = instructions_of_input(value)
        if instructions is not None:
            return instructions
        keys = ", ".join(map(repr, list(value)[:10])) or "nothing"
        raise ScenarioError(
            f"not a syllabus: no 'instructions' (found: {keys})",
            'a syllabus is {"instructions": [{"$phase": "1.train"}, …]}',
            file=place,
        )
    if not isinstance(value["instructions"], list):
        raise ScenarioError(
            f"not a syllabus: 'instructions' is a {type(value['instructions']).__name__}",
            'write a list: [{"$phase": "1.train"}, …]',
            file=place,
        )
    return ((("instructions", index), instruction) for index, instruction in enumerate(value["instructions"]))


def _syllabus(name: str, info: Mapping[str, Any], found: list[Run], tasks: list[Task]) -> Syllabus:
    kept: list[Run] = []
    owners: list[Task] = []
    for run, task in zip(found, tasks, strict=True):
        # An unnamed set beside the same set with a name is one variant, hence one block.
        if kept and owners[-1] is task and _is_same_block(run, kept[-1]):
            kept[-1] = kept[-1]._replace(length=kept[-1].length + run.length)
        else:
            kept.append(run)
            owners.append(task)
    labels = {id(task): task.label for task in tasks}
    blocks = [
        Block(
            "learn" if run.phase.endswith("train") else "evaluate",
            labels[id(task)],
            None if run.in_steps else run.length,
            run.episode.params,
            run.subtype,
            group,
        )
        for group, (run, task) in enumerate(zip(kept, owners, strict=True))
    ]
    described = {labels[id(task)]: task for task in reversed(tasks)}
    return Syllabus(
        Scenario.of(name, blocks, described.values(), info),
        tuple(run.phase for run in kept),
        tuple(run.length if run.in_steps else None for run in kept),
        tuple(run.info for run in kept),
        tuple(run.steps for run in kept),
    )


def _is_same_block(run: Run, other: Run) -> bool:
    return (
        run.phase == other.phase
        and run.subtype == other.subtype
        and run.in_steps == other.in_steps
        and run.episode.key == other.episode.key
    )


def write_syllabus(syllabus: Syllabus, path: str | os.PathLike[str]) -> None:
    """Write a syllabus as JSON, one instruction per line."""
    try:
        files.deliver(Path(path), syllabus_text(syllabus).encode())
    except OSError as problem:
        raise ScenarioError(f"cannot be written: {problem.strerror}", "give another path", file=path) from problem


def syllabus_text(syllabus: Syllabus) -> str:
    """A syllabus as JSON text; reading it again gives an equal syllabus."""
    header = {"name": syllabus.scenario.name, **syllabus.scenario.info, "tasks": _declared(syllabus.scenario.tasks)}
    lines = [f"  {_json(key)}: {_json(value)},\n" for key, value in header.items() if value != {}]
    instructions = ",\n".join(f"    {_json(instruction)}" for instruction in _written(syllabus))
    return "{\n" + "".join(lines) + '  "instructions": [\n' + instructions + "\n  ]\n}\n"


def _written(syllabus: Syllabus) -> Iterator[dict[str, Any]]:
    described = {task.label: task for task in syllabus.scenario.tasks}
    phase: tuple[str, str] | None = None
    info: Mapping[str, Any] = {}
    rows = zip(syllabus.scenario.blocks, syllabus.phases, syllabus.steps, syllabus.infos, strict=True)
    for block, block_phase, steps, block_info in rows:
        if (block_phase, block.subtype) != phase:
            phase = (block_phase, block.subtype)
            yield {"$phase": block_phase, **({"subtype": "sleep"} if block.subtype == "sleep" else {})}
        if block_info != info:
            info = block_info
            yield {"$info": dict(info)}
        task = described[block.task]
        episode = {"$episode": _spelling(task), **({"$variant": task.variant} if task.variant else {}), **block.params}
        yield {"$repeat": episode, **({"count": block.length} if steps is None else {"steps": steps})}
    if info:
        yield {"$info": {}}


def _declared(tasks: tuple[Task, ...]) -> dict[str, dict[str, Any]]:
    declared: dict[str, dict[str, Any]] = {}
    for name, variants in itertools.groupby(sorted(tasks, key=lambda task: task.name), key=lambda task: task.name):
        task = next(variants)
        content: dict[str, Any] = {}
        if task.env and task.env.lower() != name:
            content["env"] = task.env
        if task.bounds:
            content["bounds"] = list(task.bounds)
        if content:
            declared[name] = content
    return declared


def _spelling(task: Task) -> str:
    """The task's name as its author wrote it, where that is all that `env` is."""
    return task.env if task.env and task.env.lower() == task.name else task.name


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=dict)
