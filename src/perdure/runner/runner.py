"""Prepare and run one protocol for one learner: check everything first, then run the missing jobs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from perdure.cluster import cores, is_installed
from perdure.errors import PerdureError, ProtocolError
from perdure.lazy import pl
from perdure.learners.find import find_maker
from perdure.log.places import is_url
from perdure.results import Tabular, to_plain
from perdure.runner.engines import Event, Tell, Work, engine_check
from perdure.runner.engines import engine as engine_called
from perdure.runner.folder import RunFolder
from perdure.runner.job import describe_failure
from perdure.runner.plan import PRE_DEPLOYMENT, Job, RunPlan, Shard
from perdure.runner.protocol import Protocol
from perdure.scenario.parameters import draw_parameters
from perdure.stopping import Stopped
from perdure.tasks.catalogue import check_params, task_kind


def check_plan(
    plan: RunPlan, folder: RunFolder, jobs: Sequence[Job], paths: Sequence[Path], engine: str = "local"
) -> None:
    """Refuse a folder with another protocol's lifetimes, and a learner or tasks that cannot be made.

    If all lifetimes are finished, only the folder is checked.
    """
    folder.refuse_others(plan.protocol)
    missing = [job for job in jobs if not folder.is_finished(job)]
    if not missing:
        return
    check = engine_check(engine)
    check_jobs(plan, missing, paths, check and partial(check, plan, folder, missing), "nothing was run: ")


def check_jobs(
    plan: RunPlan,
    jobs: Sequence[Job],
    paths: Sequence[Path],
    check: Callable[[], Any] | None = None,
    prefix: str = "",
) -> None:
    """Refuse a learner or tasks that cannot be made, after `prefix`; an engine may have its own `check`."""
    protocol = plan.protocol
    jobs = (*jobs, *([plan.pre_deployment] if plan.pre_deployment else ()))
    with importable(paths):
        if check:
            errors = [_problem(check)]
        else:
            errors = [_problem(partial(find_maker, protocol.learner, protocol.params)), *_task_problems(jobs)]
    if problems := list({str(problem): problem for problem in errors if problem}.values()):
        *before, last = problems
        place = protocol.place
        earlier = "".join(f"{problem}\n  and: " for problem in before)
        what = last.detail if last.file == place else last.without_fix
        raise ProtocolError(f"{prefix}{earlier}{what}", last.fix, file=place)


@contextmanager
def importable(paths: Sequence[Path]) -> Iterator[None]:
    """Put the user's folders on the import path.

    A module of the same name that an earlier run imported from another folder is removed from `sys.modules`.
    """
    before = list(sys.path)
    folders = [path.resolve() for path in paths]
    for name in [name for name in tuple(sys.modules) if "." not in name and _is_elsewhere(name, folders)]:
        for loaded in [loaded for loaded in tuple(sys.modules) if loaded.partition(".")[0] == name]:
            del sys.modules[loaded]
    sys.path[:0] = map(str, folders)
    try:
        yield
    finally:
        sys.path[:] = before


def _is_elsewhere(name: str, folders: Sequence[Path]) -> bool:
    """Return whether a loaded module of the user differs from the one that would be imported from `folders`."""
    file = getattr(sys.modules[name], "__file__", None)
    if file is None or is_installed(Path(file).resolve()):
        return False
    candidates = (place for folder in folders for place in (folder / f"{name}.py", folder / name / "__init__.py"))
    module = next((place for place in candidates if place.is_file()), None)
    return module is not None and module != Path(file).resolve()


def _task_problems(jobs: Sequence[Job]) -> Iterator[PerdureError | None]:
    """Check each task, and each block's parameters as drawn for its first experience."""
    unknown: set[str] = set()
    checked: set[tuple[str, str, str]] = set()
    for job in jobs:
        tasks = {task.label: task for task in job.syllabus.scenario.tasks}
        for index, block in enumerate(job.syllabus.scenario.blocks):
            task = tasks[block.task]
            named = task.env or task.name
            key = (task.label, named, json.dumps(block.params, sort_keys=True, default=str))
            if named in unknown or key in checked:
                continue
            checked.add(key)
            problem = _problem(partial(task_kind, task), task.label)
            if problem is not None:
                unknown.add(named)
                yield problem
                continue
            params = draw_parameters(block.params, job.seeds.scenario, index, 0)
            yield _problem(partial(check_params, task_kind(task), task.label, params), task.label)


def _problem(check: Callable[[], Any], task: str | None = None) -> PerdureError | None:
    """Return the error that `check` raises, with the task as its place; None if it raises nothing."""
    try:
        check()
    except Stopped:
        raise
    except (Exception, SystemExit) as problem:  # importing the user's module may raise anything
        error = (
            problem if isinstance(problem, PerdureError) else PerdureError(describe_failure(problem), "mend it there")
        )
        where = None if task is None else f"the task {task!r}"
        return error if where in (None, error.where) else error.with_place(where=where)
    return None


_REPR = 40  # characters of a shortened place


class RunResult(Tabular, Struct, frozen=True):
    """Result of a run: each lifetime, expert and twin of one learner.

    Attributes
    ----------
    folder
        The run folder.
    plan
        All jobs of the protocol.
    lived
        Ids of the jobs that this run completed, in the plan's order.
    failed
        Id → the reason of a failed job.
    notes
        Remarks about the lifetimes of this run, without repetitions.
    stopped
        Reason for not starting the rest, if the first lifetimes all failed in the same way.
    """

    JSON: ClassVar = ("lived", "failed", "stopped", "notes")

    folder: RunFolder
    plan: RunPlan
    lived: tuple[str, ...]
    failed: dict[str, str]
    notes: tuple[str, ...] = ()
    stopped: str | None = None

    def __repr__(self) -> str:
        counts = f"{len(self.lived)} lived, {len(self.failed)} failed, {len(self.missing)} missing"
        return f"RunResult({self.plan.protocol.title!r}, {counts})"

    def __len__(self) -> int:
        return len(self.plan.jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.plan.jobs)

    def table(self) -> pl.DataFrame:
        """Return one row per lifetime, expert and twin: whether it is finished, and why it failed."""
        finished = pl.Series("finished", [self.folder.is_finished(job) for job in self], pl.Boolean())
        failed = pl.Series("failed", [self.failed.get(job.id) for job in self], pl.String())
        return _jobs(self.plan.jobs).with_columns(finished, failed)

    @property
    def finished_lives(self) -> tuple[Path, ...]:
        """The logs of all finished lifetimes."""
        return tuple(self.folder.place(job) for job in self.plan.lives if self.folder.is_finished(job))

    @property
    def missing(self) -> tuple[str, ...]:
        """The ids of unfinished jobs."""
        return tuple(job.id for job in self.plan.jobs if not self.folder.is_finished(job))


class PreparedRun(Tabular, Struct, frozen=True):
    """A run of one learner that can begin. Nothing has run or been written yet.

    Attributes
    ----------
    into
        Path of the run folder.
    folder
        The run folder.
    plan
        All jobs of the protocol.
    chosen
        Jobs to run, finished ones included.
    missing
        Jobs that were not finished when the run was prepared.
    workers
        Number of processes. None if the engine decides.
    only
        Patterns of the ids to run.
    engine
        Name of the engine.
    address
        Address of the Ray cluster.
    shard
        Part to run.
    paths
        Folders with modules of the user.
    accept_changed_learner
        Whether an unfinished lifetime continues if its learner's code changed.
    """

    into: str
    folder: RunFolder
    plan: RunPlan
    chosen: tuple[Job, ...]
    missing: tuple[Job, ...]
    workers: int | None
    only: tuple[str, ...] = ()
    engine: str = "local"
    address: str | None = None
    shard: Shard | None = None
    paths: tuple[Path, ...] = ()
    accept_changed_learner: bool = False

    def __repr__(self) -> str:
        counts = f"{len(self.missing)} of {len(self)} to run"
        place = self.into if len(self.into) <= _REPR else f"…{self.into[-_REPR:]}"
        return f"PreparedRun({self.plan.protocol.title!r}, {counts}, into {place!r})"

    def __len__(self) -> int:
        return len(self.chosen)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.chosen)

    def table(self) -> pl.DataFrame:
        """Return one row per chosen job: its length, its seed, and whether it is missing."""
        missing = set(self.missing)
        return _jobs(self.chosen).with_columns(
            pl.Series("experiences", [job.experiences for job in self], pl.Int64()),
            pl.Series("seed", [str(job.seed) for job in self], pl.String()),
            pl.Series("missing", [job in missing for job in self], pl.Boolean()),
        )

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to run, pre-deployment included."""
        return not self.missing and PRE_DEPLOYMENT not in self.only

    def as_json(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        plan, protocol = self.plan, self.plan.protocol
        return {
            "protocol": protocol.name,
            "digest": protocol.digest,
            "learner": protocol.title,
            "scenarios": [scenario.name for scenario in protocol.scenarios],
            "lifetimes": protocol.lifetimes,
            "lives": len(plan.lives),
            "experts": len(plan.experts),
            "experts_per_task": protocol.experts,
            "twins": len(plan.twins),
            "experiences": sum(job.experiences for job in plan.jobs),
            "missing": [job.id for job in self.missing],
            "seeds": {job.id: {"seed": job.seed, **to_plain(job.seeds)} for job in plan.jobs},
        }

    def live(self, tell: Tell | None = None) -> RunResult:
        """Run the missing jobs; `tell` is called with events meanwhile."""
        folder, protocol, first = self.folder, self.plan.protocol, self.plan.pre_deployment
        failed: dict[str, str] = {}
        notes: dict[str, None] = {}
        stopped: list[str] = []
        done: set[str] = set()

        def record_event(event: Event) -> None:
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
                record_event,
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
        failed = {**failed, **self._deleted_reasons(done, failed)}
        lived = tuple(job.id for job in missing if job.id not in failed and (not stopped or folder.is_finished(job)))
        return RunResult(folder, self.plan, lived, failed, tuple(notes), stopped[0] if stopped else None)

    def _deleted_reasons(self, done: set[str], failed: Mapping[str, str]) -> dict[str, str]:
        """Return why each lifetime counts as failed that was finished and is not in the folder any more."""
        deleted = [job for job in self._missing() if job.id in done and job.id not in failed]
        return {job.id: gone_after_its_end(self.folder.place(job)) for job in deleted}

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
    """Check everything that a run needs, and refuse a run that cannot succeed; see `perdure.run`."""
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


def gone_after_its_end(life: Path) -> str:
    """Return the line about a lifetime that was finished and is not in its folder any more."""
    return f"{life}: was removed or changed after it was finished; make sure that nothing removes it, and run again"


def _jobs(jobs: Sequence[Job]) -> pl.DataFrame:
    rows = [(job.id, job.role, job.scenario) for job in jobs]
    return pl.DataFrame(rows, schema=dict.fromkeys(("id", "role", "scenario"), pl.String()), orient="row")
