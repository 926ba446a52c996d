"""Joint: keeps every example, and learns from all of them all the time; what could be had without forgetting."""

from __future__ import annotations

from perdure.learners.replay import Replay

__all__ = ["Joint"]

_EVERYTHING = 1_000_000


class Joint(Replay):
    """Replay with unlimited memory and more recall: an upper baseline, not a lifelong learner."""

    def __init__(
        self,
        seed: int = 0,
        rate: float = 0.1,
        hidden: int = 64,
        classes: int = 10,
        repeats: int = 2,
        recalled: int = 256,
        count_dormant: bool = False,
    ) -> None:
        super().__init__(seed, rate, hidden, classes, repeats, _EVERYTHING, recalled, count_dormant)
