"""A Parquet copy of a log's table under `.perdure/`: derived, keyed, proven before it is parsed, deletable at any time.

Beside the copy stand its facts, under one checksum with it. A copy that is not what its facts say is as
good as none: the text is read instead, and the copy made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import threading
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import polars as pl

from perdure import files
from perdure.errors import LogError
from perdure.log.tsv import Source

__all__ = ["FOLDER", "WORTH_KEEPING", "keep", "key_of", "recall", "settle"]

FOLDER = ".perdure"
_TABLE, _FACTS = "experiences.parquet", "experiences.json"
_LAYOUT = "3"  # raise it when the table's schema changes, so that old copies are not taken
WORTH_KEEPING = 50_000  # rows; below, parsing the text again takes little longer than writing the copy

_writing: set[threading.Thread] = set()


class _Facts(msgspec.Struct):
    """What a copy is, and what it was made from."""

    key: str
    bytes: int
    rows: int
    columns: dict[str, str]
    notes: list[str]


def key_of(found: Iterable[Source], measures: Mapping[str, str], ledger: int | None) -> str:
    """What the copy was made from: names, sizes and times of the journal's files, the ledger, and the measures."""
    facts = [_LAYOUT, ledger, *measures, *((one.relative, one.size, one.mtime_ns) for one in found)]
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def recall(log: Path, key: str) -> tuple[pl.DataFrame, list[str]] | None:
    """The kept table and its notes, or None where there is none for this key that proves itself."""
    folder = log / FOLDER
    try:
        checksum, _, text = files.read_bytes(folder / _FACTS, files.HEADER_LIMIT, within=log).partition(b"\n")
        facts = msgspec.json.decode(text, type=_Facts)
        if facts.key != key:
            return None
        content = files.read_bytes(folder / _TABLE, facts.bytes, within=log)
        # Before Polars sees a byte of it: one that is flipped may end the process. The bytes that were
        # summed are the bytes that are parsed, whoever writes to the file meanwhile.
        if checksum != _checksum(text, content):
            return None
        table = pl.read_parquet(content)
    except (OSError, LogError, ValueError, msgspec.DecodeError, pl.exceptions.PolarsError):
        return None  # a damaged copy is no loss: the journal is read instead
    return (table, facts.notes) if (table.height, _columns(table)) == (facts.rows, facts.columns) else None


def keep(log: Path, key: str, rows: pl.DataFrame, notes: list[str]) -> None:
    """Write the copy beside the log, in the background; a read-only folder is left alone."""
    if rows.height < WORTH_KEEPING or not os.access(log, os.W_OK):
        return
    thread = threading.Thread(target=_write, args=(log, key, rows, list(notes)), name="perdure-cache")
    _writing.add(thread)
    thread.start()


def settle() -> None:
    """Wait until every copy that is being written is there."""
    for thread in tuple(_writing):
        thread.join()


def _write(log: Path, key: str, rows: pl.DataFrame, notes: list[str]) -> None:
    # A full disk or a folder removed meanwhile costs the copy, never the log or the caller.
    try:
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            folder = log / FOLDER
            folder.mkdir(exist_ok=True)
            made = io.BytesIO()
            rows.write_parquet(made, compression="lz4", statistics=False)  # nobody asks for a part of it
            content = made.getbuffer()
            text = msgspec.json.encode(_Facts(key, len(content), rows.height, _columns(rows), notes))
            files.write(folder / _TABLE, content, synced=False)
            files.write(folder / _FACTS, _checksum(text, content) + b"\n" + text, synced=False)
    finally:
        _writing.discard(threading.current_thread())


def _checksum(facts: bytes, table: bytes | memoryview) -> bytes:
    return b"%08x" % zlib.crc32(table, zlib.crc32(facts))


def _columns(table: pl.DataFrame) -> dict[str, str]:
    return {name: str(kind) for name, kind in table.schema.items()}
