"""Network: a body that all tasks share, and a head for each set of outputs that the learner is told apart.

Where a task does not say which it is (the class and the domain setting) there is one head, and all outputs compete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from perdure.learners.interface import LearnerError
from perdure.learners.state import Arrays

ABSENT = -1e9
"""The score of an output that a narrower head does not have."""

Shape = tuple[int, ...]
Body = Callable[[Shape, int, int], nn.Module]
"""Makes a body from the shape of one example, the width of a layer, and the number of hidden layers."""


def multilayer(inputs: Shape, hidden: int, layers: int) -> nn.Module:
    """Fully connected layers with rectified units."""
    sizes = [prod(inputs), *[hidden] * layers]
    stack = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *stack)


def convolutional(inputs: Shape, hidden: int, layers: int) -> nn.Module:
    """Two convolutions of 3 × 3 with pooling before `layers` fully connected layers; (row, column) or with channels."""
    if len(inputs) not in (2, 3):
        raise LearnerError(
            f"a convolutional network needs pictures, and the examples have the shape {inputs}",
            "use another network, or tasks of pictures",
        )
    rows, columns, channels = (*inputs, 1)[:3]
    left = 64 * (rows // 4) * (columns // 4)
    return nn.Sequential(
        _ChannelsFirst(),
        *(nn.Conv2d(channels, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        multilayer((left,), hidden, layers),
    )


BODIES: Mapping[str, Body] = {"mlp": multilayer, "conv": convolutional}


class TorchNetwork(nn.Module):
    """Scores for each example, by the head that its task is told by."""

    def __init__(self, inputs: Shape, body: nn.Module) -> None:
        super().__init__()
        self.inputs = inputs
        self.body = body
        with torch.no_grad():
            self.features = int(body(torch.zeros(1, *inputs)).shape[1])
        self.heads = nn.ModuleList()
        self.names: list[str] = []

    def head(self, name: str, outputs: int) -> int:
        """The place of a head, which is added where it is new: undecided between its outputs."""
        if name not in self.names:
            head = nn.Linear(self.features, outputs)
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)
            self.heads.append(head.to(next(self.parameters()).device))
            self.names.append(name)
        at = self.names.index(name)
        found = self.heads[at].out_features
        if outputs > found:
            raise LearnerError(
                f"the head {name!r} has {found} outputs, and this task needs {outputs}",
                "let the tasks of a lifetime have the same setting and classes",
            )
        return at

    def forward(self, inputs: Tensor, heads: Tensor) -> Tensor:
        """One row per example, as wide as the widest head; what an example's own head does not have is ABSENT."""
        features = self.body(inputs)
        if len(self.heads) == 1:
            return self.heads[0](features)
        scores = torch.full((len(inputs), self.widest), ABSENT, device=features.device)
        for at in heads.unique().tolist():
            mine = heads == at
            scores[mine, : self.heads[at].out_features] = self.heads[at](features[mine])
        return scores

    @property
    def widest(self) -> int:
        """The number of outputs of the widest head."""
        return max(head.out_features for head in self.heads)

    def knowledge(self) -> Arrays:
        """Everything that this network is, beside how its body is built."""
        return {
            "inputs": np.array(self.inputs),
            "names": np.array(self.names, dtype=np.str_),
            **{f"weights:{name}": one.detach().cpu().numpy() for name, one in self.state_dict().items()},
        }

    def know(self, arrays: Arrays) -> None:
        """Take up weights, heads included."""
        weights = {
            name.removeprefix("weights:"): torch.from_numpy(np.array(one))
            for name, one in arrays.items()
            if name.startswith("weights:")
        }
        for at, name in enumerate(arrays["names"].tolist()):
            self.head(str(name), len(weights[f"heads.{at}.bias"]))
        self.load_state_dict(weights)


def new_network(
    kind: str, inputs: Shape, hidden: int, layers: int, device: str, rng: np.random.Generator
) -> TorchNetwork:
    """A network with a fresh body, drawn from `rng`: of BODIES, or what `package.module:function` makes."""
    make = BODIES.get(kind) or _imported(kind)
    with torch.random.fork_rng(devices=[]):  # PyTorch's own random numbers stay as they were
        torch.manual_seed(int(rng.integers(2**31)))
        return TorchNetwork(inputs, make(inputs, hidden, layers)).to(device)


class _ChannelsFirst(nn.Module):
    def forward(self, pictures: Tensor) -> Tensor:
        return pictures[:, None] if pictures.dim() == 3 else pictures.permute(0, 3, 1, 2)


def _imported(path: str) -> Body:
    module, _, name = path.partition(":")
    try:
        found: Body = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        known = ", ".join(map(repr, BODIES))
        raise LearnerError(
            f"network is {path!r}: {problem}", f"expected {known}, or package.module:function that makes one"
        ) from problem
    return found
