"""Workers on this machine: processes that are fed jobs, watched as processes, and replaced when they die.

What a worker says is heard over a pipe; that it ended, or must be ended, is seen by looking at the process, since
a pipe may be held open by anything that a learner forked.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct, field

from perdure import files
from perdure.cluster import ONE_THREAD
from perdure.errors import ProtocolError
from perdure.runner.engines.here import live_here
from perdure.runner.engines.work import Event, Work
from perdure.runner.failures import Failures
from perdure.runner.job import out_of_time
from perdure.runner.last_words import last_words
from perdure.runner.plan import Job
from perdure.runner.protocol import Limits
from perdure.runner.worker import LAST_LOOK_S

__all__ = ["live_in_workers", "live_locally", "worker_environment"]

_TRIES = 2  # a life whose worker died is given to another one, once
_LOOK_EVERY_S = 0.2
_STOP_PATIENCE_S = 3.0
_LEAVE_PATIENCE_S = (
    3.0  # for a worker that has nothing left to do, and cannot end: Python waits for a learner's children
)
_GRACE_S = 2 * LAST_LOOK_S  # a life that goes on beyond its time ends itself at its next experience


def live_locally(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Live all `jobs` on this machine, in processes, or in this one where none are asked for."""
    return (live_in_workers if work.workers > 0 else live_here)(jobs, work)


def live_in_workers(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Live all `jobs` in processes; what failed, by id, and why.

    However this ends, no worker is left behind, and nothing that one started.
    """
    pool = _Pool(work, work.folder.protocol().limits, deque(jobs))
    try:
        for number in range(min(work.workers, len(jobs))):
            pool.start(number)
        while pool.workers and not work.stopped():
            pool.listen()
            pool.look()
    finally:
        pool.stop()
    return pool.failures.by_id


def worker_environment(paths: Sequence[Path]) -> dict[str, str]:
    """One thread each, and the user's modules where they are."""
    before = os.environ.get("PYTHONPATH")
    places = [*(str(path.resolve()) for path in paths), *([before] if before else [])]
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(places)}


class _Worker(Struct):
    number: int
    process: subprocess.Popen[bytes]
    noise: Path
    job: Job | None = None
    since: float | None = None
    """When it began its job, or was told that there is none left."""
    done: int = 0
    verdict: str | None = None
    """Why it is ended from outside."""
    buffer: bytes = b""

    def heard(self) -> list[Mapping[str, Any]]:
        """What it has said since last time."""
        assert self.process.stdout is not None
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self.process.stdout.fileno(), 65536):
                self.buffer += chunk
        *lines, self.buffer = self.buffer.split(b"\n")
        return [msgspec.json.decode(line) for line in lines]

    def end(self) -> None:
        """End it now, and all that its learner started with it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


class _Pool(Struct):
    work: Work
    limits: Limits
    waiting: deque[Job]
    workers: dict[int, _Worker] = {}
    failures: Failures = field(default_factory=Failures)
    tries: dict[str, int] = {}
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def start(self, number: int) -> None:
        noise = self.work.folder.output(f"worker-{self.work.label}{number}")
        command = [sys.executable, "-m", "perdure.runner.worker", str(self.work.folder.path.resolve())]
        with _opened(noise) as errors:
            process = subprocess.Popen(
                [*command, *map(str, (os.getpid(), int(self.work.accept_changed_learner), *self.work.locks))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=worker_environment(self.work.paths),
                pass_fds=tuple(self.work.locks),
                process_group=0,  # so that it can be ended with all that a learner starts
                bufsize=0,
            )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        worker = self.workers[number] = _Worker(number, process, noise)
        self.selector.register(process.stdout, selectors.EVENT_READ, worker)
        self.feed(worker)

    def feed(self, worker: _Worker) -> None:
        """Give a worker its next job, or let it go."""
        if not self.waiting:
            self.let_go(worker)
            return
        assert worker.process.stdin is not None
        worker.job = self.waiting.popleft()
        worker.since, worker.done = None, 0
        self.tries[worker.job.id] = self.tries.get(worker.job.id, 0) + 1
        self.work.tell(Event("begun", worker.job.id, worker.number))
        with contextlib.suppress(BrokenPipeError):  # where it died already, its end is seen by who looks
            worker.process.stdin.write(f"{worker.job.id}\n".encode())

    def let_go(self, worker: _Worker) -> None:
        """Let a worker end; where something waits, another takes its place."""
        assert worker.process.stdin is not None
        worker.job, worker.since, worker.done = None, time.monotonic(), 0
        worker.process.stdin.close()

    # -- what workers say --------------------------------------------------------------------------

    def listen(self) -> None:
        for key, _ in self.selector.select(timeout=_LOOK_EVERY_S):
            worker: _Worker = key.data
            for said in worker.heard():
                self.hear(worker, said)

    def hear(self, worker: _Worker, said: Mapping[str, Any]) -> None:
        kind, job = said["event"], worker.job
        if job is None or said["id"] != job.id:
            return
        if kind == "begun":
            worker.since = time.monotonic()
            return
        worker.done = said.get("done", worker.done)
        if kind == "failed":
            self.fail(worker, job, said["why"])
        else:
            self.failures.note_progress(job, worker.done)
            self.work.tell(Event(kind, job.id, worker.number, worker.done, notes=tuple(said.get("notes", ()))))
        if kind == "failed":  # what it did to its process is no matter of the next one's
            self.let_go(worker)
        elif kind == "done":
            self.feed(worker)

    def fail(self, worker: _Worker, job: Job, why: str) -> None:
        """A life failed; where all do, the rest is not begun."""
        self.failures.note(job, why, worker.done)
        self.work.tell(Event("failed", job.id, worker.number, worker.done, why))
        hopeless = self.failures.hopeless(len(self.waiting))
        if hopeless is not None:
            self.waiting.clear()
            self.work.tell(Event("stopped", "", why=hopeless))

    # -- what is seen of them ----------------------------------------------------------------------

    def look(self) -> None:
        for worker in list(self.workers.values()):
            if worker.process.poll() is not None:
                self.bury(worker)
            elif worker.verdict is None and (verdict := self.judge(worker)) is not None:
                worker.verdict = verdict
                worker.end()

    def judge(self, worker: _Worker) -> str | None:
        """Why a worker must be ended, if it must."""
        if worker.since is None:
            return None
        spent = time.monotonic() - worker.since
        if worker.job is None:
            return "has finished its work but does not exit" if spent > _LEAVE_PATIENCE_S else None
        seconds, gigabytes = self.limits.seconds_per_life, self.limits.gigabytes_per_life
        if seconds is not None and spent > seconds + _GRACE_S:
            return str(out_of_time(worker.job, seconds, worker.done)) + last_words(
                self.work.folder.output(worker.job.id)
            )
        if gigabytes is not None and (held := _gigabytes_held(worker.process.pid)) > gigabytes:
            return (
                f"{worker.job.id}: held {held:.3g} GB of memory, more than gigabytes_per_life = {gigabytes:g}, after "
                f"{worker.done} of {worker.job.experiences} experiences; raise the limit, or see what its learner keeps"
            )
        return None

    def bury(self, worker: _Worker) -> None:
        """A worker ended: as it should, or in the middle of a life, which then goes to another one."""
        assert worker.process.stdout is not None
        worker.end()  # what its learner started and left
        for said in worker.heard():  # its last words may still lie in the pipe
            self.hear(worker, said)
        self.selector.unregister(worker.process.stdout)
        worker.close_pipes()
        del self.workers[worker.number]
        job = worker.job
        if job is None:
            with contextlib.suppress(OSError):
                worker.noise.unlink(missing_ok=True)
        elif worker.verdict is None and self.tries[job.id] < _TRIES:
            self.waiting.appendleft(job)
        else:
            cause = f"its process died twice ({_cause(worker.process.returncode)})"
            words = last_words(self.work.folder.output(job.id), worker.noise)
            self.fail(worker, job, worker.verdict or self.gone() or f"{cause}{words}")
        if self.waiting:
            self.start(worker.number)

    def gone(self) -> str | None:
        """That the run folder is not there any more, which explains most deaths; None where it is."""
        try:
            self.work.folder.refuse_gone()
        except ProtocolError as problem:
            return str(problem)
        return None

    def stop(self) -> None:
        """End what still runs: asked first, then forced."""
        for worker in self.workers.values():
            worker.process.terminate()
        end = time.monotonic() + _STOP_PATIENCE_S
        for worker in self.workers.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, end - time.monotonic()))
            worker.end()
            worker.process.wait()
            worker.close_pipes()
        self.selector.close()


def _opened(noise: Path) -> IO[bytes]:
    """A file for what a worker complains of; on a full disk that goes nowhere, and its lives say what is wrong."""
    try:
        noise.parent.mkdir(exist_ok=True)
        return os.fdopen(files.descriptor(noise, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")
    except OSError:
        return Path(os.devnull).open("wb")


def _gigabytes_held(process: int) -> float:
    """The memory that a process has in use; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_bytes().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def _cause(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}" + (", perhaps for want of memory" if code == -9 else "")
    return f"exit status {code}"
