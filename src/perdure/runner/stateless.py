"""The stateless twin: a learner that starts anew in every block, beside which is seen what remembering is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from perdure.learners.interface import SelfLed
from perdure.runner.block import LifeBlock
from perdure.runner.lead import lead_block
from perdure.runner.lifetime import Life
from perdure.tasks.datasets import Dataset

__all__ = ["Stateless"]


class Stateless:
    """A learner, made anew for each block of its life."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def live(self, life: Life) -> None:
        """Go through every block with a learner that knows of no other."""
        for block in life:
            learner = self._make()
            if isinstance(learner, SelfLed):
                learner.live(_OneBlock(life, block))
            else:
                lead_block(life, block, learner)


class _OneBlock:
    """A life as a learner that owns its loop sees it, if this block were all of it."""

    def __init__(self, life: Life, block: LifeBlock) -> None:
        self._life, self._block = life, block

    def __iter__(self) -> Iterator[LifeBlock]:
        yield self._block

    def datasets(self) -> Iterator[Dataset]:
        yield self._block.dataset()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._life, name)
