"""naive: learns each batch as it comes, and so forgets what no longer comes."""

from __future__ import annotations

from perdure.learners.torch.classifier import Classifier


class TorchNaive(Classifier):
    """Gradient descent on the batch at hand: the lower baseline."""
