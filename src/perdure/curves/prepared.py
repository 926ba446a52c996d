"""The values of one life, block by block: what curves are cut from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, gathered
from perdure.curves.model import Curve
from perdure.frozen import frozen

__all__ = ["Prepared", "Whole"]


class Prepared(Protocol):
    """The values of one life, all its blocks in order."""

    @property
    def values(self) -> Array:
        """Smoothed, clamped, scaled."""
        ...

    @property
    def raw(self) -> Array:
        """Clamped and scaled, not smoothed."""
        ...

    @property
    def measured(self) -> Array:
        """As measured, negated where lower is better."""
        ...

    @property
    def curves(self) -> dict[int, Curve]:
        """Block → its curve, where somebody asked for it."""
        ...

    @property
    def means(self) -> dict[int, float]:
        """Block → the mean of its values as measured, where somebody asked for it."""
        ...

    @property
    def found(self) -> dict[Any, Any] | None:
        """What was found in blocks that have ended, of a life that is being written; else None."""
        ...

    @property
    def moved(self) -> Mapping[str, int]:
        """Task → how often ranges had changed when its own last did; what was found before is of another scale."""
        ...

    def over(self, blocks: Sequence[int]) -> tuple[Array, Array]:
        """The blocks stitched, smoothed and not."""
        ...

    def measured_over(self, blocks: Sequence[int]) -> Array:
        """The blocks as measured, stitched."""
        ...


@frozen(eq=False)
class Whole:
    """The values of a life as long arrays, cut into blocks by `starts`."""

    values: Array
    unsmoothed: Callable[[], Array]
    """Makes the values that are not smoothed."""
    measured: Array
    starts: npt.NDArray[np.int64]
    curves: dict[int, Curve] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    found: None = None
    moved: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def raw(self) -> Array:
        """Clamped and scaled, not smoothed."""
        return self.unsmoothed()

    def over(self, blocks: Sequence[int]) -> tuple[Array, Array]:
        """The blocks stitched, smoothed and not; of a single one a view."""
        return gathered(self.values, self.starts, blocks), gathered(self.raw, self.starts, blocks)

    def measured_over(self, blocks: Sequence[int]) -> Array:
        """The blocks as measured, stitched."""
        return gathered(self.measured, self.starts, blocks)
