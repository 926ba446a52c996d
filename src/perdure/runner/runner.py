"""One learner through its protocol: prepare, live what is missing, survive what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from perdure.errors import PerdureError, ProtocolError
from perdure.lazy import pl
from perdure.log.places import is_url
from perdure.results import Tabular
from perdure.runner.engines import Event, Tell, Work
from perdure.runner.engines import engine as engine_called
from perdure.runner.folder import RunFolder
from perdure.runner.plan import PRE_DEPLOYMENT, Job, RunPlan, Shard
from perdure.runner.preflight import check_plan, importable
from perdure.runner.protocol import Protocol, parse_protocol, read_protocol

_REPR = 40  # signs of a place that a short word shows


class RunResult(Tabular, Struct, frozen=True):
    """What a run came to: each life, expert and twin of one learner."""

    folder: RunFolder
    plan: RunPlan
    lived: tuple[str, ...]
    """What this run lived, in the plan's order; empty where everything was there."""
    failed: dict[str, str]
    """What could not be lived, and why."""
    notes: tuple[str, ...] = ()
    """What is odd about the lives that this run lived, each thing once."""
    stopped: str | None = None
    """Why what is left was not begun: the first lives all failed alike."""

    def __repr__(self) -> str:
        counts = f"{len(self.lived)} lived, {len(self.failed)} failed, {len(self.missing)} missing"
        return f"RunResult({self.plan.protocol.title!r}, {counts})"

    def __len__(self) -> int:
        return len(self.plan.jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.plan.jobs)

    def table(self) -> pl.DataFrame:
        """One row per life, expert and twin: whether it is finished, and why it failed."""
        finished = pl.Series("finished", [self.folder.is_finished(job) for job in self], pl.Boolean())
        failed = pl.Series("failed", [self.failed.get(job.id) for job in self], pl.String())
        return _jobs(self.plan.jobs).with_columns(finished, failed)

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

    def as_json(self) -> dict[str, Any]:
        """What came of it, for a machine."""
        return {"lived": self.lived, "failed": self.failed, "stopped": self.stopped, "notes": self.notes}


class PreparedRun(Tabular, Struct, frozen=True):
    """A run that can begin: what is to be lived, where and how. Nothing was lived or written yet."""

    into: str
    folder: RunFolder
    """Where it is worked on: `into`, or a copy of what that names."""
    plan: RunPlan
    chosen: tuple[Job, ...]
    """What was asked for."""
    missing: tuple[Job, ...]
    """What of it was not finished when it was prepared."""
    workers: int | None
    """Processes; None where the engine decides."""
    only: tuple[str, ...] = ()
    engine: str = "local"
    address: str | None = None
    shard: Shard | None = None
    paths: tuple[Path, ...] = ()
    accept_changed_learner: bool = False
    """Whether an unfinished lifetime continues if its learner's code changed."""

    def __repr__(self) -> str:
        counts = f"{len(self.missing)} of {len(self)} to run"
        place = self.into if len(self.into) <= _REPR else f"…{self.into[-_REPR:]}"
        return f"PreparedRun({self.plan.protocol.title!r}, {counts}, into {place!r})"

    def __len__(self) -> int:
        return len(self.chosen)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.chosen)

    def table(self) -> pl.DataFrame:
        """One row per life, expert and twin that was asked for: how long, from which seed, whether it is missing."""
        missing = set(self.missing)
        return _jobs(self.chosen).with_columns(
            pl.Series("experiences", [job.experiences for job in self], pl.Int64()),
            pl.Series("seed", [str(job.seed) for job in self], pl.String()),
            pl.Series("missing", [job in missing for job in self], pl.Boolean()),
        )

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing to live, also before all lives."""
        return not self.missing and PRE_DEPLOYMENT not in self.only

    def as_json(self) -> dict[str, Any]:
        """The plan for a machine."""
        plan, protocol = self.plan, self.plan.protocol
        return {
            "protocol": protocol.name,
            "digest": protocol.digest,
            "learner": protocol.title,
            "scenarios": [one.name for one in protocol.scenarios],
            "lifetimes": protocol.lifetimes,
            "lives": len(plan.lives),
            "experts": len(plan.experts),
            "experts_per_task": protocol.experts,
            "twins": len(plan.twins),
            "experiences": sum(job.experiences for job in plan.jobs),
            "missing": [job.id for job in self.missing],
            "seeds": {job.id: {"seed": job.seed, **job.seeds.as_json()} for job in plan.jobs},
        }

    def live(self, tell: Tell | None = None) -> RunResult:
        """Live what is missing, and say what came of it; `tell` hears of it while it happens."""
        folder, protocol, first = self.folder, self.plan.protocol, self.plan.pre_deployment
        failed: dict[str, str] = {}
        notes: dict[str, None] = {}
        stopped: list[str] = []
        done: set[str] = set()

        def told(event: Event) -> None:
            notes.update(dict.fromkeys(event.notes))
            if event.kind == "done":
                done.add(event.id)
            if event.kind == "stopped" and event.why is not None:
                stopped.append(event.why)
            if tell is not None:
                tell(event)

        missing = self._missing()
        if not missing and (first is None or folder.is_finished(first)) and folder.holds(protocol):
            return RunResult(folder, self.plan, (), {})  # without a lock, so also where the folder can only be read
        live = engine_called(self.engine)
        with (
            folder.locked(self.shard, lambda alone: folder.claim(protocol, alone=alone)) as locks,
            importable(self.paths),
        ):
            label = "" if self.shard is None else f"{self.shard.number}-"
            work = Work(
                folder,
                told,
                self.workers or 0,
                self.paths,
                locks,
                label,
                self.address,
                self.accept_changed_learner,
            )
            if first is not None and not folder.is_finished(first):
                if self.shard is not None:
                    raise ProtocolError(
                        "pre-deployment comes before all shards",
                        f"run it once, with --only {first.id}, and then the shards",
                        file=folder.path,
                    )
                failed = live((first,), work)
                if failed:
                    raise PerdureError(
                        f"pre-deployment failed, so nothing else can be run: {failed[first.id]}",
                        "mend that, and run again",
                    )
            missing = self._missing()
            done.update(job.id for job in self.chosen if job not in missing)
            if missing:
                failed = live(missing, work)
        failed = {**failed, **self._removed(done, failed)}
        lived = tuple(job.id for job in missing if job.id not in failed and (not stopped or folder.is_finished(job)))
        return RunResult(folder, self.plan, lived, failed, tuple(notes), stopped[0] if stopped else None)

    def _removed(self, done: set[str], failed: Mapping[str, str]) -> dict[str, str]:
        """Return why each lifetime counts as failed that was finished and is not in the folder any more."""
        gone = [job for job in self._missing() if job.id in done and job.id not in failed]
        return {job.id: gone_after_its_end(self.folder.place(job)) for job in gone}

    def _missing(self) -> tuple[Job, ...]:
        return tuple(job for job in self.chosen if not self.folder.is_finished(job))


def prepare_run(
    protocol: Protocol,
    into: str | os.PathLike[str],
    *,
    workers: int | None = None,
    only: Sequence[str] = (),
    paths: Sequence[Path] = (),
    engine: str = "local",
    address: str | None = None,
    shard: Shard | str | None = None,
    accept_changed_learner: bool = False,
) -> PreparedRun:
    """Look at all that a run needs, and refuse what could not be run; see `perdure.run`."""
    engine_called(engine)
    if is_url(into):
        fix = "run into a folder here, and copy it, as with aws s3 sync"
        raise ProtocolError("a run cannot be written to a URL", fix, where=os.fspath(into))
    folder = RunFolder(Path(into))
    plan, shard = RunPlan(folder.planned(protocol)), Shard.of(shard) if isinstance(shard, str) else shard
    chosen = plan.chosen(tuple(only))
    if shard is not None:
        chosen = shard.part_of(plan, chosen)
    places = (*paths, Path.cwd())
    check_plan(plan, folder, chosen, places, engine)
    return PreparedRun(
        os.fspath(into),
        folder,
        plan,
        chosen,
        tuple(job for job in chosen if not folder.is_finished(job)),
        cores() if workers is None and engine == "local" else workers,
        tuple(only),
        engine,
        address,
        shard,
        places,
        accept_changed_learner,
    )


def run_learner(
    protocol: Protocol | Mapping[str, Any] | str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    tell: Tell | None = None,
    paths: Sequence[Path] = (),
    **how: Any,
) -> RunResult:
    """Live what is missing of one learner's lives and experts, without scoring them; `how` as `prepare_run` has it."""
    if isinstance(protocol, Mapping):
        protocol = parse_protocol(protocol)
    elif not isinstance(protocol, Protocol):
        file = Path(protocol)
        paths = (file.resolve().parent, *paths)
        protocol = read_protocol(file)
    return prepare_run(protocol, into, paths=paths, **how).live(tell)


def gone_after_its_end(life: Path) -> str:
    """Return the line about a lifetime that was finished and is not in its folder any more."""
    return f"{life}: was removed or changed after it was finished; make sure that nothing removes it, and run again"


def _jobs(jobs: Sequence[Job]) -> pl.DataFrame:
    rows = [(job.id, job.role, job.scenario) for job in jobs]
    return pl.DataFrame(rows, schema=dict.fromkeys(("id", "role", "scenario"), pl.String()), orient="row")


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
