"""What the tests of the batched engine share: a program compiles once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from perdure.batched.program import Program


@pytest.fixture(scope="session")
def program() -> Program:
    pytest.importorskip("jax")
    from tests.batched.engine.little import plan

    from perdure.batched.program import Program

    return Program(plan())


@pytest.fixture(scope="session")
def together(program: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every lifetime of the little protocol, lived in one call."""
    from tests.batched.engine.little import lifetimes

    from perdure.batched.live import live

    return lifetimes(live(program, program.plan.jobs, tmp_path_factory.mktemp("together")).chunks)
