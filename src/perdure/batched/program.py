"""Program: a plan as arrays: its families of tasks, its learner, and the blocks of each lifetime by number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from perdure.batched.block import Spec
from perdure.batched.learners.interface import BatchedLearner, Setting, make_learner
from perdure.batched.tasks.chance import words_of
from perdure.batched.tasks.family import FamilySwitch, family_of, kind_of
from perdure.errors import ProtocolError
from perdure.runner.plan import Job, RunPlan
from perdure.scenario.model import Block, Task
from perdure.scenario.parameters import draw_parameters, is_drawn


class Program(Struct, frozen=True, dict=True):
    """A plan as the batched engine runs it."""

    plan: RunPlan

    def __post_init__(self) -> None:
        protocol = self.plan.protocol
        if protocol.pre_deployment is not None or protocol.twin:
            feature = "pre-deployment" if protocol.pre_deployment is not None else "twins"
            raise ProtocolError(
                f"the batched engine does not support {feature}",
                "remove it, or use --engine local",
                file=protocol.place,
            )
        for job in self.plan.jobs:
            for index, block in enumerate(job.syllabus.scenario.blocks):
                if block.length is None:
                    raise ProtocolError(
                        f"block {index} ({block.mode} {block.task}) of {job.scenario} is measured in steps",
                        "the batched engine counts experiences: give it a count, or use --engine local",
                        file=protocol.place,
                    )

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """Every task variant, by its label."""
        return {task.label: task for job in self._kinds_of_jobs for task in job.syllabus.scenario.tasks}

    @cached_property
    def switch(self) -> FamilySwitch:
        """The families of all tasks."""
        return FamilySwitch([family_of(kind, params) for kind, params in self._by_kind.items()])

    @cached_property
    def setting(self) -> Setting:
        """The sizes that the learner is made for."""
        first = self.switch.first
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
            for index, block in enumerate(job.syllabus.scenario.blocks):
                learned = is_learned(job, index)
                lengths[learned] = max(lengths[learned], block.length or 0)
        return lengths

    def chunks(self, jobs: Sequence[Job], size: int) -> Iterator[tuple[Job, ...]]:
        """Yield jobs with blocks of the same modes, up to `size` at a time."""
        by_modes: dict[tuple[bool, ...], list[Job]] = {}
        for job in jobs:
            modes = tuple(is_learned(job, index) for index in range(len(job.syllabus.scenario.blocks)))
            by_modes.setdefault(modes, []).append(job)
        for members in by_modes.values():
            yield from (tuple(members[start : start + size]) for start in range(0, len(members), size))

    def spec(self, jobs: Sequence[Job], index: int, size: int) -> Spec:
        """Return block `index` of these lifetimes, padded to `size` with lifetimes of length 0."""
        blocks = [job.syllabus.scenario.blocks[index] for job in jobs]
        rows = [self._numbers(job, index, block) for job, block in zip(jobs, blocks, strict=True)]
        # Every block of a mode has the same number of rows, padded by repetition, so that one program runs them all.
        longest = self.longest[is_learned(jobs[0], index)] if self._draws else 1
        params = np.stack([row if len(row) == longest else np.resize(row, (longest, row.shape[1])) for row in rows])
        labels = {label: number for number, label in enumerate(self.tasks)}
        spec = Spec(
            learner_key=np.array([words_of(job.seeds.learner) for job in jobs], dtype=np.uint32),
            environment_key=np.array([words_of(job.seeds.environment) for job in jobs], dtype=np.uint32),
            number=np.full(len(jobs), index, dtype=np.int32),
            which=np.array([self._which[block.task] for block in blocks], dtype=np.int32),
            task=np.array([labels[block.task] for block in blocks], dtype=np.int32),
            params=params.astype(np.float32),
            length=np.array([block.length for block in blocks], dtype=np.int32),
        )
        padded = Spec(*(_pad(array, size) for array in spec))
        padded.length[len(jobs) :] = 0
        return padded

    def keys(self, jobs: Sequence[Job], size: int) -> np.ndarray:
        """Return the learners' keys, padded to `size`."""
        return _pad(np.array([words_of(job.seeds.learner) for job in jobs], dtype=np.uint32), size)

    @cached_property
    def _kinds_of_jobs(self) -> list[Job]:
        """One job of each scenario and order, which stands for the others."""
        first_jobs: dict[Any, Job] = {}
        for job in self.plan.jobs:
            blocks = job.syllabus.scenario.blocks
            first_jobs.setdefault((job.role, tuple((block.mode, block.task, block.length) for block in blocks)), job)
        return list(first_jobs.values())

    @cached_property
    def _by_kind(self) -> dict[str, list[Mapping[str, Any]]]:
        """The parameters of the tasks and blocks of each family."""
        by_kind: dict[str, list[Mapping[str, Any]]] = {}
        for job in self._kinds_of_jobs:
            for block in job.syllabus.scenario.blocks:
                kind, named = kind_of(self.tasks[block.task])
                by_kind.setdefault(kind, []).append({**named, **block.params})
        return dict(sorted(by_kind.items()))

    def _numbers(self, job: Job, index: int, block: Block) -> np.ndarray:
        """Return the parameters of a block, a row per experience, or one row if nothing is drawn."""
        if self._draws and is_drawn(block.params):
            last = (block.length or 1) - 1
            sets = [
                draw_parameters(block.params, job.seeds.scenario, index, number, number / last if last else 0.0)
                for number in range(last + 1)
            ]
            return np.concatenate([self._row(block.task, params) for params in sets])
        key = (block.task, json.dumps(block.params, sort_keys=True, default=str) if block.params else "")
        if key not in self._known:
            self._known[key] = self._row(block.task, block.params)
        return self._known[key]

    def _row(self, label: str, params: Mapping[str, Any]) -> np.ndarray:
        """Return the parameters of one experience, padded to the widest of all families."""
        _, named = kind_of(self.tasks[label])
        row = self.switch.families[self._which[label]].numbers({**named, **params}, label)
        widest = max(family.width or len(family.parameters) for family in self.switch.families)
        return np.pad(row, (0, widest - len(row)))[None]

    @cached_property
    def _which(self) -> dict[str, int]:
        """The number of each task's family."""
        kinds = list(self._by_kind)
        return {label: kinds.index(kind_of(task)[0]) for label, task in self.tasks.items()}

    @cached_property
    def _draws(self) -> bool:
        """True if any parameter is drawn for each experience."""
        return any(is_drawn(block.params) for job in self._kinds_of_jobs for block in job.syllabus.scenario.blocks)

    @cached_property
    def ready(self) -> dict[Any, Any]:
        """The parts that were compiled so far."""
        return {}

    @cached_property
    def _known(self) -> dict[tuple[str, str], np.ndarray]:
        return {}


def is_learned(job: Job, index: int) -> bool:
    """Return whether the learner may learn in a block."""
    disabled = job.syllabus.infos[index].get("disable_updates", False)
    return job.syllabus.scenario.blocks[index].mode == "learn" and not disabled


def _pad(rows: np.ndarray, size: int) -> np.ndarray:
    """Return `size` rows, filled up with copies of the first."""
    return np.concatenate([rows, np.repeat(rows[:1], size - len(rows), axis=0)])
