"""TensorBoard's event files: the scalars in them, in the order in which they were written.

A file is a sequence of TFRecords (tensorflow.org/tutorials/load_data/tfrecord: length, checksum, data, checksum), each
an `Event` with a step and a `Summary` of values (`event.proto`, `summary.proto`, `tensor.proto` of TensorFlow). A
scalar is a `simple_value`, as PyTorch writes it, or a tensor of one number, as TensorFlow 2 does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from perdure.errors import LogError
from perdure.log.formats import protobuf
from perdure.log.formats.protobuf import DamagedError, fields
from perdure.log.formats.runs import RunReader, Scalar
from perdure.log.rows import bytes_of

_WORD = "tfevents"
_LARGEST = 1 << 16  # bytes: larger records hold pictures, graphs, histograms, and no scalar
_TENSORS = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}  # the numbers of tensor.proto's types
_LISTS = {5: "<f4", 6: "<f8"}  # float_val and double_val, packed; the whole numbers below
_WHOLE = (7, 10)


def event_files(place: Path) -> list[Path]:
    """The event files of a run, in the order in which they were begun: their names hold the time."""
    try:
        found = [place] if place.is_file() else list(place.iterdir()) if place.is_dir() else []
        return sorted(one for one in found if _WORD in one.name and one.is_file())
    except OSError:
        return []


def scalars_in(path: Path, notes: list[str]) -> Iterator[Scalar]:
    """The scalars of one event file; a record that is cut off at the end is left out, and noted."""
    content = bytes_of(path)
    for at, record in _records(path, content, notes):
        try:
            yield from _scalars(record)
        except DamagedError as problem:
            raise LogError(
                f"no event ({problem})", "copy it again from the original", file=path, where=f"byte {at}"
            ) from None


def _records(path: Path, content: bytes, notes: list[str]) -> Iterator[tuple[int, memoryview]]:
    starts: list[int] = []
    sizes: list[int] = []
    at, whole = 0, len(content)
    while at < whole:
        size = struct.unpack_from("<Q", content, at)[0] if whole - at >= 12 else whole
        if whole - at < 12 or size > whole - at - 16:
            if starts or whole - at < 12:
                notes.append(f"{path.name}: the last record is cut off ({whole - at} bytes); left out")
                break
            raise LogError("no event file", "expected TFRecords, which begin with a length and its checksum", file=path)
        starts.append(at)
        sizes.append(size)
        at += size + 16
    _verify(path, content, starts, [8] * len(starts))
    small = [number for number, size in enumerate(sizes) if size <= _LARGEST]
    _verify(path, content, [starts[number] + 12 for number in small], [sizes[number] for number in small])
    view = memoryview(content)
    for number in small:
        begin = starts[number] + 12
        yield starts[number], view[begin : begin + sizes[number]]


def _verify(path: Path, content: bytes, starts: list[int], sizes: list[int]) -> None:
    """LogError where what stands behind a piece is not its checksum."""
    stored = np.array([struct.unpack_from("<I", content, at + size)[0] for at, size in zip(starts, sizes, strict=True)])
    wrong = np.flatnonzero(protobuf.masked(protobuf.checksums(content, starts, sizes)) != stored.astype(np.uint32))
    if wrong.size:
        raise LogError(
            "the checksum does not match the data",
            "the file is damaged, or not an event file: copy it again from the original",
            file=path,
            where=f"byte {starts[wrong[0]]}",
        )


def _scalars(event: memoryview) -> Iterator[Scalar]:
    step, moment, summaries = 0, None, []
    for number, value in fields(event):
        if number == 1:
            moment = protobuf.float64(value)
        elif number == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >> 63 else value
        elif number == 5 and not isinstance(value, int):
            summaries.append(value)
    for summary in summaries:
        for number, value in fields(summary):
            if number == 1 and not isinstance(value, int) and (found := _value(value)):
                yield Scalar(found[0], step, found[1], moment)


def _value(message: memoryview) -> tuple[str, float] | None:
    tag, scalar = "", None
    for number, value in fields(message):
        if number == 1:
            tag = protobuf.text(value)
        elif number == 2:
            scalar = protobuf.float32(value)
        elif number == 8 and not isinstance(value, int):
            scalar = _tensor(value)
    return (tag, scalar) if tag and scalar is not None else None


def _tensor(message: memoryview) -> float | None:
    """The number in a tensor of one; None for any other."""
    kind, numbers, raw = 0, [], None
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 4 and not isinstance(value, int):
            raw = value
        elif number in _LISTS and not isinstance(value, int):
            width = np.dtype(_LISTS[number]).itemsize
            if len(value) % width:
                raise DamagedError("a list of numbers that ends in the middle of one")
            numbers += np.frombuffer(value, _LISTS[number])[:2].tolist()
        elif number in _WHOLE and isinstance(value, int):
            numbers.append(value - (1 << 64) if value >> 63 else value)
    if raw is not None and kind in _TENSORS and len(raw) == np.dtype(_TENSORS[kind]).itemsize:
        return float(np.frombuffer(raw, _TENSORS[kind])[0])
    return float(numbers[0]) if len(numbers) == 1 else None


def _run(place: Path, notes: list[str]) -> Iterator[Scalar]:
    for file in event_files(place):
        yield from scalars_in(file, notes)


TENSORBOARD = RunReader(
    "tensorboard",
    "TensorBoard event files (events.out.tfevents.…), or a folder that holds those of a run",
    lambda place: bool(event_files(place)),
    scalars=_run,
)
