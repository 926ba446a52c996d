"""Flag: what a reader of a metric's value should know, as words that remember what they were made of."""

from __future__ import annotations

import re
from typing import Self

__all__ = ["Flag"]

_WRITTEN = r"(?s)\d+ of \d+ left out: (?P<why>.*)|(?P<about>.*) \(\d+ of \d+ values\)"


class Flag(str):
    """How many of a lifetime's values something holds for, and what: the same over lifetimes, whatever the counts."""

    about: str
    """What it says, without the counts."""
    left_out: bool
    """Whether it says why values are missing."""

    def __new__(cls, text: str, about: str = "", *, left_out: bool = False) -> Self:
        made = super().__new__(cls, text)
        made.about, made.left_out = about or text, left_out
        return made

    @classmethod
    def of_some(cls, about: str, count: int, total: int) -> Self:
        """What holds for some of the values alone."""
        return cls(f"{about} ({count} of {total} values)", about)

    @classmethod
    def of_missing(cls, why: str, count: int, total: int) -> Self:
        """Why some values are missing."""
        return cls(f"{count} of {total} left out: {why}", f"left out: {why}", left_out=True)

    @classmethod
    def read(cls, text: str) -> Self:
        """A flag as a file of scores has it: the inverse of writing it."""
        found = re.fullmatch(_WRITTEN, text)
        if found is None:
            return cls(text)
        if found["about"] is not None:
            return cls(text, found["about"])
        return cls(text, f"left out: {found['why']}", left_out=True)
