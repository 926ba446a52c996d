"""Work on many lifetimes shared among processes, from any script, and finished here where they fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from perdure.log.read import READERS
from perdure.metrics.declare import METRICS
from perdure.metrics.presets import PRESETS

__all__ = ["processes", "worked"]

How = TypeVar("How")
Item = TypeVar("Item")
Done = TypeVar("Done")
Progress = Callable[[int, int], None]

_ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


def processes(items: int, jobs: int | None, worth: int) -> int:
    """How many processes share the work: `jobs`, else one per core from `worth` items on, else one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(jobs or cores, items)) if jobs or items >= worth else 1


def worked(
    start: Callable[[How], Callable[[Item], Done]],
    how: How,
    items: Sequence[Item],
    count: int,
    progress: Progress | None = None,
) -> list[Done]:
    """What `start(how)` makes of each item, in order, by `count` processes that each start once.

    What a process cannot do, because it does not start, dies, or does not know a plug-in that this
    one registered, is done here, where an error reaches the caller as it is.
    """
    done: dict[int, Done] = {}
    if count > 1:
        for at, made in _elsewhere(start, how, items, count):
            done[at] = made
            if progress:
                progress(len(done), len(items))
    if len(done) < len(items):
        work = start(how)
        for at, item in enumerate(items):
            if at not in done:
                done[at] = work(item)
                if progress:
                    progress(len(done), len(items))
    return [done[at] for at in range(len(items))]


# --- processes ------------------------------------------------------------------------------------


class _NotHere(Exception):
    """The work cannot be done in this process; the one that asked has to."""


def _elsewhere(
    start: Callable[[How], Callable[[Item], Done]], how: How, items: Sequence[Item], count: int
) -> Iterator[tuple[int, Done]]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, context, _begin, (start, how, _registered())) as pool:
        # All processes start with the first item. The rest of the time this process is as it was.
        with _environment(_ONE_THREAD), _no_main_module():
            try:
                waiting = {pool.submit(_one, item): at for at, item in enumerate(items)}
            except BrokenProcessPool:
                return
        for future in as_completed(waiting):
            try:
                made = future.result()
            except (BrokenProcessPool, _NotHere):
                continue
            yield waiting[future], made


_work: Callable[[Any], Any] | None = None


def _begin(start: Callable[[Any], Callable[[Any], Any]], how: Any, registered: frozenset[tuple[str, str]]) -> None:
    global _work  # noqa: PLW0603 - a process is told once how to work
    if registered <= _registered():
        try:
            _work = start(how)
        except Exception:
            _work = None  # the same error is raised where it can be read


def _one(item: Any) -> Any:
    if _work is None:
        raise _NotHere
    return _work(item)


def _registered() -> frozenset[tuple[str, str]]:
    """What can be looked up by name; a script may have added to it, and a fresh process would not know."""
    return frozenset((registry.kind, name) for registry in (READERS, METRICS, PRESETS) for name in registry.names())


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Processes started inside do not run the caller's script again, which need not be guarded against that."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Processes started inside see `settings`; one thread each, or they would fight for the cores."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
