"""What JAX is told: to use all cores where there is no GPU, and to be the same each time where there is one."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from threading import Thread
from typing import Any

_CORES = "--xla_force_host_platform_device_count"
_SAME = {"xla_gpu_autotune_level": 0}
"""Kernels chosen without a race between them, which would give other last bits in another run."""


def prepare_devices() -> None:
    """A device per core, unless the environment says otherwise; devices start beside whatever is done next.

    Where JAX is loaded already, both are settled.
    """
    if "jax" in sys.modules:
        return
    flags = os.environ.get("XLA_FLAGS", "")
    if _CORES not in flags:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        os.environ["XLA_FLAGS"] = f"{flags} {_CORES}={cores}".strip()
    Thread(target=_woken, name="devices").start()


def _woken() -> None:
    """The first program on a GPU waits seconds for its driver and its libraries."""
    with suppress(Exception):  # who needs the device meets the same, and says it in words
        import jax

        jax.jit(lambda one: one + 1)(0.0).block_until_ready()


def compiled(lowered: Any) -> Any:
    """A lowered program, compiled for the devices at hand."""
    import jax

    if jax.default_backend() == "cpu":
        return lowered.compile()
    try:
        return lowered.compile(compiler_options=_SAME)
    except jax.errors.JaxRuntimeError as problem:
        if next(iter(_SAME)) not in str(problem):
            raise
        return lowered.compile()  # a version of XLA that knows no such option
