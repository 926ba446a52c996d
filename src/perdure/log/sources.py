"""The data files of a log folder, found without following links out of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from perdure import files
from perdure.errors import LogError

DATA_FILE = "data-log.tsv"
_DEEPEST = 50
_NUMBER = re.compile(r"\d+")


class Source(msgspec.Struct, frozen=True):
    """A file of text, as it was when the log was listed."""

    name: str
    """Its path; as text, because a log may have ten thousand."""
    relative: str
    size: int
    mtime_ns: int = 0

    @property
    def path(self) -> Path:
        return Path(self.name)


def sources(root: Path, name: str = DATA_FILE) -> tuple[Source, ...]:
    """Return every file called `name` below `root`, in an order that no file system decides.

    A link that leads out of the folder is refused: its target is not part of this log.
    """
    found: list[Source] = []
    waiting = [(str(root), "", 0)]
    while waiting:
        folder, relative, depth = waiting.pop()
        if depth > _DEEPEST:
            raise LogError(f"folders nested more than {_DEEPEST} deep", "this is not a log", file=root)
        try:
            entries = list(os.scandir(folder))
        except OSError as problem:
            raise LogError(f"cannot be listed ({problem.strerror})", "check its permissions", file=folder) from problem
        for entry in entries:
            if entry.is_symlink() and (entry.name == name or not os.path.isfile(entry.path)):
                files.refuse_way_out(Path(entry.path), root)
            if entry.name == name:
                found.append(_source(entry, f"{relative}{entry.name}"))
            elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{relative}{entry.name}/", depth + 1))
    return tuple(sorted(found, key=lambda source: _log_order(source.relative)))


def _source(entry: os.DirEntry[str], relative: str) -> Source:
    try:
        state = entry.stat()
        files.refuse_irregular(state)
    except OSError as problem:
        raise LogError(
            f"cannot be read: {problem.strerror}", "let it be read, or leave it out", file=entry.path
        ) from problem
    return Source(entry.path, relative, state.st_size, state.st_mtime_ns)


def _log_order(relative: str) -> tuple[int, str]:
    """Sort block folders by number (`2-test` before `10-train`), so that most logs are read in order."""
    number = _NUMBER.match(relative.rpartition("/")[0].rpartition("/")[2])
    return (int(number.group()) if number else -1, relative)
