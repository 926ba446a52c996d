"""A worker: a process that lives one job after another, as it is told over its standard input.

It answers in lines of JSON on what was its standard output; what a learner prints goes to a file instead.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import msgspec

from perdure import files
from perdure.errors import PerdureError
from perdure.run.folder import RunFolder
from perdure.run.plan import Plan

__all__ = ["ONE_THREAD", "failure_in_words", "main"]

ONE_THREAD = dict.fromkeys(
    (
        "POLARS_MAX_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)
"""One thread per worker, or they would fight for the cores; torch goes by OMP_NUM_THREADS."""

_TELL_EVERY_S = 0.2


def main() -> None:
    """Read ids, live them, and say how each ended; the end of the input is the end of the work."""
    folder = RunFolder(Path(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; who started us decides
    signal.signal(signal.SIGTERM, _stop)
    plan = Plan(folder.protocol())
    for line in sys.stdin:
        identity = line.strip()
        output = folder.output(identity)
        try:
            _redirect(output)
        except OSError as problem:  # most often a full disk: a life could not be logged there either
            why = f"{output}: the disk refuses: {problem.strerror or problem}; make room, and run again"
            _answer(answers, {"event": "failed", "id": identity, "why": why})
            continue
        _answer(answers, _lived(plan, folder, identity, answers))
        with suppress(OSError):
            _drop_if_empty(output)


def failure_in_words(problem: BaseException) -> str:
    """What went wrong, in one line: our own errors speak for themselves, others are named."""
    if isinstance(problem, PerdureError):
        return str(problem)
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(problem).__name__}: {problem}{where}"


class _Stopped(SystemExit):
    """Asked to stop; a learner that exits by itself is another matter, and has failed."""


def _lived(plan: Plan, folder: RunFolder, identity: str, answers: BinaryIO) -> dict[str, Any]:
    from perdure.run.job import live_job

    job = plan.job(identity)
    try:
        notes = live_job(plan.protocol, job, folder, _teller(identity, answers))
    except (BrokenPipeError, _Stopped):
        raise
    except BaseException as problem:
        folder.note_failure(job, traceback.format_exc())
        return {"event": "failed", "id": identity, "why": failure_in_words(problem)}
    return {"event": "done", "id": identity, "notes": notes}


def _teller(identity: str, answers: BinaryIO) -> Callable[[int], None]:
    told = 0.0

    def tell(done: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told > _TELL_EVERY_S:
            told = now
            _answer(answers, {"event": "progress", "id": identity, "done": done})

    return tell


def _answer(answers: BinaryIO, event: dict[str, Any]) -> None:
    answers.write(msgspec.json.encode(event) + b"\n")


def _redirect(file: Path) -> None:
    """Let everything that is printed from here on, by Python or by libraries below it, go to `file`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # what the life before printed may not fit on the disk
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
    raise _Stopped(128 + number)


if __name__ == "__main__":
    main()
