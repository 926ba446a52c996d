"""A worker: a process that lives one job after another, as it is told over what was its standard input.

It answers in lines of JSON on what was its standard output; what a learner prints goes to a file instead.
A learner may hang, fork or crash in here: who started it watches the process, and needs no answer.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import msgspec

from perdure import files
from perdure.errors import PerdureError, message_of
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Plan
from perdure.stopping import Stopped

__all__ = ["LAST_LOOK_S", "failure_in_words", "main"]

LAST_LOOK_S = 0.5
"""After the time of a life is over, before where it hangs is written down."""

_TELL_EVERY_S = 0.2
_LOOK_FOR_DRIVER_EVERY_S = 0.3


def main() -> None:
    """Read ids, live them, and say how each ended; the end of the input is the end of the work."""
    folder, driver, accept, *locks = RunFolder(Path(sys.argv[1])), *map(int, sys.argv[2:])
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    _keep_from_learners(locks, orders, answers)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started us decides
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_end_with, args=(driver,), name="perdure-driver", daemon=True).start()
    faulthandler.enable(2)  # a crash says where it happened
    plan, here = Plan(folder.protocol()), os.getcwd()
    for line in orders:
        identity = line.decode().strip()
        output = folder.output(identity)
        try:
            _redirect(output)
        except OSError as problem:  # most often a full disk: a life could not be logged there either
            why = f"{output}: cannot be written: {problem.strerror or problem}; {files.remedy(problem)}, and run again"
            _answer(answers, {"event": "failed", "id": identity, "why": why})
            continue
        _answer(answers, _lived(plan, folder, identity, answers, accept=bool(accept)))
        with suppress(OSError):
            os.chdir(here)  # a learner may have gone elsewhere
        with suppress(OSError, ValueError):  # a learner may have closed what it prints to
            _drop_if_empty(output)


def failure_in_words(problem: BaseException) -> str:
    """What went wrong, in one line: our own errors speak for themselves, others are named."""
    if isinstance(problem, PerdureError):
        return message_of(problem)
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(problem).__name__}: {message_of(problem)}{where}"


def _keep_from_learners(locks: Sequence[int], orders: BinaryIO, answers: BinaryIO) -> None:
    """Nothing that a learner reads, starts or forks holds, or takes, what is between us and who started us."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for lock in locks:
        os.set_inheritable(lock, False)

    def let_go() -> None:
        for one in (orders, answers):
            with suppress(OSError):
                one.close()
        for lock in locks:
            with suppress(OSError):
                os.close(lock)

    os.register_at_fork(after_in_child=let_go)


def _end_with(driver: int) -> None:
    """Without who started us, nobody would hear: end, and everything that a learner started with us."""
    while os.getppid() == driver:
        time.sleep(_LOOK_FOR_DRIVER_EVERY_S)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _lived(plan: Plan, folder: RunFolder, identity: str, answers: BinaryIO, *, accept: bool) -> dict[str, Any]:
    from perdure.runner.job import live_job

    job, process = plan.job(identity), os.getpid()
    tell = _Teller(identity, answers)
    _answer(answers, {"event": "begun", "id": identity})
    limit = plan.protocol.limits.seconds_per_life
    if limit is not None:
        faulthandler.dump_traceback_later(limit + LAST_LOOK_S, file=2)
    try:
        notes = live_job(plan.protocol, job, folder, tell, tell.note, accept_changed_learner=accept)
    except (BrokenPipeError, Stopped):
        raise
    except BaseException as problem:
        if os.getpid() != process:  # a forked child that went on as if it were us
            os._exit(1)
        folder.note_failure(job, traceback.format_exc())
        return {"event": "failed", "id": identity, "why": failure_in_words(problem), "done": tell.done}
    finally:
        faulthandler.cancel_dump_traceback_later()
    return {"event": "done", "id": identity, "done": tell.done, "notes": notes}


class _Teller:
    """Tells how far a life is, not too often."""

    def __init__(self, identity: str, answers: BinaryIO) -> None:
        self.done = 0
        self._identity = identity
        self._answers = answers
        self._told = 0.0

    def __call__(self, done: int) -> None:
        self.done = done
        now = time.monotonic()
        if now - self._told > _TELL_EVERY_S:
            self._told = now
            _answer(self._answers, {"event": "progress", "id": self._identity, "done": done})

    def note(self, text: str) -> None:
        _answer(self._answers, {"event": "note", "id": self._identity, "notes": [text]})


def _answer(answers: BinaryIO, event: dict[str, Any]) -> None:
    answers.write(msgspec.json.encode(event) + b"\n")


def _redirect(file: Path) -> None:
    """Let everything that is printed from here on, by Python or by libraries below it, go to `file`."""
    file.parent.mkdir(exist_ok=True)  # no further up: a run folder that was removed is not made anew
    with suppress(OSError, ValueError):  # what the life before printed may not fit on the disk, or it closed the file
        sys.stdout.flush()
        sys.stderr.flush()
    descriptor = files.descriptor(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _drop_if_empty(file: Path) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    if file.stat().st_size == 0:
        file.unlink()


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise Stopped(128 + number)


if __name__ == "__main__":
    main()
