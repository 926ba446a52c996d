"""ewc: holds on to the weights that earlier tasks needed (elastic weight consolidation, Kirkpatrick et al. 2017)."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from perdure.learners.interface import Situation
from perdure.learners.state import Arrays
from perdure.learners.torch.classifier import Batch, Classifier, Slopes, part, prefixed, tensors
from perdure.learners.torch.memory import Memory


class TorchEWC(Classifier):
    """Each earlier task pulls every weight to where that task left it, by the weight's Fisher information for it.

    The penalty is strength / 2 · Σ_t F_t (θ − θ_t)². The squares of all tasks add up to one: ΣF_t and ΣF_t θ_t are all
    that is kept. F_t is the diagonal, from `examples` of the task's examples with labels drawn from the network's own
    answers.
    """

    def __init__(self, seed: int = 0, strength: float = 100.0, examples: int = 200, **common: Any) -> None:
        super().__init__(seed, **common)
        self.strength, self.examples = strength, examples
        self.importance: Slopes = {}
        self.pull: Slopes = {}
        self._block = Memory(examples)

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """Keep a sample of this block, and of no other."""
        self._block = Memory(self.examples)

    def remember(self, batch: Batch) -> None:
        """Show the batch to the block's sample."""
        self._block.add(batch.columns(), self.rng)

    def move(self, slopes: Slopes) -> None:
        """Downhill against the springs; implicit, so that a strong spring cannot overshoot."""
        super().move(slopes)
        with torch.no_grad():
            for name, weights in self.known.named_parameters():
                if name in self.importance:
                    spring = self.rate * self.strength
                    weights.add_(spring * self.pull[name]).div_(1 + spring * self.importance[name])

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """Add up what this task needed, and where it left the weights."""
        for name, needed in self._fisher().items():
            weights = self.known.get_parameter(name).detach()
            self.importance[name] = self.importance.get(name, 0) + needed
            self.pull[name] = self.pull.get(name, 0) + needed * weights
        self._block = Memory(self.examples)

    def _fisher(self) -> Slopes:
        """The mean squared slope of the log-likelihood of an answer, over single examples."""
        sample = Batch.of(self._block.all(), self.device)
        total: Slopes = {name: torch.zeros_like(one) for name, one in self.known.named_parameters()}
        for at in range(len(sample.labels)):
            scores = self.known(sample.inputs[at : at + 1], sample.heads[at : at + 1])
            chances = scores[0].softmax(dim=0).detach().cpu().double().numpy()
            drawn = torch.tensor([self.rng.choice(len(chances), p=chances / chances.sum())], device=self.device)
            for name, slope in self.slopes_of(functional.cross_entropy(scores, drawn)).items():
                total[name] += slope**2 / len(sample.labels)
        return total

    def knowledge(self) -> Arrays:
        """TorchNetwork and springs."""
        return {**super().knowledge(), **prefixed("importance", self.importance), **prefixed("pull", self.pull)}

    def know(self, arrays: Arrays) -> None:
        """Take up both."""
        super().know(arrays)
        self.importance = tensors(part("importance", arrays), self.device)
        self.pull = tensors(part("pull", arrays), self.device)
