"""A pool of processes, this one included, that works from any script."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from perdure.cluster import ONE_THREAD
from perdure.log.read import READERS
from perdure.metrics.declare import METRICS
from perdure.metrics.presets import PRESETS

Job = TypeVar("Job")
Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]

_AHEAD = 3  # chunks that are handed to a process in advance, so that it never waits for the next
_CHUNK, _TURNS = 32, 8  # most items of a chunk; how many chunks each process gets, at least


def process_count(items: int, jobs: int | None, worth: int) -> int:
    """Return the number of processes: `jobs`, else one per core from `worth` items on, else one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(jobs or cores, items)) if jobs or items >= worth else 1


def parallel_map(
    start: Callable[[Job], Callable[[Item], Result]],
    job: Job,
    items: Sequence[Item],
    count: int,
    progress: Progress | None = None,
    *,
    here: Callable[[Item], Result] | None = None,
) -> list[Result]:
    """Apply `start(job)` to each item, in `count` processes that each start once; return the results in order.

    This process is one of them: it works while the others start, and takes over if they do not start, die, or do not
    know a plug-in that was registered here. `here` is a worker that was already started in it. `progress` is called
    with the number of finished items and of all items.
    """
    work = here or start(job)
    size = max(1, min(_CHUNK, len(items) // (_TURNS * count)))
    chunks = [items[at : at + size] for at in range(0, len(items), size)]
    results: dict[int, list[Result]] = {}
    finished = 0
    for at, made in _share(start, job, chunks, work, count - 1):
        results[at] = made
        finished += len(made)
        if progress:
            progress(finished, len(items))
    return [result for at in range(len(chunks)) for result in results[at]]


def _share(
    start: Callable[[Job], Callable[[Item], Result]],
    job: Job,
    chunks: Sequence[Sequence[Item]],
    work: Callable[[Item], Result],
    others: int,
) -> Iterator[tuple[int, list[Result]]]:
    if not others:
        for at, chunk in enumerate(chunks):
            yield at, [work(item) for item in chunk]
        return
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    waiting = deque(range(len(chunks)))
    given: dict[Future[list[Result]], int] = {}
    most = _AHEAD * others
    with ProcessPoolExecutor(others, context, _begin, (start, job, registered())) as pool:
        try:
            while waiting or given:
                # A process starts when it gets its first chunk; then this process is as it was.
                with _environment(ONE_THREAD), _no_main_module(), _interrupts_held():
                    while waiting and len(given) < most:
                        try:
                            future = pool.submit(_work_on, chunks[waiting[0]])
                        except BrokenProcessPool:
                            most = 0
                        else:
                            given[future] = waiting.popleft()
                if waiting:
                    at = waiting.popleft()
                    yield at, [work(item) for item in chunks[at]]
                else:
                    wait(given, return_when=FIRST_COMPLETED)
                for future in [future for future in given if future.done()]:
                    at = given.pop(future)
                    try:
                        made = future.result()
                    except (BrokenProcessPool, _NotStartedError):
                        most = 0
                        waiting.append(at)
                    else:
                        yield at, made
        except BaseException:
            # After Ctrl-C or a failure here, nothing waits for the results of the others.
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise


class _NotStartedError(Exception):
    """The worker could not start in this process."""


_work: Callable[[Any], Any] | None = None


def _begin(start: Callable[[Any], Callable[[Any], Any]], job: Any, known: frozenset[tuple[str, str]]) -> None:
    global _work  # noqa: PLW0603 - the worker of this process
    gc.set_threshold(1_000_000)  # a lifetime leaves few cycles behind
    if known <= registered():
        try:
            _work = start(job)
        except Exception:
            _work = None  # the first process raises the same error
    gc.freeze()  # everything so far stays to the end


def _work_on(chunk: Sequence[Any]) -> list[Any]:
    if _work is None:
        raise _NotStartedError
    return [_work(item) for item in chunk]


def registered() -> frozenset[tuple[str, str]]:
    """Return everything registered by name; a script may have added to it, which a fresh process does not know."""
    return frozenset((registry.kind, name) for registry in (READERS, METRICS, PRESETS) for name in registry.names())


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Start processes without running the caller's script again, which may lack a `__main__` guard."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all: this process ends them.

    A process that is interrupted while it hands over a result would leave the others waiting for ever.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Start processes with these environment variables: one thread each, or they would compete for the cores."""
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
