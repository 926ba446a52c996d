"""What is kept of a lifetime that is being written, from one reading of it to the next."""

from __future__ import annotations

from typing import Any

__all__ = ["Kept"]


class Kept:
    """What was made of the rows so far, by whoever made it, and how many of these rows are still as they were."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Any, int]] = {}
        self.walks: dict[Any, Any] = {}
        """How far its blocks were walked in search of sites."""

    def read_again(self, same: int) -> None:
        """The log was read again: its first `same` rows are those of before, the others may be different ones."""
        self._found = {name: (made, min(rows, same)) for name, (made, rows) in self._found.items()}

    def get(self, name: Any) -> tuple[Any, int]:
        """What is kept under a name, and how many of the rows that it was made of are still there; None, and 0."""
        return self._found.get(name, (None, 0))

    def put(self, name: Any, made: Any, rows: int) -> None:
        """Keep what was made of so many rows."""
        self._found[name] = made, rows
