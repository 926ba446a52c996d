"""run_protocol: plan, live what is missing, survive what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from perdure.errors import PerdureError, ProtocolError
from perdure.run.away import away_of, brought, home_of
from perdure.run.before import check_before, importable
from perdure.run.engines import engine as engine_called
from perdure.run.engines.work import Event, Tell, Work
from perdure.run.folder import RunFolder
from perdure.run.plan import Plan
from perdure.run.protocol import Protocol, parse_protocol, read_protocol
from perdure.run.shard import Shard

__all__ = ["RunResult", "cores", "run_protocol"]


@dataclass(frozen=True)
class RunResult:
    """What a run came to."""

    folder: RunFolder
    plan: Plan
    lived: tuple[str, ...]
    """What this run lived, in the plan's order; empty where everything was there."""
    failed: dict[str, str] = field(hash=False)
    """What could not be lived, and why."""
    notes: tuple[str, ...] = ()
    """What is odd about the lives that this run lived, each thing once."""
    stopped: str | None = None
    """Why what is left was not begun: the first lives all failed alike."""

    @property
    def finished_lives(self) -> tuple[Path, ...]:
        """The logs of all lives that reached their end."""
        return tuple(self.folder.place(job) for job in self.plan.lives if self.folder.is_finished(job))

    @property
    def finished_twins(self) -> tuple[Path, ...]:
        """The logs of all stateless twins that reached their end."""
        return tuple(self.folder.place(job) for job in self.plan.twins if self.folder.is_finished(job))

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to be lived."""
        return tuple(job.id for job in self.plan.jobs if not self.folder.is_finished(job))


def run_protocol(
    protocol: Protocol | Mapping[str, Any] | str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    workers: int | None = None,
    only: Sequence[str] = (),
    tell: Tell | None = None,
    paths: Sequence[Path] = (),
    engine: str = "local",
    address: str | None = None,
    shard: Shard | None = None,
) -> RunResult:
    """Live what is missing of a protocol's lives and experts, and say what came of it.

    A protocol is a TOML file's path, or its content.
    `workers` is the number of processes, one per core by default; 0 lives everything in this process.
    `engine` is where: "local"; "ray" for the cluster at `address`, at RAY_ADDRESS, or one started here, where `workers`
    is how many may be lived at once, by default as many as there is room for; or "batched", all lives in one program,
    for learners that can.
    `only` are ids or patterns of them. Modules of one's own are found beside the protocol, in the
    current folder, and in `paths`. With `shard`, only that part is lived; several may share the folder
    at once, one shard each. `into` may be a URL (`s3://bucket/runs/mine`): records are brought there as
    blocks end, and what is there is gone on with. One learner's failure is not the others': see `RunResult.failed`.
    """
    beside: tuple[Path, ...] = ()
    if isinstance(protocol, Mapping):
        protocol = parse_protocol(protocol)
    elif not isinstance(protocol, Protocol):
        file = Path(protocol)
        beside = (file.resolve().parent,)
        protocol = read_protocol(file)
    live = engine_called(engine)
    away = away_of(into)
    folder = RunFolder(home_of(into))
    protocol = folder.planned(protocol)
    plan = Plan(protocol)
    chosen = plan.chosen(tuple(only))
    if shard is not None:
        chosen = shard.part_of(plan, chosen)
    count = (cores() if engine == "local" else 0) if workers is None else workers
    places = (*beside, *paths, Path.cwd())
    check_before(plan, folder, chosen, places, engine)
    failed: dict[str, str] = {}
    notes: dict[str, None] = {}
    stopped: list[str] = []

    def told(event: Event) -> None:
        notes.update(dict.fromkeys(event.notes))
        if event.kind == "stopped" and event.why is not None:
            stopped.append(event.why)
        if tell is not None:
            tell(event)

    first = plan.pre_deployment
    missing = tuple(job for job in chosen if not folder.is_finished(job))
    if not missing and (first is None or folder.is_finished(first)) and folder.holds(protocol):
        return RunResult(folder, plan, (), {})  # without a lock, so also where the folder can only be read
    jobs = missing if first is None else (first, *missing)
    with (
        folder.locked(shard, partial(_claim, folder, protocol)) as locks,
        importable(places),
        brought(away, jobs, told) as (tell_all, unbrought),
    ):
        label = "" if shard is None else f"{shard.number}-"
        work = Work(folder, tell_all, count, places, locks, label, address)
        if first is not None and not folder.is_finished(first):
            if shard is not None:
                raise ProtocolError(
                    f"{folder.path}: pre-deployment comes before all shards; run it once, "
                    f"with --only {first.id}, and then the shards"
                )
            failed = live((first,), work)
            if failed:
                raise PerdureError(f"pre-deployment failed, so nothing else can be run: {failed[first.id]}")
        missing = tuple(job for job in chosen if not folder.is_finished(job))
        if missing:
            failed = live(missing, work)
    failed = {**failed, **unbrought}
    lived = tuple(job.id for job in missing if job.id not in failed and (not stopped or folder.is_finished(job)))
    return RunResult(folder, plan, lived, failed, tuple(notes), stopped[0] if stopped else None)


def _claim(folder: RunFolder, protocol: Protocol, alone: bool) -> None:
    folder.claim(protocol, alone=alone)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
