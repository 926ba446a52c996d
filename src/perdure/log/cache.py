"""Parquet copies of what a log says under `.perdure/`: derived, keyed, proven before parsing, deletable at any time.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Literal

import msgspec
import polars as pl

from perdure import files
from perdure.errors import LogError
from perdure.log.tsv import Source

__all__ = ["EXPERIENCES", "FOLDER", "VALUES", "WORTH_KEEPING", "Copy", "keep", "key_of", "recall", "settle"]

FOLDER = ".perdure"
EXPERIENCES, VALUES = "experiences", "values"
"""The copies there are: of all rows; and of the values in order, with each block's first and last row."""
_LAYOUT = "4"  # raise it when the table's schema changes, so that old copies are not taken
WORTH_KEEPING = 50_000  # rows; below, parsing the text again takes little longer than writing the copy

_writing: set[threading.Thread] = set()


@dataclass(frozen=True, eq=False)
class Copy:
    """What is kept of a log."""

    tables: Sequence[pl.DataFrame]
    height: int
    """How many rows the log has."""
    notes: Sequence[str]


class _Facts(msgspec.Struct):
    """What a copy is, and what it was made from."""

    key: str
    sizes: list[int]
    """The bytes of each table, one after the other."""
    rows: list[int]
    columns: list[dict[str, str]]
    height: int
    notes: list[str]


def key_of(found: Iterable[Source], measures: Mapping[str, str], ledger: int | None) -> str:
    """What the copy was made from: names, sizes and times of the journal's files, the ledger, and the measures."""
    facts = [_LAYOUT, ledger, *measures, *((one.relative, one.size, one.mtime_ns) for one in found)]
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def recall(log: Path, name: str, key: str) -> Copy | None:
    """The copy of this name, or None where there is none for this key that proves itself."""
    folder = log / FOLDER
    try:
        checksum, _, text = files.read_bytes(folder / f"{name}.json", files.HEADER_LIMIT, within=log).partition(b"\n")
        facts = msgspec.json.decode(text, type=_Facts)
        if facts.key != key:
            return None
        content = memoryview(files.read_bytes(folder / f"{name}.parquet", sum(facts.sizes), within=log))
        # Before Polars sees a byte of it: one that is flipped may end the process. The bytes that were
        # summed are the bytes that are parsed, whoever writes to the file meanwhile.
        if checksum != _checksum(name, text, content):
            return None
        ends = list(accumulate(facts.sizes))
        tables = [
            pl.read_parquet(bytes(content[end - size : end])) for size, end in zip(facts.sizes, ends, strict=True)
        ]
    except (OSError, LogError, ValueError, msgspec.DecodeError, pl.exceptions.PolarsError):
        return None  # a damaged copy is no loss: the journal is read instead
    if ([one.height for one in tables], list(map(_columns, tables))) != (facts.rows, facts.columns):
        return None
    return Copy(tables, facts.height, facts.notes)


def keep(log: Path, name: str, key: str, kept: Copy) -> None:
    """Write a copy beside the log, in the background; a read-only folder is left alone."""
    if kept.height < WORTH_KEEPING or not os.access(log, os.W_OK):
        return
    thread = threading.Thread(target=_write, args=(log, name, key, kept), name="perdure-cache")
    _writing.add(thread)
    thread.start()


def settle() -> None:
    """Wait until every copy that is being written is there."""
    for thread in tuple(_writing):
        thread.join()


def _write(log: Path, name: str, key: str, kept: Copy) -> None:
    # A full disk or a folder removed meanwhile costs the copy, never the log or the caller.
    try:
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            folder = log / FOLDER
            folder.mkdir(exist_ok=True)
            made, sizes = io.BytesIO(), []
            for table in kept.tables:
                before = made.tell()
                measured = all(kind.is_float() for kind in table.dtypes)  # which hardly gets smaller
                packed: Literal["uncompressed", "lz4"] = "uncompressed" if measured else "lz4"
                table.write_parquet(made, compression=packed, statistics=False)  # nobody asks for a part of it
                sizes.append(made.tell() - before)
            rows, columns = [one.height for one in kept.tables], list(map(_columns, kept.tables))
            text = msgspec.json.encode(_Facts(key, sizes, rows, columns, kept.height, list(kept.notes)))
            content = made.getbuffer()
            files.write(folder / f"{name}.parquet", content, synced=False)
            files.write(folder / f"{name}.json", _checksum(name, text, content) + b"\n" + text, synced=False)
    finally:
        _writing.discard(threading.current_thread())


def _checksum(name: str, facts: bytes, table: bytes | memoryview) -> bytes:
    return b"%08x" % zlib.crc32(table, zlib.crc32(facts, zlib.crc32(name.encode())))  # renamed, it is no such copy


def _columns(table: pl.DataFrame) -> dict[str, str]:
    return {name: str(kind) for name, kind in table.schema.items()}
