"""Logs elsewhere: what a URL names, copied into a folder that lives as long as this process."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from perdure.errors import LogError, MissingExtraError, NotALogError
from perdure.lazy import of_extra

if TYPE_CHECKING:
    from collections.abc import Iterator


# A path object writes s3://a as s3:/a. One letter before the colon is a drive of Windows.
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/{1,3}(?P<rest>[^/].*)", re.DOTALL)
_AT_MOST = 64 << 30  # bytes of one log: a bucket given by mistake is not copied onto this disk


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path names something by a scheme, such as `s3://bucket/runs`, in either spelling."""
    return _URL.fullmatch(os.fspath(path)) is not None


def fetched(path: str | os.PathLike[str]) -> Path:
    """The local copy of a remote file or folder, made once per process; it keeps the URL's last name."""
    found = _URL.fullmatch(os.fspath(path))
    assert found is not None, path
    scheme, rest = found["scheme"].lower(), found["rest"].rstrip("/")
    if scheme == "file":
        return _local(Path("/", unquote(rest)))
    return _copied(f"{scheme}://{rest}")


def opened_url(path: str | os.PathLike[str]) -> tuple[str, Any, str]:
    """The URL as it is written, the file system that it is of, and the path in that."""
    found = _URL.fullmatch(os.fspath(path))
    assert found is not None, path
    scheme, rest = found["scheme"].lower(), found["rest"].rstrip("/")
    url = f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"
    files, at = _opened(url)
    return url, files, at.rstrip("/")


def _local(place: Path) -> Path:
    if not place.exists():
        raise NotALogError("no such file or folder", "check the path", file=place)
    return place


@cache
def _copied(url: str) -> Path:
    files, at = _opened(url)
    # What comes after ? in an address is a question to the server, and no part of a name.
    name = PurePosixPath(unquote(urlsplit(url).path if url.startswith("http") else at)).name or "log"
    target = Path(tempfile.mkdtemp(dir=_shelf())) / name
    try:
        if not files.exists(at):
            raise NotALogError("no such file or folder", "check the address", file=url)
        _copy(files, at, target, url)
    except (LogError, MissingExtraError):
        raise
    except Exception as problem:  # a file system of a stranger may raise anything
        raise LogError(
            f"cannot be read ({_reason(problem)})", "check the address and your credentials", file=url
        ) from problem
    return target


def _opened(url: str) -> tuple[Any, str]:
    """The file system that a URL is of, and the path in it."""
    scheme = url.partition(":")[0]
    url_to_fs = of_extra("fsspec.core", f"reading {url}", "remote").url_to_fs
    try:
        urlsplit(url)  # which refuses an address that no library could take
        files, at = url_to_fs(url)
    except ImportError as problem:
        raise MissingExtraError(
            f"a file system for {scheme} ({_reason(problem)})", "remote", f"reading {url}"
        ) from problem
    except Exception as problem:
        raise LogError(
            f"no file system for {scheme!r} ({_reason(problem)})", "give a path, or another URL", file=url
        ) from problem
    return files, str(at)


def _copy(files: Any, at: str, target: Path, url: str) -> None:
    """One file, or every file of a folder that no hidden folder holds; caches are made anew here."""
    if files.info(at)["type"] != "directory":
        _bounded(int(files.size(at) or 0), url)
        files.get_file(at, str(target))
        return
    within = dict(_within(files.find(at, detail=True), at))
    if not within:
        raise NotALogError("an empty folder", "give one that holds a log", file=url)
    _bounded(sum(int(size or 0) for _, size in within.values()), url)
    for relative, (source, _) in within.items():
        place = target.joinpath(*relative)
        place.parent.mkdir(parents=True, exist_ok=True)
        files.get_file(source, str(place))


def _within(found: dict[str, dict[str, Any]], root: str) -> Iterator[tuple[tuple[str, ...], tuple[str, int | None]]]:
    """Each file's path below `root`; a name that leads out of it, or is hidden, is passed by."""
    for source, facts in found.items():
        relative = PurePosixPath(source.removeprefix(root).lstrip("/")).parts
        if relative and facts.get("type") == "file" and not any(part.startswith(".") for part in relative):
            yield relative, (source, facts.get("size"))


def _bounded(size: int, url: str) -> None:
    if size > _AT_MOST:
        raise LogError(f"{size >> 30} GiB, too much to copy here", "give a folder further down", file=url)


@cache
def _shelf() -> str:
    """The folder for all copies of this process, removed at its end."""
    folder = tempfile.mkdtemp(prefix="perdure-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _reason(problem: BaseException) -> str:
    return (str(problem).splitlines() or [""])[0] or type(problem).__name__
