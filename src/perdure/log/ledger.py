"""blocks.jsonl: what the journal says it wrote, and whether the files still are that."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from perdure.log.l2logger import BLOCKS_FILE
from perdure.log.problem import Problem
from perdure.log.tsv import Source

__all__ = ["check_ledger"]

_RESTORE = "restore it from a copy, or remove its line from blocks.jsonl to accept it as it is"


class _Event(msgspec.Struct):
    """One line of the ledger; a block's end, or how a worker ended."""

    event: str
    worker: str
    file: str = ""
    rows: int = 0
    bytes: int = 0
    crc32: int = 0


def check_ledger(place: Path, files: Mapping[str, Source]) -> Iterator[Problem]:
    """Whether the files are what the journal says it wrote: size and checksum at each block's end."""
    ledger = place / BLOCKS_FILE
    try:
        if not ledger.exists():
            return
        lines = ledger.read_bytes().splitlines()
    except OSError as problem:
        yield Problem("error", BLOCKS_FILE, None, f"cannot be read: {problem.strerror}", "restore it, or remove it")
        return
    ended: dict[str, tuple[int, _Event]] = {}
    last: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        try:
            event = msgspec.json.decode(line, type=_Event)
        except (msgspec.DecodeError, RecursionError) as problem:
            yield Problem("error", BLOCKS_FILE, number, f"not a line of a journal's: {problem}", "remove this line")
            continue
        last[event.worker] = number
        if event.event == "block":
            ended[event.file] = (number, event)
    for name, (number, event) in ended.items():
        if name not in files:
            what = f"{name}, a block of {event.rows} records, is gone"
            yield Problem("error", BLOCKS_FILE, number, what, "restore it from a copy")
            continue
        try:
            content = files[name].path.read_bytes()
        except OSError as problem:
            yield Problem("error", name, None, f"cannot be read: {problem.strerror}", "check its permissions")
            continue
        # Only the block that a worker ended last may have grown since, under a journal that joined and did not end.
        more = len(content) - event.bytes if last[event.worker] != number else 0
        if len(content) < event.bytes or more > 0 or zlib.crc32(content[: event.bytes]) != event.crc32:
            found = f"there are {more} bytes more" if more > 0 else "these are others"
            what = (
                f"altered after it was written: the journal ended it with {event.rows} records in {event.bytes} bytes "
                f"(checksum {event.crc32}), and {found}"
            )
            yield Problem("error", name, None, what, _RESTORE)
