"""The wire format of Protocol Buffers and the checksum of records, as far as event files and offline runs need them.

Written to the documents "Encoding" (protobuf.dev/programming-guides/encoding) and RFC 3720, appendix B.4, whose
Castagnoli polynomial LevelDB and TFRecord take for their checksums, rotated and shifted ("masked") by TFRecord.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_CASTAGNOLI = 0x82F63B78  # bits in reverse


class DamagedError(ValueError):
    """Bytes that are no message; `str` says why."""


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message by number: a whole number, or bytes. Raise DamagedError if it is not a message."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise DamagedError(f"field {number}")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise DamagedError(f"wire type {kind}")
        if size > end - at:
            raise DamagedError(f"a field of {size} bytes where {end - at} are left")
        yield number, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise DamagedError("a number that does not end")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise DamagedError("a number of more than ten bytes")


def float32(value: int | memoryview) -> float:
    """A field of four bytes as a number."""
    return float(_unpacked("<f", value))


def float64(value: int | memoryview) -> float:
    """A field of eight bytes as a number."""
    return float(_unpacked("<d", value))


def _unpacked(kind: str, value: int | memoryview) -> float:
    if isinstance(value, int) or len(value) != struct.calcsize(kind):
        raise DamagedError("a number of the wrong width")
    found: float = struct.unpack(kind, value)[0]
    return found


def text(value: int | memoryview) -> str:
    """A field as text; DamagedError where it is no UTF-8."""
    if isinstance(value, int):
        raise DamagedError("a number where text is expected")
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError as problem:
        raise DamagedError(f"text that is no UTF-8 ({problem.reason})") from problem


def masked(checksum: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Checksums as TFRecord stores them."""
    rotated = (checksum >> np.uint32(15)) | (checksum << np.uint32(17))
    return rotated + np.uint32(0xA282EAD8)


def checksums(content: bytes, starts: Sequence[int], lengths: Sequence[int]) -> npt.NDArray[np.uint32]:
    """CRC-32C of many pieces at once: one step for the n-th byte of all of them, the longest pieces first."""
    data = np.frombuffer(content, np.uint8)
    size = np.asarray(lengths, np.int64)
    order = np.argsort(-size, kind="stable")
    begins, sizes = np.asarray(starts, np.int64)[order], size[order]
    state = np.full(len(sizes), 0xFFFFFFFF, np.uint32)
    going = len(sizes)
    for at in range(int(sizes[0]) if len(sizes) else 0):
        while sizes[going - 1] <= at:
            going -= 1
        own = state[:going]
        state[:going] = _TABLE[(own ^ data[begins[:going] + at]) & np.uint32(255)] ^ (own >> np.uint32(8))
    found = np.empty_like(state)
    found[order] = ~state
    return found


def _table() -> npt.NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & np.uint32(1), (table >> np.uint32(1)) ^ np.uint32(_CASTAGNOLI), table >> np.uint32(1))
    return table.astype(np.uint32)


_TABLE = _table()
