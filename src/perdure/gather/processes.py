"""Work on many lifetimes shared among processes, this one included, from any script."""

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
from perdure.metrics.engine.declare import METRICS
from perdure.metrics.engine.presets import PRESETS

__all__ = ["processes", "registered", "worked"]

How = TypeVar("How")
Item = TypeVar("Item")
Done = TypeVar("Done")
Progress = Callable[[int, int], None]


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
    *,
    here: Callable[[Item], Done] | None = None,
    size: Callable[[Item], int] = lambda _: 1,
) -> list[Done]:
    """What `start(how)` makes of each item, in order, by `count` processes that each start once.

    This process is one of them: it is at work while the others start, and does what they cannot,
    because they do not start, die, or do not know a plug-in that was registered here. `here` is what
    was started in it already. `progress` is told how much of how much is done, by the `size` of items.
    """
    work = here or start(how)
    done: dict[int, Done] = {}
    so_far, whole = 0, sum(map(size, items))
    for at, made in _shared(start, how, items, work, count - 1) if count > 1 else _alone(items, work):
        done[at] = made
        so_far += size(items[at])
        if progress:
            progress(so_far, whole)
    return [done[at] for at in range(len(items))]


def _alone(items: Sequence[Item], work: Callable[[Item], Done]) -> Iterator[tuple[int, Done]]:
    for at, item in enumerate(items):
        yield at, work(item)


# --- processes ------------------------------------------------------------------------------------

_AHEAD = 3  # items in the hands of a process: it never waits for the next, and few wait for it at the end


class _NotHere(Exception):
    """The work cannot be done in this process; the one that asked has to."""


def _shared(
    start: Callable[[How], Callable[[Item], Done]],
    how: How,
    items: Sequence[Item],
    work: Callable[[Item], Done],
    others: int,
) -> Iterator[tuple[int, Done]]:
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    waiting = deque(range(len(items)))
    given: dict[Future[Done], int] = {}
    most = _AHEAD * others
    with ProcessPoolExecutor(others, context, _begin, (start, how, registered())) as pool:
        try:
            while waiting or given:
                # A process starts with an item; the rest of the time this one is as it was.
                with _environment(ONE_THREAD), _no_main_module(), _interrupts_held():
                    while waiting and len(given) < most:
                        try:
                            future = pool.submit(_one, items[waiting[0]])
                        except BrokenProcessPool:
                            most = 0
                        else:
                            given[future] = waiting.popleft()
                if waiting:
                    at = waiting.popleft()
                    yield at, work(items[at])
                else:
                    wait(given, return_when=FIRST_COMPLETED)
                for future in [one for one in given if one.done()]:
                    at = given.pop(future)
                    try:
                        made = future.result()
                    except (BrokenProcessPool, _NotHere):
                        most = 0
                        waiting.append(at)
                    else:
                        yield at, made
        except BaseException:
            # Ctrl-C, or a failure here: nobody waits any more for what the others still do.
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise


_work: Callable[[Any], Any] | None = None


def _begin(start: Callable[[Any], Callable[[Any], Any]], how: Any, known: frozenset[tuple[str, str]]) -> None:
    global _work  # noqa: PLW0603 - a process is told once how to work
    gc.set_threshold(1_000_000)  # objects more than before; a lifetime leaves few cycles behind
    if known <= registered():
        try:
            _work = start(how)
        except Exception:
            _work = None  # the same error is raised where it can be read
    gc.freeze()  # what is here now stays to the end, and need not be searched then either


def _one(item: Any) -> Any:
    if _work is None:
        raise _NotHere
    return _work(item)


def registered() -> frozenset[tuple[str, str]]:
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
def _interrupts_held() -> Iterator[None]:
    """Processes started inside never see Ctrl-C, which a terminal sends to all: this one hears it, and ends them.

    One that were struck while it hands a result over would leave the others waiting for ever.
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
