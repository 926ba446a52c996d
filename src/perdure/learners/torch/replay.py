"""replay: keeps a sample of all it has seen, and learns some of it again with every batch (Chaudhry et al. 2019)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from perdure.learners.state import Arrays
from perdure.learners.torch.classifier import Batch, Classifier, part, prefixed
from perdure.learners.torch.memory import Memory


class TorchReplay(Classifier):
    """Naive with a memory of `capacity` examples, of which `recalled` join each batch."""

    def __init__(self, seed: int = 0, capacity: int = 500, recalled: int = 32, **common: Any) -> None:
        super().__init__(seed, **common)
        self.recalled = recalled
        self.memory = Memory(capacity)

    def loss(self, batch: Batch) -> Tensor:
        """That of the batch and of what is recalled, each example counting the same."""
        return super().loss(batch + self.recall() if len(self.memory) else batch)

    def remember(self, batch: Batch) -> None:
        """Show the batch to the memory."""
        self.memory.add(batch.columns(), self.rng)

    def recall(self) -> Batch:
        """Some of the past."""
        return Batch.of(self.memory.draw(self.recalled, self.rng), self.device)

    def knowledge(self) -> Arrays:
        """TorchNetwork and memory."""
        return {**super().knowledge(), **prefixed("memory", self.memory.knowledge())}

    def know(self, arrays: Arrays) -> None:
        """Take up both."""
        super().know(arrays)
        self.memory.know(part("memory", arrays))
