"""Engines: the ways in which jobs are lived, by name. Each takes jobs and `Work`, and says what failed and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from perdure.errors import UnknownNameError
from perdure.runner.engines.work import Work
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan

__all__ = ["CHECKS", "ENGINES", "Check", "Engine", "engine", "engine_check"]

Engine = Callable[[Sequence[Job], Work], dict[str, str]]
Check = Callable[[RunPlan, RunFolder, Sequence[Job]], None]

ENGINES: Mapping[str, str] = {
    "local": "perdure.runner.engines.local:run_locally",
    "ray": "perdure.runner.engines.ray:run_on_ray",
    "batched": "perdure.batched.engine:live_batched",
}
"""Where each engine's function is; loaded when it is chosen, since an engine may need an extra."""


CHECKS: Mapping[str, str] = {"batched": "perdure.batched.engine:check_batched"}
"""Where the function is that refuses what an engine cannot run, for engines with learners and tasks of their own."""


def engine(name: str) -> Engine:
    """The engine of this name."""
    if name not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    found: Engine = _load(ENGINES[name])
    return found


def engine_check(name: str) -> Check | None:
    """Return the engine's own check of a plan, if it has one."""
    return _load(CHECKS[name]) if name in CHECKS else None


def _load(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)
