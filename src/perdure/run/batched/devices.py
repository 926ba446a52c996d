"""What JAX is told before it is loaded: to use all cores where there is no GPU, and to be the same each time."""

from __future__ import annotations

import os
import sys

__all__ = ["prepare_devices"]

_CORES, _TUNED = "--xla_force_host_platform_device_count", "--xla_gpu_autotune_level"


def prepare_devices() -> None:
    """A device per core, and no choice of kernels by a race: it would give other last bits in another run.

    Nothing is done where JAX is loaded already, and what the environment says stays.
    """
    if "jax" in sys.modules:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    flags = os.environ.get("XLA_FLAGS", "")
    missing = [f"{name}={value}" for name, value in ((_CORES, cores), (_TUNED, 0)) if name not in flags]
    os.environ["XLA_FLAGS"] = " ".join([flags, *missing]).strip()
