"""Weights & Biases: an offline run's folder with its `.wandb` file, or a history kept as lines of JSON.

A `.wandb` file begins with `:W&B`, a magic number and a version, and then is a log as LevelDB writes them (its
`doc/log_format.md`: blocks of 32 KiB; checksum, length, kind, data), with checksums by zlib. Each record is a `Record`
of `wandb_internal.proto`; those of history hold keys and values as JSON.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import LogError
from perdure.log.formats import protobuf
from perdure.log.formats.protobuf import DamagedError, fields
from perdure.log.formats.runs import Row, RunReader, learner_and_seed
from perdure.log.rows import bytes_of

_HEADER = b":W&B\xe1\xbe"
_BLOCK = 1 << 15
_DAMAGED = "the file is damaged: copy it again from the original"
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY = "wandb-history.jsonl"
# The fields of Record, HistoryRecord and its items, RunRecord and ConfigRecord.
_RECORD_HISTORY, _RECORD_CONFIG, _RECORD_RUN = 2, 5, 17
_RUN_CONFIG = 4
_KEY, _NESTED, _JSON = 1, 2, 16


def _file(place: Path) -> Path | None:
    """Where a run's history stands: the `.wandb` file, or the history as text that older versions left in `files/`."""
    if place.is_file():
        return place if place.suffix == ".wandb" or place.name == _HISTORY else None
    if not place.is_dir():
        return None
    try:
        found = sorted(one for one in place.iterdir() if one.suffix == ".wandb" and one.is_file())
    except OSError:
        return None
    texts = [one for one in (place / "files" / _HISTORY, place / _HISTORY) if one.is_file()]
    return next(iter([*found, *texts]), None)


def _rows(place: Path, notes: list[str]) -> Iterator[Row]:
    file = _file(place)
    assert file is not None
    if file.name == _HISTORY:
        yield from json_rows(file, notes)
        return
    for at, record in _records(file, bytes_of(file), notes):
        try:
            for number, value in fields(record):
                if number == _RECORD_HISTORY and not isinstance(value, int):
                    # The library writes what one call logs in an order that it draws anew each time.
                    yield dict(sorted(_said(value, 1).items()))
        except DamagedError as problem:
            raise LogError(f"no record ({problem})", _DAMAGED, file=file, where=f"byte {at}") from None


def json_rows(file: Path, notes: list[str]) -> Iterator[Row]:
    """Lines of JSON as rows; the last one, without its newline, was cut off, and is left out."""
    lines = bytes_of(file).split(b"\n")
    if lines.pop().strip():
        notes.append(f"{file.name}: the last line is torn; left out (if it is whole, add the newline)")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise LogError(f"no JSON: {problem}", "expected one object per line", file=file, line=number) from problem
        if not isinstance(row, dict):
            raise LogError(f"a {type(row).__name__}", "expected one object per line", file=file, line=number)
        yield row


def _records(path: Path, content: bytes, notes: list[str]) -> Iterator[tuple[int, memoryview]]:
    if not content.startswith(_HEADER) or len(content) < 7:
        raise LogError("no .wandb file", "expected one that begins with :W&B", file=path)
    view, at, whole = memoryview(content), 7, bytearray()
    begun = 7
    while at < len(content):
        left = _BLOCK - at % _BLOCK
        if left < 7:  # the rest of a block is filled with zeros
            at += left
            continue
        if len(content) - at < 7:
            break
        stored, size, kind = struct.unpack_from("<IHB", content, at)
        if stored == size == kind == 0:  # set aside by whoever wrote it, and never written
            at += left
            continue
        data = view[at + 7 : at + 7 + size]
        if len(data) < size:
            break
        if size > left - 7 or kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            raise LogError(f"a piece of {size} bytes, kind {kind}", _DAMAGED, file=path, where=f"byte {at}")
        if zlib.crc32(data, zlib.crc32(view[at + 6 : at + 7])) != stored:
            raise LogError("the checksum does not match the data", _DAMAGED, file=path, where=f"byte {at}")
        if kind in (_FULL, _FIRST):
            begun, whole = at, bytearray()
        whole += data
        at += 7 + size
        if kind in (_FULL, _LAST):
            yield begun, memoryview(bytes(whole))
    if at < len(content):
        notes.append(f"{path.name}: the last record is cut off ({len(content) - at} bytes); left out")


def _said(message: memoryview, items: int) -> dict[str, Any]:
    """The keys and values in the repeated field `items` of a message; nested keys with a dot between."""
    row: dict[str, Any] = {}
    for number, item in fields(message):
        if number != items or isinstance(item, int):
            continue
        keys: list[str] = []
        value: Any = None
        for part, content in fields(item):
            if part in (_KEY, _NESTED):
                keys.append(protobuf.text(content))
            elif part == _JSON:
                value = _decoded(protobuf.text(content))
        row[".".join(keys)] = value
    return row


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None  # NaN and Infinity, which are no JSON


def _facts(place: Path) -> Mapping[str, Any]:
    """The settings that the run was begun with, or given later."""
    file = _file(place)
    if file is None or file.suffix != ".wandb":
        return {}
    said: dict[str, Any] = {}
    for _, record in _records(file, bytes_of(file), []):
        with contextlib.suppress(DamagedError):  # a run without a name is still one
            for number, value in fields(record):
                if number == _RECORD_RUN and not isinstance(value, int):
                    configs = [one for inner, one in fields(value) if inner == _RUN_CONFIG]
                else:
                    configs = [value] if number == _RECORD_CONFIG else []
                for config in configs:
                    said |= {} if isinstance(config, int) else _said(config, 1)
    return learner_and_seed(said)


WANDB = RunReader(
    "wandb",
    "an offline run of Weights & Biases (offline-run-…, with its .wandb file), or a wandb-history.jsonl",
    lambda place: _file(place) is not None,
    rows=_rows,
    facts=_facts,
)
