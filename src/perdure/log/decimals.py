"""Decimal numbers that stand in a text, read many at once by NumPy, each as Python's `float` reads it to the last bit.

Eight signs are one number of 64 bits, and eight digits in it become their value by three multiplications.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["BEYOND", "NotDecimal", "Text", "decimals", "whole_numbers"]

Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.bool_]

BEYOND = 24
"""Signs that may be looked at behind the last of a text; they have to be there."""

_WORD = 8
_MOST_DIGITS = 19  # of which every whole number fits 64 bits
_EXACT = 15  # digits of which every whole number is a float
_EXTENDED = np.finfo(np.longdouble).nmant == 63  # 64 bits, as Intel's processors have
_HALF = np.longdouble(0.5)

_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.uint64)
_FLOAT_POWERS = _POWERS.astype(np.float64)

_ONES, _HIGHS = (np.uint64(int.from_bytes(bytes([one]) * 8, "little")) for one in (0x01, 0x80))
_ZEROS, _SIXES, _TENS, _DOTS = (np.uint64(int.from_bytes(bytes([one]) * 8, "little")) for one in (48, 6, 0xF0, 46))
_PAIRS = np.uint64(0x000000FF000000FF)
_UPPER, _LOWER = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
_ONE, _EIGHT, _TEN, _SIXTEEN, _THIRTY_TWO = (np.uint64(one) for one in (1, 8, 10, 16, 32))
_SIGNS = frozenset(b"0123456789+-.eE")
_MINUS = ord("-")


class NotDecimal(Exception):
    """Something else stands there."""


class Text:
    """A text as signs and, from each of them on, as words of eight; behind it are `BEYOND` further signs."""

    def __init__(self, content: memoryview) -> None:
        self.content = content
        every = np.frombuffer(content, np.uint8)
        self.codes = every[: len(content) - BEYOND]
        self.words: Words = np.ndarray((max(every.size - _WORD + 1, 0),), "<u8", content, strides=(1,))

    def groups(self, begins: Places, count: int) -> Words:
        """So many words from each of these places on, side by side."""
        width = _WORD * count
        every = np.ndarray((max(len(self.content) - width + 1, 0),), f"V{width}", self.content, strides=(1,))
        return every[begins].view("<u8").reshape(-1, count)


def whole_numbers(text: Text, begins: Places, lengths: Places) -> Words:
    """Whole numbers of 1 to 19 digits; NotDecimal where some is none."""
    if not len(lengths) or lengths.min() < 1 or lengths.max() > _MOST_DIGITS:
        raise NotDecimal
    found, sound = _digits(text, begins, lengths)
    if not sound.all():
        raise NotDecimal
    return found


def decimals(text: Text, begins: Places, lengths: Places) -> npt.NDArray[np.float64]:
    """Numbers with or without a sign, a point and an exponent; NotDecimal where some is none."""
    if not len(lengths) or lengths.min() < 1:
        raise NotDecimal
    negative = text.codes[begins] == _MINUS
    signed = bool(negative.any())
    first, size = (begins + negative, lengths - negative) if signed else (begins, lengths)
    words = text.words[first]
    before = np.minimum(_point(words), size)  # digits before the point
    seen = np.minimum(size, _WORD)
    points = (before < seen).astype(np.int64)  # one or none
    further, digits = size - seen, size - points
    behind = (digits - before) * points
    plain = (before >= 1) & (digits <= _MOST_DIGITS) & (behind >= points)
    if not plain.all():
        further = np.where(plain, further, 0)
        behind = np.where(plain, behind, 0)
    below: Words = (_ONE << (before << 3).view(np.uint64)) - _ONE  # what stands before the point
    closed_up: Words = (words & below) | ((words >> _EIGHT) & ~below)
    mantissa, sound = _eight(closed_up, seen - points)
    plain &= sound
    if further.any():
        lower, sound = _digits(text, first + seen, further)
        mantissa = mantissa * _POWERS[further] + lower
        plain &= sound
    values = mantissa.astype(np.float64) / _FLOAT_POWERS[behind]
    long = digits > _EXACT
    if long.any():
        which = np.flatnonzero(long)
        values[which], plain[which] = _divided(mantissa[which], behind[which], plain[which])
    if signed:
        np.negative(values, out=values, where=negative)
    if not plain.all():
        others = np.flatnonzero(~plain)
        values[others] = _by_python(text.content, begins[others], lengths[others])
    return values


def _digits(text: Text, begins: Places, lengths: Places) -> tuple[Words, Marks]:
    """Up to nineteen digits from each place on as a whole number, and whether they all are digits."""
    size = np.minimum(lengths, _WORD)
    found, sound = _eight(text.words[begins], size)
    for done in range(_WORD, int(lengths.max()), _WORD):
        size = np.clip(lengths - done, 0, _WORD)
        further, as_sound = _eight(text.words[begins + np.minimum(lengths, done)], size)
        found = found * _POWERS[size] + further
        sound &= as_sound
    return found, sound


def _eight(words: Words, lengths: Places) -> tuple[Words, Marks]:
    """The first `lengths` of eight signs as a whole number, and whether they are digits."""
    words = (words ^ _ZEROS) << ((_WORD - lengths) << 3).view(np.uint64)  # digits are 0 to 9 now, and behind noughts
    sound = ((words | (words + _SIXES)) & _TENS) == 0
    words = words * _TEN + (words >> _EIGHT)  # pairs of digits, then four, then eight
    words = ((words & _PAIRS) * _UPPER + ((words >> _SIXTEEN) & _PAIRS) * _LOWER) >> _THIRTY_TWO
    return words, sound


def _point(words: Words) -> Places:
    """How many signs stand before the first point; 8 where there is none."""
    differs = words ^ _DOTS
    marks = (differs - _ONES) & ~differs & _HIGHS
    below = (marks & (~marks + np.uint64(1))) - np.uint64(1)  # all bits below the first mark; all where there is none
    return (np.bitwise_count(below) >> 3).astype(np.int64)


def _divided(mantissa: Words, behind: Places, plain: Marks) -> tuple[npt.NDArray[np.float64], Marks]:
    """Quotients of more than 53 bits by powers of ten, and of which the float is sure to be the nearest one.

    With 64 bits, what seems to lie halfway between two floats may lie on either side; nothing else may.
    """
    quotients = mantissa.astype(np.longdouble) / _POWERS[behind].astype(np.longdouble)
    values = quotients.astype(np.float64)
    if not _EXTENDED:
        return values, np.zeros(len(values), np.bool_)
    return values, plain & (np.abs(quotients - values) != np.spacing(np.abs(values)) * _HALF)


def _by_python(content: memoryview, begins: Places, lengths: Places) -> list[float]:
    """The same one by one: exponents, and more digits than fit."""
    texts = [bytes(content[at : at + length]) for at, length in zip(begins.tolist(), lengths.tolist(), strict=True)]
    if not _SIGNS.issuperset(b"".join(texts)):
        raise NotDecimal
    try:
        return list(map(float, texts))
    except ValueError as problem:
        raise NotDecimal from problem
