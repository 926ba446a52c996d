"""Memory: a uniform sample of all examples seen, by reservoir sampling (Vitter 1985)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from perdure.learners.state import Arrays

Columns = Mapping[str, npt.NDArray[np.generic]]
"""The parts of examples (inputs, labels, …), one row per example in each."""


class Memory:
    """At most `capacity` examples, each of those seen so far with the same chance to be among them."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.seen = 0
        self._kept: dict[str, npt.NDArray[np.generic]] = {}

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    def add(self, examples: Columns, rng: np.random.Generator) -> None:
        """Show it a batch."""
        count = len(next(iter(examples.values())))
        number = self.seen + np.arange(count)
        places = np.where(number < self.capacity, number, rng.integers(number + 1))
        kept = places < self.capacity
        self._make_room(examples, min(self.seen + count, self.capacity))
        for name, column in examples.items():
            self._kept[name][places[kept]] = column[kept]  # of two that fall on one place the later stays
        self.seen += count

    def draw(self, number: int, rng: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        """So many examples, with replacement."""
        chosen = rng.integers(len(self), size=number)
        return {name: column[chosen] for name, column in self._kept.items()}

    def all(self) -> dict[str, npt.NDArray[np.generic]]:
        """Every example kept."""
        return {name: column[: len(self)] for name, column in self._kept.items()}

    def knowledge(self) -> Arrays:
        """What is kept, and of how many."""
        return {"seen": np.array(self.seen), **{f"kept:{name}": column for name, column in self.all().items()}}

    def know(self, arrays: Arrays) -> None:
        """Take it up."""
        self.seen = int(arrays["seen"].item())
        self._kept = {name[5:]: np.array(column) for name, column in arrays.items() if name.startswith("kept:")}

    def _make_room(self, examples: Columns, needed: int) -> None:
        """Twice as much as there was, until all of the capacity is there; a wider column widens what is kept."""
        for name, column in examples.items():
            old = self._kept.get(name, np.zeros((0, *column.shape[1:]), dtype=column.dtype))
            room = len(old) if len(old) >= needed else min(max(needed, 2 * len(old)), self.capacity)
            if (room, *column.shape[1:]) != old.shape:
                new = np.zeros((room, *column.shape[1:]), dtype=column.dtype)
                new[tuple(slice(size) for size in old.shape)] = old
                self._kept[name] = new
