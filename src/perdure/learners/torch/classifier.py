"""Network and gradient descent that all PyTorch methods share.

A method overrides one or two hooks: `loss`, `slopes`, `move`, `remember`, `begin`, `end`. A method knows where a task
begins and ends from blocks of learning. All randomness comes from the seed, through NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from msgspec import Struct
from torch import Tensor, nn
from torch.nn import functional

from perdure.errors import LearnerError
from perdure.learners.interface import Answer, ArrayLearner, Arrays, Situation

ABSENT = -1e9
"""Score of an output that a narrower head does not have."""

Shape = tuple[int, ...]
Body = Callable[[Shape, int, int], nn.Module]
"""Makes a body from the shape of one example, the width of a layer, and the number of hidden layers."""
Slopes = dict[str, Tensor]
"""One tensor for each parameter of the network, by name."""


def multilayer(inputs: Shape, hidden: int, layers: int) -> nn.Module:
    """Return fully connected layers with rectified units."""
    sizes = [prod(inputs), *[hidden] * layers]
    stack = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *stack)


def convolutional(inputs: Shape, hidden: int, layers: int) -> nn.Module:
    """Return two convolutions of 3 × 3 with pooling, then `layers` fully connected layers.

    An example is (row, column) or (row, column, channel).
    """
    if len(inputs) not in (2, 3):
        raise LearnerError(
            f"a convolutional network needs pictures, and the examples have the shape {inputs}",
            "use another network, or tasks of pictures",
        )
    rows, columns, channels = (*inputs, 1)[:3]
    size = 64 * (rows // 4) * (columns // 4)
    return nn.Sequential(
        _ChannelsFirst(),
        *(nn.Conv2d(channels, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        multilayer((size,), hidden, layers),
    )


class _ChannelsFirst(nn.Module):
    def forward(self, pictures: Tensor) -> Tensor:
        return pictures[:, None] if pictures.dim() == 3 else pictures.permute(0, 3, 1, 2)


BODIES: Mapping[str, Body] = {"mlp": multilayer, "conv": convolutional}


class TorchNetwork(nn.Module):
    """A body that all tasks share, and a head for each distinguishable set of outputs.

    If a task does not reveal its identity (the class and the domain setting), there is one head for all outputs.
    """

    def __init__(self, inputs: Shape, body: nn.Module) -> None:
        super().__init__()
        self.inputs = inputs
        self.body = body
        with torch.no_grad():
            self.features = int(body(torch.zeros(1, *inputs)).shape[1])
        self.heads = nn.ModuleList()
        self.names: list[str] = []

    def head(self, name: str, outputs: int) -> int:
        """Return the index of a head; add it if it is new, with the same score for all outputs."""
        if name not in self.names:
            head = nn.Linear(self.features, outputs)
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)
            self.heads.append(head.to(next(self.parameters()).device))
            self.names.append(name)
        index = self.names.index(name)
        width = self.heads[index].out_features
        if outputs > width:
            raise LearnerError(
                f"the head {name!r} has {width} outputs, and this task needs {outputs}",
                "let the tasks of a lifetime have the same setting and classes",
            )
        return index

    def forward(self, inputs: Tensor, heads: Tensor) -> Tensor:
        """Return one row per example, as wide as the widest head; outputs missing in the example's head are ABSENT."""
        features = self.body(inputs)
        if len(self.heads) == 1:
            return self.heads[0](features)
        widest = max(head.out_features for head in self.heads)
        scores = torch.full((len(inputs), widest), ABSENT, device=features.device)
        for index in heads.unique().tolist():
            rows = heads == index
            scores[rows, : self.heads[index].out_features] = self.heads[index](features[rows])
        return scores

    def to_arrays(self) -> Arrays:
        """Return the weights and heads; not how the body is built."""
        return {
            "inputs": np.array(self.inputs),
            "names": np.array(self.names, dtype=np.str_),
            **{f"weights:{name}": weights.detach().cpu().numpy() for name, weights in self.state_dict().items()},
        }

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore the weights and heads."""
        weights = {
            name.removeprefix("weights:"): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith("weights:")
        }
        for index, name in enumerate(arrays["names"].tolist()):
            self.head(str(name), len(weights[f"heads.{index}.bias"]))
        self.load_state_dict(weights)


class Batch(Struct, frozen=True):
    """Examples to learn from: inputs, labels as outputs of their head, and the index of that head."""

    inputs: Tensor
    labels: Tensor
    heads: Tensor

    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the tensors as arrays, for a `Memory`."""
        return {name: getattr(self, name).cpu().numpy() for name in ("inputs", "labels", "heads")}

    @classmethod
    def of(cls, columns: Mapping[str, npt.NDArray[np.generic]], device: str) -> Batch:
        """Return the batch of arrays from a `Memory`."""
        return cls(*(torch.from_numpy(columns[name]).to(device) for name in ("inputs", "labels", "heads")))

    def __add__(self, other: Batch) -> Batch:
        return Batch(
            torch.cat([self.inputs, other.inputs]),
            torch.cat([self.labels, other.labels]),
            torch.cat([self.heads, other.heads]),
        )


class Classifier(ArrayLearner):
    """A network that takes `repeats` steps of size `rate` down the gradient of each batch.

    `network` is "mlp", "conv", or package.module:function; `hidden` and `layers` are the width and the number of its
    hidden layers.
    """

    def __init__(
        self,
        seed: int = 0,
        rate: float = 0.1,
        repeats: int = 1,
        network: str = "mlp",
        hidden: int = 100,
        layers: int = 2,
        device: str = "cpu",
    ) -> None:
        super().__init__(seed)
        torch.set_num_threads(1)  # A lifetime has one process; two threads in each would be slower than one.
        self.rate, self.repeats, self.device = rate, repeats, device
        self._built_as = (network, hidden, layers)
        self.network: TorchNetwork | None = None
        self._head = 0

    # -- hooks of a method --------------------------------------------------------------------------

    def begin(self, situation: Situation) -> None:
        """Prepare for a block of learning."""

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss to minimise: the cross-entropy of the batch."""
        return functional.cross_entropy(self.scores(batch), batch.labels)

    def slopes(self, batch: Batch) -> Slopes:
        """Return the gradient of the loss in each parameter."""
        return self.slopes_of(self.loss(batch))

    def move(self, slopes: Slopes) -> None:
        """Take one step against the gradient."""
        with torch.no_grad():
            for name, weights in self.known.named_parameters():
                weights.sub_(self.rate * slopes[name])

    def remember(self, batch: Batch) -> None:
        """Store a batch, after learning from it."""

    def end(self, situation: Situation) -> None:
        """Finish a block of learning."""

    # -- shared by all methods ----------------------------------------------------------------------

    @property
    def known(self) -> TorchNetwork:
        """The network, which exists from the first block on."""
        if self.network is None:
            raise LearnerError(f"{type(self).__name__} classifies batches", "give it tasks that come in batches")
        return self.network

    def block_started(self, situation: Situation) -> None:
        """Build the network in the first block, and a head for each task that reveals its identity."""
        if situation.inputs is None:
            raise LearnerError(
                f"{type(self).__name__} classifies batches, and {situation.task} comes in episodes",
                "give it tasks that come in batches",
            )
        self.network = self.network_for(situation)
        if self.network.inputs != situation.inputs:
            raise LearnerError(
                f"the network was built for examples of shape {self.network.inputs}; found {situation.inputs}",
                "let all tasks of a lifetime have examples of one size",
            )
        name = "shared" if situation.classes is None else situation.named_task
        self._head = self.network.head(name, situation.outputs or 10)
        if situation.learning:
            self.begin(situation)

    def network_for(self, situation: Situation) -> TorchNetwork:
        """Return the network of a task: here one for all."""
        return self.network or self.new_network(situation.inputs or ())

    def new_network(self, inputs: tuple[int, ...]) -> TorchNetwork:
        """Return a network with random weights: a body of BODIES, or one that `package.module:function` makes."""
        kind, hidden, layers = self._built_as
        make = BODIES.get(kind) or _imported_body(kind)
        with torch.random.fork_rng(devices=[]):  # leaves PyTorch's own random numbers as they were
            torch.manual_seed(int(self.rng.integers(2**31)))
            return TorchNetwork(inputs, make(inputs, hidden, layers)).to(self.device)

    def act(self, observation: Any) -> npt.NDArray[np.int64]:
        """Return the most likely label of each input."""
        with torch.no_grad():
            labels: npt.NDArray[np.int64] = self.scores(self.batch(observation)).argmax(dim=1).cpu().numpy()
        return labels

    def learn(self, experience: Answer) -> None:
        """Take `repeats` steps on this batch."""
        batch = self.batch(experience.inputs, experience.labels)
        self.updates += self.repeats
        for _ in range(self.repeats):
            self.move(self.slopes(batch))
        self.remember(batch)

    def block_ended(self, situation: Situation) -> None:
        """Call `end` after a block of learning."""
        if situation.learning:
            self.end(situation)

    def log_info(self) -> dict[str, int]:
        """Return the number of parameters and updates, and the size of the memories."""
        parameters = sum(weights.numel() for weights in self.network.parameters()) if self.network else 0
        stored = sum(getattr(value, "stored_bytes", 0) for value in vars(self).values())
        return {"parameters": parameters, "updates": self.updates, "stored_bytes": stored}

    def scores(self, batch: Batch) -> Tensor:
        """Return one score per example and output."""
        scores: Tensor = self.known(batch.inputs, batch.heads)
        return scores

    def batch(self, inputs: Any, labels: Any = None) -> Batch:
        """Return examples of the current task as tensors, copied."""
        given = torch.from_numpy(np.array(inputs, dtype=np.float32)).to(self.device)
        right = np.zeros(len(given)) if labels is None else labels
        return Batch(
            given,
            torch.from_numpy(np.array(right, dtype=np.int64)).to(self.device),
            torch.full((len(given),), self._head, device=self.device),
        )

    def slopes_of(self, loss: Tensor) -> Slopes:
        """Return the gradient of any loss in each parameter; 0 if the loss does not depend on it."""
        named = dict(self.known.named_parameters())
        slopes = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        return {
            name: torch.zeros_like(weights) if slope is None else slope
            for (name, weights), slope in zip(named.items(), slopes, strict=True)
        }

    def to_arrays(self) -> Arrays:
        """Return the network, if it exists."""
        return {} if self.network is None else self.network.to_arrays()

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore the network."""
        if "inputs" in arrays:
            self.network = self.new_network(tuple(arrays["inputs"].tolist()))
            self.network.load_arrays(arrays)


def _imported_body(path: str) -> Body:
    module, _, name = path.partition(":")
    try:
        body: Body = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        known = ", ".join(map(repr, BODIES))
        raise LearnerError(
            f"network is {path!r}: {problem}", f"expected {known}, or package.module:function that makes one"
        ) from problem
    return body


def prefixed(name: str, values: Mapping[str, Tensor] | Arrays) -> Arrays:
    """Return tensors or arrays as arrays whose names begin with `name`."""
    return {
        f"{name}/{key}": value.detach().cpu().numpy() if isinstance(value, Tensor) else value
        for key, value in values.items()
    }


def part(name: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names begin with `name`, without that prefix."""
    return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}


def tensors(arrays: Arrays, device: str) -> Slopes:
    """Return arrays as tensors on the device."""
    return {name: torch.from_numpy(np.array(array)).to(device) for name, array in arrays.items()}
