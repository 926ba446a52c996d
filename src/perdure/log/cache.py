"""Copies of what a log says under `.perdure/`: derived, keyed, proven before parsing, deletable at any time.

A copy is a file of bytes; beside it stand its facts, under one checksum with it. A copy that is not what its facts say
is as good as none: the text is read instead, and the copy made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import msgspec

from perdure import files
from perdure.errors import LogError
from perdure.frozen import frozen
from perdure.log.tsv import Source

__all__ = ["EXPERIENCES", "FOLDER", "WORTH_KEEPING", "Copy", "keep", "key_of", "recall", "settle"]

FOLDER = ".perdure"
EXPERIENCES = "experiences.parquet"
"""The copy of all rows."""
_LAYOUT = "7"  # raise it when what is kept changes, so that old copies are not taken
WORTH_KEEPING = 50_000  # rows; below, parsing the text again takes little longer than writing the copy

_writing: set[threading.Thread] = set()


@frozen(eq=False)
class Copy:
    """What is kept of a log."""

    parts: Sequence[bytes | memoryview]
    said: bytes
    """What these are, as JSON."""
    height: int
    """How many rows the log has."""
    notes: Sequence[str]


class _Facts(msgspec.Struct):
    """What a copy is, and what it was made from."""

    key: str
    sizes: list[int]
    """The bytes of each part, one after the other."""
    said: msgspec.Raw
    height: int
    notes: list[str]


def key_of(found: Iterable[Source], measures: Mapping[str, str], ledger: int | None) -> str:
    """What the copy was made from: names, sizes and times of the journal's files, the ledger, and the measures."""
    states = [(one.relative, one.size, one.mtime_ns) for one in found]
    checksum = zlib.crc32(json.dumps([_LAYOUT, ledger, *measures, *states]).encode())
    # A checksum may be that of other facts; of a file that was changed, size or time are not what they were.
    return f"{checksum:08x}-{sum(size for _, size, _ in states)}-{sum(changed for *_, changed in states)}"


def recall(log: Path, name: str, key: str) -> Copy | None:
    """The copy of this name, or None where there is none for this key that proves itself."""
    place = log / FOLDER / name
    try:
        checksum, _, text = files.read_bytes(_facts(place), files.HEADER_LIMIT, within=log).partition(b"\n")
        facts = msgspec.json.decode(text, type=_Facts)
        if facts.key != key:
            return None
        content = memoryview(files.read_bytes(place, sum(facts.sizes), within=log))
    except (OSError, LogError, ValueError, msgspec.DecodeError):
        return None  # a damaged copy is no loss: the journal is read instead
    # Before anybody parses a byte of it: one that is flipped may end the process. The bytes that were
    # summed are the bytes that are parsed, whoever writes to the file meanwhile.
    if checksum != _checksum(name, text, content):
        return None
    parts = [content[end - size : end] for size, end in zip(facts.sizes, accumulate(facts.sizes), strict=True)]
    return Copy(parts, bytes(facts.said), facts.height, facts.notes)


def keep(log: Path, name: str, key: str, height: int, made: Callable[[], Copy]) -> None:
    """Write a copy beside the log, in the background; a read-only folder is left alone."""
    if height < WORTH_KEEPING or not os.access(log, os.W_OK):
        return
    thread = threading.Thread(target=_write, args=(log / FOLDER / name, key, made), name="perdure-cache")
    _writing.add(thread)
    thread.start()


def settle() -> None:
    """Wait until every copy that is being written is there."""
    for thread in tuple(_writing):
        thread.join()


def _write(place: Path, key: str, made: Callable[[], Copy]) -> None:
    # A full disk or a folder removed meanwhile costs the copy, never the log or the caller.
    try:
        with contextlib.suppress(OSError):
            place.parent.mkdir(exist_ok=True)
            copy = made()
            sizes = [len(one) for one in copy.parts]
            text = msgspec.json.encode(_Facts(key, sizes, msgspec.Raw(copy.said), copy.height, list(copy.notes)))
            with files.replacing(place, synced=False) as part, part.open("wb") as file:
                file.writelines(copy.parts)
            files.write(_facts(place), _checksum(place.name, text, *copy.parts) + b"\n" + text, synced=False)
    finally:
        _writing.discard(threading.current_thread())


def _facts(place: Path) -> Path:
    return place.with_suffix(".json")


def _checksum(name: str, *contents: bytes | memoryview) -> bytes:
    found = zlib.crc32(name.encode())  # renamed, it is no such copy
    for one in contents:
        found = zlib.crc32(one, found)
    return b"%08x" % found
