"""joint: keeps everything, and learns from all of it all the time; what could be had without forgetting."""

from __future__ import annotations

from perdure.batched.learners.interface import Core, Method, Setting
from perdure.batched.learners.methods import replay

_STEPS = 50  # of an episode, on average; room for more would be room for nothing


def make(core: Core, setting: Setting, *, recalled: int | None = None) -> Method:
    """Replay with unlimited memory and more recall: an upper baseline, not a lifelong learner."""
    everything = setting.experiences * (setting.batch or _STEPS)
    return replay.make(core, setting, capacity=everything, recalled=recalled or (256 if setting.batch else 16))
