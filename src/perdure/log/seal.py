"""A file that proves itself: its checksum stands inside it, and covers every other byte."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from perdure.errors import LogError

__all__ = ["BLANK", "FIELD", "believe", "broken_seal", "footer_of", "seal", "word_of"]

FIELD = "sha256"
BLANK = "0" * 64
"""What stands in place of the checksum while the file is written, and while it is computed."""

_MARK = f'"{FIELD}":"'.encode()
_MAGIC = b"PAR1"
_LONGEST = 1 << 28  # bytes of a footer; a longer one is no footer of ours
_AT_ONCE = 1 << 20

_Known = tuple[int, int, int, int]
_whole: dict[Path, _Known] = {}
"""The files that were found whole in this process, by their inode, size and times: parts of one are read one by one."""


def footer_of(path: Path) -> tuple[int, bytes] | None:
    """Where the footer of a Parquet file starts, and the footer; None where there is none. Only regular files."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size < 12:
                return None
            file.seek(-8, os.SEEK_END)
            ending = file.read(8)
            length = int.from_bytes(ending[:4], "little")
            if ending[4:] != _MAGIC or length > min(facts.st_size - 12, _LONGEST):
                return None
            start = facts.st_size - 8 - length
            file.seek(start)
            return start, file.read(length)
    except OSError:
        return None


def seal(path: Path) -> None:
    """Write a Parquet file's checksum where its footer has `"sha256":"000…"`."""
    place = _place(path)
    assert place is not None, "the footer was written without room for a checksum"
    with path.open("r+b") as file:
        file.seek(place)
        file.write(_checksum(path, place).encode())
        file.flush()
        os.fsync(file.fileno())


def broken_seal(path: Path) -> str | None:
    """What is wrong with a sealed file; None where every byte is as it was written."""
    known = _known(path)
    if _whole.get(path) == known:
        return None
    place = _place(path)
    if place is None:
        return "its footer is damaged"
    with path.open("rb") as file:
        file.seek(place)
        stated = file.read(len(BLANK)).decode("ascii", errors="replace")
    found = _checksum(path, place)
    if found != stated:
        return f"altered after it was written: its bytes give the checksum {found[:12]}…, and it states {stated[:12]}…"
    _whole[path] = known
    return None


def word_of(path: Path) -> str:
    """That a file was found whole in this process, to be told to another; nothing where it was not."""
    return "-".join(map(str, _whole.get(path, ())))


def believe(path: Path, word: str) -> None:
    """Take another process's word for a file, if it is the very file still."""
    known = _known(path)
    if word == "-".join(map(str, known)):
        _whole[path] = known


def _known(path: Path) -> _Known:
    """What is another where the file is."""
    facts = path.stat()
    # Copying tools and hands set the one time as they like, the other nobody does.
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _place(path: Path) -> int | None:
    """Where the checksum stands: the last such field of the footer, as it is written last."""
    found = footer_of(path)
    if found is None:
        return None
    start, footer = found
    at = footer.rfind(_MARK)
    after = at + len(_MARK) + len(BLANK)
    return start + at + len(_MARK) if at >= 0 and footer[after : after + 1] == b'"' else None


def _checksum(path: Path, place: int) -> str:
    """Of all bytes, with the checksum itself blank."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for until in (place, None):
                while piece := file.read(_AT_ONCE if until is None else min(_AT_ONCE, until - file.tell())):
                    digest.update(piece)
                if until is not None:
                    digest.update(BLANK.encode())
                    file.seek(len(BLANK), os.SEEK_CUR)
    except OSError as problem:
        raise LogError(f"cannot be read ({problem.strerror})", "let it be read, then try again", file=path) from problem
    return digest.hexdigest()


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for a writer, should it be a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
