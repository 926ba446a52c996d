"""Engines: the ways in which jobs are lived, by name. Each takes jobs and `Work`, and says what failed and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from perdure.errors import UnknownName
from perdure.run.engines.work import Work
from perdure.run.plan import Job

__all__ = ["ENGINES", "Engine", "engine"]

Engine = Callable[[Sequence[Job], Work], dict[str, str]]

ENGINES: Mapping[str, str] = {
    "local": "perdure.run.engines.local:live_locally",
    "ray": "perdure.run.engines.ray:live_on_ray",
    "batched": "perdure.run.engines.batched:live_batched",
}
"""Where each engine's function is; loaded when it is chosen, since an engine may need an extra."""


def engine(name: str) -> Engine:
    """The engine of this name."""
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)
    module, _, function = ENGINES[name].partition(":")
    found: Engine = getattr(import_module(module), function)
    return found
