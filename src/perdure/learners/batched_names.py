"""The names of the batched learners and methods, and where each is; nothing of JAX is imported."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "batched:"
CORES: Mapping[str, str] = {
    "q": "perdure.batched.learners.q",
    "actor-critic": "perdure.batched.learners.actor_critic",
    "softmax": "perdure.batched.learners.softmax",
}
"""Where each core's `make` is, by its name behind `batched:`."""

METHODS: Mapping[str, str] = {
    name: f"perdure.batched.learners.methods.{name.replace('-', '_')}"
    for name in ("naive", "separate", "ewc", "si", "replay", "packnet", "crelu", "reset", "shrink-and-perturb", "joint")
}
"""Where each method's `make` is; several are joined by `+`."""
