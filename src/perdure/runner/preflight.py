"""Check a plan before anything is run: the folder, the learner and the tasks, without making any of them.

A problem found here would fail every lifetime.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from perdure.cluster import is_installed
from perdure.errors import PerdureError, ProtocolError
from perdure.learners.find import find_maker
from perdure.runner.engines import engine_check
from perdure.runner.folder import RunFolder
from perdure.runner.job import describe_failure
from perdure.runner.plan import Job, RunPlan
from perdure.scenario.parameters import drawn
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
    if plan.pre_deployment is not None:
        missing.append(plan.pre_deployment)
    with importable(paths):
        protocol = plan.protocol
        if check := engine_check(engine):
            found = [_problem(partial(check, plan, folder, missing))]
        else:
            found = [_problem(partial(find_maker, protocol.learner, protocol.params)), *_task_problems(missing)]
    if problems := list({str(problem): problem for problem in found if problem}.values()):
        *before, last = problems
        place = protocol.place
        said = "".join(f"{one}\n  and: " for one in before)
        what = last.said if last.file == place else last.placed
        raise ProtocolError(f"nothing was run: {said}{what}", last.fix, file=place)


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
    here = (place for folder in folders for place in (folder / f"{name}.py", folder / name / "__init__.py"))
    found = next((place for place in here if place.is_file()), None)
    return found is not None and found != Path(file).resolve()


def _task_problems(jobs: Sequence[Job]) -> Iterator[PerdureError | None]:
    """Check each task, and each block's parameters as drawn for its first experience."""
    unknown: set[str] = set()
    seen: set[tuple[str, str, str]] = set()
    for job in jobs:
        tasks = {task.label: task for task in job.syllabus.scenario.tasks}
        for at, block in enumerate(job.syllabus.scenario.blocks):
            task = tasks[block.task]
            named = task.env or task.name
            key = (task.label, named, json.dumps(block.params, sort_keys=True, default=str))
            if named in unknown or key in seen:
                continue
            seen.add(key)
            problem = _problem(partial(task_kind, task), task.label)
            if problem is not None:
                unknown.add(named)
                yield problem
                continue
            params = drawn(block.params, job.seeds.scenario, at, 0)
            yield _problem(partial(check_params, task_kind(task), task.label, params), task.label)


def _problem(check: Callable[[], Any], task: str | None = None) -> PerdureError | None:
    """Return the error that `check` raises, with the task as its place; None if it raises nothing."""
    try:
        check()
    except Stopped:
        raise
    except (Exception, SystemExit) as problem:  # the user's module may raise anything when it is imported
        ours = (
            problem if isinstance(problem, PerdureError) else PerdureError(describe_failure(problem), "mend it there")
        )
        where = None if task is None else f"the task {task!r}"
        return ours if where in (None, ours.where) else ours.at(where=where)
    return None
