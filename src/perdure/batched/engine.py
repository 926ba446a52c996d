"""Run a protocol as one program, and make lifetimes of the arrays it returns.

The program itself is in `live.py`. Chunks that ran elsewhere and were copied to `.run/batched` are taken as if they
had run here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.batched.arrays import Chunk, chunks_in
from perdure.batched.devices import prepare_devices
from perdure.errors import MissingExtraError, ProtocolError
from perdure.log.formats.bulk import SUFFIX
from perdure.log.model import Direction
from perdure.log.write.bulk import Cohort, write_cohorts
from perdure.runner.engines.work import Event, Work
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan

_MEASURES: Mapping[str, Direction] = {"reward": "higher", "accuracy": "higher", "error": "lower"}


def check_batched(plan: RunPlan, folder: RunFolder, jobs: Sequence[Job]) -> None:
    """Refuse what could not be lived as one program; what was lived elsewhere already is not looked at."""
    if not _left(plan, folder, jobs):
        return
    if find_spec("jax") is None:
        raise MissingExtraError("jax", "jax", "the batched engine")
    prepare_devices()
    from perdure.batched.program import Program

    program = Program(plan)
    _ = program.learner
    for several in program.chunks(jobs, 1):
        for at in range(len(several[0].syllabus.scenario.blocks)):
            program.spec(several, at, 1)
        break


def live_batched(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Live all `jobs` at once; what failed, by id, and why."""
    plan = RunPlan(work.folder.protocol())
    notes: tuple[str, ...] = ()
    left = _left(plan, work.folder, jobs)
    if left:
        prepare_devices()
        from perdure.batched.live import live
        from perdure.batched.program import Program

        for job in left:
            work.tell(Event("begun", job.id))

        def tell(several: Sequence[Job], blocks: int) -> None:
            for job in several:
                lengths = [block.length or 0 for block in job.syllabus.scenario.blocks[:blocks]]
                work.tell(Event("progress", job.id, done=sum(lengths)))

        notes = live(
            Program(plan),
            left,
            work.folder.arrays,
            tell=tell,
            note=lambda text: work.tell(Event("note", left[0].id, notes=(text,))),
            accept_changed_learner=work.accept_changed_learner,
        ).notes
        limits = plan.protocol.limits
        if limits.seconds_per_life is not None or limits.gigabytes_per_life is not None:
            notes += ("seconds_per_life and gigabytes_per_life were not enforced: batched lifetimes share both",)
    failed = convert(plan, work.folder, {job.id for job in jobs})
    for job in jobs:
        why = failed.get(job.id)
        work.tell(Event("failed" if why else "done", job.id, done=job.experiences, why=why, notes=notes))
    return failed


def convert(plan: RunPlan, folder: RunFolder, wanted: set[str] | None = None) -> dict[str, str]:
    """Make lifetimes of the chunks that were lived to their end, and remove their arrays; what failed, and why."""
    jobs = {job.id: job for job in plan.jobs}
    failed: dict[str, str] = {}
    gathered: dict[Any, _Gathered] = {}
    done = []
    for chunk in _whole(plan, folder):
        facts = chunk.facts
        if wanted is not None and not wanted.intersection(facts.jobs):
            continue
        unknown = [identity for identity in facts.jobs if identity not in jobs]
        if unknown:
            raise ProtocolError(
                f"holds {unknown[0]}, which the protocol does not plan",
                "ask for at least as many lifetimes and experts as were run",
                file=chunk.folder,
            )
        done.append(chunk)
        for job, values, why in _lived(chunk, [jobs[identity] for identity in facts.jobs]):
            if folder.is_finished(job):
                continue
            if why is not None:
                failed[job.id] = why
                continue
            blocks = tuple((block.mode, block.task, block.length) for block in job.syllabus.scenario.blocks)
            key = (job.folder, facts.size, facts.device, facts.learner_digest, job.scenario, blocks)
            gathered.setdefault(key, _Gathered(job, facts_of(chunk), facts.learner_digest)).add(job, values)
    for kind in dict.fromkeys(key[:3] for key in gathered):
        some = [one for key, one in gathered.items() if key[:3] == kind]
        _write(plan, folder, some)
    for chunk in done:
        chunk.remove()
    return failed


def facts_of(chunk: Chunk) -> dict[str, Any]:
    """What a manifest says of how lives were lived."""
    facts = chunk.facts
    return {
        "engine": {
            "name": "batched",
            "lives_at_once": facts.size,
            "devices": facts.devices,
            "device": facts.device,
            "versions": dict(facts.versions),
        }
    }


class _Gathered(Struct):
    """Lives of one scenario and order."""

    first: Job
    manifest: dict[str, Any]
    learner_digest: str | None
    jobs: list[Job] = []
    values: list[dict[str, np.ndarray]] = []

    def add(self, job: Job, values: dict[str, np.ndarray]) -> None:
        self.jobs.append(job)
        self.values.append(values)

    def cohort(self, plan: RunPlan) -> Cohort:
        protocol, scenario = plan.protocol, self.first.syllabus.scenario
        # Lives of one order come from seeds of their own, which the protocol tells by their ids.
        composed = {key: value for key, value in scenario.info.get("composed", {}).items() if key != "seed"}
        return Cohort(
            replace(scenario, info={**scenario.info, **({"composed": composed} if composed else {})}),
            [job.id for job in self.jobs],
            [job.seed for job in self.jobs],
            {name: np.stack([one[name] for one in self.values]) for name in self.values[0]},
            {
                "name": protocol.name,
                "digest": protocol.digest,
                "scenario": self.first.scenario,
                "learner_digest": self.learner_digest,
            },
        )


def _write(plan: RunPlan, folder: RunFolder, some: Sequence[_Gathered]) -> None:
    """Lives, or experts, into one file more of the run folder."""
    place = folder.path / some[0].first.folder
    place.mkdir(parents=True, exist_ok=True)
    number = len(list(place.glob(f"batch-*{SUFFIX}")))
    role: Literal["life", "expert"] = "expert" if some[0].first.role == "expert" else "life"
    cohorts = [one.cohort(plan) for one in some]
    write_cohorts(
        place / f"batch-{number:03d}{SUFFIX}",
        cohorts,
        measures={name: _MEASURES[name] for name in cohorts[0].values if name in _MEASURES},
        learner=plan.protocol.title,
        role=role,
        manifest=some[0].manifest,
    )


def _lived(chunk: Chunk, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, np.ndarray], str | None]]:
    """Each life of a chunk, its values one block behind the other, and why it came to nothing if it did."""
    blocks = [chunk.records(at) for at in range(chunk.facts.blocks)]
    for row, job in enumerate(jobs):
        lengths = [block.length or 0 for block in job.syllabus.scenario.blocks]
        why = None
        for at, found in enumerate(blocks):
            if found["unsound"][row]:
                block = job.syllabus.scenario.blocks[at]
                why = (
                    f"{job.id}: block {at} ({block.mode} {block.task}): its weights are not finite any more; "
                    "lower its rate; other lifetimes are not affected"
                )
                break
        names = [name for name in blocks[0] if name != "unsound"]
        values = {
            name: np.concatenate([found[name][row, :length] for found, length in zip(blocks, lengths, strict=True)])
            for name in names
        }
        if "accuracy" in values:
            values["error"] = 1 - values["accuracy"]
        yield job, values, why


def _whole(plan: RunPlan, folder: RunFolder) -> list[Chunk]:
    """The chunks of this protocol that were lived to their end."""
    digest = plan.protocol.digest
    return [one for one in chunks_in(folder.arrays) if one.facts.protocol == digest and one.is_whole]


def _left(plan: RunPlan, folder: RunFolder, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that no chunk holds to its end."""
    there = {identity for chunk in _whole(plan, folder) for identity in chunk.facts.jobs}
    return [job for job in jobs if job.id not in there]
