"""The tables of a protocol: one Struct each, from which reading, messages and the JSON Schema derive.

The keys of `[score]` are settings, which are declared in `perdure.settings`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from perdure import files
from perdure.errors import PerdureError, nearest
from perdure.scenario.layouts import LAYOUTS
from perdure.scenario.model import FACTS, Fact
from perdure.settings import OPTIONS

MOST_LIVES = 100_000
"""The most lifetimes of one protocol."""
EXPERTS = 5
"""Experts per task variant if a protocol names no number: enough for a verdict without a flag."""

_LONGEST_SHOWN = 200
_DEEPEST = 100
_NOT_CUSTOM = frozenset({"cpu", "gpu", "memory", "object_store_memory"})
_BEYOND = 2**63  # TOML's own whole numbers


class Takes(msgspec.Struct, frozen=True):
    """Words that complete "expected …", and a test that types cannot express."""

    words: str
    fits: Callable[[Any], bool] | None = None


def _is_amount(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= 10_000 and (value <= 1 or value == int(value))


def _are_amounts(value: Any) -> bool:
    if not isinstance(value, Mapping) or any(name.lower() in _NOT_CUSTOM or not name.strip() for name in value):
        return False
    return all(map(_is_amount, value.values()))


def _are_file_names(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return bool(names) and all(name.strip() and "\0" not in name for name in names)


class StrictStruct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a protocol, which takes no unknown keys."""

    NULLS: ClassVar[bool] = False
    """None stands for a key that is not given. A file cannot give it."""


T = TypeVar("T", bound=StrictStruct)

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Text = Annotated[str, Takes("text", lambda value: value.strip() != "")]
Name = Annotated[
    str,
    Meta(extra_json_schema={"pattern": r"^[^./\\][^/\\]*$"}),
    Takes(
        "a name without slashes, of at most 200 characters (bytes in UTF-8), that does not start with a dot",
        lambda value: files.name_fault(value) is None,
    ),
]
Amount = Annotated[float, Meta(ge=0, le=10_000), Takes("a part of 1, or a whole number up to 10,000", _is_amount)]
Probability = Annotated[float, Meta(gt=0, lt=1)]
Gigabytes = Annotated[float, Meta(gt=0, lt=1e6)]
Lifetimes = Annotated[int, Meta(ge=1, le=MOST_LIVES)]


class LearnerTable(StrictStruct, frozen=True):
    """The learner."""

    use: Text
    """A registered name, or package.module:Class."""
    name: Name | None = None
    """Name of the learner in logs and reports."""
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    """What the learner is made with, beside its seed."""


class ScenarioTable(StrictStruct, frozen=True):
    """One way to arrange lifetimes: a syllabus, or a layout."""

    FURTHER: ClassVar[Mapping[str, Any]] = {
        "oneOf": [{"required": ["file"]}, {"required": ["syllabus"]}, {"required": ["layout", "tasks", "learn"]}]
    }

    name: Name | None = None
    file: Annotated[str | list[str], Takes("the name of a file, or a list of names", _are_file_names)] | None = None
    """A syllabus, beside the protocol; or several, which are joined."""
    syllabus: dict[str, Any] | None = None
    """A syllabus, in place; what a run folder keeps of a file."""
    layout: Annotated[Text, Meta(extra_json_schema={"enum": [*LAYOUTS]})] | None = None
    tasks: (
        Annotated[list[str], Meta(min_length=1), Takes("a list of texts", lambda value: value != [] and all(value))]
        | None
    ) = None
    """NAME or NAME:VARIANT."""
    learn: Positive | None = None
    """Learning experiences per variant over a lifetime."""
    evaluate: Count = 10
    """Per variant and evaluation."""
    evaluate_every: Positive | None = None
    """Learning experiences after which every task is also evaluated inside a learning block."""
    superblocks: Positive = 3
    seed: Count | None = None
    """One order for all lifetimes; each has its own if not given."""


class TaskTable(StrictStruct, frozen=True):
    """The environment, bounds and parameters of a task."""

    env: Text | None = None
    """A task, a Gymnasium id, or an import path; the task's name if not given."""
    bounds: (
        Annotated[tuple[float, float], Takes("[low, high], two increasing numbers", lambda value: value[0] < value[1])]
        | None
    ) = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    """Parameters of all variants."""
    variants: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)


class PowerTable(StrictStruct, frozen=True):
    """From which `lifetimes = "auto"` is computed."""

    effect: Annotated[float, Meta(gt=0, lt=100)] = 1.0
    """In standard deviations."""
    alpha: Probability = 0.05
    power: Probability = 0.9


class SeedsTable(StrictStruct, frozen=True):
    """The roots of the three seeds, if not derived from `seed`."""

    learner: Count | None = None
    scenario: Count | None = None
    environment: Count | None = None


class Limits(StrictStruct, frozen=True):
    """The limits of each lifetime."""

    steps_per_episode: Positive = 10_000
    seconds_per_life: Annotated[float, Meta(gt=0, lt=1e9)] | None = None
    gigabytes_per_life: Gigabytes | None = None
    """Memory that the process of a lifetime may hold."""
    lives_at_once: Lifetimes | None = None
    """Lifetimes at once on each device, by the batched engine."""


class Resources(StrictStruct, frozen=True):
    """The resources that a cluster reserves for each lifetime; not part of the protocol's identity."""

    cpus: Amount = 1
    """A part of 1, or a whole number."""
    gpus: Amount = 0
    """A part of 1, or a whole number."""
    gigabytes: Gigabytes | None = None
    """Memory to set aside; the limit is [limits] gigabytes_per_life."""
    custom: Annotated[
        dict[str, Annotated[float, Meta(ge=0, le=10_000)]],
        Takes("names of your own, each with a part of 1 or a whole number", _are_amounts),
    ] = msgspec.field(default_factory=dict)
    """What the cluster's machines were started with, by name."""


class ProtocolTable(StrictStruct, frozen=True, kw_only=True):
    """Everything needed to repeat an evaluation: learner, scenarios, lifetimes, experts, seeds. Written as TOML; a
    run folder keeps it as JSON.
    """

    FURTHER: ClassVar[Mapping[str, Any]] = {"oneOf": [{"required": ["learner"]}, {"required": ["learners"]}]}

    name: Name | None = None
    """How logs and reports call the protocol; the file's name if not given."""
    description: Text | None = None
    seed: Count = 0
    """The root of all seeds."""
    lifetimes: Annotated[
        Lifetimes | Literal["auto"],
        Takes(f'a whole number, 1 to {MOST_LIVES:,}, or "auto"'),
    ] = 11
    """Lifetimes per scenario; "auto" computes them from [power]."""
    experts: Annotated[int, Meta(ge=0, le=MOST_LIVES)] = EXPERTS
    """Experts per task variant. Fewer than 3 give no verdict on relative performance and sample efficiency, 3 or 4 a
    flagged one."""
    twin: bool = False
    """Whether each lifetime is also run by a learner that starts again in every block: its stateless twin."""
    tells: Annotated[list[Fact], Takes('a list with some of "task", "boundary" and "mode", or []')] = msgspec.field(
        default_factory=lambda: [*FACTS]
    )
    """Facts that learners may know: the task, where blocks begin and end, and learning or evaluation."""
    primary: Text | None = None
    """The metric by which learners are compared first: tested alone, and the others only if it differs."""
    learner: LearnerTable | None = None
    learners: Annotated[list[LearnerTable], Meta(min_length=1)] | None = None
    """Several in place of one: each goes through all of it, in a run folder of its own, and they are compared."""
    scenarios: Annotated[list[ScenarioTable], Meta(min_length=1)]
    tasks: dict[str, TaskTable] = msgspec.field(default_factory=dict)
    pre_deployment: ScenarioTable | None = None
    power: PowerTable = PowerTable()
    seeds: SeedsTable = SeedsTable()
    limits: Limits = Limits()
    resources: Resources = Resources()
    score: Annotated[
        dict[str, Any],
        Meta(
            extra_json_schema={
                "additionalProperties": False,
                "properties": {name: {**option.schema, "description": option.help} for name, option in OPTIONS.items()},
            }
        ),
    ] = msgspec.field(default_factory=dict)
    """How its lifetimes are scored; no part of the protocol's identity."""


_EXAMPLES = {
    "learner": '[learner] use = "package.module:Class"',
    "use": 'use = "package.module:Class"',
    "scenarios": '[[scenarios]] layout = "condensed"',
    "tasks": 'tasks = ["pong:wide"]',
    "learn": "learn = 300",
}


def missing(key: str, where: str) -> PerdureError:
    """Return the error of a key that is needed and not given."""
    return PerdureError(f"no {key!r}", f"write, for example, {_EXAMPLES[key]}", file=where)


def read_table(content: Any, kind: type[T], where: str) -> T:
    """Return `content` as a table of this kind, with the tables in it.

    An unknown key offers the nearest one. A wrong value names the values that are taken.
    """
    if not isinstance(content, Mapping):
        raise PerdureError(f"is {_shorten(content)}", "expected a table", file=where)
    fields = _fields(kind)
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in fields:
            raise PerdureError(f"unknown key {_shorten(key)}", nearest(str(key)[:_LONGEST_SHOWN], fields), file=where)
        try:
            values[key] = _read_value(key, value, fields[key].type)
        except ValueError as expected:
            raise PerdureError(f"{key!r} is {_shorten(value)}", f"expected {expected}", file=where) from None
    for key, field in fields.items():
        if field.required and key not in values:
            raise missing(key, where)
    return kind(**values)


@cache
def _fields(kind: type[StrictStruct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind)}


def _read_value(key: str, value: Any, hint: Any) -> Any:
    """Return the value of a key. Raise ValueError with a description of valid values if it does not fit."""
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        hint = reduce(or_, (member for member in get_args(hint) if member is not NoneType))
    metadata = getattr(hint, "__metadata__", ())
    takes = next((constraint for constraint in metadata if isinstance(constraint, Takes)), None)
    base = hint.__origin__ if metadata else hint
    kind, arguments = get_origin(base) or base, get_args(base)
    if _is_table(kind) or (kind is dict and takes is None):
        if not isinstance(value, Mapping):
            raise ValueError("a table")
        if _is_table(kind):
            return read_table(value, kind, f"[{key}]")
        if _is_table(arguments[1]):
            return {name: read_table(item, arguments[1], f"[{key}.{name}]") for name, item in value.items()}
        return value
    if kind is list and _is_table(arguments[0]):
        if not isinstance(value, list) or (key == "learners" and not value):
            raise ValueError(f"tables, each under [[{key}]]")
        return [read_table(item, arguments[0], f"[[{key}]] {index + 1}") for index, item in enumerate(value)]
    try:
        converted = msgspec.convert(value, hint)
    except msgspec.ValidationError:
        converted = None
    wrong_number = base is int and not isinstance(value, int)  # msgspec takes 3.0 for 3
    if converted is None or wrong_number or (takes and takes.fits and not takes.fits(converted)):
        raise ValueError(takes.words if takes else _words(base, metadata))
    return converted


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrictStruct)


def _words(base: Any, metadata: tuple[Any, ...]) -> str:
    """Return the words for the values of a plain type."""
    if base is bool:
        return "true or false"
    limits = next(constraint for constraint in metadata if isinstance(constraint, Meta))
    if base is float:
        return f"a number between {limits.gt:g} and {limits.lt:g}"
    if limits.le is None:
        return f"a whole number, {limits.ge} or more"
    return f"a whole number, {limits.ge} to {limits.le:,}"


def refuse_strange(content: Any) -> None:
    """Refuse content that no protocol needs and that cannot be kept: great depth, huge or infinite numbers, dates."""
    waiting: list[tuple[str, int, Any]] = [("", 0, content)]
    while waiting:
        where, depth, value = waiting.pop()
        if depth > _DEEPEST:
            raise PerdureError(f"{where[:60]}…: nested more than {_DEEPEST} levels deep", "write it flatter")
        if isinstance(value, Mapping):
            waiting += [(f"{where}.{key}" if where else str(key), depth + 1, item) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [(where, depth + 1, item) for item in value]
        elif isinstance(value, int) and abs(value) >= _BEYOND:
            raise PerdureError(f"a number of {value.bit_length()} bits", "write one that 64 bits hold", file=where)
        elif isinstance(value, float) and not math.isfinite(value):
            raise PerdureError(f"{where} is {value}, which is not finite", "write a finite number")
        elif value is not None and not isinstance(value, bool | int | float | str):
            raise PerdureError(f"{where} is {value}, a {type(value).__name__}", "write it as text, in quotes")


def _shorten(value: Any) -> str:
    """Return a value for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
