"""The folder of one protocol's run: its owner, its lock, and its lifetimes.

protocol.json          the protocol, files included
lives/life-000/        one log per lifetime; traceback.txt in it if the learner raised
experts/…-00/          one log per expert
twins/life-000-twin/   one log per twin
lives/batch-000.parquet, experts/batch-000.parquet   in place of these, if the batched engine ran them
.run/                  states of unfinished lifetimes, output of learners, pre-deployment, the lock
.run/lock              exclusive for a run; shared by all shards, which agree on their number
.run/lock-2-of-16      exclusive for the second of sixteen shards

The files of the lock name the process that holds them. `filelock` has no shared lock that worker processes inherit.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from perdure import files
from perdure.errors import LogError, ProtocolError
from perdure.lazy import pl
from perdure.log.formats.bulk import SUFFIX
from perdure.log.manifest import object_in, write_object
from perdure.log.places import DATA_FILE, PARTS, PROTOCOL
from perdure.log.verify import ended
from perdure.runner.plan import PRE_DEPLOYMENT, Job, Shard
from perdure.runner.protocol import OUTSIDE, Protocol, parse_protocol
from perdure.runner.resume import States

_TRACEBACK = "traceback.txt"
_UNRECORDED_EXPERTS = 1  # per task variant: version 0.1 planned so many where a protocol named no number


class RunFolder(Struct, frozen=True):
    """The folder of a run of one protocol."""

    path: Path

    # -- whose it is ----------------------------------------------------------------------------

    def refuse_others(self, protocol: Protocol) -> None:
        """Refuse a folder with lifetimes of another protocol; a folder without records is free."""
        if (self.path / PROTOCOL).exists():
            stored = self.protocol()
            if stored.digest != protocol.digest and self.is_lived_in:
                raise ProtocolError(
                    f"holds the lifetimes of another protocol, {stored.name!r}, which differs in "
                    f"{_difference(stored.document, protocol.document)}",
                    "choose another folder",
                    file=self.path,
                )
        elif any((self.path / part).exists() for part in PARTS):
            raise ProtocolError(
                f"holds lifetimes, but no {PROTOCOL} says of which protocol", "choose another folder", file=self.path
            )

    def planned(self, protocol: Protocol) -> Protocol:
        """Return `protocol` with its number of experts; if it names none, with that of the run begun here."""
        if "experts" in protocol.document:
            return protocol
        stored = self.protocol() if (self.path / PROTOCOL).exists() else protocol
        return protocol.with_experts((stored if stored.digest == protocol.digest else protocol).experts)

    def holds(self, protocol: Protocol) -> bool:
        """Return whether this is the folder of exactly this protocol."""
        return (self.path / PROTOCOL).exists() and self.protocol().document == protocol.document

    def claim(self, protocol: Protocol, *, alone: bool = True) -> None:
        """Make this the folder of `protocol`. The caller holds its lock. Lifetimes of another protocol are refused.

        A shard that is not `alone` must find it claimed for the same protocol.
        """
        self.refuse_others(protocol)
        file = self.path / PROTOCOL
        with self._disk():
            if file.exists():
                stored = self.protocol()
                if stored.document == protocol.document:
                    return
                if not alone:
                    raise ProtocolError(
                        "other shards are running here with another protocol, which differs in "
                        f"{_difference(stored.document, protocol.document, ())}",
                        "give all shards the same file",
                        file=self.path,
                    )
                if stored.digest != protocol.digest:  # failed before its first experience: what is left says nothing
                    for part in (
                        *PARTS,
                        ".run/states",
                        ".run/output",
                        ".run/batched",
                        f".run/{PRE_DEPLOYMENT}",
                    ):
                        shutil.rmtree(self.path / part, ignore_errors=True)
            write_object(file, protocol.document)

    def refuse_gone(self) -> None:
        """Raise ProtocolError if the folder was removed during the run."""
        if not (self.path / PROTOCOL).exists():
            raise ProtocolError(
                "was removed during a run",
                "make sure that nothing removes it, and run again from the start",
                file=self.path,
            )

    @property
    def is_lived_in(self) -> bool:
        """Whether any experience was logged here."""
        if any(file for part in PARTS for file in self.path.glob(f"{part}/*{SUFFIX}")):
            return True
        parts = (*(f"{part}/*" for part in PARTS), f".run/{PRE_DEPLOYMENT}")
        return any(file.stat().st_size for part in parts for file in self.path.glob(f"{part}/*/*/{DATA_FILE}"))

    def protocol(self) -> Protocol:
        """Return the protocol of the folder."""
        file = self.path / PROTOCOL
        try:
            return parse_protocol({"experts": _UNRECORDED_EXPERTS, **object_in(file)}, self.path, str(file))
        except LogError as problem:
            raise ProtocolError(f"not a run folder: {problem.without_fix}", problem.fix, file=self.path) from problem

    @contextmanager
    def locked(
        self, shard: Shard | None = None, claim: Callable[[bool], None] = lambda _: None
    ) -> Iterator[tuple[int, ...]]:
        """Lock and claim the folder for a run, or for the shards of one run together."""
        with ExitStack() as stack:
            with self._disk():
                descriptors = stack.enter_context(held(self.path, shard, claim))
            yield descriptors

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Raise errors of the disk as errors of this folder."""
        try:
            yield
        except LogError as problem:
            if not isinstance(problem.__cause__, OSError):
                raise
            raise self._refused(problem.__cause__) from problem
        except OSError as problem:
            raise self._refused(problem) from problem

    def _refused(self, problem: OSError) -> ProtocolError:
        why = problem.strerror or problem
        return ProtocolError(f"this run cannot be written to disk: {why}", files.remedy(problem), file=self.path)

    # -- contents ------------------------------------------------------------------------------

    def place(self, job: Job) -> Path:
        """Return the folder of a lifetime's log."""
        return self.path / job.folder / job.id

    def states(self, job: Job) -> States:
        """Return the saved states of an unfinished lifetime's learner."""
        return States(self.path / ".run" / "states" / job.id)

    @property
    def pre_deployed(self) -> States:
        """The state of the learner after pre-deployment."""
        return States(self.path / ".run" / f"{PRE_DEPLOYMENT}-state")

    def output(self, identity: str) -> Path:
        """Return the file of a learner's printed output."""
        return self.path / ".run" / "output" / f"{identity}.txt"

    @property
    def arrays(self) -> Path:
        """The folder of the batched engine's records, before they become lifetimes."""
        return self.path / ".run" / "batched"

    def is_finished(self, job: Job) -> bool:
        """Return whether a lifetime is finished."""
        place = self.place(job)
        if any(job.id in names_in(file) for file in place.parent.glob(f"*{SUFFIX}")):
            return True
        if (place / _TRACEBACK).exists() or not ended(place):
            return False
        return job.id != PRE_DEPLOYMENT or self.pre_deployed.is_sound()

    def start_again(self, job: Job) -> None:
        """Remove the files of a lifetime that cannot continue."""
        for folder in (self.place(job), self.states(job).folder):
            if folder.is_dir():
                shutil.rmtree(folder)
            else:
                folder.unlink(missing_ok=True)

    def note_failure(self, job: Job, traceback: str) -> None:
        """Write the traceback into the lifetime's folder, if the disk allows it; the reason is reported anyway."""
        place = self.place(job)
        with suppress(OSError, ProtocolError):
            self.refuse_gone()
            place.mkdir(parents=True, exist_ok=True)
            files.write(place / _TRACEBACK, traceback.encode("utf-8", "replace"))

    def clear_failure(self, job: Job) -> None:
        """Remove the traceback of a lifetime that is tried again."""
        if not self.place(job).is_file():  # not a lifetime, so it cannot be continued
            (self.place(job) / _TRACEBACK).unlink(missing_ok=True)


def names_in(file: Path) -> frozenset[str]:
    """Return the ids of the lifetimes in a file that the batched engine wrote."""
    return _names_in(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _names_in(file: Path, _changed: int) -> frozenset[str]:
    return frozenset(pl.scan_parquet(file).select(pl.col("lifetime").unique().cast(pl.String)).collect().to_series())


def _difference(stored: Mapping[str, object], current: Mapping[str, object], outside: Collection[str] = OUTSIDE) -> str:
    keys = [key for key in dict.fromkeys((*stored, *current)) if stored.get(key) != current.get(key)]
    return ", ".join(key for key in keys if key not in outside)


try:
    import fcntl
except ImportError:  # Windows has no flock; two runs in one folder are not noticed there
    fcntl = None  # type: ignore[assignment]

_HAS_LOCKS = fcntl is not None


_PATIENCE_S = 5.0  # workers of a killed run notice within a second or so


@contextmanager
def held(folder: Path, shard: Shard | None, claim: Callable[[bool], None]) -> Iterator[tuple[int, ...]]:
    """Lock a run folder and call `claim` with whether this run has it alone; yield the descriptors of the lock.

    Workers inherit the descriptors, so the lock lasts until the last of them has ended, even if this process is killed.
    """
    opened: list[int] = []
    try:
        lock = _open_lock(folder / ".run" / "lock", opened)
        if not _HAS_LOCKS:
            claim(True)
        elif shard is None:
            _wait_for(lock, fcntl.LOCK_EX, folder)
            _write_holder(lock)
            claim(True)
        else:
            own_lock = _open_lock(folder / ".run" / f"lock-{shard.number}-of-{shard.count}", opened)
            _wait_for(own_lock, fcntl.LOCK_EX, folder)
            _write_holder(own_lock)
            _share(lock, shard, folder, claim)
        yield tuple(opened)
    finally:
        for descriptor in opened:
            if _HAS_LOCKS:
                # Closing is not enough: a child that a learner forked may hold the descriptor open.
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def is_held(folder: Path) -> bool:
    """Return whether a run, or a shard of one, is active in a run folder; False if the system has no locks."""
    return _HAS_LOCKS and any(_is_taken(file) for file in (folder / ".run").glob("lock*"))


def is_abandoned(folder: Path) -> bool:
    """Return whether a run was active in a run folder and none is; False if the system has no locks."""
    return _HAS_LOCKS and any((folder / ".run").glob("lock*")) and not is_held(folder)


def _is_taken(file: Path) -> bool:
    # A shared lock does not disturb another process that checks at the same time.
    with suppress(OSError), files.open_regular(file) as opened:
        if not _try_lock(opened.fileno(), fcntl.LOCK_SH):
            return True
    return False


def shards_of(folder: Path) -> tuple[Shard, ...]:
    """Return the shards that were run in a folder; none if the last run there was not in shards."""
    try:
        with files.open_regular(folder / ".run" / "lock") as lock:
            count = _read_holder(lock.fileno()).get("of")
    except OSError:
        return ()
    if not isinstance(count, int):
        return ()
    locks = (path.name.removeprefix("lock-").partition("-of-") for path in (folder / ".run").glob(f"lock-*-of-{count}"))
    return tuple(Shard(int(number), int(of)) for number, _, of in sorted(locks) if number.isdigit() and of.isdigit())


def _share(lock: int, shard: Shard, folder: Path, claim: Callable[[bool], None]) -> None:
    """Share the lock with the other shards of the same run; the first one claims the folder for all."""
    if _try_lock(lock, fcntl.LOCK_EX):
        _write_holder(lock, of=shard.count)
        claim(True)
    _wait_for(lock, fcntl.LOCK_SH, folder)
    count = _read_holder(lock).get("of")
    if count not in (None, shard.count):
        raise ProtocolError(
            f"a run in {count} shards is active here{_who(lock)}, and this is one of {shard.count}",
            "wait for it, or give all shards one count",
            file=folder,
        )
    claim(False)


def _open_lock(file: Path, opened: list[int]) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.parent.is_symlink():
        raise OSError(errno.ELOOP, f"{file.parent} is a link, which is not followed")
    descriptor = files.open_descriptor(file, os.O_RDWR | os.O_CREAT)
    opened.append(descriptor)
    return descriptor


def _try_lock(descriptor: int, how: int) -> bool:
    """Try to take the lock, and return whether that succeeded."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:
        if problem.errno not in files.NO_LOCKS:
            raise
    return True


def _wait_for(descriptor: int, how: int, folder: Path) -> None:
    patience = time.monotonic() + _PATIENCE_S
    while not _try_lock(descriptor, how):
        if time.monotonic() > patience:
            raise ProtocolError(
                f"another perdure run is active here{_who(descriptor)}", "wait for it, or stop it first", file=folder
            )
        time.sleep(0.1)


def _write_holder(descriptor: int, **more: Any) -> None:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": platform.node(), "since": since, **more}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, msgspec.json.encode(holder) + b"\n", 0)


def _read_holder(descriptor: int) -> dict[str, Any]:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _who(descriptor: int) -> str:
    holder = _read_holder(descriptor)
    if not holder:
        return ""
    part = f", the first of {holder['of']} shards" if "of" in holder else ""
    return f" (process {holder.get('pid')} on {holder.get('host')}, since {holder.get('since')}{part})"
