"""TensorBoard's event files, written in columns: a record per experience, with all its measures in one summary.

After TensorFlow's event.proto, summary.proto and tensor.proto, and the TFRecord framing; read by
`perdure.log.formats.tensorboard` and by TensorBoard itself. Values are doubles, so nothing is rounded.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perdure.log.formats.protobuf import checksums, masked

Bytes = npt.NDArray[np.uint8]
_STEP_BYTES = 6  # a whole number may be written with more bytes than it needs, so that all records are of one length
_VERSION = b"brain.Event:2"


class EventFile:
    """A file of events in a folder of a run's own, to which records are appended."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns() // 10**9}.{socket.gethostname()}.{os.getpid()}"
        number = len(list(folder.glob(f"{name}*")))
        self.path = folder / f"{name}.{number}"
        moment = b"\x09" + struct.pack("<d", time.time())
        with self.path.open("xb") as file:
            file.write(_framed(np.frombuffer(moment + _field(3, _VERSION), np.uint8)[None, :]).tobytes())

    def append(self, content: bytes) -> None:
        """Add whole records at the end."""
        with self.path.open("ab") as file:
            file.write(content)


def records(
    tags: Sequence[Sequence[str]],
    which: npt.NDArray[np.int64],
    steps: npt.NDArray[np.int64],
    moments: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
) -> bytes:
    """Row after row as events: `tags[which[row]]` name the columns of `values`, NaN is left as it is."""
    made = {kind: _events(tags[kind], *_of(kind, which, steps, moments, values)) for kind in np.unique(which).tolist()}
    widths = np.array([made[kind].shape[1] if kind in made else 0 for kind in range(len(tags))], np.int64)
    begins = np.concatenate([[0], np.cumsum(widths[which])])
    whole = np.empty(int(begins[-1]), np.uint8)
    for kind, rows in made.items():
        whole[begins[:-1][which == kind][:, None] + np.arange(rows.shape[1])] = rows
    return whole.tobytes()


def _of(kind: int, which: npt.NDArray[np.int64], *columns: npt.NDArray[np.generic]) -> tuple[npt.NDArray, ...]:  # type: ignore[type-arg]
    own = which == kind
    return tuple(column[own] for column in columns)


def _events(
    tags: Sequence[str],
    steps: npt.NDArray[np.int64],
    moments: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
) -> Bytes:
    """Records of one set of tags: one length, so one pattern with holes for moment, step and values."""
    scalar = _field(1, b"\x0a\x07scalars") + b"\x20\x01"  # plugin_name, and the class of data that scalars are
    tensor = b"\x08\x02\x12\x00" + _field(6, bytes(8))  # a double, without dimensions
    each = [_field(1, _field(1, tag.encode()) + _field(8, tensor) + _field(9, scalar)) for tag in tags]
    behind = len(_field(9, scalar))
    head = b"\x09" + bytes(8) + b"\x10" + bytes(_STEP_BYTES)
    summary = _field(5, b"".join(each))
    pattern = np.frombuffer(head + summary, np.uint8)
    rows = np.repeat(pattern[None, :], len(steps), axis=0)
    rows[:, 1:9] = _as_bytes(moments)
    septets = steps[:, None] >> (7 * np.arange(_STEP_BYTES)) & 0x7F
    rows[:, 10 : 10 + _STEP_BYTES] = septets | np.where(np.arange(_STEP_BYTES) < _STEP_BYTES - 1, 0x80, 0)
    end = len(pattern) - sum(map(len, each))
    for column, message in enumerate(each):
        end += len(message)
        rows[:, end - behind - 8 : end - behind] = _as_bytes(values[:, column])
    return _framed(rows)


def _as_bytes(numbers: npt.NDArray[np.float64]) -> Bytes:
    return np.ascontiguousarray(numbers, "<f8").view(np.uint8).reshape(-1, 8)


def _framed(rows: Bytes) -> Bytes:
    """Records with their length and the two checksums around them."""
    count, width = rows.shape
    length = struct.pack("<Q", width)
    head = np.frombuffer(length + masked(checksums(length, [0], [8])).astype("<u4").tobytes(), np.uint8)
    content = np.ascontiguousarray(rows)
    sums = masked(checksums(content.tobytes(), (np.arange(count) * width).tolist(), [width] * count))
    tail = sums.astype("<u4").view(np.uint8).reshape(-1, 4)
    return np.concatenate([np.repeat(head[None, :], count, axis=0), content, tail], axis=1)


def _field(number: int, content: bytes) -> bytes:
    """A message or a text as a field."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    made = b""
    while value > 0x7F:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])
