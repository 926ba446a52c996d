"""a-gem: never steps where the mean loss of a sample of the past would rise (averaged GEM, Chaudhry et al. 2019)."""

from __future__ import annotations

from typing import Any

from perdure.learners.interface import Situation
from perdure.learners.torch.classifier import Batch, Classifier, Slopes
from perdure.learners.torch.memory import Memory
from perdure.learners.torch.replay import TorchReplay


class AGEM(TorchReplay):
    """Where the batch's slope g and that of `recalled` examples of earlier blocks, r, disagree: g − (g·r / r·r) r."""

    def __init__(self, seed: int = 0, capacity: int = 500, recalled: int = 256, **common: Any) -> None:
        super().__init__(seed, capacity, recalled, **common)
        self._block = Memory(capacity)

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """What this block shows is no past yet."""
        self._block = Memory(self.memory.capacity)

    def slopes(self, batch: Batch) -> Slopes:
        """That of the batch, without the part that goes against the past."""
        mine = self.slopes_of(Classifier.loss(self, batch))
        if not len(self.memory):
            return mine
        past = self.slopes_of(Classifier.loss(self, self.recall()))
        along = sum(float((mine[name] * past[name]).sum()) for name in mine)
        if along >= 0:
            return mine
        length = sum(float((one**2).sum()) for one in past.values())
        return {name: mine[name] - along / length * past[name] for name in mine}

    def remember(self, batch: Batch) -> None:
        """Show the batch to the block's own sample."""
        self._block.add(batch.columns(), self.rng)

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """From here on this block is past."""
        self.memory.add(self._block.all(), self.rng)
