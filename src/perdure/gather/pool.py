"""A pool of processes that includes the current one and works from any script."""

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

from perdure.cluster import ONE_THREAD, cores
from perdure.log.read import READERS
from perdure.metrics.declare import METRICS
from perdure.metrics.presets import PRESETS

Job = TypeVar("Job")
Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]

_AHEAD = 3  # chunks in the queue of each process, so that it never waits for the next
_MAX_CHUNK, _MIN_CHUNKS = 32, 8  # items of one chunk; chunks of each process


def process_count(items: int, jobs: int | None, worth: int) -> int:
    """Return the number of processes: `jobs` if given, otherwise one per core from `worth` items on, or one."""
    return max(1, min(jobs or cores(), items)) if jobs or items >= worth else 1


def parallel_map(
    start: Callable[[Job], Callable[[Item], Result]],
    job: Job,
    items: Sequence[Item],
    count: int,
    progress: Progress | None = None,
    *,
    worker: Callable[[Item], Result] | None = None,
) -> list[Result]:
    """Apply `start(job)` to each item, in `count` processes that each start once; return the results in order.

    The current process is one of them: it works while the others start, and takes over if they do not start, die, or
    lack a plug-in that was registered here. `worker` is one that already started here. `progress` is called with the
    number of finished items and of all items.
    """
    work = worker or start(job)
    size = max(1, min(_MAX_CHUNK, len(items) // (_MIN_CHUNKS * count)))
    chunks = [items[first : first + size] for first in range(0, len(items), size)]
    results: dict[int, list[Result]] = {}
    finished = 0
    for index, chunk_results in _share(start, job, chunks, work, count - 1):
        results[index] = chunk_results
        finished += len(chunk_results)
        if progress:
            progress(finished, len(items))
    return [result for index in range(len(chunks)) for result in results[index]]


def _share(
    start: Callable[[Job], Callable[[Item], Result]],
    job: Job,
    chunks: Sequence[Sequence[Item]],
    work: Callable[[Item], Result],
    others: int,
) -> Iterator[tuple[int, list[Result]]]:
    if not others:
        for index, chunk in enumerate(chunks):
            yield index, [work(item) for item in chunk]
        return
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    waiting = deque(range(len(chunks)))
    submitted: dict[Future[list[Result]], int] = {}
    limit = _AHEAD * others
    with ProcessPoolExecutor(others, context, _initialise, (start, job, registered_names())) as pool:
        try:
            while waiting or submitted:
                # A process starts when it gets its first chunk, so the changes to this process last until then.
                with _environment(ONE_THREAD), _no_main_module(), _interrupts_held():
                    while waiting and len(submitted) < limit:
                        try:
                            future = pool.submit(_work_on, chunks[waiting[0]])
                        except BrokenProcessPool:
                            limit = 0
                        else:
                            submitted[future] = waiting.popleft()
                if waiting:
                    index = waiting.popleft()
                    yield index, [work(item) for item in chunks[index]]
                else:
                    wait(submitted, return_when=FIRST_COMPLETED)
                for future in [future for future in submitted if future.done()]:
                    index = submitted.pop(future)
                    try:
                        chunk_results = future.result()
                    except (BrokenProcessPool, _NotStartedError):
                        limit = 0
                        waiting.append(index)
                    else:
                        yield index, chunk_results
        except BaseException:
            # After Ctrl-C or a failure here, the results of the other processes are not needed.
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise


class _NotStartedError(Exception):
    """The worker could not start in this process."""


_work: Callable[[Any], Any] | None = None


def _initialise(start: Callable[[Any], Callable[[Any], Any]], job: Any, known: frozenset[tuple[str, str]]) -> None:
    global _work  # noqa: PLW0603 - the worker of this process
    gc.set_threshold(1_000_000)  # scoring a lifetime leaves few reference cycles
    if known <= registered_names():
        try:
            _work = start(job)
        except Exception:
            _work = None  # the first process raises the same error
    gc.freeze()  # everything so far is used until the process ends


def _work_on(chunk: Sequence[Any]) -> list[Any]:
    if _work is None:
        raise _NotStartedError
    return [_work(item) for item in chunk]


def registered_names() -> frozenset[tuple[str, str]]:
    """Return kind and name of everything registered. A new process lacks the names that a script registered."""
    return frozenset((registry.kind, name) for registry in (READERS, METRICS, PRESETS) for name in registry.names())


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep processes from running the caller's script again when they start: it may lack a `__main__` guard."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block SIGINT, so that processes started meanwhile ignore Ctrl-C, which a terminal sends to all of them.

    This process ends them. A process interrupted while it returns a result would leave the others waiting forever.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, which processes started meanwhile inherit."""
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
