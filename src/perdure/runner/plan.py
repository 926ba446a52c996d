"""The lifetimes, experts and twins of a protocol, each with its syllabus and its seeds, and their parts (shards)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import ProtocolError, UnknownNameError
from perdure.files import folder_name, name_fault
from perdure.log.model import Role
from perdure.runner.protocol import Protocol, ScenarioPlan
from perdure.runner.seeds import Seeds, seed_for
from perdure.scenario.compose import single_task_syllabus
from perdure.scenario.syllabus import Syllabus

PRE_DEPLOYMENT = "pre-deployment"
_MOST_SHARDS = 100_000
_FOLDERS: Mapping[Role, str] = {"life": "lives", "expert": "experts", "twin": "twins"}


class Job(Struct, frozen=True):
    """A lifetime, expert or twin to run: its place, its syllabus, and its seeds."""

    id: str
    role: Role
    scenario: str
    syllabus: Syllabus
    seed: int
    seeds: Seeds

    @property
    def folder(self) -> str:
        """Name of its part of the run folder."""
        if self.id == PRE_DEPLOYMENT:
            return ".run"
        return _FOLDERS[self.role]

    @property
    def experiences(self) -> int:
        """Number of experiences; a block measured in steps counts as one."""
        return sum(1 if block.length is None else block.length for block in self.syllabus.scenario.blocks)


class RunPlan(Struct, frozen=True, dict=True):
    """All jobs of a protocol. Ids and seeds depend on keys only: lifetime 7 is the same in any plan."""

    protocol: Protocol

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of lifetimes, experts and twins, by their part of the run folder, without composing scenarios."""
        lives = tuple(f"life-{index:03d}" for index in range(self.protocol.lifetimes * len(self.protocol.scenarios)))
        return {
            "lives": lives,
            "experts": tuple(
                _expert(label, number) for label in self._learned for number in range(self.protocol.experts)
            ),
            "twins": tuple(f"{name}-twin" for name in lives if self.protocol.twin),
        }

    @cached_property
    def lives(self) -> tuple[Job, ...]:
        """Lifetimes in rounds of one for each scenario; more lifetimes only add rounds."""
        scenarios = self.protocol.scenarios
        return tuple(
            self._job(self.names["lives"][turn * len(scenarios) + index], "life", plan, turn)
            for turn in range(self.protocol.lifetimes)
            for index, plan in enumerate(scenarios)
        )

    @cached_property
    def experts(self) -> tuple[Job, ...]:
        """The experts of each learned task variant, which learn as long as the longest lifetime learns it."""
        return tuple(
            self._job(_expert(label, number), "expert", ScenarioPlan(f"{label}-expert", syllabus), number)
            for label, syllabus in self._learned.items()
            for number in range(self.protocol.experts)
        )

    @cached_property
    def _learned(self) -> Mapping[str, Syllabus]:
        """The syllabus of an expert of each learned task variant; empty if no experts are planned."""
        longest: dict[str, tuple[int, Syllabus]] = {}
        for plan in self.protocol.scenarios if self.protocol.experts else ():
            syllabus = plan.syllabus(0)
            for label in dict.fromkeys(block.task for block in syllabus.scenario.blocks if block.mode == "learn"):
                length = _length(syllabus, label)
                if length and (label not in longest or length > longest[label][0]):
                    longest[label] = (length, single_task_syllabus(syllabus, label))
        return {label: syllabus for label, (_, syllabus) in longest.items()}

    @cached_property
    def twins(self) -> tuple[Job, ...]:
        """Each lifetime again, with a learner that starts again in every block, if the protocol has twins."""
        lives = self.lives if self.protocol.twin else ()
        return tuple(replace(job, id=name, role="twin") for job, name in zip(lives, self.names["twins"], strict=True))

    @cached_property
    def pre_deployment(self) -> Job | None:
        """The lifetime that runs once, before all others."""
        plan = self.protocol.pre_deployment
        return None if plan is None else self._job(PRE_DEPLOYMENT, "life", plan, 0)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Lifetimes, experts and twins, in the order in which they begin: the first results of each come early."""
        return (*self.lives, *self.experts, *self.twins)

    def job(self, identity: str) -> Job:
        """Return the job with this id."""
        if self.pre_deployment is not None and identity == PRE_DEPLOYMENT:
            return self.pre_deployment
        by_id = {job.id: job for job in self.jobs}
        if identity not in by_id:
            raise UnknownNameError(f"lifetime of {self.protocol.name}", identity, by_id)
        return by_id[identity]

    def chosen(self, patterns: tuple[str, ...]) -> tuple[Job, ...]:
        """Return the jobs whose id matches one of `patterns` (`life-00*`); all if no pattern is given.

        Pre-deployment comes before any of them, and may be the only pattern.
        """
        if not patterns:
            return self.jobs
        for pattern in patterns:
            if pattern == PRE_DEPLOYMENT and self.pre_deployment is not None:
                continue
            if not any(fnmatchcase(job.id, pattern) for job in self.jobs):
                raise UnknownNameError(f"lifetime of {self.protocol.name}", pattern, [job.id for job in self.jobs])
        return tuple(job for job in self.jobs if any(fnmatchcase(job.id, pattern) for pattern in patterns))

    def _job(self, identity: str, role: Role, plan: ScenarioPlan, number: int) -> Job:
        key: tuple[Any, ...] = (role if identity != PRE_DEPLOYMENT else identity, plan.name, number)
        seeds = self.protocol.seeds.under(*key)
        seed = seed_for(self.protocol.seed, *key) % 2**31
        return Job(identity, role, plan.name, plan.syllabus(seeds.scenario), seed, seeds)


class Shard(Struct, frozen=True):
    """Part `number`, from 1 on, of `count`."""

    number: int
    count: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a shard from text such as `2/16`."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count <= _MOST_SHARDS:
            raise ProtocolError(f"--shard is {text!r}", "expected a part and a count, from 1/16 to 16/16")
        return cls(number, count)

    def part_of(self, plan: RunPlan, jobs: Sequence[Job]) -> tuple[Job, ...]:
        """Return the jobs of this shard: every `count`-th of the whole plan, so that all shards have as many."""
        own_jobs = {job.id for job in plan.jobs[self.number - 1 :: self.count]}
        return tuple(job for job in jobs if job.id in own_jobs)


def _expert(label: str, number: int) -> str:
    """Return the id of an expert; a task name that cannot name a folder, such as ALE/Pong-v5, is encoded."""
    safe = folder_name(label) if "%" in label or name_fault(f"{label}-000000") else label
    return f"{safe}-{number:02d}"


def _length(syllabus: Syllabus, label: str) -> int:
    """Return how long a task is learned awake, in experiences or in steps."""
    return sum(
        (steps or 0) if block.length is None else block.length
        for block, steps in zip(syllabus.scenario.blocks, syllabus.steps, strict=True)
        if block.mode == "learn" and block.task == label and block.subtype == "wake"
    )
