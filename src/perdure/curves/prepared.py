"""The values of one life, block by block: what curves are cut from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, gathered
from perdure.curves.model import Curve
from perdure.frozen import frozen

__all__ = ["Prepared"]


@frozen(eq=False)
class Prepared:
    """The values of a life as long arrays, cut into blocks by `starts`."""

    values: Array
    unsmoothed: Callable[[], Array]
    """Makes the values that are not smoothed."""
    measured: Array
    starts: npt.NDArray[np.int64]
    curves: dict[int, Curve] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)

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
