"""Open and replace files safely: only regular files, of bounded size, replaced whole or not at all.

A refusal is an OSError with the reason, to which each caller adds its own place and fix.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perdure.errors import LogError, PerdureError

HEADER_LIMIT = 64 << 20
"""Bytes of a manifest, syllabus, protocol or other small JSON or TOML file. 10⁵ blocks take a tenth of it."""
LEDGER_LIMIT = 256 << 20
"""Bytes of a blocks.jsonl; about a million blocks."""
SCORES_LIMIT = 1 << 30
"""Bytes of a file of scores, or of a matrix. Files of records have no limit, because lifetimes may be long."""
UNPACKED_LIMIT = 4096
"""Default of the MiB that a packed file may unpack to."""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of `flock` on a drive without locks, such as some network drives; we then work without, as on Windows."""


def data_folder() -> Path:
    """Return `$L2DATA`, or `l2data` in the home folder, as learnkit and l2metrics do. It is not created."""
    folder = os.environ.get("L2DATA")
    return Path(folder).expanduser() if folder else Path.home() / "l2data"


def parse_json(text: str | bytes) -> Any:
    """Parse JSON, including NaN and Infinity. Raise ValueError for every problem."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep to be read") from None


_LONGEST_NAME = 200  # bytes; file systems take 255, and temporary names and "-twin" need some of them
_LONGEST_ENCODED = 120


def name_fault(name: object, reserved: Collection[str] = ()) -> str | None:
    """Return why `name` cannot be the name of one file or folder, or None if it can.

    Every name that becomes a part of a path is checked here. `reserved` names are compared without case, because some
    file systems do so.
    """
    if not isinstance(name, str) or not name.strip():
        return "it is empty" if isinstance(name, str) else "it is not text"
    if "/" in name or "\\" in name:
        return "it has a slash"
    if name.startswith("."):
        return "it starts with a dot"
    if not name.isprintable():
        return "it has a character that cannot be printed"
    if len(name.encode()) > _LONGEST_NAME:
        return f"it is longer than {_LONGEST_NAME} bytes"
    if name.lower() in reserved:
        return "a run folder uses that name itself"
    return None


def folder_name(name: str) -> str:
    """Return a name for one folder, different for different names: unsafe characters become %XX, nothing becomes %.

    A name too long for a file system is cut and ends with its checksum.
    """
    safe = quote(name, safe="") or "%"
    if safe.startswith("."):
        safe = "%2E" + safe[1:]
    if len(safe) <= _LONGEST_ENCODED:
        return safe
    import hashlib

    checksum = hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{safe[:_LONGEST_ENCODED]}%{checksum}"


def toml_fault(problem: Exception) -> tuple[str, int | None]:
    """Return the problem in a TOML text and its line, which Python before 3.14 gives only in the message."""
    match = _AT_LINE.fullmatch(str(problem))
    return (match[1], int(match[2])) if match else (str(problem), None)


_AT_LINE = re.compile(r"(.*) \(at line (\d+), column \d+\)", re.DOTALL)

# Without O_NONBLOCK, opening a pipe without a writer waits forever.
_ALWAYS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def open_descriptor(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor. Raise OSError at once for anything else.

    A link is not followed when the file is opened for writing: it could lead to any file of the user.
    """
    if flags & (os.O_WRONLY | os.O_RDWR):
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        opened = os.open(path, flags | _ALWAYS, 0o644)
    except OSError as problem:
        if problem.errno == errno.ELOOP and os.path.islink(path):
            raise OSError(errno.ELOOP, f"{os.fspath(path)} is a link, which is not followed") from None
        with contextlib.suppress(FileNotFoundError):
            refuse_irregular(os.stat(path))  # raises a clearer error
        raise
    try:
        refuse_irregular(os.fstat(opened))
    except OSError:
        os.close(opened)
        raise
    return opened


def refuse_irregular(state: os.stat_result) -> None:
    """Raise OSError if this is not the state of a regular file."""
    if not stat.S_ISREG(state.st_mode):
        kind = _KINDS.get(stat.S_IFMT(state.st_mode), "something else")
        raise OSError(errno.EINVAL, f"{kind}, where a regular file is expected")


def open_regular(path: str | os.PathLike[str]) -> io.FileIO:
    """Open a regular file for reading, unbuffered."""
    return io.FileIO(open_descriptor(path), "rb")


def read_bytes(path: str | os.PathLike[str], limit: int | None = None, within: Path | None = None) -> bytes:
    """Read a regular file of at most `limit` bytes; a link must not lead out of the folder `within`."""
    if within is not None and os.path.islink(path):
        refuse_outside_link(Path(path), within)
    with open_regular(path) as file:
        if limit is not None:
            _refuse_large(os.fstat(file.fileno()).st_size, limit)
        content: bytes | None = file.readall()
    if content is None:
        raise BlockingIOError(errno.EAGAIN, "it has nothing to read at this moment")
    if limit is not None:
        _refuse_large(len(content), limit)
    return content


_REMEDIES = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room, or have the quota raised",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "it can only be read: choose another folder",
    errno.EACCES: "make it writable, or choose another folder",
    errno.EPERM: "make it writable, or choose another folder",
    errno.ENOENT: "it was removed or never there: see that nothing removes it",
    errno.ENOTDIR: "choose another folder",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EIO: "look at the disk",
    errno.ESTALE: "mount it again",
    errno.ELOOP: "put a file in the place of the link, or choose another folder",
}


def remedy(problem: OSError) -> str:
    """Return what the user can do about an OSError."""
    return _REMEDIES.get(problem.errno or 0, "look at the disk, or choose another folder")


def read_text(path: str | os.PathLike[str], limit: int) -> str:
    """Read a regular file of at most `limit` bytes as UTF-8. Raise UnicodeDecodeError if it is not."""
    return read_bytes(path, limit).decode("utf-8")


def _refuse_large(size: int, limit: int) -> None:
    if size > limit:
        problem = f"{size / 1e6:,.0f} MB, more than the {limit / 1e6:,.0f} MB that such a file may have"
        raise OSError(errno.EFBIG, problem)


def refuse_outside_link(link: Path, root: Path) -> None:
    """Raise LogError if a link leads out of the log, or its target is missing."""
    try:
        target = Path(os.path.realpath(link, strict=True))
    except OSError as problem:
        raise LogError(f"a link that leads nowhere ({problem.strerror})", "remove it", file=link) from problem
    if not target.is_relative_to(root.resolve()):
        raise LogError(
            f"a link that leads out of the log, to {target}",
            "copy what it points at into the log",
            file=link,
        )


@contextlib.contextmanager
def replacement(target: Path, *, synced: bool = True) -> Iterator[Path]:
    """Yield a new file that replaces `target` at the end, or is removed after an error.

    Readers see the old file or the new one, never a part of it. A link is replaced, not its target.
    """
    part = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # no other writer has this file
        yield part
        if synced:
            with part.open("rb+") as written:
                os.fsync(written.fileno())
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Write the list of a folder's files to the disk, if the system can."""
    if os.name != "posix":
        return
    opened_folder = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened_folder)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # some network drives cannot
            raise
    finally:
        os.close(opened_folder)


def write(target: Path, content: bytes | memoryview, *, synced: bool = True) -> None:
    """Replace the content of a file; readers see the old content or the new one."""
    with replacement(target, synced=synced) as part:
        part.write_bytes(content)


@contextlib.contextmanager
def reading(
    place: object, fix: str = "let it be read, or leave it out", error: type[PerdureError] = LogError
) -> Iterator[None]:
    """Turn an OSError into an `error` that names the file."""
    try:
        yield
    except PerdureError:
        raise
    except OSError as problem:
        raise error(f"cannot be read: {problem.strerror or problem}", fix, file=place) from problem


@contextlib.contextmanager
def writing(
    place: object, fix: str = "choose another place", error: type[PerdureError] = PerdureError
) -> Iterator[None]:
    """Turn an OSError into an `error` that names the file or folder."""
    try:
        yield
    except OSError as problem:
        raise error(f"cannot be written: {problem.strerror or problem}", fix, file=place) from problem


def deliver(target: Path, content: bytes) -> None:
    """Write an output file that the user named: through a link, or into a pipe such as /dev/stdout."""
    if target.exists() and not target.is_file():  # a pipe or a device
        target.write_bytes(content)
    else:
        write(target.resolve(), content)
