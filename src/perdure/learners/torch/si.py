"""si: holds on to the weights whose movement has paid (synaptic intelligence, Zenke, Poole and Ganguli 2017)."""

from __future__ import annotations

from typing import Any

import torch

from perdure.learners.interface import Situation
from perdure.learners.state import Arrays
from perdure.learners.torch.classifier import Classifier, Slopes, part, prefixed, tensors


class SI(Classifier):
    """A weight is held where the last task left it, by how much its movement lowered the loss of all tasks so far.

    The penalty is strength · Σ Ω (θ − θ*)². A task adds to Ω what its path won, −∫ slope dθ, over the squared distance
    gone and `damping`.
    """

    def __init__(self, seed: int = 0, strength: float = 1.0, damping: float = 0.1, **common: Any) -> None:
        super().__init__(seed, **common)
        self.strength, self.damping = strength, damping
        self.importance: Slopes = {}
        self.anchor: Slopes = {}
        self._start: Slopes = {}
        self._won: Slopes = {}

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """Note where the path begins."""
        self._start = self._weights()
        self._won = {name: torch.zeros_like(one) for name, one in self._start.items()}

    def move(self, slopes: Slopes) -> None:
        """Downhill against the springs (implicit, so that a strong one cannot overshoot), counting what it wins."""
        before = self._weights()
        super().move(slopes)
        with torch.no_grad():
            for name, weights in self.known.named_parameters():
                if name in self.importance:
                    spring = 2 * self.rate * self.strength * self.importance[name]
                    weights.add_(spring * self.anchor[name]).div_(1 + spring)
                self._won[name] -= slopes[name] * (weights - before[name])

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """Add up what this task's path won, and hold the weights where they are."""
        self.anchor = self._weights()
        for name, weights in self.anchor.items():
            gone = (weights - self._start[name]) ** 2
            fresh = self._won[name].clamp(min=0) / (gone + self.damping)
            self.importance[name] = self.importance.get(name, 0) + fresh

    def _weights(self) -> Slopes:
        return {name: one.detach().clone() for name, one in self.known.named_parameters()}

    def knowledge(self) -> Arrays:
        """TorchNetwork and springs."""
        return {**super().knowledge(), **prefixed("importance", self.importance), **prefixed("anchor", self.anchor)}

    def know(self, arrays: Arrays) -> None:
        """Take up both."""
        super().know(arrays)
        self.importance = tensors(part("importance", arrays), self.device)
        self.anchor = tensors(part("anchor", arrays), self.device)
