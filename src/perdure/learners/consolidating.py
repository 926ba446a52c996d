"""Consolidating: holds on to the weights that earlier tasks needed (after Kirkpatrick et al. 2017, EWC).

What a task needed is judged by the squared slopes seen while it was learned (the online form of
Schwarz et al. 2018): one anchor and one importance per weight, however many tasks there were.
"""

from __future__ import annotations

import numpy as np

from perdure.learners.interface import Situation
from perdure.learners.naive import Labels, Naive
from perdure.learners.network import Array, Network, gradient
from perdure.learners.state import Arrays

__all__ = ["Consolidating"]


class Consolidating(Naive):
    """Naive with elastic weights: each is pulled to its value after the last task, by its importance for that task."""

    def __init__(
        self,
        seed: int = 0,
        rate: float = 0.1,
        hidden: int = 64,
        classes: int = 10,
        repeats: int = 1,
        strength: float = 50.0,
        decay: float = 0.9,
        count_dormant: bool = False,
    ) -> None:
        super().__init__(seed, rate, hidden, classes, repeats, count_dormant)
        self.strength, self.decay = strength, decay
        self.anchor: Network | None = None
        self.importance: Network | None = None
        self.needed: Network | None = None  # squared slopes of the block at hand
        self.batches = 0

    def step(self, network: Network, inputs: Array, labels: Labels) -> Network:
        """Downhill on this batch, against the springs; implicit, so that a strong spring cannot overshoot."""
        slope = gradient(network, inputs, labels)
        squared = [part**2 for part in slope.parts]
        self.needed = Network(
            *(squared if self.needed is None else (a + b for a, b in zip(self.needed.parts, squared, strict=True)))
        )
        self.batches += 1
        parts = [part - self.rate * down for part, down in zip(network.parts, slope.parts, strict=True)]
        if self.anchor is not None and self.importance is not None:
            springs = [self.rate * self.strength * part for part in self.importance.parts]
            parts = [
                (part + spring * rest) / (1.0 + spring)
                for part, spring, rest in zip(parts, springs, self.anchor.parts, strict=True)
            ]
        return Network(*parts)

    def block_ended(self, situation: Situation) -> None:
        """After learning, the weights as they are become the anchor, and what was needed is added up."""
        if not situation.learning or self.needed is None or self.network is None:
            return
        fresh = [part * (labels_per_batch / self.batches) for part in self.needed.parts]
        before = [np.zeros_like(part) for part in fresh] if self.importance is None else self.importance.parts
        self.importance = Network(*(self.decay * old + new for old, new in zip(before, fresh, strict=True)))
        self.anchor, self.needed, self.batches = self.network, None, 0

    def knowledge(self) -> Arrays:
        """Weights, anchor, importance, and what the block at hand has needed so far."""
        kept: dict[str, Array] = {}
        for name in _PARTS:
            network: Network | None = getattr(self, name)
            if network is not None:
                kept |= {f"{name}-{at}": part for at, part in enumerate(network.parts)}
        return {**super().knowledge(), **kept, "batches": np.array(self.batches)}

    def know(self, arrays: Arrays) -> None:
        """Take all of it up."""
        super().know(arrays)
        for name in _PARTS:
            found = [
                np.asarray(arrays[f"{name}-{at}"], dtype=np.float64) for at in range(4) if f"{name}-{at}" in arrays
            ]
            setattr(self, name, Network(*found) if found else None)
        self.batches = int(arrays["batches"].item())


_PARTS = ("anchor", "importance", "needed")
labels_per_batch = 32.0
"""Slopes are means over a batch; their squares are this much smaller than those of single examples."""
