"""What is looked at before anything is lived: the learner and the tasks of a protocol, all of them, without making one.

What is wrong here would fail every life; said now, it costs nothing.
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
from perdure.runner.plan import Job, Plan
from perdure.runner.worker import failure_in_words
from perdure.scenario.distributions import drawn
from perdure.stopping import Stopped
from perdure.tasks.resolve import check_params, task_kind

__all__ = ["check_before", "importable"]


def check_before(
    plan: Plan, folder: RunFolder, jobs: Sequence[Job], paths: Sequence[Path], engine: str = "local"
) -> None:
    """Refuse a folder that holds another protocol's lives, and a learner or tasks that no life could begin with.

    Where nothing is missing, nothing will be made, so only the folder is looked at.
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
    """Let the user's modules be found while something is done in this process.

    A module of the same name that an earlier run imported from another folder is forgotten.
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
    """Return whether a loaded module of the user's is not the one that the first of these folders with it has."""
    file = getattr(sys.modules[name], "__file__", None)
    if file is None or is_installed(Path(file).resolve()):
        return False
    here = (place for folder in folders for place in (folder / f"{name}.py", folder / name / "__init__.py"))
    found = next((place for place in here if place.is_file()), None)
    return found is not None and found != Path(file).resolve()


def _task_problems(jobs: Sequence[Job]) -> Iterator[PerdureError | None]:
    """What is wrong with each task, and with each block's parameters as its first experience has them."""
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


def _problem(look: Callable[[], Any], task: str | None = None) -> PerdureError | None:
    """What `look` raises, with the task where it is; None where it raises nothing."""
    try:
        look()
    except Stopped:
        raise
    except (Exception, SystemExit) as problem:  # a module of one's own may raise anything when it is imported
        ours = (
            problem if isinstance(problem, PerdureError) else PerdureError(failure_in_words(problem), "mend it there")
        )
        where = None if task is None else f"the task {task!r}"
        return ours if where in (None, ours.where) else ours.at(where=where)
    return None
