"""What can go wrong with a program, in words: what cannot be compiled, and what does not fit into memory."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import jax

from perdure.errors import LearnerError, PerdureError

if TYPE_CHECKING:
    from perdure.batched.program import Program


_NOT_OURS = (
    "/jax/",
    "/jaxlib/",
    "/contextlib.py",
    *(f"/perdure/batched/{name}.py" for name in ("live", "program", "block", "learners/interface")),
)


def out_of_memory(problem: BaseException) -> bool:
    """Whether a device, or this machine, has no room for what was asked."""
    said = str(problem)
    return isinstance(problem, MemoryError) or "RESOURCE_EXHAUSTED" in said or "Out of memory" in said


@contextmanager
def untraceable(program: Program) -> Iterator[None]:
    """Say of a task or learner that cannot be compiled which line it is, and why."""
    try:
        yield
    except PerdureError:
        raise
    except (TypeError, ValueError, NotImplementedError, IndexError, AttributeError, jax.errors.JAXTypeError) as problem:
        if out_of_memory(problem):
            raise
        frames = [
            one
            for one in traceback.extract_tb(problem.__traceback__)
            if not any(part in one.filename for part in _NOT_OURS)
        ]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: {frames[-1].line}" if frames else "the program"
        why = " ".join(str(problem).split("\n\n")[0].split())
        raise LearnerError(
            f"cannot be compiled for the batched engine: {where} ({type(problem).__name__}: {why})",
            "tasks and learners are traced, so that nothing may depend on a number in Python: use jnp.where "
            "or jax.lax.cond",
            file=program.plan.protocol.place,
        ) from problem
