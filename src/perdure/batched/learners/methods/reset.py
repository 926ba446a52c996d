"""reset: begins every block of learning with fresh weights; it can always learn, and keeps nothing."""

from __future__ import annotations

from typing import Any

from perdure.batched.learners.interface import Core, Method, Setting


def make(core: Core, setting: Setting, *, part: str = "") -> Method:  # noqa: ARG001
    """Resets all weights, or those whose name begins with `part` ("output"; after Nikishin et al. 2022)."""

    def begin(weights: Any, memory: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        fresh = core.init(key)
        return {name: fresh[name] if name.startswith(part) else one for name, one in weights.items()}, memory

    return Method("reset", begin=begin)
