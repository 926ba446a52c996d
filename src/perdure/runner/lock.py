"""Lock a run folder for one run, or for the shards of one run together. The files name the process that holds them.

.run/lock            exclusive for a run; shared by all shards, which agree on their number
.run/lock-2-of-16    exclusive for the second of sixteen shards

`filelock` has no shared lock that worker processes inherit.
"""

from __future__ import annotations

import errno
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from perdure import files
from perdure.errors import ProtocolError
from perdure.runner.plan import Shard

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
        lock = _opened(folder / ".run" / "lock", opened)
        if not _HAS_LOCKS:
            claim(True)
        elif shard is None:
            _wait_for(lock, fcntl.LOCK_EX, folder)
            _write_holder(lock)
            claim(True)
        else:
            mine = _opened(folder / ".run" / f"lock-{shard.number}-of-{shard.count}", opened)
            _wait_for(mine, fcntl.LOCK_EX, folder)
            _write_holder(mine)
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


def _is_taken(file: Path) -> bool:
    # A shared lock does not disturb another process that checks at the same time.
    with suppress(OSError), files.opened(file) as opened:
        if not _taken(opened.fileno(), fcntl.LOCK_SH):
            return True
    return False


def shards_of(folder: Path) -> tuple[Shard, ...]:
    """Return the shards that were run in a folder; none if the last run there was not in shards."""
    try:
        with files.opened(folder / ".run" / "lock") as lock:
            count = _read_holder(lock.fileno()).get("of")
    except OSError:
        return ()
    if not isinstance(count, int):
        return ()
    found = (one.name.removeprefix("lock-").partition("-of-") for one in (folder / ".run").glob(f"lock-*-of-{count}"))
    return tuple(Shard(int(number), int(of)) for number, _, of in sorted(found) if number.isdigit() and of.isdigit())


def _share(lock: int, shard: Shard, folder: Path, claim: Callable[[bool], None]) -> None:
    """Share the lock with the other shards of the same run; the first one claims the folder for all."""
    if _taken(lock, fcntl.LOCK_EX):
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


def _opened(file: Path, opened: list[int]) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.parent.is_symlink():
        raise OSError(errno.ELOOP, f"{file.parent} is a link, which is not followed")
    descriptor = files.descriptor(file, os.O_RDWR | os.O_CREAT)
    opened.append(descriptor)
    return descriptor


def _taken(descriptor: int, how: int) -> bool:
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
    while not _taken(descriptor, how):
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
