"""A Parquet copy of a log's table under `.perdure/`: derived, keyed, deletable at any time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from perdure.log.tsv import Source

__all__ = ["FOLDER", "WORTH_KEEPING", "keep", "key_of", "recall", "settle"]

FOLDER = ".perdure"
_FILE = "experiences.parquet"
_LAYOUT = "2"  # raise it when the table's schema changes, so that old copies are not taken
WORTH_KEEPING = 50_000  # rows; below, parsing the text again takes little longer than writing the copy

_writing: set[threading.Thread] = set()


def key_of(files: Iterable[Source], measures: Mapping[str, str]) -> str:
    """What the copy was made from: names, sizes and times of the journal's files, and the measures."""
    facts = [_LAYOUT, *measures, *((one.relative, one.size, one.mtime_ns) for one in files)]
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def recall(log: Path, key: str) -> tuple[pl.DataFrame, list[str]] | None:
    """The kept table and its notes, or None where there is none for this key."""
    file = log / FOLDER / _FILE
    if not file.is_file():
        return None
    try:
        facts = pl.read_parquet_metadata(file)
        if facts.get("perdure.key") != key:
            return None
        return pl.read_parquet(file, memory_map=True), json.loads(facts.get("perdure.notes", "[]"))
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return None  # a damaged copy is no loss: the journal is read instead


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
    temporary = log / FOLDER / f".{os.getpid()}-{threading.get_ident()}.parquet"
    try:
        temporary.parent.mkdir(exist_ok=True)
        rows.write_parquet(
            temporary, compression="lz4", metadata={"perdure.key": key, "perdure.notes": json.dumps(notes)}
        )
        temporary.replace(log / FOLDER / _FILE)
    except (OSError, pl.exceptions.PolarsError):
        # A full disk or a folder removed meanwhile costs the copy, never the log or the caller.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    finally:
        _writing.discard(threading.current_thread())
