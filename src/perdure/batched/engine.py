"""Run a protocol as one program, and make lifetimes of the arrays it returns.

The program itself is in `live.py`. Chunks that ran elsewhere and were copied to `.run/batched` are taken as if they
had run here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.batched.arrays import Chunk, chunks_in
from perdure.batched.devices import prepare_devices
from perdure.errors import MissingExtraError, ProtocolError
from perdure.log.formats.bulk import SUFFIX
from perdure.log.model import Direction
from perdure.log.write.bulk import Cohort, write_cohorts
from perdure.runner.engines import Event, Work
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan
from perdure.scenario.model import FACTS

_MEASURES: Mapping[str, Direction] = {"reward": "higher", "accuracy": "higher", "error": "lower"}


def check_batched(plan: RunPlan, folder: RunFolder, jobs: Sequence[Job]) -> None:
    """Raise an error if the jobs cannot run as one program; jobs that ran elsewhere are not checked."""
    if not _left(plan, folder, jobs):
        return
    if find_spec("jax") is None:
        raise MissingExtraError("jax", "jax", "the batched engine")
    prepare_devices()
    from perdure.batched.program import Program

    if len(plan.protocol.tells) < len(FACTS):
        raise ProtocolError(
            "batched learners are told task, boundaries and mode", "use --engine local, or remove tells", where="tells"
        )
    program = Program(plan)
    _ = program.learner
    first = next(program.chunks(jobs, 1), ())
    for index in range(len(first[0].syllabus.scenario.blocks) if first else 0):
        program.spec(first, index, 1)


def live_batched(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Run all `jobs` at once; return the reason of each failure, by id."""
    plan = RunPlan(work.folder.protocol())
    notes: tuple[str, ...] = ()
    left = _left(plan, work.folder, jobs)
    if left:
        prepare_devices()
        from perdure.batched.live import live
        from perdure.batched.program import Program

        for job in left:
            work.tell(Event("begun", job.id))

        def tell(members: Sequence[Job], blocks: int) -> None:
            for job in members:
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
    """Write the lifetimes of all finished chunks, and remove the chunks; return the reason of each failure, by id."""
    jobs = {job.id: job for job in plan.jobs}
    failed: dict[str, str] = {}
    groups: dict[Any, _Group] = {}
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
        for job, values, why in _lifetimes(chunk, [jobs[identity] for identity in facts.jobs]):
            if folder.is_finished(job):
                continue
            if why is not None:
                failed[job.id] = why
                continue
            blocks = tuple((block.mode, block.task, block.length) for block in job.syllabus.scenario.blocks)
            key = (job.folder, facts.size, facts.device, facts.learner_digest, job.scenario, blocks)
            group = groups.setdefault(key, _Group(chunk))
            group.jobs.append(job)
            group.values.append(values)
    for file_key in dict.fromkeys(key[:3] for key in groups):
        _write(plan, folder, [group for key, group in groups.items() if key[:3] == file_key])
    for chunk in done:
        chunk.remove()
    return failed


class _Group(Struct):
    """Lifetimes of one scenario and order."""

    chunk: Chunk
    jobs: list[Job] = []
    values: list[dict[str, np.ndarray]] = []

    def cohort(self, plan: RunPlan) -> Cohort:
        first = self.jobs[0]
        scenario = first.syllabus.scenario
        # Lifetimes of one order have different seeds, which the protocol gives by their ids.
        composed = {key: value for key, value in scenario.info.get("composed", {}).items() if key != "seed"}
        return Cohort(
            replace(scenario, info={**scenario.info, **({"composed": composed} if composed else {})}),
            [job.id for job in self.jobs],
            [job.seed for job in self.jobs],
            {name: np.stack([values[name] for values in self.values]) for name in self.values[0]},
            {
                "name": plan.protocol.name,
                "digest": plan.protocol.digest,
                "tells": [*FACTS],
                "scenario": first.scenario,
                "learner_digest": self.chunk.facts.learner_digest,
            },
        )


def _write(plan: RunPlan, folder: RunFolder, groups: Sequence[_Group]) -> None:
    """Write lifetimes, or experts, to a new file of the run folder."""
    first = groups[0].jobs[0]
    place = folder.path / first.folder
    place.mkdir(parents=True, exist_ok=True)
    number = len(list(place.glob(f"batch-*{SUFFIX}")))
    cohorts = [group.cohort(plan) for group in groups]
    facts = groups[0].chunk.facts
    engine = {
        "name": "batched",
        "lives_at_once": facts.size,
        "devices": facts.devices,
        "device": facts.device,
        "versions": dict(facts.versions),
    }
    write_cohorts(
        place / f"batch-{number:03d}{SUFFIX}",
        cohorts,
        measures={name: _MEASURES[name] for name in cohorts[0].values if name in _MEASURES},
        learner=plan.protocol.title,
        role="expert" if first.role == "expert" else "life",
        manifest={"engine": engine},
    )


def _lifetimes(chunk: Chunk, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, np.ndarray], str | None]]:
    """Yield each lifetime of a chunk with its values in order, and the reason if it failed."""
    records = [chunk.records(index) for index in range(chunk.facts.blocks)]
    for row, job in enumerate(jobs):
        blocks = job.syllabus.scenario.blocks
        why = None
        bad = next((index for index, record in enumerate(records) if record["unsound"][row]), None)
        if bad is not None:
            why = (
                f"{job.id}: block {bad} ({blocks[bad].mode} {blocks[bad].task}): its weights are not finite any more; "
                "lower its rate; other lifetimes are not affected"
            )
        values = {
            name: np.concatenate(
                [record[name][row, : block.length or 0] for record, block in zip(records, blocks, strict=True)]
            )
            for name in records[0]
            if name != "unsound"
        }
        if "accuracy" in values:
            values["error"] = 1 - values["accuracy"]
        yield job, values, why


def _whole(plan: RunPlan, folder: RunFolder) -> list[Chunk]:
    """Return the finished chunks of this protocol."""
    digest = plan.protocol.digest
    return [chunk for chunk in chunks_in(folder.arrays) if chunk.facts.protocol == digest and chunk.is_whole]


def _left(plan: RunPlan, folder: RunFolder, jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs that are in no finished chunk."""
    finished = {identity for chunk in _whole(plan, folder) for identity in chunk.facts.jobs}
    return [job for job in jobs if job.id not in finished]
