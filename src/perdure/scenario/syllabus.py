"""Read and write syllabi, the JSON form of scenarios.

The language is that of the 2019 metrics framework (`$phase`, `$repeat`, `$episode`, `$info`); the header, `$variant`,
distributions, wake and sleep, and lengths in steps are Perdure's additions. Every distinct parameter set of a task is
a variant: named by `$variant`, else `v1`, `v2`, … in order of appearance. A task with one unnamed parameter set has no
variant suffix.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from perdure import files
from perdure.errors import ScenarioError
from perdure.results import Shown
from perdure.scenario.document import Notes, Steps, SyllabusProblem, decode, name_of, read_source
from perdure.scenario.grammar import Declared, Run, read_header, runs
from perdure.scenario.model import Block, Mode, Scenario, Task
from perdure.text import plural

_MODES: Mapping[str, Mode] = {"train": "learn", "test": "evaluate", "probe": "probe"}


class Syllabus(Shown, Struct, frozen=True):
    """A scenario, and the parts of its file that a scenario lacks. Every tuple has one item per block.

    Attributes
    ----------
    scenario
        Blocks and tasks.
    phases
        Phase of each block.
    steps
        Length of each block in steps. None if it is given in experiences.
    infos
        The `$info` in force at the start of each block.
    places
        Place of each block in the file. Empty for a composed syllabus.
    """

    scenario: Scenario
    phases: tuple[str, ...]
    steps: tuple[int | None, ...]
    infos: tuple[Mapping[str, Any], ...]
    places: tuple[Steps, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Compare everything but places, which depend on how the file was written."""
        if not isinstance(other, Syllabus):
            return NotImplemented
        return astuple(self)[:-1] == astuple(other)[:-1]

    def __hash__(self) -> int:
        return hash((self.scenario, self.phases, self.steps))

    def __repr__(self) -> str:
        return f"Syllabus({self.scenario.name!r}, {self.scenario.counted})"

    def joined(self) -> Syllabus:
        """Return the syllabus of the blocks that are scored: pieces of a learning block are one."""
        heads = [group[0] for group in self.scenario.joined_pieces()]
        return Syllabus(
            self.scenario.joined(),
            tuple(self.phases[head] for head in heads),
            tuple(self.steps[head] for head in heads),
            tuple(self.infos[head] for head in heads),
            tuple(self.places[head] for head in heads) if self.places else (),
        )


def read_syllabus(path: str | os.PathLike[str]) -> Syllabus:
    """Read a syllabus from a file.

    Parameters
    ----------
    path
        A JSON file.

    Returns
    -------
    Syllabus
        The blocks and tasks.

    Raises
    ------
    ScenarioError
        If the file cannot be read or has errors. The message lists the first five.

    Examples
    --------
    >>> perdure.write_syllabus(perdure.compose("condensed", ["pong"], learn=100, evaluate=10), "pong.json")
    >>> perdure.read_syllabus("pong.json").scenario.learning_experiences
    100
    """
    return checked_syllabus(*read_source(path))


def checked_syllabus(text: str, path: str) -> Syllabus:
    """Return the syllabus that `text` describes. Raise ScenarioError if it has errors."""
    syllabus, problems = parse_syllabus(text, path)
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        lines = "".join(f"\n  {problem}" for problem in errors[:5])
        more = f"\n  and {len(errors) - 5} more" if len(errors) > 5 else ""
        raise ScenarioError(
            f"not a valid syllabus, {plural(len(errors), 'error')}", f"perdure lint shows all:{lines}{more}", file=path
        )
    return syllabus


def parse_syllabus(text: str | bytes, place: str = "syllabus") -> tuple[Syllabus, tuple[SyllabusProblem, ...]]:
    """Return the syllabus that `text` describes, and all of its language problems.

    `place` names the source in messages; its last part is the default of the name. Instructions with errors
    are left out. Raise a ScenarioError if it is not a syllabus.
    """
    document = decode(text, place)
    note = Notes()
    instructions = _instructions(document, place)
    header = read_header(document, name_of(place), note)
    episode_runs = runs(instructions, header, note)
    tasks = _tasks_of(episode_runs, header.tasks, note)
    if not episode_runs and not any(problem.level == "error" for problem in note.problems()):
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
    return _syllabus(header.name, header.info, episode_runs, tasks), note.problems()


def join_syllabi(syllabi: Sequence[Syllabus], name: str | None = None) -> Syllabus:
    """Join syllabi into one lifetime: block and phase numbers continue.

    Parameters
    ----------
    syllabi
        The syllabi, in order.
    name
        Name of the scenario. By default the names of the syllabi, joined by ``+``.

    Returns
    -------
    Syllabus
        All their blocks. Parameter sets of a task that differ between syllabi are variants of it.

    Raises
    ------
    ScenarioError
        If a task or a variant differs between the syllabi.

    Examples
    --------
    >>> parts = [perdure.compose("single", [task], learn=100, evaluate=10) for task in ("pong", "breakout")]
    >>> perdure.join_syllabi(parts)
    Syllabus('single-0+single-0', 2 tasks, 2 learning blocks, 4 evaluation blocks)
    """
    if not syllabi:
        raise ScenarioError("no syllabus to join", "give one or more")
    joined = name or "+".join(syllabus.scenario.name for syllabus in syllabi)
    tasks: dict[str, Task] = {}
    phases: list[str] = []
    for syllabus in syllabi:
        last = int(phases[-1].partition(".")[0]) if phases else 0
        for phase in syllabus.phases:
            number, _, side = phase.partition(".")
            phases.append(f"{int(number) + last}.{side}")
        for task in syllabus.scenario.tasks:
            known = tasks.setdefault(task.name, task)
            if (known.env, known.bounds) != (task.env, task.bounds):
                fix = "give it one of each, or another name in one syllabus"
                raise ScenarioError(
                    f"the task {task.name!r} differs in env or bounds", fix, file=syllabus.scenario.name
                )
    infos = [syllabus.scenario.info for syllabus in syllabi]
    shared = {key: value for key, value in infos[0].items() if all(info.get(key) == value for info in infos)}
    parts = [syllabus.scenario for syllabus in syllabi]
    described = {task.label: task for scenario in reversed(parts) for task in scenario.tasks}
    blocks = [block for scenario in parts for block in scenario.blocks]
    whole = Syllabus(
        Scenario.of(joined, blocks, described.values(), {**shared, "joined": [part.name for part in parts]}),
        tuple(phases),
        tuple(steps for syllabus in syllabi for steps in syllabus.steps),
        tuple(info for syllabus in syllabi for info in syllabus.infos),
    )
    # Written and read again, because parameter sets of all parts settle the variants of a task.
    return checked_syllabus(syllabus_text(whole), joined)


def _instructions(value: dict[str, Any], place: str) -> Iterable[tuple[Steps, Any]]:
    if "instructions" not in value:
        instructions = _l2logger_instructions(value)
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


def _l2logger_instructions(value: Mapping[str, Any]) -> list[tuple[Steps, Any]] | None:
    """Return the instructions in L2Logger's `scenario_info.json`, or None if it has no scenario.

    The file may hold the scenario under `input_file`: a list of blocks, each with a type and regimes. A regime is a
    task with parameters and a count. Train blocks number the phases. A list of instructions is returned unchanged.
    """
    root: Steps = ()
    content: Any = value
    if isinstance(value.get("input_file"), Mapping):
        root, content = ("input_file",), value["input_file"]
    if isinstance(content.get("instructions"), list):
        listing = content["instructions"]
        return [((*root, "instructions", index), instruction) for index, instruction in enumerate(listing)]
    if not isinstance(content.get("scenario"), list):
        return None
    instructions: list[tuple[Steps, Any]] = []
    number, phase = 0, ""
    for index, block in enumerate(content["scenario"]):
        steps: Steps = (*root, "scenario", index)
        if not isinstance(block, Mapping) or not isinstance(block.get("regimes"), list):
            instructions.append((steps, block))
            continue
        number += block.get("type") == "train"
        if phase != f"{number}.{block.get('type')}":
            phase = f"{number}.{block.get('type')}"
            instructions.append((steps, {"$phase": phase}))
        for place, regime in enumerate(block["regimes"]):
            instructions.append(((*steps, "regimes", place), _l2logger_repeat(regime)))
    return instructions


def _l2logger_repeat(regime: Any) -> Any:
    if not isinstance(regime, Mapping) or not isinstance(regime.get("params", {}), Mapping):
        return regime
    task = Task.parse(str(regime.get("task", "")))
    episode = {"$episode": task.name, "$variant": task.variant} if task.variant else {"$episode": regime.get("task")}
    return {"$repeat": {**episode, **regime.get("params", {})}, "count": regime.get("count")}


def _tasks_of(runs: Sequence[Run], declared: Mapping[str, Declared], note: Notes) -> list[Task]:
    """Return the task of each run, in its variant; equal runs share one object."""
    first: dict[int, Run] = {}
    for run in runs:
        first.setdefault(id(run.episode), run)
    by_name: dict[str, list[Run]] = {}
    for run in first.values():
        by_name.setdefault(run.episode.name.lower(), []).append(run)
    tasks: dict[int, Task] = {}
    labels: dict[str, str] = {}
    for name, group in by_name.items():
        known = declared.get(name, Declared())
        env = known.env or group[0].episode.name
        by_variant: dict[str, Task] = {}
        for run, variant in zip(group, _variants(name, group, note), strict=True):
            task = by_variant.setdefault(variant, Task(name, variant, env, dict(run.episode.params), known.bounds))
            if labels.setdefault(task.label, name) != name:
                note(
                    "error",
                    run.steps,
                    f"the task {name!r} and the task {labels[task.label]!r} are both logged as {task.label!r}",
                    "rename the task, or its variant",
                )
            tasks[id(run.episode)] = task
        _check_variants(name, group[0], by_variant, known, note)
    return [tasks[id(run.episode)] for run in runs]


def _variants(name: str, group: Sequence[Run], note: Notes) -> list[str]:
    """Return the name of the variant for each parameter set of one task."""
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
    # An unnamed set that equals a named one is that variant, unless it is empty.
    by_key = {key: variant for variant, key in reversed(named.items()) if key}
    if not named and len(group) == 1:
        return [""]
    unused = (f"v{number}" for number in itertools.count(1) if f"v{number}" not in named)
    return [run.episode.variant or by_key.get(run.episode.key) or next(unused) for run in group]


def _check_variants(name: str, first: Run, by_variant: Mapping[str, Task], known: Declared, note: Notes) -> None:
    if "_" in name and "" in by_variant:
        note(
            "warning",
            first.steps,
            f"the task {name!r} has an underscore and no variant",
            "logs divide task and variant at the last underscore; use a dash, or name a $variant",
        )
    for variant in by_variant:
        if known.variants and variant not in known.variants:
            note(
                "warning",
                first.steps,
                f"the variant {variant!r} of {name!r} is not among those that 'tasks' declares",
                f"declared: {', '.join(known.variants)}; add it, or name one of these by $variant",
            )


def _syllabus(name: str, info: Mapping[str, Any], episode_runs: list[Run], tasks: list[Task]) -> Syllabus:
    merged: list[Run] = []
    owners: list[Task] = []
    for run, task in zip(episode_runs, tasks, strict=True):
        # An unnamed set next to the same set with a name is one variant, hence one block.
        if merged and owners[-1] is task and run.place == merged[-1].place:
            merged[-1] = replace(merged[-1], length=merged[-1].length + run.length)
        else:
            merged.append(run)
            owners.append(task)
    blocks = [
        Block(
            _MODES[run.phase.partition(".")[2]],
            task.label,
            None if run.in_steps else run.length,
            run.episode.params,
            run.subtype,
            group,
        )
        for group, (run, task) in enumerate(zip(merged, owners, strict=True))
    ]
    described = {task.label: task for task in reversed(tasks)}
    return Syllabus(
        Scenario.of(name, blocks, described.values(), info),
        tuple(run.phase for run in merged),
        tuple(run.length if run.in_steps else None for run in merged),
        tuple(run.info for run in merged),
        tuple(run.steps for run in merged),
    )


def write_syllabus(syllabus: Syllabus, path: str | os.PathLike[str]) -> None:
    """Write a syllabus as JSON, one instruction per line.

    Parameters
    ----------
    syllabus
        The syllabus.
    path
        Output file.

    Raises
    ------
    ScenarioError
        If the file cannot be written.

    Examples
    --------
    >>> syllabus = perdure.compose("condensed", ["pong"], learn=100, evaluate=10)
    >>> perdure.write_syllabus(syllabus, "pong.json")
    """
    with files.writing(path, "give another path", ScenarioError):
        files.deliver(Path(path), syllabus_text(syllabus).encode())


def syllabus_text(syllabus: Syllabus) -> str:
    """Return a syllabus as JSON text; reading it again gives an equal syllabus."""
    header = {"name": syllabus.scenario.name, **syllabus.scenario.info, "tasks": _task_table(syllabus.scenario.tasks)}
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


def _task_table(tasks: tuple[Task, ...]) -> dict[str, dict[str, Any]]:
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
    """Return the task's name as its author wrote it: `env` if that differs only in case."""
    return task.env if task.env and task.env.lower() == task.name else task.name


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=dict)
