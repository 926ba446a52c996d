"""Lifetimes read together that went through the same rows of blocks: what counts is found once for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log.blocks import passage
from perdure.log.model import Passage
from perdure.log.variants import described_tasks
from perdure.scenario.model import Scenario

if TYPE_CHECKING:
    from perdure.log.model import Lifetime
    from perdure.log.variants import Settled
    from perdure.scenario.variants import Mode

__all__ = ["Alike"]


@frozen(eq=False)
class Alike:
    """Says that the rows of a lifetime are those of others, save for their values and times."""

    rows: pl.DataFrame
    """The rows of which this is said; it says nothing about others that took their place."""
    shared: dict[Any, tuple[Passage, Any]] = field(repr=False)
    """What the lifetimes found so far, and what the tasks were said to be; one dictionary for all of them."""

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.rows.height

    def passage(
        self, lifetime: Lifetime, measure: str | Mapping[str, str], variants: Mode, settled: Settled | None
    ) -> Passage:
        """What `passage` gives, taken from another lifetime where each of the values counts."""
        if not isinstance(measure, str) or variants == "params":
            return passage(lifetime, measure, variants, settled)
        values = self.rows.get_column(measure).to_numpy()
        if not (len(values) and np.isfinite((values.min(), values.max())).all()):  # a minimum of NaN is NaN
            return passage(lifetime, measure, variants)
        like, as_described = self.shared.get(variants, (None, None))
        described = described_tasks(lifetime)
        if like is None or described != as_described:
            made = passage(lifetime, measure, variants)
            if made.rows is self.rows and len(made.values) == self.rows.height:
                self.shared[variants] = made, described
            return made
        scenario = Scenario(lifetime.id, like.scenario.tasks, like.scenario.blocks, dict(lifetime.info))
        return Passage(
            scenario, measure, values, like.starts, self.rows, like.row_starts, like.dropped, notes=like.notes
        )
