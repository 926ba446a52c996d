"""JAX's devices: start them, compile for them, and explain why a program cannot be compiled or does not fit.

JAX is imported inside functions, because `prepare_devices` must run before it is imported.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from perdure.cluster import cores
from perdure.errors import LearnerError, PerdureError

_CORES = "--xla_force_host_platform_device_count"
_DETERMINISTIC = {"xla_gpu_autotune_level": 0}
"""Autotuning picks kernels by their speed, which would change the last bits from run to run."""

_INTERNAL = (
    "/jax/",
    "/jaxlib/",
    "/contextlib.py",
    *(f"/perdure/batched/{name}.py" for name in ("live", "program", "block", "learners/interface")),
)


def prepare_devices() -> None:
    """Make a device of each core, unless XLA_FLAGS decides, and start the devices in a thread.

    Do nothing if JAX is imported already.
    """
    if "jax" in sys.modules:
        return
    flags = os.environ.get("XLA_FLAGS", "")
    if _CORES not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_CORES}={cores()}".strip()
    Thread(target=_start, name="devices").start()


def _start() -> None:
    """Run a first program; on a GPU this waits seconds for the driver and its libraries."""
    with suppress(Exception):  # the first use of the device fails with the same problem, and is reported
        import jax

        jax.jit(lambda value: value + 1)(0.0).block_until_ready()


def compiled(lowered: Any) -> Any:
    """Return a lowered program, compiled for the devices of this process."""
    import jax

    if jax.default_backend() == "cpu":
        return lowered.compile()
    try:
        return lowered.compile(compiler_options=_DETERMINISTIC)
    except jax.errors.JaxRuntimeError as problem:
        if next(iter(_DETERMINISTIC)) not in str(problem):
            raise
        return lowered.compile()  # this version of XLA does not have the option


def out_of_memory(problem: BaseException) -> bool:
    """Return whether a device or this machine ran out of memory."""
    text = str(problem)
    return isinstance(problem, MemoryError) or "RESOURCE_EXHAUSTED" in text or "Out of memory" in text


@contextmanager
def compile_errors(protocol: str) -> Iterator[None]:
    """Raise LearnerError with the line of a task or learner that cannot be compiled, and the reason."""
    import jax

    try:
        yield
    except PerdureError:
        raise
    except (TypeError, ValueError, NotImplementedError, IndexError, AttributeError, jax.errors.JAXTypeError) as problem:
        if out_of_memory(problem):
            raise
        frames = [
            frame
            for frame in traceback.extract_tb(problem.__traceback__)
            if not any(part in frame.filename for part in _INTERNAL)
        ]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: {frames[-1].line}" if frames else "the program"
        why = " ".join(str(problem).split("\n\n")[0].split())
        raise LearnerError(
            f"cannot be compiled for the batched engine: {where} ({type(problem).__name__}: {why})",
            "tasks and learners are traced, so that nothing may depend on a number in Python: use jnp.where "
            "or jax.lax.cond",
            file=protocol,
        ) from problem
