"""crelu: hidden units that answer on both sides of nothing, and so are never silent (Abbas et al. 2023)."""

from __future__ import annotations

from perdure.batched.learners.interface import Core, Method, Setting

CORE = {"activation": "crelu"}
"""What it asks of the core; the rest of learning stays as it is."""


def make(core: Core, setting: Setting) -> Method:  # noqa: ARG001
    """Changes the network, and nothing else."""
    return Method("crelu")
