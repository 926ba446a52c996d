"""The PyTorch methods, one class each; `METHODS` in `perdure.learners.torch` has their names."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from perdure.errors import LearnerError
from perdure.learners.interface import Arrays, Situation
from perdure.learners.torch.classifier import (
    ABSENT,
    Batch,
    Classifier,
    Slopes,
    TorchNetwork,
    part,
    prefixed,
    tensors,
)

_EVERYTHING = 10_000_000

Columns = Mapping[str, npt.NDArray[np.generic]]
"""The parts of examples (inputs, labels, …), one row per example in each."""


class Memory:
    """A uniform sample of at most `capacity` of all examples seen, by reservoir sampling (Vitter 1985)."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.seen = 0
        self._stored: dict[str, npt.NDArray[np.generic]] = {}

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    def add(self, examples: Columns, rng: np.random.Generator) -> None:
        """Add a batch to the sample."""
        count = len(next(iter(examples.values())))
        number = self.seen + np.arange(count)
        places = np.where(number < self.capacity, number, rng.integers(number + 1))
        stored = places < self.capacity
        self._make_room(examples, min(self.seen + count, self.capacity))
        for name, column in examples.items():
            self._stored[name][places[stored]] = column[stored]  # of two with the same place, the later stays
        self.seen += count

    @property
    def stored_bytes(self) -> int:
        """Size of the stored examples."""
        return sum(column.nbytes for column in self.all().values())

    def draw(self, number: int, rng: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        """Draw `number` examples with replacement."""
        chosen = rng.integers(len(self), size=number)
        return {name: column[chosen] for name, column in self._stored.items()}

    def all(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return every stored example."""
        return {name: column[: len(self)] for name, column in self._stored.items()}

    def to_arrays(self) -> Arrays:
        """Return the stored examples and the number seen."""
        return {"seen": np.array(self.seen), **{f"kept:{name}": column for name, column in self.all().items()}}

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore the stored examples."""
        self.seen = int(arrays["seen"].item())
        self._stored = {name[5:]: np.array(column) for name, column in arrays.items() if name.startswith("kept:")}

    def _make_room(self, examples: Columns, needed: int) -> None:
        """Double the room up to the capacity; a wider column widens the stored ones."""
        for name, column in examples.items():
            old = self._stored.get(name, np.zeros((0, *column.shape[1:]), dtype=column.dtype))
            room = len(old) if len(old) >= needed else min(max(needed, 2 * len(old)), self.capacity)
            if (room, *column.shape[1:]) != old.shape:
                new = np.zeros((room, *column.shape[1:]), dtype=column.dtype)
                new[tuple(slice(size) for size in old.shape)] = old
                self._stored[name] = new


class TorchNaive(Classifier):
    """Gradient descent on the current batch: the lower baseline."""


class TorchReplay(Classifier):
    """Replay of a uniform sample of the past with each batch (Chaudhry et al. 2019).

    Of a memory of `capacity` examples, `recalled` join each batch.
    """

    def __init__(self, seed: int = 0, capacity: int = 500, recalled: int = 32, **common: Any) -> None:
        super().__init__(seed, **common)
        self.recalled = recalled
        self.memory = Memory(capacity)

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of the batch and the recalled examples, each example with the same weight."""
        return super().loss(batch + self.recall() if len(self.memory) else batch)

    def remember(self, batch: Batch) -> None:
        """Add the batch to the memory."""
        self.memory.add(batch.columns(), self.rng)

    def recall(self) -> Batch:
        """Draw examples from the memory."""
        return Batch.of(self.memory.draw(self.recalled, self.rng), self.device)

    def to_arrays(self) -> Arrays:
        """Return network and memory."""
        return {**super().to_arrays(), **prefixed("memory", self.memory.to_arrays())}

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore network and memory."""
        super().load_arrays(arrays)
        self.memory.load_arrays(part("memory", arrays))


class TorchJoint(TorchReplay):
    """Replay of all examples seen, with more recall: the upper baseline, not a lifelong learner."""

    def __init__(self, seed: int = 0, recalled: int = 256, repeats: int = 3, **common: Any) -> None:
        super().__init__(seed, _EVERYTHING, recalled, repeats=repeats, **common)


class TorchExpert(Classifier):
    """A separate network for each task: it forgets nothing and transfers nothing.

    Every task must have an identity that the learner sees.
    """

    def __init__(self, seed: int = 0, **common: Any) -> None:
        super().__init__(seed, **common)
        self.networks: dict[str, TorchNetwork] = {}

    def network_for(self, situation: Situation) -> TorchNetwork:
        """Return the network of the task, a new one in its first block."""
        task = situation.named_task
        if task not in self.networks:
            self.networks[task] = self.new_network(situation.inputs or ())
        return self.networks[task]

    def to_arrays(self) -> Arrays:
        """Return all networks, by task."""
        return {
            name: array
            for task, network in self.networks.items()
            for name, array in prefixed(task, network.to_arrays()).items()
        }

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore all networks."""
        for task in dict.fromkeys(name.rpartition("/")[0] for name in arrays):
            own = part(task, arrays)
            self.networks[task] = self.new_network(tuple(own["inputs"].tolist()))
            self.networks[task].load_arrays(own)


class TorchEWC(Classifier):
    """Elastic weight consolidation (Kirkpatrick et al. 2017).

    Each earlier task pulls every weight to its value after that task, by the weight's Fisher information for the task.
    The penalty is strength / 2 · Σ_t F_t (θ − θ_t)². Since it is quadratic, ΣF_t and ΣF_t θ_t suffice for all tasks.
    F_t is the diagonal, from `examples` of the task's examples with labels drawn from the network's predictions.
    """

    def __init__(self, seed: int = 0, strength: float = 100.0, examples: int = 200, **common: Any) -> None:
        super().__init__(seed, **common)
        self.strength, self.examples = strength, examples
        self.importance: Slopes = {}
        self.pull: Slopes = {}
        self._block = Memory(examples)

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """Start a sample of this block."""
        self._block = Memory(self.examples)

    def remember(self, batch: Batch) -> None:
        """Add the batch to the sample of the block."""
        self._block.add(batch.columns(), self.rng)

    def move(self, slopes: Slopes) -> None:
        """Take a step against gradient and penalty; the penalty is implicit, so that a strong one cannot overshoot."""
        super().move(slopes)
        with torch.no_grad():
            for name, weights in self.known.named_parameters():
                if name in self.importance:
                    factor = self.rate * self.strength
                    weights.add_(factor * self.pull[name]).div_(1 + factor * self.importance[name])

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """Add the Fisher information of this task and the weights that it ended with."""
        for name, fisher in self._fisher().items():
            weights = self.known.get_parameter(name).detach()
            self.importance[name] = self.importance.get(name, 0) + fisher
            self.pull[name] = self.pull.get(name, 0) + fisher * weights
        self._block = Memory(self.examples)

    def _fisher(self) -> Slopes:
        """Return the mean squared gradient of the log-likelihood of a drawn label, over single examples."""
        sample = Batch.of(self._block.all(), self.device)
        total: Slopes = {name: torch.zeros_like(weights) for name, weights in self.known.named_parameters()}
        for index in range(len(sample.labels)):
            scores = self.known(sample.inputs[index : index + 1], sample.heads[index : index + 1])
            chances = scores[0].softmax(dim=0).detach().cpu().double().numpy()
            action = torch.tensor([self.rng.choice(len(chances), p=chances / chances.sum())], device=self.device)
            for name, slope in self.slopes_of(functional.cross_entropy(scores, action)).items():
                total[name] += slope**2 / len(sample.labels)
        return total

    def to_arrays(self) -> Arrays:
        """Return network and penalty."""
        return {**super().to_arrays(), **prefixed("importance", self.importance), **prefixed("pull", self.pull)}

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore network and penalty."""
        super().load_arrays(arrays)
        self.importance = tensors(part("importance", arrays), self.device)
        self.pull = tensors(part("pull", arrays), self.device)


class SI(Classifier):
    """Synaptic intelligence (Zenke, Poole and Ganguli 2017).

    Each weight is pulled to its value after the last task, by how much its movement has lowered the loss of all tasks.
    The penalty is strength · Σ Ω (θ − θ*)². A task adds to Ω the gain of its path, −∫ slope dθ, divided by the squared
    distance plus `damping`.
    """

    def __init__(self, seed: int = 0, strength: float = 1.0, damping: float = 0.1, **common: Any) -> None:
        super().__init__(seed, **common)
        self.strength, self.damping = strength, damping
        self.importance: Slopes = {}
        self.anchor: Slopes = {}
        self._start: Slopes = {}
        self._gain: Slopes = {}

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """Start the path of this task."""
        self._start = self._weights()
        self._gain = {name: torch.zeros_like(weights) for name, weights in self._start.items()}

    def move(self, slopes: Slopes) -> None:
        """Take a step against gradient and penalty (implicit, as in EWC), and add up its gain."""
        before = self._weights()
        super().move(slopes)
        with torch.no_grad():
            for name, weights in self.known.named_parameters():
                if name in self.importance:
                    factor = 2 * self.rate * self.strength * self.importance[name]
                    weights.add_(factor * self.anchor[name]).div_(1 + factor)
                self._gain[name] -= slopes[name] * (weights - before[name])

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """Add the gain of this task to the importance, and make the weights the anchor."""
        self.anchor = self._weights()
        for name, weights in self.anchor.items():
            distance = (weights - self._start[name]) ** 2
            fresh = self._gain[name].clamp(min=0) / (distance + self.damping)
            self.importance[name] = self.importance.get(name, 0) + fresh

    def _weights(self) -> Slopes:
        return {name: weights.detach().clone() for name, weights in self.known.named_parameters()}

    def to_arrays(self) -> Arrays:
        """Return network and penalty."""
        return {**super().to_arrays(), **prefixed("importance", self.importance), **prefixed("anchor", self.anchor)}

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore network and penalty."""
        super().load_arrays(arrays)
        self.importance = tensors(part("importance", arrays), self.device)
        self.anchor = tensors(part("anchor", arrays), self.device)


class DERPlusPlus(TorchReplay):
    """Dark experience replay, DER++ (Buzzega et al. 2020).

    The loss is that of the batch, plus `alpha` · squared change of the scores that replayed examples had when they
    were stored, plus `beta` · the loss of other replayed examples.
    """

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
        """Return the sum of the three parts, the last two on two draws from the memory."""
        total = Classifier.loss(self, batch)
        if not len(self.memory):
            return total
        drawn = self.memory.draw(self.recalled, self.rng)
        scores = self.scores(Batch.of(drawn, self.device))
        stored = torch.from_numpy(drawn["scores"]).to(self.device)
        own = scores > ABSENT / 2  # a head that was added since may be wider than the example's own
        stored = functional.pad(stored, (0, scores.shape[1] - stored.shape[1]))
        change = functional.mse_loss(scores[own], stored[own])
        return total + self.alpha * change + self.beta * Classifier.loss(self, self.recall())

    def remember(self, batch: Batch) -> None:
        """Add the batch to the memory, with its current scores."""
        with torch.no_grad():
            scores = self.scores(batch).cpu().numpy()
        self.memory.add({**batch.columns(), "scores": scores}, self.rng)


class AGEM(TorchReplay):
    """Averaged gradient episodic memory, A-GEM (Chaudhry et al. 2019).

    If the batch's gradient g opposes the gradient r of `recalled` examples of earlier blocks, the step is
    g − (g·r / r·r) r.
    """

    def __init__(self, seed: int = 0, capacity: int = 500, recalled: int = 256, **common: Any) -> None:
        super().__init__(seed, capacity, recalled, **common)
        self._block = Memory(capacity)

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """Start a sample of this block."""
        self._block = Memory(self.memory.capacity)

    def slopes(self, batch: Batch) -> Slopes:
        """Return the gradient of the batch without the part that opposes the past."""
        gradient = self.slopes_of(Classifier.loss(self, batch))
        if not len(self.memory):
            return gradient
        past = self.slopes_of(Classifier.loss(self, self.recall()))
        along = sum(float((gradient[name] * past[name]).sum()) for name in gradient)
        if along >= 0:
            return gradient
        length = sum(float((slope**2).sum()) for slope in past.values())
        return {name: gradient[name] - along / length * past[name] for name in gradient}

    def remember(self, batch: Batch) -> None:
        """Add the batch to the sample of the block."""
        self._block.add(batch.columns(), self.rng)

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """Add the sample of this block to the memory."""
        self.memory.add(self._block.all(), self.rng)


class LwF(Classifier):
    """Learning without forgetting (Li and Hoiem 2016).

    The loss is that of the batch, plus `strength` · distillation at `temperature` from the network before this block,
    for the outputs that it had learned. Nothing else of the past is stored.
    """

    def __init__(self, seed: int = 0, strength: float = 1.0, temperature: float = 2.0, **common: Any) -> None:
        super().__init__(seed, **common)
        self.strength, self.temperature = strength, temperature
        self.seen: dict[str, set[int]] = {}
        """For each head, the outputs that were a label of some example."""
        self._teacher: TorchNetwork | None = None
        self._taught: dict[int, list[int]] = {}

    def begin(self, situation: Situation) -> None:  # noqa: ARG002
        """Make a copy of the network the teacher of the outputs learned so far."""
        self._taught = {self.known.names.index(name): sorted(outputs) for name, outputs in self.seen.items()}
        self._teacher = deepcopy(self.known) if self._taught else None

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of the batch plus the distillation loss of each head."""
        total = super().loss(batch)
        if self._teacher is None:
            return total
        for index, outputs in self._taught.items():
            heads = torch.full_like(batch.heads, index)
            with torch.no_grad():
                before = self._teacher(batch.inputs, heads)[:, outputs]
            now = self.known(batch.inputs, heads)[:, outputs]
            total = total + self.strength * self.temperature**2 * functional.kl_div(
                functional.log_softmax(now / self.temperature, dim=1),
                functional.softmax(before / self.temperature, dim=1),
                reduction="batchmean",
            )
        return total

    def remember(self, batch: Batch) -> None:
        """Add the labels of the batch to the outputs seen."""
        name = self.known.names[int(batch.heads[0])]
        self.seen.setdefault(name, set()).update(batch.labels.unique().tolist())

    def to_arrays(self) -> Arrays:
        """Return the network and the outputs seen."""
        classes = {name: np.array(sorted(outputs)) for name, outputs in self.seen.items()}
        return {**super().to_arrays(), **prefixed("seen", classes)}

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore the network and the outputs seen."""
        super().load_arrays(arrays)
        self.seen = {name: set(outputs.tolist()) for name, outputs in part("seen", arrays).items()}


class PackNet(Classifier):
    """PackNet (Mallya and Lazebnik 2018): weights of its own for each task within one network, never changed again.

    A task is learned with the free weights. Then it keeps the larger `keep` of them, frees the others, and is learned
    again, `passes` times over, from up to `examples` of its own. Predictions use the weights of the task and of the
    tasks before it, so nothing later can change them. Biases of the body belong to the first task. Every task must
    have an identity that the learner sees.
    """

    def __init__(self, seed: int = 0, keep: float = 0.5, examples: int = 2000, passes: int = 2, **common: Any) -> None:
        super().__init__(seed, **common)
        self.keep, self.examples, self.passes = keep, examples, passes
        self.owner: Slopes = {}
        """For each weight of the body the number of its task, from 1; 0 if it is free."""
        self.numbers: dict[str, int] = {}
        self._now = 0
        self._new = False
        self._block = Memory(examples)

    def block_started(self, situation: Situation) -> None:
        """Choose the weights to use: for a task that was never learned, all owned ones."""
        if situation.classes is None:
            raise LearnerError(
                "packnet must be told which task it is at, and this one does not tell",
                'set setting = "task" in the parameters of the task, and "task" among tells',
            )
        self._now = self.numbers.get(situation.named_task, len(self.numbers))
        self._new = False
        super().block_started(situation)

    def begin(self, situation: Situation) -> None:
        """Give a new task the free weights; a task that was learned before has only its own."""
        if not self.owner:
            named = self.known.body.named_parameters(prefix="body")
            self.owner = {name: torch.zeros_like(weights, dtype=torch.int16) for name, weights in named}
        self._new = situation.task not in self.numbers
        self._now = self.numbers.setdefault(situation.named_task, len(self.numbers) + 1)
        self._block = Memory(self.examples)
        if self._new and self._now > 1:
            self._refresh()

    def scores(self, batch: Batch) -> Tensor:
        """Return scores by the weights of this and earlier tasks, and the free ones while a new task is learned."""
        scores: Tensor = functional_call(
            self.known,
            {
                name: weights * self._used(name) if name in self.owner and self.numbers else weights
                for name, weights in self.known.named_parameters()
            },
            (batch.inputs, batch.heads),
        )
        return scores

    def slopes(self, batch: Batch) -> Slopes:
        """Return the gradient in the weights that this task may change."""
        slopes = super().slopes(batch)
        return {name: slope * self._own(name) if name in self.owner else slope for name, slope in slopes.items()}

    def remember(self, batch: Batch) -> None:
        """Add the batch to the sample of the block."""
        self._block.add(batch.columns(), self.rng)

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """Choose the weights that a new task keeps, and learn again with them."""
        if not self._new:
            return
        for name, owner in self.owner.items():
            owner[self._chosen(name, owner)] = self._now
        self._new = False
        sample = self._block.all()
        for _ in range(self.passes):
            order = self.rng.permutation(len(self._block))
            for chosen in np.array_split(order, max(len(order) // 32, 1)):
                batch = Batch.of({name: column[chosen] for name, column in sample.items()}, self.device)
                self.move(self.slopes(batch))
                self.updates += 1
        self._block = Memory(self.examples)

    def _chosen(self, name: str, owner: Tensor) -> Tensor:
        """Return the largest of the free weights; of biases all, which gives them to the first task."""
        free = owner == 0
        if owner.dim() == 1:
            return free
        sizes = self.known.get_parameter(name).detach().abs().masked_fill(~free, -1).flatten()
        count = int(self.keep * int(free.sum()))
        chosen = torch.zeros_like(sizes, dtype=torch.bool)
        chosen[sizes.argsort(descending=True, stable=True)[:count]] = True
        return chosen.view_as(owner)

    def _used(self, name: str) -> Tensor:
        owner = self.owner[name]
        used = (owner > 0) & (owner <= self._now)
        return used | (owner == 0) if self._new else used

    def _own(self, name: str) -> Tensor:
        owner = self.owner[name]
        return (owner == self._now) | ((owner == 0) & self._new)

    def _refresh(self) -> None:
        """Draw the free weights again, so that a task does not begin with weights that others freed."""
        fresh = dict(self.new_network(self.known.inputs).named_parameters())
        with torch.no_grad():
            for name, owner in self.owner.items():
                weights = self.known.get_parameter(name)
                weights.copy_(torch.where(owner == 0, fresh[name], weights))

    def to_arrays(self) -> Arrays:
        """Return the network, the owners of its weights, and the numbers of the tasks."""
        return {
            **super().to_arrays(),
            **prefixed("owner", self.owner),
            **prefixed("numbers", {task: np.array(number) for task, number in self.numbers.items()}),
        }

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore the network, the owners, and the numbers."""
        super().load_arrays(arrays)
        self.owner = tensors(part("owner", arrays), self.device)
        self.numbers = {task: int(number.item()) for task, number in part("numbers", arrays).items()}
