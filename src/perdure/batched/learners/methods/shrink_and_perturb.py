"""shrink-and-perturb: begins every block of learning with smaller weights and a little chance (Ash and Adams 2020)."""

from __future__ import annotations

from typing import Any

import jax

from perdure.batched.learners.interface import Core, Method, Setting


def make(core: Core, setting: Setting, *, shrink: float = 0.8, perturb: float = 0.1) -> Method:  # noqa: ARG001
    """Weights become `shrink` of what they were, and `perturb` of fresh ones is added."""

    def begin(weights: Any, memory: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        return jax.tree.map(lambda old, new: shrink * old + perturb * new, weights, core.init(key)), memory

    return Method("shrink-and-perturb", begin=begin)
