"""Protocol: everything needed to repeat an evaluation, read from TOML and kept as JSON.

The kept form is the same document with every file in it, so that a run folder needs nothing from outside.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import PerdureError, ProtocolError, nearest
from perdure.frozen import frozen, replace
from perdure.runner.document import KEYS, MOST_LIVES, Section, checked, refuse_strange
from perdure.runner.seeds import Seeds, seed_for
from perdure.sample_size import lifetimes_by_rule
from perdure.scenario.compose import compose, parse_task
from perdure.scenario.model import Task
from perdure.scenario.sources import source
from perdure.scenario.syllabus import Syllabus, parse_syllabus
from perdure.settings import read_settings

__all__ = [
    "EXPERTS",
    "OUTSIDE",
    "RESERVED",
    "Limits",
    "Protocol",
    "ProtocolError",
    "Resources",
    "ScenarioPlan",
    "parse_protocol",
    "parse_protocols",
    "read_protocol",
    "read_protocols",
]

_MOST_DOTS = 200
_NOT_A_KEY = re.compile(r"[^\w.\-\"' \t]+")

EXPERTS = 5
"""Experts per task variant where a protocol names no number: as many as a verdict beside them takes unflagged."""
OUTSIDE = frozenset({"lifetimes", "experts", "twin", "power", "limits", "resources", "score"})
"""What may change in a protocol without making it another: how many lives, what they may cost, how they are scored."""

RESERVED = frozenset({"lives", "experts", "twins", "logs", "taskinfo", "protocol.json", "report.html", "perdure.toml"})
"""Names in a run folder or a data folder that a learner's own folder must not take."""


@frozen
class Limits:
    """What no life may exceed."""

    steps_per_episode: int = 10_000
    seconds_per_life: float | None = None
    gigabytes_per_life: float | None = None
    lives_at_once: int | None = None
    """On each device, by the batched engine."""


@frozen
class Resources:
    """What a cluster sets aside for each life."""

    cpus: float = 1
    gpus: float = 0
    gigabytes: float | None = None
    custom: Mapping[str, float] = field(default_factory=dict, hash=False)
    """What its machines were started with, by name."""


@frozen
class ScenarioPlan:
    """One way to arrange lives: a syllabus that is the same for all, or a layout that is composed for each."""

    name: str
    fixed: Syllabus | None = field(default=None, hash=False)
    layout: str | None = None
    tasks: tuple[Task, ...] = ()
    lengths: Mapping[str, int] = field(default_factory=dict, hash=False)
    seed: int | None = None

    def syllabus(self, seed: int) -> Syllabus:
        """The syllabus of the life whose scenario seed is `seed`; a composer's own seed, where given, wins."""
        if self.fixed is not None:
            return self.fixed
        assert self.layout is not None
        chosen = seed % 2**32 if self.seed is None else self.seed
        return compose(self.layout, self.tasks, seed=chosen, name=self.name, **self.lengths)


@frozen
class Protocol:
    """A learner, what it goes through, how often, and from which seeds."""

    name: str
    learner: str
    params: Mapping[str, Any] = field(hash=False)
    title: str
    """How logs and reports call the learner."""
    scenarios: tuple[ScenarioPlan, ...]
    lifetimes: int
    """Lives per scenario."""
    experts: int
    """Experts per task variant."""
    twin: bool
    """Whether each life is also lived by a learner that starts anew in every block."""
    seed: int
    seeds: Seeds
    pre_deployment: ScenarioPlan | None
    limits: Limits
    resources: Resources
    score: Mapping[str, Any] = field(hash=False)
    """How its lives are scored, where it says so: settings by name."""
    document: Mapping[str, Any] = field(hash=False, repr=False)
    """The protocol as it is kept, files included."""
    file: str | None = field(default=None, compare=False, repr=False)
    """Where it was read."""

    @property
    def place(self) -> str:
        """Where errors say it is: its file, or its name where it came from none."""
        return self.file or self.name

    @property
    def digest(self) -> str:
        """What two runs must share to be of one protocol; more lives of it, scored otherwise, are still the same."""
        same = {key: value for key, value in self.document.items() if key not in OUTSIDE}
        return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()

    def with_lifetimes(self, lifetimes: int) -> Protocol:
        """The same protocol with another number of lives per scenario."""
        return replace(self, lifetimes=lifetimes, document={**self.document, "lifetimes": lifetimes})

    def with_experts(self, experts: int) -> Protocol:
        """The same protocol with another number of experts per task variant, which it then names."""
        return replace(self, experts=experts, document={**self.document, "experts": experts})


def read_protocol(path: str | Path) -> Protocol:
    """The protocol in a TOML file; files that it names are looked for beside it."""
    return replace(parse_protocol(_content(Path(path)), Path(path).parent, str(path)), file=str(path))


def read_protocols(path: str | Path, learner: str | None = None) -> tuple[Protocol, ...]:
    """The protocol in a TOML file, once for each of its [[learners]]; of one [learner] there is one.

    `learner` takes the place of those that the file names.
    """
    found = parse_protocols(_content(Path(path)), Path(path).parent, str(path), learner=learner)
    return tuple(replace(one, file=str(path)) for one in found)


def parse_protocols(
    content: Mapping[str, Any], folder: Path = Path(), where: str = "protocol", *, learner: str | None = None
) -> tuple[Protocol, ...]:
    """The protocols that `content` describes, one for each of its learners; see `read_protocols`."""
    if learner is not None:
        content = {**{key: one for key, one in content.items() if key != "learners"}, "learner": {"use": learner}}
    listed = content.get("learners")
    if not isinstance(listed, list) or not listed or "learner" in content:
        return (parse_protocol(content, folder, where),)
    shared = {key: value for key, value in content.items() if key != "learners"}
    found = tuple(parse_protocol({**shared, "learner": one}, folder, where) for one in listed)
    titles = [one.title for one in found]
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
    return found


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
    except ValueError as problem:  # also of text that is no UTF-8, and of numbers of thousands of digits
        what, at = files.toml_fault(problem)
        raise ProtocolError(f"not TOML: {what}", "mend it there", file=path, line=at) from problem


def parse_protocol(content: Mapping[str, Any], folder: Path = Path(), where: str = "protocol") -> Protocol:
    """The protocol that `content` describes; the first thing wrong in it is named, with what to do."""
    try:
        refuse_strange(content)
        return _parsed(content, folder, where)
    except PerdureError as problem:
        raise ProtocolError.of(problem).at(file=where) from problem


def _parsed(content: Mapping[str, Any], folder: Path, where: str) -> Protocol:
    top = checked(content, KEYS["protocol"], where)
    if "learners" in top.content:
        both = "learner" in top.content
        raise ProtocolError(
            "[learner] and [[learners]]" if both else "several learners, and one protocol has one",
            "remove one of the two" if both else "perdure run takes each of [[learners]] through it in turn",
            file=where,
        )
    learner = checked(top.required("learner", '[learner]\nuse = "package.module:Class"'), KEYS["learner"], "[learner]")
    tasks = _tasks(top.get("tasks", {}))
    listed = top.required("scenarios", '[[scenarios]]\nlayout = "condensed"')
    plans = tuple(
        _scenario(checked(one, KEYS["scenario"], f"[[scenarios]] {at + 1}"), tasks, folder, f"scenario-{at + 1}")
        for at, one in enumerate(listed)
    )
    if not plans:
        raise ProtocolError("no scenario", "add [[scenarios]] with a file or a layout", file=where)
    names = [plan.name for plan in plans]
    if len(set(names)) < len(names):
        raise ProtocolError(f"two scenarios are called {_twice(names)!r}", "give one of them another name", file=where)
    seed = top.get("seed", 0)
    power = checked(top.get("power", {}), KEYS["power"], "[power]")
    lifetimes = top.get("lifetimes", 11)
    if lifetimes == "auto":
        lifetimes = lifetimes_by_rule(power.get("effect", 1.0), power.get("alpha", 0.05), 1 - power.get("power", 0.9))
    if lifetimes * len(plans) > MOST_LIVES:
        raise ProtocolError(
            f"{lifetimes:,} lifetimes of each of {len(plans)} scenarios are more than {MOST_LIVES:,} lifetimes",
            "ask for fewer, or for a larger effect in [power]",
            file=where,
        )
    roots = checked(top.get("seeds", {}), KEYS["seeds"], "[seeds]")
    limits = checked(top.get("limits", {}), KEYS["limits"], "[limits]")
    resources = checked(top.get("resources", {}), KEYS["resources"], "[resources]")
    before = top.get("pre_deployment", None)
    name = top.get("name", Path(where).stem)
    use = learner.required("use", 'use = "package.module:Class"')
    return Protocol(
        name=name,
        learner=use,
        params=learner.get("params", {}),
        title=learner.get("name", use.rpartition(":")[2].rpartition(".")[2]),
        scenarios=plans,
        lifetimes=lifetimes,
        experts=top.get("experts", EXPERTS),
        twin=top.get("twin", False),
        seed=seed,
        seeds=Seeds(
            *(roots.get(kind, seed_for(seed, kind, "root")) for kind in ("learner", "scenario", "environment"))
        ),
        pre_deployment=None
        if before is None
        else _scenario(checked(before, KEYS["scenario"], "[pre_deployment]"), tasks, folder, "pre-deployment"),
        limits=Limits(**limits.content),
        resources=Resources(**resources.content),
        score=read_settings(top.get("score", {}), "[score]"),
        document={"name": name, **_kept(content, folder)},
    )


def _scenario(table: Section, tasks: Mapping[str, Mapping[str, Any]], folder: Path, name: str) -> ScenarioPlan:
    given = [key for key in ("file", "layout", "syllabus") if key in table.content]
    if len(given) != 1:
        raise ProtocolError(
            f"{' and '.join(given) or 'neither file nor layout'} given",
            'name one: file = "syllabus.json", or layout = "condensed" with tasks, learn and evaluate',
            file=table.where,
        )
    if "layout" not in table.content:
        idle = [key for key in ("tasks", "learn", "evaluate", "superblocks", "seed") if key in table.content]
        if idle:
            raise ProtocolError(f"{', '.join(idle)} mean nothing beside a file", "remove them", file=table.where)
        syllabus = _syllabus(table, folder)
        return ScenarioPlan(table.get("name", syllabus.scenario.name), syllabus)
    layout = table.content["layout"]
    plan = ScenarioPlan(
        table.get("name", layout if name.startswith("scenario") else name),
        layout=layout,
        tasks=tuple(_described(parse_task(text), tasks) for text in table.required("tasks", 'tasks = ["pong:wide"]')),
        lengths={
            "learn": table.required("learn", "learn = 300"),
            "evaluate": table.get("evaluate", 10),
            "superblocks": table.get("superblocks", 3),
        },
        seed=table.get("seed", None),
    )
    plan.syllabus(0)  # what cannot be composed is said now, not by the first worker
    return plan


def _syllabus(table: Section, folder: Path) -> Syllabus:
    """The syllabus that a scenario names or holds; a file is read here, and only here."""
    if "file" in table.content:
        text, name = source(table.content["file"], folder)
    else:
        text, name = json.dumps(table.content["syllabus"]), table.get("name", "syllabus")
    syllabus, problems = parse_syllabus(text, name)
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        raise ProtocolError(f"{name} is not a valid syllabus: {errors[0]}", "perdure lint shows all", file=table.where)
    return syllabus


def _kept(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The document with the content of each file in place of its name."""

    def inlined(one: Mapping[str, Any]) -> dict[str, Any]:
        if "file" not in one:
            return dict(one)
        text, name = source(one["file"], folder)
        held = {"name": name, **json.loads(text)}
        return {**{key: value for key, value in one.items() if key != "file"}, "syllabus": held}

    document = {**content, "scenarios": [inlined(one) for one in content["scenarios"]]}
    if "pre_deployment" in content:
        document["pre_deployment"] = inlined(content["pre_deployment"])
    return document


def _tasks(tables: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What [tasks] says of each task, by folded name."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, content in tables.items():
        table = checked(content, KEYS["task"], f"[tasks.{name}]")
        for variant, params in table.get("variants", {}).items():
            if not isinstance(params, Mapping):
                raise ProtocolError(f"variant {variant!r} is {params!r:.200}", "expected a table", file=table.where)
        found[name.lower()] = table.content
    return found


def _described(task: Task, tasks: Mapping[str, Mapping[str, Any]]) -> Task:
    content = tasks.get(task.name.lower())
    if content is None:
        return task
    variants = {name.lower(): params for name, params in content.get("variants", {}).items()}
    variant = task.variant.lower()
    if variant and variants and variant not in variants:
        raise ProtocolError(f"[tasks.{task.name}] has no variant {variant!r}", nearest(variant, variants))
    bounds = content.get("bounds")
    params = {**content.get("params", {}), **variants.get(variant, {})}
    return Task(task.name, task.variant, content.get("env"), params, tuple(bounds) if bounds else None)


def _twice(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)
