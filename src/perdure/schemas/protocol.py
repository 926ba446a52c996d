"""A protocol, as TOML or as a run folder keeps it; what an editor is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from perdure.runner.document import MOST_LIVES
from perdure.runner.protocol import EXPERTS
from perdure.scenario.layouts import LAYOUTS
from perdure.schemas.structs import Count, Name, Part, Positive
from perdure.settings import OPTIONS

__all__ = ["Learner", "Limits", "Power", "Protocol", "Scenario", "Seeds", "Task"]

_SETTINGS: dict[str, Any] = {
    "additionalProperties": False,
    "properties": {name: {**one.schema, "description": one.help} for name, one in OPTIONS.items()},
}


class Learner(Part):
    """The learner."""

    use: str
    """A registered name, or package.module:Class."""
    name: Name | UnsetType = UNSET
    """How logs and reports call the learner."""
    params: dict[str, Any] | UnsetType = UNSET
    """What the learner is made with, beside its seed."""


class Scenario(Part):
    """One way to arrange lives: a syllabus, or a layout."""

    FURTHER: ClassVar[Mapping[str, Any]] = {
        "oneOf": [{"required": ["file"]}, {"required": ["syllabus"]}, {"required": ["layout", "tasks", "learn"]}]
    }

    name: Name | UnsetType = UNSET
    file: str | UnsetType = UNSET
    """A syllabus, beside the protocol."""
    syllabus: dict[str, Any] | UnsetType = UNSET
    """A syllabus, in place; what a run folder keeps of a file."""
    layout: Annotated[str, Meta(extra_json_schema={"enum": [*LAYOUTS]})] | UnsetType = UNSET
    tasks: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET
    """NAME or NAME:VARIANT."""
    learn: Positive | UnsetType = UNSET
    """Learning experiences per variant over a life."""
    evaluate: Count = 10
    """Per variant and evaluation."""
    superblocks: Positive = 3
    seed: Count | UnsetType = UNSET
    """One order for all lives; each has its own if not given."""


class Task(Part):
    """What is known of a task."""

    env: str | UnsetType = UNSET
    """A task, a Gymnasium id, or an import path; the task's name if not given."""
    bounds: Annotated[list[float], Meta(min_length=2, max_length=2)] | UnsetType = UNSET
    params: dict[str, Any] | UnsetType = UNSET
    """Parameters of all variants."""
    variants: dict[str, dict[str, Any]] | UnsetType = UNSET


class Power(Part):
    """From which `lifetimes = "auto"` is computed."""

    effect: Annotated[float, Meta(gt=0)] = 1
    """In standard deviations."""
    alpha: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    power: Annotated[float, Meta(gt=0, lt=1)] = 0.9


class Seeds(Part):
    """The roots of seeds, each in place of the one."""

    learner: Count | UnsetType = UNSET
    scenario: Count | UnsetType = UNSET
    environment: Count | UnsetType = UNSET


class Limits(Part):
    """What no life may exceed."""

    steps_per_episode: Positive = 10000
    seconds_per_life: Annotated[float, Meta(gt=0)] | UnsetType = UNSET
    gigabytes_per_life: Annotated[float, Meta(gt=0)] | UnsetType = UNSET
    """Memory that the process of a life may hold."""
    lives_at_once: Positive | UnsetType = UNSET
    """Lives at once on each device, by the batched engine."""


Share = Annotated[float, Meta(ge=0, le=10000)]


class Resources(Part):
    """What a cluster sets aside for each life; no part of the protocol's identity."""

    cpus: Share = 1
    """A part of 1, or a whole number."""
    gpus: Share = 0
    """A part of 1, or a whole number."""
    gigabytes: Annotated[float, Meta(gt=0)] | UnsetType = UNSET
    """Memory to set aside; the limit is [limits] gigabytes_per_life."""
    custom: dict[str, Share] | UnsetType = UNSET
    """What the cluster's machines were started with, by name."""


class Protocol(Part, kw_only=True):
    """Everything needed to repeat an evaluation: learner, scenarios, lifetimes, experts, seeds. Written as TOML; a
    run folder keeps it as JSON.
    """

    FURTHER: ClassVar[Mapping[str, Any]] = {"oneOf": [{"required": ["learner"]}, {"required": ["learners"]}]}

    name: Name | UnsetType = UNSET
    """How logs and reports call the protocol; the file's name if not given."""
    description: str | UnsetType = UNSET
    seed: Count = 0
    """The root of all seeds."""
    lifetimes: Annotated[int, Meta(ge=1, le=MOST_LIVES)] | Literal["auto"] = 11
    """Lives per scenario; "auto" computes them from [power]."""
    experts: Annotated[int, Meta(ge=0, le=MOST_LIVES)] = EXPERTS
    """Experts per task variant. Fewer than 3 give no verdict on relative performance and sample efficiency, 3 or 4 a
    flagged one."""
    twin: bool = False
    """Whether each life is also lived by a learner that starts anew in every block: its stateless twin."""
    learner: Learner | UnsetType = UNSET
    learners: Annotated[list[Learner], Meta(min_length=1)] | UnsetType = UNSET
    """Several in place of one: each goes through all of it, in a run folder of its own, and they are compared."""
    scenarios: Annotated[list[Scenario], Meta(min_length=1)]
    tasks: dict[str, Task] | UnsetType = UNSET
    pre_deployment: Scenario | UnsetType = UNSET
    power: Power | UnsetType = UNSET
    seeds: Seeds | UnsetType = UNSET
    limits: Limits | UnsetType = UNSET
    resources: Resources | UnsetType = UNSET
    score: Annotated[dict[str, Any], Meta(extra_json_schema=_SETTINGS)] | UnsetType = UNSET
    """How its lives are scored; no part of the protocol's identity."""
