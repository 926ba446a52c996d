"""Fixtures of the batched engine: a program compiles once for all tests."""

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
def lifetimes_together(program: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run every lifetime of the little protocol in one call."""
    from tests.batched.engine.little import lifetimes

    from perdure.batched.live import live

    return lifetimes(live(program, program.plan.jobs, tmp_path_factory.mktemp("together")).chunks)
