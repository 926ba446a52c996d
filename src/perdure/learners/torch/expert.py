"""expert: a network of its own for each task, as fresh as if there were no other."""

from __future__ import annotations

from typing import Any

from perdure.learners.interface import Situation
from perdure.learners.state import Arrays
from perdure.learners.torch.classifier import Classifier, part, prefixed
from perdure.learners.torch.network import TorchNetwork


class TorchExpert(Classifier):
    """Forgets nothing and carries nothing over, since it always knows which task it is at: what each task allows."""

    def __init__(self, seed: int = 0, **common: Any) -> None:
        super().__init__(seed, **common)
        self.networks: dict[str, TorchNetwork] = {}

    def network_for(self, situation: Situation) -> TorchNetwork:
        """The task's own, a fresh one where there is none yet."""
        if situation.task not in self.networks:
            self.networks[situation.task] = self.new_network(situation.inputs or ())
        return self.networks[situation.task]

    def knowledge(self) -> Arrays:
        """All networks, by task."""
        return {
            name: one for task, net in self.networks.items() for name, one in prefixed(task, net.knowledge()).items()
        }

    def know(self, arrays: Arrays) -> None:
        """Take up all networks."""
        for task in dict.fromkeys(name.rpartition("/")[0] for name in arrays):
            mine = part(task, arrays)
            self.networks[task] = self.new_network(tuple(mine["inputs"].tolist()))
            self.networks[task].know(mine)
