"""Find logs: their default folders, the data files of a log, and copies of remote logs."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from perdure import files
from perdure.errors import LogError, MissingExtraError, NotALogError
from perdure.files import data_folder
from perdure.lazy import import_extra

DATA_FILE = "data-log.tsv"
BLOCKS_FILE = "blocks.jsonl"
MANIFEST = "manifest.json"
LOGGER_INFO = "logger_info.json"
SCENARIO_INFO = "scenario_info.json"
DESCRIBING_FILES = (LOGGER_INFO, SCENARIO_INFO, MANIFEST)

PROTOCOL = "protocol.json"
"""The file in a run folder that holds its protocol."""
PARTS = ("lives", "experts", "twins")
"""The folders in a run folder that hold its logs."""


def as_text(path: str | os.PathLike[str]) -> str:
    """Return a path as valid text, with � for bytes that are not UTF-8."""
    text = os.fspath(path)
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def printable(text: str) -> str:
    """Return text with � for characters that would move the cursor or break a line."""
    return text if text.isprintable() else "".join(character if character.isprintable() else "�" for character in text)


def logs_folder() -> Path:
    """Return the folder to which runs write their logs by default."""
    return data_folder() / "logs"


def taskinfo_file(folder: Path | None = None) -> Path:
    """Return the file in which the 2019 framework keeps the values of each task's experts."""
    return (folder or data_folder()) / "taskinfo" / "info.json"


def latest_log() -> Path | None:
    """Return the log folder that changed last, None if there is none."""
    folder = logs_folder()
    try:
        entries = [entry for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return None
    newest = max(entries, key=lambda entry: entry.stat().st_mtime, default=None)
    return Path(newest.path) if newest else None


_DEEPEST = 50
_NUMBER = re.compile(r"\d+")


class Source(msgspec.Struct, frozen=True):
    """A file of text, as it was when the log was listed."""

    name: str
    """Its path; as text, because a log may have ten thousand."""
    relative: str
    size: int

    @property
    def path(self) -> Path:
        return Path(self.name)


def sources(root: Path, name: str = DATA_FILE) -> tuple[Source, ...]:
    """Return every file called `name` below `root`, in an order that no file system decides.

    A link that leads out of the folder is refused: its target is not part of this log.
    """
    sources: list[Source] = []
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
                files.refuse_outside_link(Path(entry.path), root)
            if entry.name == name:
                sources.append(_source(entry, f"{relative}{entry.name}"))
            elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{relative}{entry.name}/", depth + 1))
    return tuple(sorted(sources, key=lambda source: _log_order(source.relative)))


def _source(entry: os.DirEntry[str], relative: str) -> Source:
    with files.reading(entry.path):
        state = entry.stat()
        files.refuse_irregular(state)
    return Source(entry.path, relative, state.st_size)


def _log_order(relative: str) -> tuple[int, str]:
    """Sort block folders by number (`2-test` before `10-train`), so that most logs are read in order."""
    number = _NUMBER.match(relative.rpartition("/")[0].rpartition("/")[2])
    return (int(number.group()) if number else -1, relative)


# A path object writes s3://a as s3:/a. One letter before the colon is a drive of Windows.
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/{1,3}(?P<rest>[^/].*)", re.DOTALL)
_AT_MOST = 64 << 30  # bytes of one log: a bucket given by mistake is not copied onto this disk


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL such as `s3://bucket/runs`, also with one slash."""
    return _URL.fullmatch(os.fspath(path)) is not None


def fetched(path: str | os.PathLike[str]) -> Path:
    """Return a local copy of a remote file or folder, made once per process, with the last name of the URL."""
    match = _URL.fullmatch(os.fspath(path))
    assert match is not None, path
    scheme, rest = match["scheme"].lower(), match["rest"].rstrip("/")
    if scheme == "file":
        return _local(Path("/", unquote(rest)))
    return _copy_entry(f"{scheme}://{rest}")


def _local(place: Path) -> Path:
    if not place.exists():
        raise NotALogError("no such file or folder", "check the path", file=place)
    return place


@cache
def _copy_entry(url: str) -> Path:
    files, root = _open(url)
    # The query after ? in an address is not part of a name.
    name = PurePosixPath(unquote(urlsplit(url).path if url.startswith("http") else root)).name or "log"
    target = Path(tempfile.mkdtemp(dir=_shelf())) / name
    try:
        if not files.exists(root):
            raise NotALogError("no such file or folder", "check the address", file=url)
        _copy(files, root, target, url)
    except (LogError, MissingExtraError):
        raise
    except Exception as problem:  # a third-party file system may raise anything
        raise LogError(
            f"cannot be read ({_reason(problem)})", "check the address and your credentials", file=url
        ) from problem
    return target


def _open(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    scheme = url.partition(":")[0]
    url_to_fs = import_extra("fsspec.core", f"reading {url}", "remote").url_to_fs
    try:
        urlsplit(url)  # raises for an address that is malformed
        files, root = url_to_fs(url)
    except ImportError as problem:
        what = f"a file system for {scheme} ({_reason(problem)})"
        raise MissingExtraError(what, "remote", f"reading {url}") from problem
    except Exception as problem:
        raise LogError(
            f"no file system for {scheme!r} ({_reason(problem)})", "give a path, or another URL", file=url
        ) from problem
    return files, str(root)


def _copy(files: Any, root: str, target: Path, url: str) -> None:
    """Copy one file, or every file of a folder that is not in a hidden folder."""
    if files.info(root)["type"] != "directory":
        _check_size(int(files.size(root) or 0), url)
        files.get_file(root, str(target))
        return
    within = dict(_within(files.find(root, detail=True), root))
    if not within:
        raise NotALogError("an empty folder", "give one that holds a log", file=url)
    _check_size(sum(int(size or 0) for _, size in within.values()), url)
    for relative, (source, _) in within.items():
        place = target.joinpath(*relative)
        place.parent.mkdir(parents=True, exist_ok=True)
        files.get_file(source, str(place))


def _within(entries: dict[str, dict[str, Any]], root: str) -> Iterator[tuple[tuple[str, ...], tuple[str, int | None]]]:
    """Yield each file's path below `root`; leave out hidden names."""
    for source, facts in entries.items():
        relative = PurePosixPath(source.removeprefix(root).lstrip("/")).parts
        if relative and facts.get("type") == "file" and not any(part.startswith(".") for part in relative):
            yield relative, (source, facts.get("size"))


def _check_size(size: int, url: str) -> None:
    if size > _AT_MOST:
        raise LogError(f"{size >> 30} GiB, too much to copy here", "give a folder further down", file=url)


@cache
def _shelf() -> str:
    """Return the folder for all copies of this process, which is removed at its end."""
    folder = tempfile.mkdtemp(prefix="perdure-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _reason(problem: BaseException) -> str:
    return (str(problem).splitlines() or [""])[0] or type(problem).__name__
