"""Workers on this machine: processes that are fed jobs, watched, and replaced when they die."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from perdure import files
from perdure.run.folder import RunFolder
from perdure.run.plan import Job
from perdure.run.worker import ONE_THREAD

__all__ = ["Event", "Tell", "live_in_workers", "worker_environment"]

_TRIES = 2  # a life whose worker died is given to another one, once
_STOP_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Event:
    """Something that happened to a life: begun, progress, done, failed."""

    kind: str
    id: str
    worker: int = 0
    done: int = 0
    why: str | None = None
    notes: tuple[str, ...] = ()
    """What is odd about a life that is done."""


Tell = Callable[[Event], None]


def live_in_workers(
    jobs: Sequence[Job], folder: RunFolder, count: int, paths: Sequence[Path], lock: int, tell: Tell
) -> dict[str, str]:
    """Live all `jobs` in `count` processes; what failed, by id, and why.

    However this ends, no worker is left behind.
    """
    pool = _Pool(folder, paths, lock, tell, deque(jobs))
    try:
        for number in range(min(count, len(jobs))):
            pool.start(number)
        while pool.workers:
            pool.listen()
    finally:
        pool.stop()
    return pool.failed


def worker_environment(paths: Sequence[Path]) -> dict[str, str]:
    """One thread each, and the user's modules where they are."""
    before = os.environ.get("PYTHONPATH")
    places = [*(str(path.resolve()) for path in paths), *([before] if before else [])]
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(places)}


@dataclass
class _Worker:
    number: int
    process: subprocess.Popen[bytes]
    noise: Path
    job: Job | None = None
    buffer: bytes = b""

    def close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()


@dataclass
class _Pool:
    folder: RunFolder
    paths: Sequence[Path]
    lock: int
    tell: Tell
    waiting: deque[Job]
    workers: dict[int, _Worker] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def start(self, number: int) -> None:
        noise = self.folder.output(f"worker-{number}")
        with _opened(noise) as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "perdure.run.worker", str(self.folder.path.resolve())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=worker_environment(self.paths),
                pass_fds=(self.lock,) if self.lock >= 0 and os.name == "posix" else (),
                bufsize=0,
            )
        assert process.stdout is not None
        worker = self.workers[number] = _Worker(number, process, noise)
        self.selector.register(process.stdout, selectors.EVENT_READ, worker)
        self.feed(worker)

    def feed(self, worker: _Worker) -> None:
        """Give a worker its next job, or let it go."""
        assert worker.process.stdin is not None
        worker.job = self.waiting.popleft() if self.waiting else None
        if worker.job is None:
            worker.process.stdin.close()
            return
        self.tries[worker.job.id] = self.tries.get(worker.job.id, 0) + 1
        self.tell(Event("begun", worker.job.id, worker.number))
        with contextlib.suppress(BrokenPipeError):  # where it died already, its end is noticed by who listens
            worker.process.stdin.write(f"{worker.job.id}\n".encode())

    def listen(self) -> None:
        for key, _ in self.selector.select(timeout=1.0):
            worker: _Worker = key.data
            assert worker.process.stdout is not None
            chunk = os.read(worker.process.stdout.fileno(), 65536)
            if not chunk:
                self.bury(worker)
                continue
            *lines, worker.buffer = (worker.buffer + chunk).split(b"\n")
            for line in lines:
                self.hear(worker, msgspec.json.decode(line))

    def hear(self, worker: _Worker, said: Mapping[str, Any]) -> None:
        kind, identity = said["event"], said["id"]
        if kind == "failed":
            self.failed[identity] = said["why"]
        notes = tuple(said.get("notes", ()))
        self.tell(Event(kind, identity, worker.number, said.get("done", 0), said.get("why"), notes))
        if kind in ("done", "failed"):
            self.feed(worker)

    def bury(self, worker: _Worker) -> None:
        """A worker ended: as it should, or in the middle of a life, which then goes to another one."""
        assert worker.process.stdout is not None
        self.selector.unregister(worker.process.stdout)
        worker.close_pipes()
        code = worker.process.wait()
        del self.workers[worker.number]
        job = worker.job
        if job is None:
            with contextlib.suppress(OSError):
                worker.noise.unlink(missing_ok=True)
            return
        if self.tries[job.id] < _TRIES:
            self.waiting.appendleft(job)
        else:
            self.failed[job.id] = why = f"its process died twice ({_cause(code)}){_last_words(self.folder, worker)}"
            self.tell(Event("failed", job.id, worker.number, why=why))
        if self.waiting:
            self.start(worker.number)

    def stop(self) -> None:
        """End what still runs: asked first, then forced."""
        for worker in self.workers.values():
            worker.process.terminate()
        end = time.monotonic() + _STOP_PATIENCE_S
        for worker in self.workers.values():
            try:
                worker.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.close_pipes()
        self.selector.close()


def _opened(noise: Path) -> IO[bytes]:
    """A file for what a worker complains of; on a full disk that goes nowhere, and its lives say what is wrong."""
    try:
        noise.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(files.descriptor(noise, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")
    except OSError:
        return Path(os.devnull).open("wb")


def _cause(code: int) -> str:
    import signal

    if code < 0:
        return f"signal {signal.Signals(-code).name}" + (", perhaps for want of memory" if code == -9 else "")
    return f"exit status {code}"


def _last_words(folder: RunFolder, worker: _Worker) -> str:
    for file in (folder.output(worker.job.id) if worker.job else worker.noise, worker.noise):
        try:
            said = files.read_bytes(file).decode("utf-8", "replace").strip()
        except OSError:
            continue
        if said:
            return f"; its last words: {said.splitlines()[-1]}"
    return ""
