"""A worker: a process that runs one job after another and reports to the process that started it.

It reads job ids from its standard input and writes events as lines of JSON to its standard output. The output of
learners goes to a file. A learner may hang, fork or crash here: the parent watches the process and needs no answer.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import msgspec

from perdure import files
from perdure.runner.engines import Event
from perdure.runner.folder import RunFolder
from perdure.runner.job import run_job
from perdure.runner.plan import RunPlan
from perdure.stopping import Stopped

TRACEBACK_DELAY_S = 0.5
"""Seconds beyond the time limit of a lifetime after which the stack of its process is written."""

_PROGRESS_EVERY_S = 0.2
_CHECK_PARENT_EVERY_S = 0.3


def main() -> None:
    """Run the jobs whose ids arrive on standard input, until it ends."""
    folder, parent, accept, *locks = RunFolder(Path(sys.argv[1])), *map(int, sys.argv[2:])
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    _hide_from_learners(locks, orders, answers)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_exit_with, args=(parent,), name="perdure-parent", daemon=True).start()
    faulthandler.enable(2)
    plan, cwd, send = RunPlan(folder.protocol()), os.getcwd(), _Sender(answers)
    limit = plan.protocol.limits.seconds_per_life
    for line in orders:
        job = plan.job(line.decode().strip())
        output = folder.output(job.id)
        try:
            _redirect(output)
        except OSError as problem:  # most often a full disk, on which a lifetime could not be logged either
            why = f"{output}: cannot be written: {problem.strerror or problem}; {files.remedy(problem)}, and run again"
            send(Event("failed", job.id, why=why))
            continue
        send(Event("begun", job.id))
        if limit is not None:
            faulthandler.dump_traceback_later(limit + TRACEBACK_DELAY_S, file=2)
        ending = run_job(plan.protocol, job, folder, send, accept_changed_learner=bool(accept))
        faulthandler.cancel_dump_traceback_later()
        send(ending)
        with suppress(OSError):
            os.chdir(cwd)  # a learner may have changed it
        with suppress(OSError, ValueError):  # a learner may have closed its output
            sys.stdout.flush()
            sys.stderr.flush()
            if output.stat().st_size == 0:
                output.unlink()


class _Sender:
    """Writes events to the parent; progress not too often."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._last = 0.0

    def __call__(self, event: Event) -> None:
        if event.kind == "progress":
            now = time.monotonic()
            if now - self._last <= _PROGRESS_EVERY_S:
                return
            self._last = now
        with suppress(BrokenPipeError):  # without its parent this process ends in a moment
            self._answers.write(msgspec.json.encode(event) + b"\n")


def _hide_from_learners(locks: Sequence[int], orders: BinaryIO, answers: BinaryIO) -> None:
    """Keep the pipes and locks from everything that a learner reads, starts or forks."""
    null_device = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.close(null_device)
    for lock in locks:
        os.set_inheritable(lock, False)

    def close_all() -> None:
        for pipe in (orders, answers):
            with suppress(OSError):
                pipe.close()
        for lock in locks:
            with suppress(OSError):
                os.close(lock)

    os.register_at_fork(after_in_child=close_all)


def _exit_with(parent: int) -> None:
    """Kill this process and all that a learner started as soon as the parent is gone."""
    while os.getppid() == parent:
        time.sleep(_CHECK_PARENT_EVERY_S)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _redirect(file: Path) -> None:
    """Send everything that Python or a library prints from now on to `file`."""
    file.parent.mkdir(exist_ok=True)  # without parents: a run folder that was removed is not created again
    with suppress(OSError, ValueError):  # the previous output may not fit on the disk, or is closed
        sys.stdout.flush()
        sys.stderr.flush()
    descriptor = files.open_descriptor(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise Stopped(128 + number)


if __name__ == "__main__":
    main()
