"""Living on a cluster: each job is a Ray task, in a run folder that all machines see."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from perdure.errors import MissingExtra
from perdure.run.engines.local import worker_environment
from perdure.run.engines.work import Event, Work
from perdure.run.folder import RunFolder
from perdure.run.plan import Job, Plan
from perdure.run.worker import failure_in_words

__all__ = ["live_on_ray"]


def live_on_ray(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Live all `jobs` as Ray tasks, one core each; what failed, by id, and why.

    A running cluster is joined where Ray is told of one (`RAY_ADDRESS`), else one is started here. The
    records are those of a local run: seeds go by key.
    """
    try:
        ray: Any = import_module("ray")
    except ModuleNotFoundError:
        raise MissingExtra("ray", "ray", "running on a cluster") from None
    if not ray.is_initialized():
        variables = {name: value for name, value in worker_environment(work.paths).items() if name.endswith("_THREADS")}
        variables["PYTHONPATH"] = worker_environment(work.paths)["PYTHONPATH"]
        ray.init(runtime_env={"env_vars": variables}, include_dashboard=False, log_to_driver=False)
    remote: Any = ray.remote(num_cpus=1, max_retries=2)(_live_one)
    path = str(work.folder.path.resolve())
    waiting = {}
    for job in jobs:
        work.tell(Event("begun", job.id))
        waiting[remote.remote(path, job.id)] = job
    failed: dict[str, str] = {}
    while waiting:
        (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
        job = waiting.pop(ready)
        try:
            why, notes = ray.get(ready)
        except Exception as problem:  # the task's machine went away more often than it was given another
            why, notes = f"its Ray task died: {type(problem).__name__}: {problem}".splitlines()[0], ()
        if why is not None:
            failed[job.id] = why
        work.tell(Event("done" if why is None else "failed", job.id, done=job.experiences, why=why, notes=notes))
    return failed


def _live_one(path: str, identity: str) -> tuple[str | None, tuple[str, ...]]:
    """Runs on some machine of the cluster: why the life failed, or None; and what is odd about it."""
    from perdure.run.job import live_job

    folder = RunFolder(Path(path))
    plan = Plan(folder.protocol())
    job = plan.job(identity)
    try:
        notes = live_job(plan.protocol, job, folder, lambda _: None)
    except Exception as problem:  # a learner may raise anything; the others go on
        folder.note_failure(job, traceback.format_exc())
        return failure_in_words(problem), ()
    return None, notes
