"""packnet: gives each task weights of its own within one network, and never touches them again.

Mallya and Lazebnik 2018: a task is learned with the weights that are free; then the smaller ones of these are let go,
and the task is learned on with those that it keeps. A task is answered with its own weights and those of the tasks
before it, so nothing that comes later can change an answer. It has to be told which task it is at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from perdure.learners.interface import LearnerError, Situation
from perdure.learners.state import Arrays
from perdure.learners.torch.classifier import Batch, Classifier, Slopes, part, prefixed, tensors
from perdure.learners.torch.memory import Memory


class PackNet(Classifier):
    """Keeps for each task the larger `keep` of the body's weights that were free when it came.

    A task is learned again after pruning from up to `examples` of its own, `passes` times over. Biases of the body
    belong to the first task.
    """

    def __init__(self, seed: int = 0, keep: float = 0.5, examples: int = 2000, passes: int = 2, **common: Any) -> None:
        super().__init__(seed, **common)
        self.keep, self.examples, self.passes = keep, examples, passes
        self.owner: Slopes = {}
        """For each weight of the body the number of its task, from 1; 0 where it is free."""
        self.numbers: dict[str, int] = {}
        self._now = 0
        self._new = False
        self._block = Memory(examples)

    def block_started(self, situation: Situation) -> None:
        """Look up whose weights are used; a task never learned is answered with all there is."""
        if situation.classes is None:
            raise LearnerError(
                "packnet must be told which task it is at, and this one does not tell",
                'set setting = "task" in the parameters of the task',
            )
        self._now = self.numbers.get(situation.task, len(self.numbers))
        self._new = False
        super().block_started(situation)

    def begin(self, situation: Situation) -> None:
        """A new task may use what is free; one that was learned before, its own weights only."""
        if not self.owner:
            named = self.known.body.named_parameters(prefix="body")
            self.owner = {name: torch.zeros_like(one, dtype=torch.int16) for name, one in named}
        self._new = situation.task not in self.numbers
        self._now = self.numbers.setdefault(situation.task, len(self.numbers) + 1)
        self._block = Memory(self.examples)
        if self._new and self._now > 1:
            self._refresh()

    def scores(self, batch: Batch) -> Tensor:
        """By the weights of this task and of those before it; free ones count while a new task is learned."""
        found: Tensor = functional_call(
            self.known,
            {
                name: weights * self._used(name) if name in self.owner and self.numbers else weights
                for name, weights in self.known.named_parameters()
            },
            (batch.inputs, batch.heads),
        )
        return found

    def slopes(self, batch: Batch) -> Slopes:
        """Only of weights that are this task's own, or free for it."""
        found = super().slopes(batch)
        return {name: slope * self._mine(name) if name in self.owner else slope for name, slope in found.items()}

    def remember(self, batch: Batch) -> None:
        """Show the batch to the block's sample."""
        self._block.add(batch.columns(), self.rng)

    def end(self, situation: Situation) -> None:  # noqa: ARG002
        """Choose what a new task keeps, and learn on with that."""
        if not self._new:
            return
        for name, owner in self.owner.items():
            owner[self._chosen(name, owner)] = self._now
        self._new = False
        sample = self._block.all()
        for _ in range(self.passes):
            order = self.rng.permutation(len(self._block))
            for chosen in np.array_split(order, max(len(order) // 32, 1)):
                again = Batch.of({name: column[chosen] for name, column in sample.items()}, self.device)
                self.move(self.slopes(again))
        self._block = Memory(self.examples)

    def _chosen(self, name: str, owner: Tensor) -> Tensor:
        """The largest of the free weights; of the biases all, by the first task."""
        free = owner == 0
        if owner.dim() == 1:
            return free
        sizes = self.known.get_parameter(name).detach().abs().masked_fill(~free, -1).flatten()
        wanted = int(self.keep * int(free.sum()))
        mine = torch.zeros_like(sizes, dtype=torch.bool)
        mine[sizes.argsort(descending=True, stable=True)[:wanted]] = True
        return mine.view_as(owner)

    def _used(self, name: str) -> Tensor:
        owner = self.owner[name]
        used = (owner > 0) & (owner <= self._now)
        return used | (owner == 0) if self._new else used

    def _mine(self, name: str) -> Tensor:
        owner = self.owner[name]
        return (owner == self._now) | ((owner == 0) & self._new)

    def _refresh(self) -> None:
        """Free weights begin anew, or they would begin with what others let go."""
        fresh = dict(self.new_network(self.known.inputs).named_parameters())
        with torch.no_grad():
            for name, owner in self.owner.items():
                weights = self.known.get_parameter(name)
                weights.copy_(torch.where(owner == 0, fresh[name], weights))

    def knowledge(self) -> Arrays:
        """The network, whose its weights are, and the numbers of the tasks."""
        return {
            **super().knowledge(),
            **prefixed("owner", self.owner),
            **prefixed("numbers", {task: np.array(number) for task, number in self.numbers.items()}),
        }

    def know(self, arrays: Arrays) -> None:
        """Take up all of it."""
        super().know(arrays)
        self.owner = tensors(part("owner", arrays), self.device)
        self.numbers = {task: int(number.item()) for task, number in part("numbers", arrays).items()}
