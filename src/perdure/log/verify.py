"""Compare a log with its ledger `blocks.jsonl`, which the journal wrote.

Reading and checking use the same functions: the checksums of closed blocks are taken from the bytes that are read
anyway, and compared here. Blocks that the ledger has not closed are not verified, and a note says so.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from perdure import files
from perdure.errors import LogError, UnverifiedError
from perdure.log.places import BLOCKS_FILE, MANIFEST, Source, sources
from perdure.log.problem import Problem
from perdure.log.rows import records_in

_RESTORE = "restore it from a copy"
_AT_MOST = 3  # problems named in one message; further ones are counted


class Closed(msgspec.Struct, frozen=True):
    """A block when the journal ended it."""

    block_num: int
    rows: int
    bytes: int
    crc32: int
    line: int
    """Its line in the ledger."""
    may_grow: bool
    """Whether a journal continued it and has not ended it since."""


class Ledger(msgspec.Struct, frozen=True):
    """The contents of a ledger."""

    closed: Mapping[str, Closed] = msgspec.field(default_factory=dict)
    """Relative path of a file → its block."""
    abandoned: frozenset[str] = frozenset()
    """Files that a journal began and did not finish, and that no journal will close."""
    described: Mapping[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Name of a file that describes the log → its checksums."""
    ended: bool = False
    """Whether every worker that wrote closed its part."""
    problems: tuple[Problem, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """A data file as it is: its size, the checksum of the bytes that the ledger closed, and its records."""

    size: int
    crc32: int | None
    rows: int | None = None
    """None if not counted: equal bytes have equally many."""


class _Event(msgspec.Struct):
    """One line of the ledger: a block ended or continued, a torn line cut off, or how a worker ended."""

    event: str
    worker: str
    file: str = ""
    files: dict[str, int] = {}
    block_num: int = 0
    rows: int = 0
    bytes: int = 0
    crc32: int = 0


_DECODER = msgspec.json.Decoder(_Event)


def ledger_of(place: Path) -> Ledger | None:
    """Read the ledger of a log; None if there is none. Read it before the files are listed: these only grow."""
    try:
        content = files.read_bytes(place / BLOCKS_FILE, files.LEDGER_LIMIT, within=place)
    except FileNotFoundError:
        return None
    except (OSError, LogError) as problem:
        what = problem.detail if isinstance(problem, LogError) else f"cannot be read: {problem.strerror}"
        return Ledger(problems=(Problem("error", BLOCKS_FILE, None, what, _RESTORE),))
    blocks: dict[str, tuple[int, _Event]] = {}
    continued: dict[str, int] = {}
    abandoned: set[str] = set()
    described: dict[str, tuple[int, ...]] = {}
    last: dict[str, tuple[int, _Event]] = {}
    problems: list[Problem] = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            event = _DECODER.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            problems.append(_unread(number, line, str(problem)))
            continue
        if event.event == "description":
            # A process may have died between this line and the file, so that the one before counts too.
            described |= {name: (*described.get(name, ())[-1:], checksum) for name, checksum in event.files.items()}
            continue
        last[event.worker] = number, event
        if event.event == "block":
            blocks[event.file] = number, event
        elif event.event == "continued":
            continued[event.file] = number
        elif event.event == "abandoned":
            abandoned.add(event.file)
    closed = {
        # A block that is its worker's last event may have grown: a journal may be continuing it.
        file: Closed(
            block.block_num,
            block.rows,
            block.bytes,
            block.crc32,
            number,
            may_grow=continued.get(file, 0) > number or last[block.worker][0] == number,
        )
        for file, (number, block) in blocks.items()
    }
    is_complete = bool(last) and all(event.event == "closed" for _, event in last.values())
    return Ledger(closed, frozenset(abandoned), described, is_complete, tuple(problems))


def _unread(number: int, line: bytes, why: str) -> Problem:
    """Return the problem of a line that cannot be decoded; the block of a torn line counts as open."""
    if line.endswith(b"}"):
        return Problem("error", BLOCKS_FILE, number, f"not written by a journal: {why}", _RESTORE)
    what = "the line is torn, so that the block it closed cannot be verified"
    return Problem(
        "warning", BLOCKS_FILE, number, what, "harmless; a full disk or a power cut leaves such a line", True
    )


def append_event(ledger: Path, event: Mapping[str, object]) -> None:
    """Append one line to a ledger; a single write keeps the lines of several workers whole. Raise OSError."""
    descriptor = files.open_descriptor(ledger, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        line = msgspec.json.encode(event) + b"\n"
        if os.lseek(descriptor, 0, os.SEEK_END):
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":  # a full disk tore the line before, and must not spoil this one
                line = b"\n" + line
        if os.write(descriptor, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def description_event(texts: Mapping[str, bytes]) -> dict[str, object]:
    """Return the ledger's line on the files that describe a log, by their names."""
    return {"event": "description", "worker": "", "files": {name: zlib.crc32(text) for name, text in texts.items()}}


def ended(place: Path) -> bool:
    """Return whether every worker that wrote here closed its part."""
    ledger = ledger_of(place)
    return ledger is not None and ledger.ended


def compared(ledger: Ledger, files_found: Mapping[str, Seen]) -> Iterator[Problem]:
    """Yield an error for each file that differs from the ledger: missing, altered, cut short, or longer."""
    yield from ledger.problems
    for file, closed in ledger.closed.items():
        file_seen = files_found.get(file)
        if file_seen is None:
            what = f"{file}, a block of {closed.rows} records, is missing"
            yield Problem("error", BLOCKS_FILE, closed.line, what, _RESTORE)
        elif difference := _difference(closed, file_seen):
            what = (
                f"altered after it was written: the journal wrote {closed.rows} records in {closed.bytes} "
                f"bytes (checksum {closed.crc32}), but {difference}"
            )
            yield Problem("error", file, None, what, _RESTORE)
    if ledger.ended and not ledger.problems:
        for file, file_seen in files_found.items():
            if file_seen.size and file not in ledger.closed and file not in ledger.abandoned:
                what = f"{BLOCKS_FILE} does not mention it, and every worker closed its part"
                yield Problem("error", file, None, what, "move it into a log of its own")


def description_problems(ledger: Ledger, place: Path) -> Iterator[Problem]:
    """Yield an error for each file that describes the log and is not as the journal wrote it."""
    if MANIFEST not in ledger.described and not (place / MANIFEST).exists():
        yield Problem("error", MANIFEST, None, "missing, though a journal wrote this log", _RESTORE)
    for name, checksums in ledger.described.items():
        try:
            checksum = zlib.crc32(files.read_bytes(place / name, files.HEADER_LIMIT, within=place))
        except FileNotFoundError:
            yield Problem("error", name, None, "missing", _RESTORE)
        except (OSError, LogError) as problem:
            what = problem.detail if isinstance(problem, LogError) else f"cannot be read: {problem.strerror}"
            yield Problem("error", name, None, what, _RESTORE)
        else:
            if checksum not in checksums:
                what = f"altered after it was written (checksum {checksum}, the journal wrote {checksums[-1]})"
                yield Problem("error", name, None, what, _RESTORE)


def _difference(closed: Closed, file_seen: Seen) -> str | None:
    more = file_seen.size - closed.bytes
    if more < 0:
        return f"it is {-more} bytes shorter"
    if more and not closed.may_grow:
        return f"it is {more} bytes longer"
    if file_seen.crc32 != closed.crc32:
        return "its bytes differ"
    if file_seen.rows is not None and file_seen.rows != closed.rows:
        return f"there are {file_seen.rows} records"
    return None


def seen_in(content: bytes, closed: Closed | None) -> Seen:
    """Return the state of a file, for comparison with the block that the ledger closed."""
    if closed is None:
        return Seen(len(content), None)
    part = content[: closed.bytes]
    checksum = zlib.crc32(part)
    return Seen(len(content), checksum, records_in(part) if checksum == closed.crc32 else None)


def verify(place: Path, wanted: Callable[[Closed], bool] = lambda _: True) -> tuple[Problem, ...]:
    """Return every difference of a log from its ledger, after reading all blocks or those that are `wanted`."""
    ledger = ledger_of(place)
    if ledger is None:
        return ()
    chosen = {file: closed for file, closed in ledger.closed.items() if wanted(closed)}
    present = {source.relative: source for source in sources(place)}
    files_found: dict[str, Seen] = {}
    for file in chosen.keys() & present.keys():
        with files.reading(present[file].name, "let it be read, then try again"):
            files_found[file] = seen_in(files.read_bytes(present[file].name), chosen[file])
    problems = (*description_problems(ledger, place), *compared(Ledger(chosen, problems=ledger.problems), files_found))
    return errors_in(problems)


def errors_in(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems that are errors."""
    return tuple(problem for problem in problems if problem.level == "error")


def notes_on(ledger: Ledger | None, data_sources: Sequence[Source]) -> list[str]:
    """Return notes on the parts of a log that were not verified."""
    if ledger is None:
        return [f"not verified: there is no {BLOCKS_FILE} to compare the records with"]
    closed = ledger.closed
    unverified = sum(
        1
        for source in data_sources
        if source.size and (source.relative not in closed or source.size > closed[source.relative].bytes)
    )
    notes = (
        [f"not verified: {unverified} of {len(data_sources)} files, whose blocks {BLOCKS_FILE} has not closed"]
        if unverified
        else []
    )
    if not ledger.described:
        notes.append(f"not verified: {BLOCKS_FILE} has no checksums of the files that describe the log")
    return notes


def as_it_stands(problems: Sequence[Problem]) -> list[str]:
    """Return notes on the errors of a log that is read unverified."""
    messages = [f"unverified: {problem.file}: {problem.what}" for problem in problems[:_AT_MOST]]
    return [*messages, f"unverified: {len(problems) - _AT_MOST} more"] if len(problems) > _AT_MOST else messages


def refusal(
    place: Path, problems: Sequence[Problem], otherwise: str = "read it as it is with --unverified"
) -> UnverifiedError:
    """Return the error for a log that differs from its ledger."""
    first = problems[0]
    where = f"{place / first.file}" + (f":{first.line}" if first.line else "")
    more = f" ({len(problems) - 1} more: perdure check {place})" if len(problems) > 1 else ""
    return UnverifiedError(first.what, f"{first.fix}, or {otherwise}{more}", file=where)
