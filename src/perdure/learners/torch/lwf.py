"""lwf: answers new inputs, for the outputs it knew before, as it did before (learning without forgetting).

Li and Hoiem 2016. Nothing of the past is kept but the network as the last task left it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from perdure.learners.interface import Situation
from perdure.learners.state import Arrays
from perdure.learners.torch.classifier import Batch, Classifier, part, prefixed
from perdure.learners.torch.network import TorchNetwork


class LwF(Classifier):
    """The loss of the batch, and `strength` · distillation at `temperature` from the network before this block."""

    def __init__(self, seed: int = 0, strength: float = 1.0, temperature: float = 2.0, **common: Any) -> None:
        super().__init__(seed, **common)
        self.strength, self.temperature = strength, temperature
        self.seen: dict[str, set[int]] = {}
        """By head, the outputs that were ever right."""
        self._teacher: TorchNetwork | None = None
        self._taught: dict[int, list[int]] = {}

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """What there is becomes the teacher of the outputs that it has learned."""
        self._taught = {self.known.names.index(name): sorted(outputs) for name, outputs in self.seen.items()}
        self._teacher = deepcopy(self.known) if self._taught else None

    def loss(self, batch: Batch) -> Tensor:
        """That of the batch, and how far the answers for old outputs have moved."""
        total = super().loss(batch)
        if self._teacher is None:
            return total
        for at, outputs in self._taught.items():
            asked = torch.full_like(batch.heads, at)
            with torch.no_grad():
                once = self._teacher(batch.inputs, asked)[:, outputs]
            now = self.known(batch.inputs, asked)[:, outputs]
            total = total + self.strength * self.temperature**2 * functional.kl_div(
                functional.log_softmax(now / self.temperature, dim=1),
                functional.softmax(once / self.temperature, dim=1),
                reduction="batchmean",
            )
        return total

    def remember(self, batch: Batch) -> None:
        """Note which outputs were right."""
        name = self.known.names[int(batch.heads[0])]
        self.seen.setdefault(name, set()).update(batch.labels.unique().tolist())

    def knowledge(self) -> Arrays:
        """The network, and which outputs it has learned."""
        seen = {name: np.array(sorted(outputs)) for name, outputs in self.seen.items()}
        return {**super().knowledge(), **prefixed("seen", seen)}

    def know(self, arrays: Arrays) -> None:
        """Take up both."""
        super().know(arrays)
        self.seen = {name: set(outputs.tolist()) for name, outputs in part("seen", arrays).items()}
