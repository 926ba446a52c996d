"""Read any log: find its reader, and find the logs below a folder."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from perdure.errors import LogError, NotALogError
from perdure.files import UNPACKED_LIMIT, refuse_irregular
from perdure.log.model import Direction, Lifetime
from perdure.registry import Registry


class Options(msgspec.Struct, frozen=True):
    """Options of reading; a reader uses those that concern it."""

    columns: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Our column name → the name in the file, for tables with other names."""
    measures: Mapping[str, Direction] | None = None
    """Measures and their directions, in place of those that the log declares."""
    verified: bool = True
    """Whether a log that differs from its ledger is refused; else it is read unchanged, with a note."""
    shape: Literal["long", "wide", "triplets", "tagged", "stream"] | None = None
    """The layout of a table whose header does not decide it."""
    rows: Literal["evaluated", "learned"] | None = None
    """The meaning of the rows of an accuracy matrix whose cells do not decide it."""
    unit: Literal["percent", "fraction", "raw"] | None = None
    """The unit of an accuracy matrix, if its cells suggest another."""
    as_given: bool = False
    """Whether zeros in an accuracy matrix were measured."""
    measure: str | None = None
    """The measure that will be scored, if known; of a table of cells, the column that is read."""
    task_measures: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Task → its measure, if measures were named for tasks."""
    max_unpacked: float = UNPACKED_LIMIT
    """The number of MiB that a packed file may unpack to."""


_DEFAULTS = Options()
_SHOWN = 4  # names in a message


@runtime_checkable
class Reader(Protocol):
    """The reader of one kind of log; `perdure.testing.check_reader` checks an implementation."""

    name: str
    summary: str
    """One line that describes this kind of log."""

    def recognises(self, path: Path) -> bool:
        """Return whether `path` is a log of this kind, by names and first lines only."""
        ...

    def read(self, path: Path, options: Options) -> Lifetime:
        """Return the lifetime at `path`; raise LogError, with file and line, if it cannot be trusted."""
        ...


@runtime_checkable
class ReaderOfMany(Reader, Protocol):
    """The reader of files or folders that may hold several lifetimes; `read` raises if there are several."""

    def parts(self, path: Path, options: Options) -> Sequence[str]:
        """Return names of pieces that several processes can read; one piece if the log is small."""
        ...

    def holds_experts(self, path: Path, options: Options) -> bool:
        """Return whether some of its lifetimes are experts."""
        ...

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[Lifetime]:
        """Yield the lifetimes at `path`, or of one piece of it, in order; `Lifetime.inside` distinguishes them."""
        ...


@runtime_checkable
class ReaderOfFiles(Reader, Protocol):
    """The reader of files that other files resemble: of those found in a folder, it claims only certain ones."""

    def claims(self, path: Path, options: Options) -> bool:
        """Return whether a recognised file that was found in a folder is a log of this kind by its header."""
        ...


_Kind = TypeVar("_Kind", bound=Lifetime)


class SeveralLifetimes(ABC, Generic[_Kind]):
    """Base of readers of files that may hold several lifetimes."""

    @abstractmethod
    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[_Kind]:
        """Yield the lifetimes at `path`, or of one piece of it."""

    def read(self, path: Path, options: Options) -> _Kind:
        """Return the lifetime of a file that holds one."""
        lifetimes = list(islice(self.lifetimes(path, options), _SHOWN + 1))
        if len(lifetimes) == 1:
            return lifetimes[0]
        count = str(len(lifetimes)) if len(lifetimes) <= _SHOWN else f"more than {_SHOWN}"
        listed = ", ".join(lifetime.inside for lifetime in lifetimes[:_SHOWN]) + (
            ", …" if len(lifetimes) > _SHOWN else ""
        )
        raise LogError(
            f"{count} lifetimes in it ({listed}), where one was asked for",
            "perdure.log.read.lifetimes gives each of them, and every verb that scores takes them all",
            file=path,
        )

    def parts(self, path: Path, options: Options) -> Sequence[str]:  # noqa: ARG002 - most are too small to be divided
        """Return the name of the only piece."""
        return ("all",)

    def holds_experts(self, path: Path, options: Options) -> bool:  # noqa: ARG002
        """Return False, because most files have no roles."""
        return False


READERS: Registry[Reader] = Registry("reader", "perdure.readers")
_BY_THEIR_FILES = frozenset(
    "bulk sb3 tensorboard wandb mlflow charts avalanche results matrix table".split()  # noqa: SIM905
)
"""Our readers of files, and of folders with a file in them."""


def read(
    path: str | os.PathLike[str],
    *,
    reader: str | None = None,
    columns: Mapping[str, str] | None = None,
    measures: Sequence[str] | Mapping[str, Direction] | None = None,
    verified: bool = True,
    max_unpacked: float = UNPACKED_LIMIT,
) -> Lifetime:
    """Read the lifetime at `path` with the reader that recognises it.

    Parameters
    ----------
    path
        Path or URL of a log, or the name of a log under `$L2DATA/logs`.
    reader
        Name of a reader, in place of the one that recognises the log.
    columns
        Perdure's column name → the name in the file, for tables with other names.
    measures
        Names of measures, with directions if lower is better, in place of those that the log declares.
    verified
        Whether to refuse a log that differs from its ledger. If False, its notes list the differences.
    max_unpacked
        Largest size in MiB that a packed file may unpack to.

    Returns
    -------
    Lifetime
        Every row of the log.

    Raises
    ------
    LogError
        If the log cannot be read or, as `UnverifiedError`, differs from its ledger.

    Examples
    --------
    >>> lifetime = perdure.read("logs/naive-0")
    >>> lifetime.height
    96
    """
    options = Options(dict(columns or {}), _directions(measures), verified, max_unpacked=max_unpacked)
    place = locate(path)
    chosen = READERS.get(reader) if reader else recognise(place)
    return chosen.read(place, options)


def parts(place: Path, options: Options) -> Sequence[str | None]:
    """Return the pieces of `place` that several processes can read; `(None,)` for a log of one lifetime."""
    reader = recognise(place)
    return tuple(reader.parts(place, options)) if isinstance(reader, ReaderOfMany) else (None,)


def holds_experts(place: Path, options: Options) -> bool:
    """Return whether a file of several lifetimes holds experts."""
    reader = recognise(place)
    return isinstance(reader, ReaderOfMany) and reader.holds_experts(place, options)


def lifetimes(
    place: str | os.PathLike[str], options: Options = _DEFAULTS, part: str | None = None
) -> Iterator[Lifetime]:
    """Read every lifetime in a log, one after the other.

    Parameters
    ----------
    place
        Path of a log. Use `find` for a folder of logs.
    options
        Options of the readers.
    part
        Name of one lifetime or one part of the file, as its reader names it. By default all.

    Yields
    ------
    Lifetime
        A lifetime with all its rows.

    Raises
    ------
    LogError
        If the log cannot be read.

    Examples
    --------
    >>> [lifetime.learner for lifetime in perdure.lifetimes("logs/naive-0")]
    ['naive']
    """
    place = Path(place)
    reader = recognise(place)
    if isinstance(reader, ReaderOfMany):
        yield from reader.lifetimes(place, options, part)
    else:
        yield reader.read(place, options)


def recognise(place: Path) -> Reader:
    """Return the first reader that recognises `place`; raise NotALogError if none does."""
    failed: list[str] = []
    for candidate in _candidates(place):
        if _knows(candidate, place, failed):
            return candidate
    if cause := _cause(place):
        raise NotALogError(*cause, file=place)
    below = list(find(place)) if place.is_dir() else []
    if below:
        example = next((log for log in below if "experts" not in log.relative_to(place).parts), below[0])
        raise NotALogError("a folder of logs, not a log", f"give one of them, for example {example}", file=place)
    reason = f"not a log format that Perdure recognises ({'; '.join([_describe(place), *failed])})"
    raise NotALogError(reason, "run `perdure list readers` for the formats it reads", file=place)


def _knows(candidate: Reader, place: Path, failed: list[str] | None = None) -> bool:
    """Return whether the reader recognises `place`. One that raises does not, and others are still asked."""
    try:
        return candidate.recognises(place)
    except Exception as problem:  # a plug-in may raise anything
        if failed is not None:
            failed.append(f"the reader {candidate.name} failed on it: {type(problem).__name__}: {problem}")
        return False


def _cause(place: Path) -> tuple[str, str] | None:
    from perdure.log.formats.packed import trouble

    return trouble(place) if place.is_file() else None


def locate(path: str | os.PathLike[str]) -> Path:
    """Return the path of a log: the path itself, a copy of a URL, or for a bare name one under `$L2DATA/logs`."""
    from perdure.log.places import logs_folder

    place = Path(path)
    if place.exists():
        return place
    if ":/" in os.fspath(path):  # most paths are not URLs
        from perdure.log.places import fetched, is_url

        if is_url(path):
            return fetched(path)
    if len(place.parts) == 1 and (logs_folder() / place).exists():
        return logs_folder() / place
    looked = f" (nor in {logs_folder()})" if len(place.parts) == 1 else ""
    raise NotALogError(f"no such file or folder{looked}", "check the path", file=place)


def find(place: str | os.PathLike[str], options: Options = _DEFAULTS) -> Iterator[Path]:
    """Find the logs at or below `place`, in the order of their paths.

    Folders that hold a lifetime are not searched further. A link may lead to a lifetime elsewhere, which is
    yielded once; linked folders are not searched. A file in a searched folder is included only if a reader
    recognises it and, if that reader has the method `claims`, claims it.

    Parameters
    ----------
    place
        Path of a log, which is the only result, or of a folder to search.
    options
        Options of the readers.

    Yields
    ------
    Path
        The path of a log. One file may hold several lifetimes. Nothing is yielded for a missing path.

    Examples
    --------
    >>> [log.name for log in perdure.find("logs")][:2]
    ['naive-0', 'naive-1']
    """
    place = Path(place)
    if _is_known(place):
        yield place
    elif place.is_dir():
        yield from _below(place, place.resolve(), set(), options)


_DEEPEST = 4  # folders between a file of a lifetime and the folder that the lifetime is in
_NEVER_READ = frozenset({".html", ".md", ".tex", ".png", ".svg", ".pdf"})  # by any reader, so no part of a log


def refuse_overwriting(target: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise LogError if writing `target` would change a lifetime, a run folder's own files, or one of the `inputs`.

    `inputs` are the files and folders of logs that are read to make what is written.
    """
    from perdure.log.places import BLOCKS_FILE, DATA_FILE, LOGGER_INFO, PARTS, PROTOCOL

    place = Path(os.path.realpath(target))
    around = (place, *place.parents)[: _DEEPEST + 1]
    # Only the folder of a lifetime, or one in it, has such a file.
    marks = (LOGGER_INFO, BLOCKS_FILE, DATA_FILE)
    within = next((parent for parent in around if any((parent / name).is_file() for name in marks)), None)
    if within is not None:
        raise LogError(f"lies in the log {within}", "choose a place outside", file=target)
    if not place.is_file():  # nothing there, a folder, or a pipe such as /dev/stdout
        return
    of_run = place.name == PROTOCOL and any((place.parent / part).is_dir() for part in PARTS)
    of_run = of_run or place.parent.name == ".run"
    of_run = of_run or (place.parent.name in PARTS and (place.parent.parent / PROTOCOL).is_file())
    if of_run or place.name == "perdure.toml":
        raise LogError("belongs to the logs beside it, and would be overwritten", "choose another file", file=target)
    if any(_is_read(place, source) for source in inputs):
        raise LogError("is read here, and would be overwritten", "choose another file", file=target)


def _is_read(file: Path, source: str | os.PathLike[str]) -> bool:
    """Return whether a file is read if `source` is: it is that file, or a log below it, or part of such a log."""
    try:
        top = Path(os.path.realpath(locate(source)))
    except LogError:  # reading it reports the problem
        return False
    if top == file or top not in file.parents:
        return top == file
    if _is_claimed(file, _DEFAULTS) or _knows(READERS.get("matrix"), file):
        return True
    folders = [parent for parent in file.parents if parent == top or top in parent.parents]
    return file.suffix not in _NEVER_READ and any(map(_is_known, folders))


def _is_known(place: Path) -> bool:
    return any(_knows(candidate, place) for candidate in _candidates(place))


def _candidates(place: Path) -> Iterator[Reader]:
    """Yield the readers that may recognise a place; few recognise a folder that holds only folders."""
    first = next(iter(READERS))
    yield first  # recognises most logs, so that the folder is not listed
    try:
        with os.scandir(place) as entries:  # a run of W&B may have its own in "files"
            files = any(not entry.is_dir() or entry.name == "files" for entry in entries)
    except OSError:
        files = True
    yield from READERS.iter_except({first.name} if files else {first.name, *_BY_THEIR_FILES})


def _below(folder: Path, top: Path, linked: set[Path], options: Options) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as problem:
        raise LogError(f"cannot be listed ({problem.strerror})", "check its permissions", file=folder) from problem
    for entry in entries:
        if entry.name.startswith("."):
            continue
        child = folder / entry.name
        if entry.is_symlink():
            target = child.resolve()
            if not target.is_relative_to(top) and target not in linked and child.is_dir() and _is_known(child):
                linked.add(target)
                yield child
        elif entry.is_dir():
            # A folder that no reader knows, with the ledger of a journal, has lost its records.
            if _is_known(child) or (child / "blocks.jsonl").is_file():
                yield child
            else:
                yield from _below(child, top, linked, options)
        elif entry.is_file() and (_is_claimed(child, options) or _is_damaged(child)):
            yield child


def _is_damaged(file: Path) -> bool:
    """Return whether a packed or binary file with the suffix of a table cannot be opened as one."""
    from perdure.log.formats.packed import damaged

    return damaged(file)


def _is_claimed(file: Path, options: Options) -> bool:
    return any(
        _knows(candidate, file) and (not isinstance(candidate, ReaderOfFiles) or candidate.claims(file, options))
        for candidate in READERS
    )


def _directions(
    measures: Sequence[str] | Mapping[str, Direction] | None,
) -> Mapping[str, Direction] | None:
    if measures is None:
        return None
    if isinstance(measures, Mapping):
        return dict(measures)
    return dict.fromkeys(measures, "higher")


def _describe(place: Path) -> str:
    try:
        if not place.is_dir():
            refuse_irregular(place.stat())
            return f"a file of {place.stat().st_size} bytes"
        names = sorted(entry.name for entry in os.scandir(place))
    except OSError as problem:
        return f"it cannot be read: {problem.strerror}"
    listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    return f"found: {listed}{_unclaimed(place, names)}" if names else "an empty folder"


def _unclaimed(folder: Path, names: Sequence[str]) -> str:
    """Return a hint on a file that its reader recognises but does not claim."""
    for name in names:
        for reader in READERS:
            if isinstance(reader, ReaderOfFiles) and _knows(reader, folder / name):
                return f"; {name} may be a {reader.name}: say which column is which (--column), or name the file itself"
    return ""
