"""A protocol: everything needed to repeat an evaluation, read from TOML and stored as JSON.

The stored document includes the content of every file, so that a run folder needs no others.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from perdure import files
from perdure.errors import PerdureError, ProtocolError, nearest
from perdure.runner.document import (
    MOST_LIVES,
    Limits,
    ProtocolTable,
    Resources,
    ScenarioTable,
    TaskTable,
    missing,
    read_table,
    refuse_strange,
)
from perdure.runner.seeds import Seeds, seed_for
from perdure.sample_size import lifetimes_by_rule
from perdure.scenario.compose import compose, parse_task
from perdure.scenario.document import read_source
from perdure.scenario.model import FACTS, Fact, Task
from perdure.scenario.syllabus import Syllabus, checked_syllabus, join_syllabi, parse_syllabus, syllabus_text
from perdure.settings import read_settings

_MOST_DOTS = 200
_NOT_A_KEY = re.compile(r"[^\w.\-\"' \t]+")

OUTSIDE = frozenset({"lifetimes", "experts", "twin", "power", "limits", "resources", "score"})
"""Keys that may change without making it another protocol: numbers of lifetimes, resources, scoring."""

RESERVED = frozenset({"lives", "experts", "twins", "logs", "taskinfo", "protocol.json", "report.html", "perdure.toml"})
"""Names in a run folder or a data folder that a learner's own folder must not take."""


class ScenarioPlan(msgspec.Struct, frozen=True):
    """One way to arrange lifetimes: a syllabus that is the same for all, or a layout that is composed for each."""

    name: str
    fixed: Syllabus | None = None
    layout: str | None = None
    tasks: tuple[Task, ...] = ()
    lengths: Mapping[str, Any] = {}
    seed: int | None = None

    def syllabus(self, seed: int) -> Syllabus:
        """Return the syllabus for a scenario seed; a seed in the protocol's scenario has precedence."""
        if self.fixed is not None:
            return self.fixed
        assert self.layout is not None
        chosen = seed % 2**32 if self.seed is None else self.seed
        return compose(self.layout, self.tasks, seed=chosen, name=self.name, **self.lengths)


class Protocol(msgspec.Struct, frozen=True):
    """A learner, its scenarios, the numbers of lifetimes and experts, and the seeds."""

    name: str
    learner: str
    params: Mapping[str, Any]
    title: str
    """Name of the learner in logs and reports."""
    scenarios: tuple[ScenarioPlan, ...]
    lifetimes: int
    """Lifetimes per scenario."""
    experts: int
    """Experts per task variant."""
    twin: bool
    """Whether each lifetime also has a twin, whose learner starts again in every block."""
    tells: tuple[Fact, ...]
    """Facts that learners may know."""
    primary: str | None
    """The metric that comparisons test first."""
    seed: int
    seeds: Seeds
    pre_deployment: ScenarioPlan | None
    limits: Limits
    resources: Resources
    score: Mapping[str, Any]
    """Settings for scoring, by name."""
    document: Mapping[str, Any]
    """The stored document, files included."""
    file: str | None = None
    """The file that it was read from."""

    @property
    def place(self) -> str:
        """The place that errors name: its file, or its name if it has no file."""
        return self.file or self.name

    @property
    def digest(self) -> str:
        """Digest of the protocol's identity, which the number of lifetimes and the scoring are not part of."""
        same = {key: value for key, value in self.document.items() if key not in OUTSIDE}
        return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()

    def with_lifetimes(self, lifetimes: int) -> Protocol:
        """Return the protocol with another number of lifetimes per scenario."""
        return replace(self, lifetimes=lifetimes, document={**self.document, "lifetimes": lifetimes})

    def with_experts(self, experts: int) -> Protocol:
        """Return the protocol with another number of experts per task variant, which its document then states."""
        return replace(self, experts=experts, document={**self.document, "experts": experts})


def read_protocol(path: str | Path) -> Protocol:
    """Read the protocol in a TOML file; files that it names are relative to its folder."""
    return replace(parse_protocol(_content(Path(path)), Path(path).parent, str(path)), file=str(path))


def read_protocols(path: str | Path, learner: str | None = None) -> tuple[Protocol, ...]:
    """Read the protocol in a TOML file, once for each of its [[learners]], or for its one [learner].

    `learner` replaces those in the file.
    """
    protocols = parse_protocols(_content(Path(path)), Path(path).parent, str(path), learner=learner)
    return tuple(replace(protocol, file=str(path)) for protocol in protocols)


def parse_protocols(
    content: Mapping[str, Any], folder: Path = Path(), where: str = "protocol", *, learner: str | None = None
) -> tuple[Protocol, ...]:
    """Return the protocols of a document, one for each of its learners; see `read_protocols`."""
    if learner is not None:
        content = {**{key: value for key, value in content.items() if key != "learners"}, "learner": {"use": learner}}
    listed = content.get("learners")
    if not isinstance(listed, list) or not listed or "learner" in content:
        return (parse_protocol(content, folder, where),)
    shared = {key: value for key, value in content.items() if key != "learners"}
    protocols = tuple(parse_protocol({**shared, "learner": entry}, folder, where) for entry in listed)
    titles = [protocol.title for protocol in protocols]
    for title in titles:
        if fault := files.name_fault(title, RESERVED):
            raise ProtocolError(
                f"a learner is called {title!r:.200}, which cannot name its folder: {fault}",
                'give it another name = "…"',
                file=where,
            )
    folded = [title.casefold() for title in titles]  # some file systems do not tell case apart
    if len(set(folded)) < len(folded):
        raise ProtocolError(
            f"two learners are called {_twice(folded)!r}", 'give one of them another name = "…"', file=where
        )
    return protocols


def _content(path: Path) -> dict[str, Any]:
    try:
        text = files.read_text(path, files.HEADER_LIMIT)
        for number, line in enumerate(text.splitlines(), start=1):
            if line.count(".") > _MOST_DOTS and max(part.count(".") for part in _NOT_A_KEY.split(line)) > _MOST_DOTS:
                # Python's reader takes a time that grows with the square of such a key.
                raise ProtocolError(
                    f"a key of more than {_MOST_DOTS} parts", "write it flatter", file=path, line=number
                )
        return tomllib.loads(text)
    except OSError as problem:
        raise ProtocolError(
            f"cannot be read: {problem.strerror}", "give the path of a protocol", file=path
        ) from problem
    except RecursionError as problem:
        raise ProtocolError("nested too deep to be read", "write it flatter", file=path) from problem
    except ValueError as problem:  # also for text that is not UTF-8, and for numbers of thousands of digits
        what, at = files.toml_fault(problem)
        raise ProtocolError(f"not TOML: {what}", "mend it there", file=path, line=at) from problem


def parse_protocol(content: Mapping[str, Any], folder: Path = Path(), where: str = "protocol") -> Protocol:
    """Return the protocol of a document. Raise ProtocolError for the first fault, with a fix."""
    try:
        refuse_strange(content)
        return _parse(content, folder, where)
    except PerdureError as problem:
        raise ProtocolError.from_error(problem).with_place(file=where) from problem


def _parse(content: Mapping[str, Any], folder: Path, where: str) -> Protocol:
    table = read_table(content, ProtocolTable, where)
    learner = table.learner
    if table.learners is not None:
        raise ProtocolError(
            "[learner] and [[learners]]" if learner else "several learners, and one protocol has one",
            "remove one of the two" if learner else "perdure run takes each of [[learners]] through it in turn",
            file=where,
        )
    if learner is None:
        raise missing("learner", where)
    tasks = _tasks(table.tasks)
    plans = tuple(
        _scenario(scenario, f"[[scenarios]] {index + 1}", tasks, folder, f"scenario-{index + 1}")
        for index, scenario in enumerate(table.scenarios)
    )
    if not plans:
        raise ProtocolError("no scenario", "add [[scenarios]] with a file or a layout", file=where)
    names = [plan.name for plan in plans]
    if len(set(names)) < len(names):
        raise ProtocolError(f"two scenarios are called {_twice(names)!r}", "give one of them another name", file=where)
    power, lifetimes = table.power, table.lifetimes
    if lifetimes == "auto":
        lifetimes = lifetimes_by_rule(power.effect, power.alpha, 1 - power.power)
    if lifetimes * len(plans) > MOST_LIVES:
        raise ProtocolError(
            f"{lifetimes:,} lifetimes of each of {len(plans)} scenarios are more than {MOST_LIVES:,} lifetimes",
            "ask for fewer, or for a larger effect in [power]",
            file=where,
        )
    before = table.pre_deployment
    first = None if before is None else _scenario(before, "[pre_deployment]", tasks, folder, "pre-deployment")
    used = {task.name.lower() for plan in (*plans, first) if plan for task in plan.tasks}
    if unused := [task for task in table.tasks if task.lower() not in used]:
        fix = nearest(unused[0], used) if used else "give bounds and parameters in the syllabus"
        raise ProtocolError("no layout of this protocol has this task", fix, file=f"[tasks.{unused[0]}]")
    name = table.name or Path(where).stem
    roots = {kind: getattr(table.seeds, kind) for kind in ("learner", "scenario", "environment")}
    return Protocol(
        name=name,
        learner=learner.use,
        params=learner.params,
        title=learner.name or learner.use.rpartition(":")[2].rpartition(".")[2],
        scenarios=plans,
        lifetimes=lifetimes,
        experts=table.experts,
        twin=table.twin,
        tells=tuple(fact for fact in FACTS if fact in table.tells),
        primary=table.primary,
        seed=table.seed,
        seeds=Seeds(
            **{kind: seed_for(table.seed, kind, "root") if root is None else root for kind, root in roots.items()}
        ),
        pre_deployment=first,
        limits=table.limits,
        resources=table.resources,
        score=read_settings(table.score, "[score]"),
        document={"name": name, **_inline_files(content, folder)},
    )


def _scenario(
    table: ScenarioTable, where: str, tasks: Mapping[str, TaskTable], folder: Path, name: str
) -> ScenarioPlan:
    sources = [key for key in ("file", "layout", "syllabus") if getattr(table, key) is not None]
    if len(sources) != 1:
        raise ProtocolError(
            f"{' and '.join(sources) or 'neither file nor layout'} given",
            'name one: file = "syllabus.json", or layout = "condensed" with tasks, learn and evaluate',
            file=where,
        )
    if table.layout is None:
        plain = ScenarioTable()
        of_layouts = ("tasks", "learn", "evaluate", "evaluate_every", "superblocks", "seed")
        idle = [key for key in of_layouts if getattr(table, key) != getattr(plain, key)]
        if idle:
            raise ProtocolError(f"{', '.join(idle)} mean nothing beside a file", "remove them", file=where)
        syllabus = _syllabus(table, where, folder)
        return ScenarioPlan(table.name or syllabus.scenario.name, syllabus)
    if table.tasks is None:
        raise missing("tasks", where)
    if table.learn is None:
        raise missing("learn", where)
    plan = ScenarioPlan(
        table.name or (table.layout if name.startswith("scenario") else name),
        layout=table.layout,
        tasks=tuple(_with_parameters(parse_task(text), tasks) for text in table.tasks),
        lengths={key: getattr(table, key) for key in ("learn", "evaluate", "evaluate_every", "superblocks")},
        seed=table.seed,
    )
    plan.syllabus(0)  # reports a layout that cannot be composed now, not in the first worker
    return plan


def _syllabus(table: ScenarioTable, where: str, folder: Path) -> Syllabus:
    """Return the syllabus that a scenario names or holds."""
    if table.file is not None:
        text, name = _source(table.file, folder)
    else:
        text, name = json.dumps(table.syllabus), table.name or "syllabus"
    syllabus, problems = parse_syllabus(text, name)
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        raise ProtocolError(f"{name} is not a valid syllabus: {errors[0]}", "perdure lint shows all", file=where)
    return syllabus


def _source(file: str | list[str], folder: Path) -> tuple[str, str]:
    """Return the text and the place of a syllabus; of several, which are joined."""
    if isinstance(file, str):
        return read_source(file, folder)
    parts = [checked_syllabus(*read_source(name, folder)) for name in file]
    joined = join_syllabi(parts)
    return syllabus_text(joined), joined.scenario.name


def _inline_files(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the document with the content of each file in place of its name."""

    def inlined(scenario: Mapping[str, Any]) -> dict[str, Any]:
        if "file" not in scenario:
            return dict(scenario)
        text, name = _source(scenario["file"], folder)
        document = {"name": name, **json.loads(text)}
        return {**{key: value for key, value in scenario.items() if key != "file"}, "syllabus": document}

    document = {**content, "scenarios": [inlined(scenario) for scenario in content["scenarios"]]}
    if "pre_deployment" in content:
        document["pre_deployment"] = inlined(content["pre_deployment"])
    return document


def _tasks(tables: Mapping[str, TaskTable]) -> dict[str, TaskTable]:
    """Return the tables of tasks by folded name."""
    for name, table in tables.items():
        for variant, params in table.variants.items():
            if not isinstance(params, Mapping):
                raise ProtocolError(
                    f"variant {variant!r} is {params!r:.200}", "expected a table", file=f"[tasks.{name}]"
                )
    return {name.lower(): table for name, table in tables.items()}


def _with_parameters(task: Task, tasks: Mapping[str, TaskTable]) -> Task:
    table = tasks.get(task.name.lower())
    if table is None:
        return task
    variants = {name.lower(): params for name, params in table.variants.items()}
    variant = task.variant.lower()
    if variant and variants and variant not in variants:
        raise ProtocolError(f"[tasks.{task.name}] has no variant {variant!r}", nearest(variant, variants))
    return Task(task.name, task.variant, table.env, {**table.params, **variants.get(variant, {})}, table.bounds)


def _twice(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)
