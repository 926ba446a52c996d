"""Compose syllabi from tasks, two lengths and a seed.

`learn` counts learning experiences per task variant over the whole lifetime, `evaluate` those per variant and
evaluation; 0 leaves evaluations out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec.structs import replace

from perdure.errors import ScenarioError, UnknownNameError
from perdure.scenario.grammar import LONGEST, MOST_BLOCKS
from perdure.scenario.layouts import LAYOUTS, Phase, Request
from perdure.scenario.model import Block, Mode, Scenario, Task
from perdure.scenario.parameters import parameter_key
from perdure.scenario.syllabus import Syllabus, parse_syllabus, syllabus_text

_FROZEN: Mapping[str, Any] = {"disable_updates": True}


def compose(
    layout: str,
    tasks: Iterable[Task | str],
    *,
    learn: int,
    evaluate: int,
    evaluate_every: int | None = None,
    superblocks: int = 3,
    seed: int = 0,
    name: str | None = None,
) -> Syllabus:
    """Compose a syllabus of the named layout. The same arguments give the same syllabus, which records them.

    Parameters
    ----------
    layout
        Name of a layout, such as ``"condensed"``; `perdure list layouts` lists them.
    tasks
        Tasks, each also as `NAME` or `NAME:VARIANT`.
    learn
        Number of learning experiences per task variant.
    evaluate
        Number of experiences per evaluation. 0 omits evaluations.
    evaluate_every
        Number of learning experiences after which the evaluation that follows a learning block is also made inside it.
    superblocks
        Number of superblocks. Layouts without superblocks ignore it.
    seed
        Seed of the order of tasks.
    name
        Name of the scenario. By default layout and seed.

    Returns
    -------
    Syllabus
        The blocks and tasks, to run or to write with `write_syllabus`.

    Raises
    ------
    ScenarioError
        If a task, a number or the name is wrong, or the syllabus is too long.
    PerdureError
        If the layout is unknown.

    Examples
    --------
    >>> perdure.compose("condensed", ["pong", "breakout"], learn=100, evaluate=10)
    Syllabus('condensed-0', 2 tasks, 2 learning blocks, 6 evaluation blocks)
    """
    if layout not in LAYOUTS:
        raise UnknownNameError("layout", layout, LAYOUTS)
    learn = _whole_number("learn", learn, 1)
    evaluate = _whole_number("evaluate", evaluate, 0)
    if evaluate_every is not None:
        evaluate_every = _whole_number("evaluate_every", evaluate_every, 1)
        if not evaluate:
            raise ScenarioError("evaluate_every without evaluations", "set evaluate to 1 or more")
    declared = LAYOUTS[layout]
    if declared.in_rounds:
        superblocks = _whole_number("superblocks", superblocks, 1)
    seed = _whole_number("seed", seed, 0, most=2**128)
    if name is not None and not (name and name.isprintable()):
        raise ScenarioError(f"name is {name!r}", "give printable text")
    folded = _fold_tasks(tasks)
    _check_tasks(folded, layout)
    request = Request(folded, learn, evaluate, superblocks, seed, np.random.default_rng(seed))
    phases = tuple(declared.phases(request))
    pieces = sum(-(-length // (evaluate_every or length)) for phase in phases for _, length in phase.learned)
    rounds = len(phases) + (pieces if evaluate_every else 0)
    if pieces + bool(evaluate) * rounds * max(len(phase.evaluated) for phase in phases) > MOST_BLOCKS:
        raise ScenarioError(
            f"cannot compose {layout}: more than {MOST_BLOCKS:,} blocks",
            "name fewer tasks, or ask for fewer superblocks or evaluations",
        )
    order = [task.label for phase in phases for task, _ in phase.learned]
    record = {
        "layout": layout,
        "seed": seed,
        "learn": learn,
        "evaluate": evaluate,
        **({"evaluate_every": evaluate_every} if evaluate_every else {}),
        **({"superblocks": superblocks} if declared.in_rounds else {}),
        "order": order,
    }
    info = {"scenario_type": declared.scenario_type, "composed": record}
    return _assemble(name or f"{layout}-{seed}", phases, evaluate, folded, info, evaluate_every)


def single(task: Task | str, *, learn: int, evaluate: int = 0, name: str | None = None) -> Syllabus:
    """Compose the syllabus of an expert, which learns only one task variant."""
    return compose("single", (task,), learn=learn, evaluate=evaluate, name=name)


def single_task_syllabus(syllabus: Syllabus, task: str, *, evaluate: int = 0, name: str | None = None) -> Syllabus:
    """Compose the syllabus of an expert: one task, learned for as long as in another syllabus.

    Only wake learning counts. Lengths in steps are added up and stay in steps.

    Parameters
    ----------
    syllabus
        Syllabus of the lifetimes that the expert is compared with.
    task
        Task to learn.
    evaluate
        Number of experiences per evaluation. 0 omits evaluations.
    name
        Name of the scenario. By default the names of the syllabus and of the task.

    Returns
    -------
    Syllabus
        The syllabus with one task.

    Raises
    ------
    ScenarioError
        If the task is never learned, or its blocks have lengths in both experiences and steps.

    Examples
    --------
    >>> syllabus = perdure.compose("dispersed", ["pong", "breakout"], learn=90, evaluate=10)
    >>> perdure.single_task_syllabus(syllabus, "pong").scenario.learning_experiences
    90
    """
    chosen = only_task(chosen_tasks(syllabus, (task,)))
    blocks = syllabus.scenario.blocks
    rows = [
        (block.length, steps)
        for block, steps in zip(blocks, syllabus.steps, strict=True)
        if block.mode == "learn" and block.task == chosen.label and block.subtype == "wake"
    ]
    if not rows:
        raise ScenarioError(
            f"{chosen.label!r} is never learned, so no expert can match it",
            f"choose one that is: {', '.join(sorted({block.task for block in blocks if block.mode == 'learn'}))}",
            where=syllabus.scenario.name,
        )
    lengths, steps = [row[0] for row in rows], [row[1] for row in rows]
    title = name or f"{syllabus.scenario.name}-{chosen.label}-expert"
    if all(length is not None for length in lengths):
        return single(chosen, learn=sum(length or 0 for length in lengths), evaluate=evaluate, name=title)
    if any(length is not None for length in lengths):
        raise ScenarioError(
            f"{chosen.label!r} is learned partly by count, partly by steps",
            "use one of the two throughout",
            where=syllabus.scenario.name,
        )
    total = sum(step or 0 for step in steps)
    expert = single(chosen, learn=1, evaluate=evaluate, name=title)
    learning = expert.scenario.where("learn")[0]
    blocks = tuple(
        replace(block, length=None) if index == learning else block
        for index, block in enumerate(expert.scenario.blocks)
    )
    info = {**expert.scenario.info, "composed": {**expert.scenario.info["composed"], "learn": None, "steps": total}}
    return replace(
        expert,
        scenario=replace(expert.scenario, blocks=blocks, info=info),
        steps=tuple(total if index == learning else None for index in range(len(blocks))),
    )


def chosen_tasks(syllabus: Syllabus | None, texts: Sequence[str]) -> tuple[Task, ...]:
    """Return the tasks that `texts` name: new tasks, or tasks of a syllabus (all if `texts` is empty)."""
    if syllabus is None:
        return tuple(parse_task(text) for text in texts)
    tasks = {task.label: task for task in syllabus.scenario.tasks}
    labels = [parse_task(text).label.lower() for text in texts] or list(tasks)
    for label in labels:
        if label not in tasks:
            raise UnknownNameError(f"task of {syllabus.scenario.name}", label, tasks)
    return tuple(tasks[label] for label in labels)


def only_task(tasks: Sequence[Task]) -> Task:
    """Return the only task; refuse any other number of tasks."""
    if len(tasks) != 1:
        raise ScenarioError(
            f"an expert learns one task variant, not {len(tasks)}",
            f"name one: {', '.join(task.label for task in tasks)}",
        )
    return tasks[0]


def parse_task(text: str) -> Task:
    """Parse `Pong:wide` as a task; the part after the last colon is the variant."""
    name, colon, variant = text.rpartition(":")
    if colon and not (name and variant):
        raise ScenarioError(f"task {text!r} lacks a name or a variant", "write NAME or NAME:VARIANT, as in pong:wide")
    return Task(name, variant) if colon else Task(text)


def _assemble(
    name: str,
    phases: Sequence[Phase],
    evaluate: int,
    tasks: tuple[Task, ...],
    info: Mapping[str, Any],
    every: int | None = None,
) -> Syllabus:
    blocks: list[Block] = []
    places: list[str] = []
    number = 0

    def add(mode: Mode, phase: str, task: Task, length: int) -> None:
        blocks.append(Block(mode, task.label, length, task.params, group=len(blocks)))
        places.append(f"{number}.{phase}")

    for phase in phases:
        number += bool(phase.learned)
        evaluated = phase.evaluated if evaluate else ()
        for task, length in phase.learned:
            for start in range(0, length, every or length):
                for probed in evaluated if start else ():
                    add("probe", "probe", probed, evaluate)
                add("learn", "train", task, min(every or length, length - start))
        for task in evaluated:
            add("evaluate", "test", task, evaluate)
    infos = tuple({} if block.mode == "learn" else _FROZEN for block in blocks)
    return Syllabus(Scenario.of(name, blocks, tasks, info), tuple(places), (None,) * len(blocks), infos)


@lru_cache(maxsize=64)  # a run composes thousands of lifetimes of the same tasks
def _check_tasks(tasks: tuple[Task, ...], layout: str) -> None:
    """Refuse tasks that a syllabus cannot describe: write a short one and read it back."""
    short = _assemble(layout, (Phase(tuple((task, 1) for task in tasks), ()),), 0, tasks, {})
    for problem in parse_syllabus(syllabus_text(short), layout)[1]:
        if problem.level == "error":
            raise ScenarioError(f"cannot compose {layout}: {problem.what}", problem.fix)


def _fold_tasks(tasks: Iterable[Task | str]) -> tuple[Task, ...]:
    """Return tasks as a scenario holds them: case folded, spelled in `env`, each once."""
    if isinstance(tasks, str):
        raise ScenarioError(f"tasks is the text {tasks!r}", f"give a list of tasks, [{tasks!r}]")
    parsed = [parse_task(task) if isinstance(task, str) else task for task in tasks]
    if not parsed:
        raise ScenarioError("no task to compose from", "name at least one, as in pong or pong:wide")
    result: dict[str, Task] = {}
    first: dict[str, Task] = {}
    for task in parsed:
        folded = Task(
            task.name.lower(),
            task.variant.lower(),
            task.env or task.name,
            _as_json(task.params, task.label),
            task.bounds,
        )
        sibling = first.setdefault(folded.name, folded)
        folded = replace(folded, env=sibling.env if not task.env else task.env)
        if folded.label in result:
            raise ScenarioError(f"task {folded.label!r} is named twice", "name each variant once")
        if bool(sibling.variant) != bool(folded.variant):
            raise ScenarioError(f"task {sibling.name!r} is named with and without a variant", "give each a variant")
        if (sibling.env, sibling.bounds) != (folded.env, folded.bounds):
            raise ScenarioError(f"the variants of {sibling.name!r} differ in env or bounds", "give a task one of each")
        result[folded.label] = folded
    return tuple(result.values())


def _as_json(params: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return parameters as they would be read from a file: tuples as lists, other values unchanged."""
    try:
        parameter_key(params)
        return dict(json.loads(json.dumps(dict(params), allow_nan=False)))
    except (TypeError, ValueError) as problem:
        raise ScenarioError(
            f"its parameters cannot be written as JSON ({problem})",
            "use text, numbers, lists, objects",
            where=f"task {label!r}",
        ) from problem


def _whole_number(name: str, value: Any, least: int, most: int = LONGEST) -> int:
    """Return `value`, which may be a NumPy integer, as an int."""
    number = int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None
    if number is None or not least <= number <= most:
        raise ScenarioError(f"{name} is {value!r}", f"give a whole number from {least} to {most:,}")
    return number
