"""Read and write TensorBoard event files.

A file is a sequence of TFRecords (tensorflow.org/tutorials/load_data/tfrecord: length, checksum, data, checksum), each
an `Event` with a step and a `Summary` of values (`event.proto`, `summary.proto`, `tensor.proto` of TensorFlow). A
scalar is a `simple_value`, as PyTorch writes it, or a tensor of one number, as TensorFlow 2 does.

We do not use the package `tensorboard` for this. Its reader ends without an error at a damaged record, takes longer
than ours, and its writer takes sixteen times as long; the package adds about 100 MB to an installation.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError
from perdure.log.rows import bytes_of

_WORD = "tfevents"
_LARGEST = 1 << 16  # bytes: larger records hold pictures, graphs, histograms, and no scalar
_TENSORS = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}  # the numbers of tensor.proto's types
_LISTS = {5: "<f4", 6: "<f8"}  # float_val and double_val, packed; the whole numbers below
_WHOLE = (7, 10)
_VERSION = b"brain.Event:2"
_CASTAGNOLI = 0x82F63B78  # bits in reverse


class Scalar(msgspec.Struct, frozen=True):
    """One number under a tag."""

    tag: str
    step: int
    value: float
    moment: float = 0.0
    """Seconds since 1970."""


# --- the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding) --------------

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class DamagedError(ValueError):
    """Raised for bytes that are not a message."""


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message by number: a whole number, or the bytes of any other type."""
    position, end = 0, len(message)
    while position < end:
        key, position = _read_varint(message, position)
        number, kind = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise DamagedError(f"field {number}")
        if kind == _VARINT:
            value, position = _read_varint(message, position)
            yield number, value
            continue
        if kind == _BYTES:
            size, position = _read_varint(message, position)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise DamagedError(f"wire type {kind}")
        if size > end - position:
            raise DamagedError(f"a field of {size} bytes where {end - position} are left")
        yield number, message[position : position + size]
        position += size


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise DamagedError("a number that does not end")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
    raise DamagedError("a number of more than ten bytes")


def decode_text(value: int | memoryview) -> str:
    """Return a field as text; raise DamagedError if it is not UTF-8."""
    if isinstance(value, int):
        raise DamagedError("a number where text is expected")
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise DamagedError(f"text that is no UTF-8 ({problem.reason})") from problem


def _decode_number(kind: str, value: int | memoryview) -> float:
    if isinstance(value, int) or len(value) != struct.calcsize(kind):
        raise DamagedError("a number of the wrong width")
    return float(struct.unpack(kind, value)[0])


def _as_signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


# --- the checksum of TFRecords: CRC-32C (RFC 3720, appendix B.4), rotated and shifted -------------


def _checksum_table() -> npt.NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & np.uint32(1), (table >> np.uint32(1)) ^ np.uint32(_CASTAGNOLI), table >> np.uint32(1))
    return table.astype(np.uint32)


_TABLE = _checksum_table()


def checksums(content: bytes, starts: Sequence[int], lengths: Sequence[int]) -> npt.NDArray[np.uint32]:
    """Return the checksums of many pieces at once: one step for the n-th byte of all of them, longest pieces first."""
    data = np.frombuffer(content, np.uint8)
    size = np.asarray(lengths, np.int64)
    order = np.argsort(-size, kind="stable")
    begins, sizes = np.asarray(starts, np.int64)[order], size[order]
    state = np.full(len(sizes), 0xFFFFFFFF, np.uint32)
    active = len(sizes)
    for position in range(int(sizes[0]) if len(sizes) else 0):
        while sizes[active - 1] <= position:
            active -= 1
        current = state[:active]
        state[:active] = _TABLE[(current ^ data[begins[:active] + position]) & np.uint32(255)] ^ (
            current >> np.uint32(8)
        )
    sums = np.empty_like(state)
    sums[order] = ~state
    return ((sums >> np.uint32(15)) | (sums << np.uint32(17))) + np.uint32(0xA282EAD8)


# --- reading -------------------------------------------------------------------------------------


def event_files(place: Path) -> list[Path]:
    """Return the event files of a run in the order of their names, which hold the time when they were begun."""
    try:
        paths = [place] if place.is_file() else list(place.iterdir()) if place.is_dir() else []
        return sorted(file for file in paths if _WORD in file.name and file.is_file())
    except OSError:
        return []


def scalars_in(path: Path, notes: list[str]) -> Iterator[Scalar]:
    """Yield the scalars in one event file.

    A record that is cut off at the end is left out, with a note. Raise LogError for any other damage.
    """
    for position, record in _records(path, bytes_of(path), notes):
        try:
            yield from _scalars(record)
        except DamagedError as problem:
            fix = "copy it again from the original"
            raise LogError(f"no event ({problem})", fix, file=path, where=f"byte {position}") from None


def _records(path: Path, content: bytes, notes: list[str]) -> Iterator[tuple[int, memoryview]]:
    starts: list[int] = []
    sizes: list[int] = []
    position, end = 0, len(content)
    while position < end:
        left = end - position
        size = struct.unpack_from("<Q", content, position)[0] if left >= 12 else end
        if size > left - 16:
            if starts or left < 12:
                notes.append(f"{path.name}: the last record is cut off ({left} bytes); left out")
                break
            raise LogError("no event file", "expected TFRecords, which begin with a length and its checksum", file=path)
        starts.append(position)
        sizes.append(size)
        position += size + 16
    _verify(path, content, starts, [8] * len(starts))
    small = [(start, size) for start, size in zip(starts, sizes, strict=True) if size <= _LARGEST]
    _verify(path, content, [start + 12 for start, _ in small], [size for _, size in small])
    view = memoryview(content)
    for start, size in small:
        yield start, view[start + 12 : start + 12 + size]


def _verify(path: Path, content: bytes, starts: list[int], sizes: list[int]) -> None:
    """Raise LogError if some piece is not followed by its checksum."""
    stored = [struct.unpack_from("<I", content, start + size)[0] for start, size in zip(starts, sizes, strict=True)]
    wrong = np.flatnonzero(checksums(content, starts, sizes) != np.array(stored, np.uint32))
    if wrong.size:
        raise LogError(
            "the checksum does not match the data",
            "the file is damaged, or not an event file: copy it again from the original",
            file=path,
            where=f"byte {starts[wrong[0]]}",
        )


def _scalars(event: memoryview) -> Iterator[Scalar]:
    step, moment, summaries = 0, 0.0, []
    for number, value in fields(event):
        if number == 1:
            moment = _decode_number("<d", value)
        elif number == 2 and isinstance(value, int):
            step = _as_signed(value)
        elif number == 5 and not isinstance(value, int):
            summaries.append(value)
    for summary in summaries:
        for number, value in fields(summary):
            if number == 1 and not isinstance(value, int) and (scalar := _value(value)):
                yield Scalar(scalar[0], step, scalar[1], moment)


def _value(message: memoryview) -> tuple[str, float] | None:
    tag, scalar = "", None
    for number, value in fields(message):
        if number == 1:
            tag = decode_text(value)
        elif number == 2:
            scalar = _decode_number("<f", value)
        elif number == 8 and not isinstance(value, int):
            scalar = _tensor(value)
    return (tag, scalar) if tag and scalar is not None else None


def _tensor(message: memoryview) -> float | None:
    """Return the number in a tensor of one number, None for any other."""
    kind, numbers, raw = 0, [], None
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 4 and not isinstance(value, int):
            raw = value
        elif number in _LISTS and not isinstance(value, int):
            if len(value) % np.dtype(_LISTS[number]).itemsize:
                raise DamagedError("a list of numbers that ends in the middle of one")
            numbers += np.frombuffer(value, _LISTS[number])[:2].tolist()
        elif number in _WHOLE and isinstance(value, int):
            numbers.append(_as_signed(value))
    if raw is not None and kind in _TENSORS and len(raw) == np.dtype(_TENSORS[kind]).itemsize:
        return float(np.frombuffer(raw, _TENSORS[kind])[0])
    return float(numbers[0]) if len(numbers) == 1 else None


# --- writing -------------------------------------------------------------------------------------


class EventFile:
    """A new event file in a folder, to which records are appended."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns() // 10**9}.{socket.gethostname()}.{os.getpid()}"
        number = len(list(folder.glob(f"{name}*")))
        self.path = folder / f"{name}.{number}"
        with self.path.open("xb") as file:
            file.write(_frame_records([b"\x09" + struct.pack("<d", time.time()) + _field(3, _VERSION)]))

    def append(self, content: bytes) -> None:
        """Add whole records at the end."""
        with self.path.open("ab") as file:
            file.write(content)


def event_records(
    tags: Sequence[Sequence[str]],
    which: npt.NDArray[np.int64],
    steps: npt.NDArray[np.int64],
    moments: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
) -> bytes:
    """Return one event per row; `tags[which[row]]` name the columns of `values`, which are written as doubles."""
    columns = (column.tolist() for column in (which, steps, moments, values))
    return _frame_records([_event(tags[kind], *event) for kind, *event in zip(*columns, strict=True)])


def _event(tags: Sequence[str], step: int, moment: float, values: Sequence[float]) -> bytes:
    scalars = (
        _field(1, tag.encode()) + _field(8, _DOUBLE + _field(6, struct.pack("<d", value))) + _METADATA
        for tag, value in zip(tags, values, strict=True)
    )
    summary = b"".join(_field(1, scalar) for scalar in scalars)
    return b"\x09" + struct.pack("<d", moment) + b"\x10" + _varint(step) + _field(5, summary)


def _frame_records(events: Sequence[bytes]) -> bytes:
    """Return records with their length in front and the two checksums."""
    sizes = [len(event) for event in events]
    lengths = struct.pack(f"<{len(events)}Q", *sizes)
    heads = checksums(lengths, range(0, 8 * len(events), 8), [8] * len(events))
    tails = checksums(b"".join(events), [*accumulate(sizes, initial=0)][:-1], sizes)
    parts = zip(sizes, heads.tolist(), events, tails.tolist(), strict=True)
    return b"".join(
        struct.pack("<QI", size, head) + event + struct.pack("<I", tail) for size, head, event, tail in parts
    )


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


_DOUBLE = b"\x08\x02\x12\x00"  # the type of a tensor, and no dimensions
_METADATA = _field(9, _field(1, b"\x0a\x07scalars") + b"\x20\x01")  # plugin_name, and the data class of scalars
