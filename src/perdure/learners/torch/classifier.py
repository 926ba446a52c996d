"""Classifier: what all methods share: a network, plain gradient descent, and a state that can be saved.

A method changes one or two of the hooks: `loss`, `slopes`, `move`, `remember`, `begin`, `end`. A block of learning is
what a method knows of where a task begins and ends. All chance comes from the seed, by NumPy.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from msgspec import Struct
from torch import Tensor
from torch.nn import functional

from perdure.learners.interface import Answer, LearnerError, Situation
from perdure.learners.state import Arrays, Kept
from perdure.learners.torch.network import TorchNetwork, new_network

Slopes = dict[str, Tensor]
"""One tensor for each parameter of the network, by name."""


class Batch(Struct, frozen=True):
    """Examples to learn from: inputs, labels as outputs of their head, and which head that is."""

    inputs: Tensor
    labels: Tensor
    heads: Tensor

    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """As a memory keeps them."""
        return {name: getattr(self, name).cpu().numpy() for name in ("inputs", "labels", "heads")}

    @classmethod
    def of(cls, columns: Mapping[str, npt.NDArray[np.generic]], device: str) -> Batch:
        """Back from a memory."""
        return cls(*(torch.from_numpy(columns[name]).to(device) for name in ("inputs", "labels", "heads")))

    def __add__(self, other: Batch) -> Batch:
        return Batch(
            torch.cat([self.inputs, other.inputs]),
            torch.cat([self.labels, other.labels]),
            torch.cat([self.heads, other.heads]),
        )


class Classifier(Kept):
    """A network that goes `repeats` steps of size `rate` downhill on each batch.

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
        torch.set_num_threads(1)  # one life is one worker; two threads each would be slower than one
        self.rate, self.repeats, self.device = rate, repeats, device
        self._built_as = (network, hidden, layers)
        self.network: TorchNetwork | None = None
        self._head = 0

    def __init_subclass__(cls, **further: Any) -> None:
        """Let a method's signature name what it passes on, so that a misspelt parameter is refused before a run."""
        super().__init_subclass__(**further)
        own = inspect.signature(cls.__init__).parameters
        common = inspect.signature(Classifier.__init__).parameters
        named = {name: one for name, one in {**common, **own}.items() if name not in ("self", "common")}
        keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in named.values()]
        cls.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]

    # -- what a method may do differently -----------------------------------------------------------

    def begin(self, situation: Situation) -> None:
        """A block of learning begins."""

    def loss(self, batch: Batch) -> Tensor:
        """What is to become small: the cross-entropy of the batch."""
        return functional.cross_entropy(self.scores(batch), batch.labels)

    def slopes(self, batch: Batch) -> Slopes:
        """The slope of the loss in each parameter."""
        return self.slopes_of(self.loss(batch))

    def move(self, slopes: Slopes) -> None:
        """One step downhill."""
        with torch.no_grad():
            for name, weights in self.known.named_parameters():
                weights.sub_(self.rate * slopes[name])

    def remember(self, batch: Batch) -> None:
        """Called once per batch, after it was learned from."""

    def end(self, situation: Situation) -> None:
        """The block of learning is over."""

    # -- what all share -----------------------------------------------------------------------------

    @property
    def known(self) -> TorchNetwork:
        """The network, once the first block has shown how large an example is."""
        if self.network is None:
            raise LearnerError(f"{type(self).__name__} classifies batches", "give it tasks that come in batches")
        return self.network

    def block_started(self, situation: Situation) -> None:
        """Build what the task needs, before anything is answered: the network at first, a head where one is told."""
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
        name = "shared" if situation.classes is None else situation.task
        self._head = self.network.head(name, situation.outputs or 10)
        if situation.learning:
            self.begin(situation)

    def network_for(self, situation: Situation) -> TorchNetwork:
        """The network that this task is learned and answered with: here the same for all."""
        return self.network or self.new_network(situation.inputs or ())

    def new_network(self, inputs: tuple[int, ...]) -> TorchNetwork:
        """A network that has learned nothing."""
        kind, hidden, layers = self._built_as
        return new_network(kind, inputs, hidden, layers, self.device, self.rng)

    def act(self, observation: Any) -> npt.NDArray[np.int64]:
        """The likeliest label of each input."""
        with torch.no_grad():
            found: npt.NDArray[np.int64] = self.scores(self.batch(observation)).argmax(dim=1).cpu().numpy()
        return found

    def learn(self, experience: Answer) -> None:
        """Go downhill on this batch."""
        batch = self.batch(experience.inputs, experience.labels)
        for _ in range(self.repeats):
            self.move(self.slopes(batch))
        self.remember(batch)

    def block_ended(self, situation: Situation) -> None:
        """Let the method draw its conclusions from what was learned."""
        if situation.learning:
            self.end(situation)

    def scores(self, batch: Batch) -> Tensor:
        """One score per example and output."""
        found: Tensor = self.known(batch.inputs, batch.heads)
        return found

    def batch(self, inputs: Any, labels: Any = None) -> Batch:
        """Examples of the task at hand, as tensors of our own."""
        given = torch.from_numpy(np.array(inputs, dtype=np.float32)).to(self.device)
        right = np.zeros(len(given)) if labels is None else labels
        return Batch(
            given,
            torch.from_numpy(np.array(right, dtype=np.int64)).to(self.device),
            torch.full((len(given),), self._head, device=self.device),
        )

    def slopes_of(self, loss: Tensor) -> Slopes:
        """The slope of any loss in each parameter; 0 in those that it does not depend on."""
        named = dict(self.known.named_parameters())
        found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        return {
            name: torch.zeros_like(weights) if slope is None else slope
            for (name, weights), slope in zip(named.items(), found, strict=True)
        }

    def knowledge(self) -> Arrays:
        """The network, once there is one."""
        return {} if self.network is None else self.network.knowledge()

    def know(self, arrays: Arrays) -> None:
        """Take up a network."""
        if "inputs" in arrays:
            self.network = self.new_network(tuple(arrays["inputs"].tolist()))
            self.network.know(arrays)


def prefixed(name: str, values: Mapping[str, Tensor] | Arrays) -> Arrays:
    """Tensors or arrays as arrays whose names begin with `name`."""
    return {
        f"{name}/{key}": one.detach().cpu().numpy() if isinstance(one, Tensor) else one for key, one in values.items()
    }


def part(name: str, arrays: Arrays) -> Arrays:
    """Those whose names begin with `name`, by the rest of theirs."""
    return {key.removeprefix(f"{name}/"): one for key, one in arrays.items() if key.startswith(f"{name}/")}


def tensors(arrays: Arrays, device: str) -> Slopes:
    """Arrays as tensors."""
    return {name: torch.from_numpy(np.array(one)).to(device) for name, one in arrays.items()}
