"""All cores of a machine without a GPU, each as a device: JAX itself would use little more than one."""

from __future__ import annotations

import os
import sys

__all__ = ["use_all_cores"]

_FLAG = "--xla_force_host_platform_device_count"


def use_all_cores() -> None:
    """Ask JAX for a device per core, if it is not loaded yet and nobody has asked for anything else."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "jax" in sys.modules or _FLAG in flags:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ["XLA_FLAGS"] = f"{flags} {_FLAG}={cores}".strip()
