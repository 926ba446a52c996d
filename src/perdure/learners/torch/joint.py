"""joint: keeps every example, and learns from all of them all the time; what could be had without forgetting."""

from __future__ import annotations

from typing import Any

from perdure.learners.torch.replay import TorchReplay

_EVERYTHING = 10_000_000


class TorchJoint(TorchReplay):
    """Replay that forgets no example and recalls more of them: the upper baseline, not a lifelong learner."""

    def __init__(self, seed: int = 0, recalled: int = 256, repeats: int = 3, **common: Any) -> None:
        super().__init__(seed, _EVERYTHING, recalled, repeats=repeats, **common)
