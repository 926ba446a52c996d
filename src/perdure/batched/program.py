"""Program: what a protocol comes to as arrays; its families, its learner, and the blocks of each life by number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from perdure.batched.block import Spec
from perdure.batched.learners.find import make_learner
from perdure.batched.learners.interface import BatchedLearner, Setting
from perdure.batched.tasks.chance import words_of
from perdure.batched.tasks.family import FamilySwitch
from perdure.batched.tasks.find import family_of, kind_of
from perdure.errors import ProtocolError
from perdure.runner.plan import Job, RunPlan
from perdure.scenario.model import Block, Task
from perdure.scenario.parameters import drawn, is_drawn


class Program(Struct, frozen=True, dict=True):
    """A plan as the batched engine lives it."""

    plan: RunPlan

    def __post_init__(self) -> None:
        protocol = self.plan.protocol
        if protocol.pre_deployment is not None or protocol.twin:
            what = "pre-deployment" if protocol.pre_deployment is not None else "twins"
            raise ProtocolError(
                f"the batched engine does not support {what}", "remove it, or use --engine local", file=protocol.place
            )
        for job in self.plan.jobs:
            for at, block in enumerate(job.syllabus.scenario.blocks):
                if block.length is None:
                    raise ProtocolError(
                        f"block {at} ({block.mode} {block.task}) of {job.scenario} is measured in steps",
                        "the batched engine counts experiences: give it a count, or use --engine local",
                        file=protocol.place,
                    )

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """Every task variant, by its label."""
        return {task.label: task for job in self._kinds_of_jobs for task in job.syllabus.scenario.tasks}

    @cached_property
    def together(self) -> FamilySwitch:
        """The families of all tasks."""
        return FamilySwitch([family_of(kind, several) for kind, several in self._by_kind.items()])

    @cached_property
    def setting(self) -> Setting:
        """What the learner is made for."""
        first = self.together.first
        most = max(job.syllabus.scenario.learning_experiences for job in self._kinds_of_jobs)
        return Setting(len(self.tasks), first.observation, first.outputs, first.batch, most)

    @cached_property
    def learner(self) -> BatchedLearner:
        """The learner that the protocol names."""
        protocol = self.plan.protocol
        return make_learner(protocol.learner, protocol.params, self.setting)

    @cached_property
    def longest(self) -> dict[bool, int]:
        """The longest block of learning in the whole plan, and the longest evaluation: all others are padded to it."""
        lengths: dict[bool, int] = {True: 1, False: 1}
        for job in self._kinds_of_jobs:
            for at, block in enumerate(job.syllabus.scenario.blocks):
                learned = is_learned(job, at)
                lengths[learned] = max(lengths[learned], block.length or 0)
        return lengths

    def chunks(self, jobs: Sequence[Job], size: int) -> Iterator[tuple[Job, ...]]:
        """Jobs that go through blocks of the same modes, up to `size` at a time."""
        alike: dict[tuple[bool, ...], list[Job]] = {}
        for job in jobs:
            alike.setdefault(tuple(is_learned(job, at) for at in range(len(job.syllabus.scenario.blocks))), []).append(
                job
            )
        for several in alike.values():
            yield from (tuple(several[at : at + size]) for at in range(0, len(several), size))

    def spec(self, jobs: Sequence[Job], at: int, size: int) -> Spec:
        """Block `at` of these lives, filled up to `size` with lives that have nothing to do."""
        blocks = [job.syllabus.scenario.blocks[at] for job in jobs]
        rows = [self._numbers(job, at, block) for job, block in zip(jobs, blocks, strict=True)]
        # As many rows for every block of a mode, filled up by repetition, so that all of them are one program.
        longest = self.longest[is_learned(jobs[0], at)] if self._draws else 1
        params = np.stack([one if len(one) == longest else np.resize(one, (longest, one.shape[1])) for one in rows])
        labels = {label: at for at, label in enumerate(self.tasks)}
        spec = Spec(
            learner_key=np.array([words_of(job.seeds.learner) for job in jobs], dtype=np.uint32),
            environment_key=np.array([words_of(job.seeds.environment) for job in jobs], dtype=np.uint32),
            number=np.full(len(jobs), at, dtype=np.int32),
            which=np.array([self._which[block.task] for block in blocks], dtype=np.int32),
            task=np.array([labels[block.task] for block in blocks], dtype=np.int32),
            params=params.astype(np.float32),
            length=np.array([block.length for block in blocks], dtype=np.int32),
        )
        missing = size - len(jobs)
        filled = Spec(*(np.concatenate([one, np.repeat(one[:1], missing, axis=0)]) for one in spec))
        filled.length[len(jobs) :] = 0
        return filled

    def keys(self, jobs: Sequence[Job], size: int) -> np.ndarray:
        """The learners' keys, filled up to `size`."""
        words = np.array([words_of(job.seeds.learner) for job in jobs], dtype=np.uint32)
        return np.concatenate([words, np.repeat(words[:1], size - len(jobs), axis=0)])

    @cached_property
    def _kinds_of_jobs(self) -> list[Job]:
        """One job of each scenario and order: what there is to know of the others is known from these."""
        seen: dict[Any, Job] = {}
        for job in self.plan.jobs:
            blocks = job.syllabus.scenario.blocks
            seen.setdefault((job.role, tuple((block.mode, block.task, block.length) for block in blocks)), job)
        return list(seen.values())

    @cached_property
    def _by_kind(self) -> dict[str, list[Mapping[str, Any]]]:
        """The parameters that tasks and blocks of each family name."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for job in self._kinds_of_jobs:
            for block in job.syllabus.scenario.blocks:
                kind, named = kind_of(self.tasks[block.task])
                found.setdefault(kind, []).append({**named, **block.params})
        return dict(sorted(found.items()))

    def _numbers(self, job: Job, at: int, block: Block) -> np.ndarray:
        """The parameters of a block's experiences, a row for each, or one for all where nothing is drawn."""
        if self._draws and is_drawn(block.params):
            last = (block.length or 1) - 1
            several = [
                drawn(block.params, job.seeds.scenario, at, number, number / last if last else 0.0)
                for number in range(last + 1)
            ]
            return np.concatenate([self._row(block.task, one) for one in several])
        key = (block.task, json.dumps(block.params, sort_keys=True, default=str) if block.params else "")
        if key not in self._known:
            self._known[key] = self._row(block.task, block.params)
        return self._known[key]

    def _row(self, label: str, params: Mapping[str, Any]) -> np.ndarray:
        """The parameters of one experience, as wide as those of any family."""
        _, named = kind_of(self.tasks[label])
        row = self.together.families[self._which[label]].numbers({**named, **params}, label)
        widest = max(one.width or len(one.parameters) for one in self.together.families)
        return np.pad(row, (0, widest - len(row)))[None]

    @cached_property
    def _which(self) -> dict[str, int]:
        """The number of each task's family."""
        kinds = list(self._by_kind)
        return {label: kinds.index(kind_of(task)[0]) for label, task in self.tasks.items()}

    @cached_property
    def _draws(self) -> bool:
        """Whether any parameter is drawn for each experience."""
        return any(is_drawn(block.params) for job in self._kinds_of_jobs for block in job.syllabus.scenario.blocks)

    @cached_property
    def ready(self) -> dict[Any, Any]:
        """What was compiled of it so far."""
        return {}

    @cached_property
    def _known(self) -> dict[tuple[str, str], np.ndarray]:
        return {}


def is_learned(job: Job, at: int) -> bool:
    """Whether anything may be learned in a block."""
    disabled = job.syllabus.infos[at].get("disable_updates", False)
    return job.syllabus.scenario.blocks[at].mode == "learn" and not disabled
