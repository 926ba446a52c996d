"""Run lifetimes on this machine: in this process, or in worker processes that are replaced when they die.

A worker reports through a pipe. Whether it ended, or must be ended, is decided by looking at the process, since a
process that a learner forked may hold the pipe open.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from perdure import files
from perdure.cluster import ONE_THREAD
from perdure.errors import ProtocolError
from perdure.runner.engines import Event, Failures, Work
from perdure.runner.folder import RunFolder
from perdure.runner.job import out_of_time, run_job
from perdure.runner.plan import Job
from perdure.runner.worker import TRACEBACK_DELAY_S

_TRIES = 2  # a lifetime whose worker died is given to another one, once
_POLL_S = 0.2
_STOP_PATIENCE_S = 3.0
_EXIT_PATIENCE_S = 3.0  # for a worker without work that cannot end: Python waits for a learner's children
_GRACE_S = 2 * TRACEBACK_DELAY_S  # a lifetime beyond its time limit ends itself at its next experience


def run_locally(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Run `jobs` in `work.workers` processes, or in this one if that is 0; return why jobs failed, by id."""
    return (run_in_workers if work.workers > 0 else _run_in_this_process)(jobs, work)


def _run_in_this_process(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    protocol, failures, cwd = work.folder.protocol(), Failures(work), os.getcwd()
    folder = RunFolder(work.folder.path.resolve())
    for index, job in enumerate(jobs):
        work.tell(Event("begun", job.id))
        try:
            ending = run_job(protocol, job, folder, work.tell, accept_changed_learner=work.accept_changed_learner)
        finally:
            os.chdir(cwd)  # a learner may have changed it
        if ending.why is None:
            failures.note_progress(job, ending.done)
            work.tell(ending)
        elif not failures.add(job, ending.why, ending.done, left=len(jobs) - index - 1):
            break
    return failures.by_id


def run_in_workers(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Run `jobs` in worker processes; return why jobs failed, by id.

    However this ends, no worker is left behind, and no process that one started.
    """
    pool = _Pool(jobs, work)
    try:
        for number in range(min(work.workers, len(jobs))):
            pool.start(number)
        while pool.workers and not work.stopped():
            wait([worker.stdout.fileno() for worker in pool.workers.values()], _POLL_S)
            for worker in list(pool.workers.values()):
                pool.check(worker)
    finally:
        pool.stop()
    return pool.failures.by_id


class _Worker(Struct):
    number: int
    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr_file: Path
    job: Job | None = None
    since: float | None = None
    """Time at which it began its job, or learned that none is left."""
    done: int = 0
    killed_because: str | None = None
    buffer: bytes = b""

    def events(self) -> list[Event]:
        """Read the events that have arrived."""
        with suppress(BlockingIOError):
            while chunk := os.read(self.stdout.fileno(), 65536):
                self.buffer += chunk
        *lines, self.buffer = self.buffer.split(b"\n")
        return [msgspec.json.decode(line, type=Event) for line in lines]

    def dismiss(self) -> None:
        """Let it end; if jobs are waiting, another worker takes its place."""
        self.job, self.since, self.done = None, time.monotonic(), 0
        self.stdin.close()

    def kill(self) -> None:
        """Kill it and all that its learner started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close_pipes(self) -> None:
        for pipe in (self.stdin, self.stdout):
            with suppress(BrokenPipeError):
                pipe.close()


class _Pool:
    def __init__(self, jobs: Sequence[Job], work: Work) -> None:
        self.work = work
        self.limits = work.folder.protocol().limits
        self.waiting = deque(jobs)
        self.workers: dict[int, _Worker] = {}
        self.failures = Failures(work)
        self.tries: Counter[str] = Counter()

    def start(self, number: int) -> None:
        work = self.work
        stderr_file = work.folder.output(f"worker-{work.label}{number}")
        arguments = (work.folder.path.resolve(), os.getpid(), int(work.accept_changed_learner), *work.locks)
        paths = [*(str(path.resolve()) for path in work.paths), os.environ.get("PYTHONPATH", "")]
        with _open(stderr_file) as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "perdure.runner.worker", *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
                pass_fds=tuple(work.locks),
                process_group=0,  # so that everything that a learner starts can be killed with it
                bufsize=0,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        worker = self.workers[number] = _Worker(number, process, process.stdin, process.stdout, stderr_file)
        self.assign(worker)

    def assign(self, worker: _Worker) -> None:
        """Give a worker its next job, or dismiss it."""
        if not self.waiting:
            worker.dismiss()
            return
        job = self.waiting.popleft()
        worker.job, worker.since, worker.done = job, None, 0
        self.tries[job.id] += 1
        self.work.tell(Event("begun", job.id, worker.number))
        with suppress(BrokenPipeError):  # it died already, which the next check finds
            worker.stdin.write(f"{job.id}\n".encode())

    def check(self, worker: _Worker) -> None:
        """Take a worker's events, and see whether it ended or must be killed."""
        ended = worker.process.poll() is not None
        if ended:
            worker.kill()  # processes that its learner started and left
        for event in worker.events():
            self.take(worker, event)
        if ended:
            self.replace(worker)
        elif worker.killed_because is None and (why := self.reason_to_kill(worker)) is not None:
            worker.killed_because = why
            worker.kill()

    def take(self, worker: _Worker, event: Event) -> None:
        job = worker.job
        if job is None or event.id != job.id:
            return
        if event.kind == "begun":
            worker.since = time.monotonic()
            return
        worker.done = max(worker.done, event.done)
        if event.why is not None:
            self.fail(worker, job, event.why)
            worker.dismiss()  # the next lifetime gets a process that this one did not touch
            return
        self.failures.note_progress(job, worker.done)
        self.work.tell(Event(event.kind, job.id, worker.number, worker.done, notes=event.notes))
        if event.kind == "done":
            self.assign(worker)

    def fail(self, worker: _Worker, job: Job, why: str) -> None:
        if not self.failures.add(job, why, worker.done, worker.number, left=len(self.waiting)):
            self.waiting.clear()

    def reason_to_kill(self, worker: _Worker) -> str | None:
        if worker.since is None:
            return None
        spent = time.monotonic() - worker.since
        job, seconds, gigabytes = worker.job, self.limits.seconds_per_life, self.limits.gigabytes_per_life
        if job is None:
            return "has finished its work but does not exit" if spent > _EXIT_PATIENCE_S else None
        if seconds is not None and spent > seconds + _GRACE_S:
            return f"{out_of_time(job, seconds, worker.done)}{_crash_output(self.work.folder.output(job.id))}"
        if gigabytes is not None and (resident := _resident_gigabytes(worker.process.pid)) > gigabytes:
            return (
                f"{job.id}: held {resident:.3g} GB of memory, more than gigabytes_per_life = {gigabytes:g}, after "
                f"{worker.done} of {job.experiences} experiences; raise the limit, or see what its learner keeps"
            )
        return None

    def replace(self, worker: _Worker) -> None:
        """Remove a worker that ended; if it ended within a lifetime, that one is tried again or fails."""
        worker.close_pipes()
        del self.workers[worker.number]
        job = worker.job
        if job is None:
            with suppress(OSError):
                worker.stderr_file.unlink(missing_ok=True)
        elif worker.killed_because is None and self.tries[job.id] < _TRIES:
            self.waiting.appendleft(job)
        else:
            output = _crash_output(self.work.folder.output(job.id), worker.stderr_file)
            why = worker.killed_because or f"its process died twice ({_cause(worker.process.returncode)}){output}"
            try:
                self.work.folder.refuse_gone()
            except ProtocolError as problem:  # explains most deaths
                why = worker.killed_because or str(problem)
            self.fail(worker, job, why)
        if self.waiting:
            self.start(worker.number)

    def stop(self) -> None:
        """Terminate the workers, and kill those that do not end in time."""
        for worker in self.workers.values():
            worker.process.terminate()
        end = time.monotonic() + _STOP_PATIENCE_S
        for worker in self.workers.values():
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, end - time.monotonic()))
            worker.kill()
            worker.process.wait()
            worker.close_pipes()


def _open(file: Path) -> IO[bytes]:
    """Open the file for a worker's own errors; on a full disk, the null device, since its lifetimes report that."""
    try:
        file.parent.mkdir(exist_ok=True)
        return os.fdopen(files.open_descriptor(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")
    except OSError:
        return Path(os.devnull).open("wb")


def _resident_gigabytes(process: int) -> float:
    import psutil  # type: ignore[import-untyped]

    try:
        return float(psutil.Process(process).memory_info().rss / 1e9)
    except psutil.Error:  # it has just ended
        return 0.0


def _cause(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}" + (", perhaps for want of memory" if code == -9 else "")
    return f"exit status {code}"


_TAIL_BYTES = 1 << 16
_STACK = re.compile(
    r"(Current thread|Thread) [^\n]*most recent call first\):\n\s+File \"([^\"\n]+)\", line (\d+) in (\S+)"
)


def _crash_output(*outputs: Path) -> str:
    """Return a phrase about the end of the first file that has any text: the place of a crash, or the last line."""
    for file in outputs:
        try:
            with files.open_regular(file) as opened:
                opened.seek(max(0, os.fstat(opened.fileno()).st_size - _TAIL_BYTES))
                tail = (opened.read(_TAIL_BYTES) or b"").decode("utf-8", "replace").strip()
        except OSError:
            continue
        if stacks := _STACK.findall(tail):  # written by faulthandler: the thread that crashed, else the main thread
            _, name, line, function = next((frame for frame in stacks if frame[0].startswith("C")), stacks[-1])
            return f"; it was at {Path(name).name}:{line}, in {function}"
        if tail:
            return f"; its last output: {tail.splitlines()[-1][:500]}"
    return ""
