"""der++: replays examples with the scores it once gave them (dark experience replay, Buzzega et al. 2020)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from perdure.learners.torch.classifier import Batch, Classifier
from perdure.learners.torch.network import ABSENT
from perdure.learners.torch.replay import TorchReplay


class DERPlusPlus(TorchReplay):
    """The loss of the batch, `alpha` · squared change of old scores, and `beta` · loss of old labels."""

    def __init__(
        self,
        seed: int = 0,
        capacity: int = 500,
        recalled: int = 32,
        alpha: float = 0.5,
        beta: float = 0.5,
        **common: Any,
    ) -> None:
        super().__init__(seed, capacity, recalled, **common)
        self.alpha, self.beta = alpha, beta

    def loss(self, batch: Batch) -> Tensor:
        """Three parts, the last two on two draws from the memory."""
        total = Classifier.loss(self, batch)
        if not len(self.memory):
            return total
        drawn = self.memory.draw(self.recalled, self.rng)
        scores = self.scores(Batch.of(drawn, self.device))
        once = torch.from_numpy(drawn["scores"]).to(self.device)
        own = scores > ABSENT / 2  # a head that was added since may be wider than an example's own
        once = functional.pad(once, (0, scores.shape[1] - once.shape[1]))
        moved = functional.mse_loss(scores[own], once[own])
        return total + self.alpha * moved + self.beta * Classifier.loss(self, self.recall())

    def remember(self, batch: Batch) -> None:
        """Keep the scores of now with the examples."""
        with torch.no_grad():
            scores = self.scores(batch).cpu().numpy()
        self.memory.add({**batch.columns(), "scores": scores}, self.rng)
