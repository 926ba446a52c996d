"""Engines: the ways to run jobs, by name, and the data that all of them share.

An engine takes jobs and `Work`, and returns why jobs failed, by id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name

from msgspec import Struct, field

from perdure.errors import UnknownNameError
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan

_ENOUGH = 3  # lifetimes that fail the same way in their first block


class Event(Struct, frozen=True, omit_defaults=True):
    """Something that happened to a lifetime (begun, progress, note, done, failed) or to all left (waiting, stopped)."""

    kind: str
    id: str
    worker: int = 0
    done: int = 0
    """Experiences completed so far."""
    why: str | None = None
    notes: tuple[str, ...] = ()
    """Remarks about a lifetime that is done, or that does not start as planned."""


Tell = Callable[[Event], None]


class Work(Struct, frozen=True):
    """Everything that an engine needs besides the jobs."""

    folder: RunFolder
    tell: Tell
    workers: int = 0
    """Number of worker processes; 0 runs lifetimes in this process."""
    paths: Sequence[Path] = ()
    """Folders of the user's modules."""
    locks: Sequence[int] = ()
    """Descriptors that hold the lock of the folder."""
    label: str = ""
    """Prefix that distinguishes this run's processes from those of other shards."""
    address: str | None = None
    """The cluster; None for the one at RAY_ADDRESS, or one started here."""
    accept_changed_learner: bool = False
    """Whether a lifetime continues if its learner's code changed."""
    stopped: Callable[[], bool] = lambda: False
    """Whether unfinished lifetimes are to be left as they are."""


class Failures(Struct):
    """Failed lifetimes with the reason, by id; decides when it is pointless to start the rest."""

    work: Work
    by_id: dict[str, str] = {}
    _early: Counter[str] = field(default_factory=Counter)
    _hope: bool = False

    def add(self, job: Job, why: str, done: int, slot: int = 0, *, left: int) -> bool:
        """Report a failure; return False if the `left` lifetimes not yet started would fail the same way."""
        self.by_id[job.id] = why
        self.work.tell(Event("failed", job.id, slot, done, why))
        if done < (job.syllabus.scenario.blocks[0].length or 1):
            self._early[re.sub(r"\d+", "#", why.replace(job.id, ""))] += 1
        else:
            self._hope = True
        if self._hope or not left or len(self._early) != 1 or self._early.total() < _ENOUGH:
            return True
        why = (
            f"the first {self._early.total()} all failed in the same way in their first block, so the other {left} "
            f"were not started: {next(iter(self.by_id.values()))}; fix it, and run again"
        )
        self.work.tell(Event("stopped", "", why=why))
        return False

    def note_progress(self, job: Job, done: int) -> None:
        """Record that a lifetime has completed `done` experiences."""
        self._hope = self._hope or done >= (job.syllabus.scenario.blocks[0].length or 1)


Engine = Callable[[Sequence[Job], Work], dict[str, str]]
Check = Callable[[RunPlan, RunFolder, Sequence[Job]], None]

ENGINES: Mapping[str, str] = {
    "local": "perdure.runner.engines.local:run_locally",
    "ray": "perdure.runner.engines.ray:run_on_ray",
    "batched": "perdure.batched.engine:live_batched",
}
"""The function of each engine, loaded on demand, since an engine may need an extra."""


CHECKS: Mapping[str, str] = {"batched": "perdure.batched.engine:check_batched"}
"""The check of a plan by an engine with learners and tasks of its own."""


def engine(name: str) -> Engine:
    """Return the engine of this name."""
    if name not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    run: Engine = resolve_name(ENGINES[name])
    return run


def engine_check(name: str) -> Check | None:
    """Return the engine's own check of a plan, if it has one."""
    return resolve_name(CHECKS[name]) if name in CHECKS else None
