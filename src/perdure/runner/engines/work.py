"""Work: what an engine is given besides the jobs, and the events that it tells of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from perdure.runner.folder import RunFolder

__all__ = ["Event", "Tell", "Work"]


class Event(Struct, frozen=True):
    """Something that happened to a lifetime (begun, progress, note, done, failed) or to all left (waiting, stopped)."""

    kind: str
    id: str
    worker: int = 0
    done: int = 0
    why: str | None = None
    notes: tuple[str, ...] = ()
    """What is odd about a life that is done, or how a life begins that does not begin as planned."""


Tell = Callable[[Event], None]


class Work(Struct, frozen=True):
    """Where jobs are lived, with how much, and who is told."""

    folder: RunFolder
    tell: Tell
    workers: int = 0
    """Processes; 0 for none but this one."""
    paths: Sequence[Path] = ()
    """Where the user's modules are."""
    locks: Sequence[int] = ()
    """The descriptors that hold the folder."""
    label: str = ""
    """What tells this run's processes from those of other shards."""
    address: str | None = None
    """The cluster; None for the one that the environment names, or one started here."""
    accept_changed_learner: bool = False
    """Whether a lifetime continues if its learner's code changed."""
    stopped: Callable[[], bool] = lambda: False
    """Whether what is still lived is to be left as it is."""
