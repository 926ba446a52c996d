"""Run lifetimes on a Ray cluster: each job in an actor, whose records are sent to this run folder as blocks end.

No drive needs to be shared. A lifetime is done when all its files have arrived here and its ledger agrees. If its
machine is lost, it continues on another one from the last state that arrived.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from perdure import files
from perdure.cluster import ONE_THREAD, code_for, guests, joined
from perdure.errors import LogError, PerdureError, ProtocolError
from perdure.log.manifest import write_object
from perdure.runner.engines.local import run_in_workers
from perdure.runner.engines.shipping import Inbox, Outbox, Piece, believed, luggage, unpack
from perdure.runner.engines.work import Event, Failures, Work
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan
from perdure.runner.protocol import Resources

_TRIES = 6  # in which a life gets no block further
_BACK_OFF_S = (1, 2, 4, 8, 15)
_LOOK_EVERY_S = 0.5
_PATIENCE_S = 1.5  # of a question to a host that has nothing to say
_STOP_PATIENCE_S = 2.0
_AHEAD = 4  # lifetimes that wait for room, so that a cluster that grows by demand sees it
_PIECES = 4  # in one answer of a host
_ANSWER_EVERY_S = 0.3

_SentEvent = tuple[str, int, str | None, tuple[str, ...]]
"""An event in an answer of a host: its kind, the number of experiences done, why, and notes."""


def run_on_ray(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Run `jobs` on the cluster; return why jobs failed, by id. The records are the same as those of a local run."""
    with joined(work.address, "running on a cluster") as ray:
        protocol = work.folder.protocol()
        needs = protocol.resources
        _check_room(ray, needs, work)
        code = ray.put(code_for(work.paths))
        fleet = _Fleet(ray, work, _actor(ray, needs), needs, code, dict(protocol.document), deque(jobs), Failures(work))
        try:
            while fleet.waiting or fleet.out:
                fleet.send()
                fleet.listen()
        finally:
            fleet.stop()
        return fleet.failures.by_id


def _actor(ray: Any, needs: Resources) -> Any:
    memory = {} if needs.gigabytes is None else {"memory": int(needs.gigabytes * 1e9)}
    custom = {"resources": dict(needs.custom)} if needs.custom else {}
    return guests(ray, num_cpus=needs.cpus, num_gpus=needs.gpus, **memory, **custom)


def _wanted(needs: Resources) -> dict[str, float]:
    memory = {} if needs.gigabytes is None else {"memory": needs.gigabytes * 1e9}
    return {"CPU": needs.cpus, "GPU": needs.gpus, **memory, **needs.custom}


def _room(there: Mapping[str, float], needs: Resources) -> int:
    """Return how many lifetimes fit into these resources; without any needs, one for each core."""
    wanted = {name: much for name, much in _wanted(needs).items() if much} or {"CPU": 1.0}
    return int(min(there.get(name, 0.0) / much for name, much in wanted.items()))


def _check_room(ray: Any, needs: Resources, work: Work) -> None:
    """Report that no machine has room for a lifetime; raise if the cluster was started here, since it cannot grow."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(_room(node, needs) for node in nodes):
        return
    lacking = ", ".join(
        f"{name} {much:g} (at most {max((node.get(name, 0) for node in nodes), default=0):g})"
        for name, much in _wanted(needs).items()
        if much > max((node.get(name, 0) for node in nodes), default=0)
    )
    why = f"no machine of the cluster has what [resources] asks for: {lacking or 'not all of it together'}"
    if work.address is None and not os.environ.get("RAY_ADDRESS"):
        raise ProtocolError(why, "ask for less, or give --address of a cluster that has it")
    work.tell(Event("waiting", "", why=f"{why}; waiting for one that has"))


class _Out(Struct):
    """A lifetime on a machine of the cluster."""

    job: Job
    actor: Any
    slot: int
    inbox: Inbox
    blocks: int
    """Number of blocks saved when it was sent."""
    machine: str | None = None
    done: int = 0
    ending: tuple[Any, ...] | None = None
    """How it ended, as reported by its machine."""


class _Fleet(Struct):
    ray: Any
    work: Work
    actor: Any
    needs: Resources
    code: Any
    document: Mapping[str, Any]
    waiting: deque[Job]
    failures: Failures
    out: dict[Any, _Out] = {}
    """By the answer that is awaited."""
    tries: dict[str, int] = {}
    not_before: dict[str, float] = {}

    def send(self) -> None:
        """Send as many lifetimes as there is room for."""
        if not self.waiting:
            return
        most = self.work.workers or _room(self.ray.cluster_resources(), self.needs) + _AHEAD
        now = time.monotonic()
        for _ in range(len(self.waiting)):
            if len(self.out) >= max(1, most):
                return
            job = self.waiting.popleft()
            if self.not_before.get(job.id, 0.0) > now:
                self.waiting.append(job)
                continue
            self.set_out(job)

    def set_out(self, job: Job) -> None:
        paths = [str(path.resolve()) for path in self.work.paths]
        sent = luggage(self.work.folder, job)
        given = pickle.dumps((self.document, job.id, sent, paths, self.work.accept_changed_learner))
        taken = {one.slot for one in self.out.values()}
        slot = next(number for number in range(len(taken) + 1) if number not in taken)
        kept = self.work.folder.states(job).latest()
        blocks = 0 if kept is None else kept[0].blocks
        actor = self.actor.remote()
        answer = actor.begin.remote(self.code, "perdure.runner.engines.ray:Host", given, os.getcwd(), ONE_THREAD)
        self.out[answer] = _Out(job, actor, slot, Inbox(self.work.folder, job), blocks)

    def listen(self) -> None:
        if not self.out:
            time.sleep(0.1)  # all lifetimes left are waiting to be tried again
            return
        self.ray.wait(list(self.out), num_returns=1, timeout=_LOOK_EVERY_S)
        ready, _ = self.ray.wait(list(self.out), num_returns=len(self.out), timeout=0)
        for answer in ready:
            one = self.out.pop(answer)
            try:
                said = self.ray.get(answer)
            except self.ray.exceptions.RayTaskError as problem:  # Perdure's code or a dependency fails there
                self.end(one)
                self.fail(one, f"its machine could not run it: {_last_line(problem)}", str(problem))
            except self.ray.exceptions.RayError as problem:
                self.end(one)
                self.lost(one, f"{type(problem).__name__}: {_first_line(problem)}")
            else:
                self.hear(one, said)

    def hear(self, one: _Out, said: Any) -> None:
        """Store what a machine sent, and poll it again."""
        if isinstance(said, str):
            one.machine = said
            self.work.tell(Event("begun", one.job.id, one.slot))
            self.ask(one)
            return
        events, pieces, over = said
        try:
            one.inbox.take(pieces)
        except OSError as problem:
            self.end(one)
            why = f"{self.work.folder.path}: cannot be written: {problem.strerror or problem}; {files.remedy(problem)}"
            self.fail(one, f"{why}, and run again")
            return
        except PerdureError as problem:
            self.end(one)
            self.fail(one, str(problem))
            return
        for kind, done, why, notes in events:
            one.done = max(one.done, done)
            if kind in ("done", "failed"):
                one.ending = (kind, why, notes)
            elif kind in ("progress", "note"):
                self.failures.note_progress(one.job, done)
                self.work.tell(Event(kind, one.job.id, one.slot, done, notes=notes))
        if not over:
            self.ask(one)
            return
        with suppress(Exception):
            self.ray.wait([self.left(one)], timeout=_STOP_PATIENCE_S)
        self.end(one)
        kind, why, notes = one.ending or ("lost", "it ended without a message", ())
        if kind == "failed":
            self.fail(one, why)
        elif kind == "done":
            self.arrived(one, notes)
        else:
            self.lost(one, why)

    def ask(self, one: _Out) -> None:
        self.out[one.actor.call.remote("hear", _PATIENCE_S)] = one

    def arrived(self, one: _Out, notes: tuple[str, ...]) -> None:
        """Verify a lifetime that is reported as done."""
        try:
            believed(self.work.folder, one.job)
        except LogError as problem:
            self.work.folder.start_again(one.job)
            self.lost(one, str(problem))
            return
        self.work.folder.states(one.job).forget()  # a machine that was killed may have sent some late
        self.failures.note_progress(one.job, one.done)
        self.work.tell(Event("done", one.job.id, one.slot, one.done, notes=notes))

    def lost(self, one: _Out, why: str) -> None:
        """Send a lifetime whose machine was lost to another one, after a pause; fail if it never gets any further."""
        job = one.job
        kept = self.work.folder.states(job).latest()
        further = kept is not None and kept[0].blocks > one.blocks
        tries = self.tries[job.id] = 1 if further else self.tries.get(job.id, 0) + 1
        where = f"{one.machine}: " if one.machine else ""
        if tries >= _TRIES:
            self.fail(one, f"was lost {tries} times without getting any further; the last time: {where}{why}")
            return
        self.work.tell(Event("waiting", job.id, why=f"{job.id} was lost ({where}{why}); it is resumed"))
        self.not_before[job.id] = time.monotonic() + _BACK_OFF_S[min(tries, len(_BACK_OFF_S)) - 1]
        self.waiting.append(job)

    def fail(self, one: _Out, why: str, trace: str | None = None) -> None:
        if trace is not None:
            self.work.folder.note_failure(one.job, trace)
        if not self.failures.add(one.job, why, one.done, one.slot, left=len(self.waiting)):
            self.waiting.clear()

    def left(self, one: _Out, *, stop: bool = False) -> Any:
        """Ask an actor to remove its folder, after stopping it if `stop`; return the answer to wait for."""
        if stop:
            one.actor.call.remote("stop")
        return one.actor.leave.remote()

    def end(self, one: _Out) -> None:
        with suppress(Exception):  # it may be gone already
            self.ray.kill(one.actor)

    def stop(self) -> None:
        """Stop all actors; ask first, so that they remove their folders."""
        left = list(self.out.values())
        with suppress(Exception):
            asked = [self.left(one, stop=True) for one in left if one.machine]
            if asked:
                self.ray.wait(asked, num_returns=len(asked), timeout=_STOP_PATIENCE_S)
        for one in left:
            self.end(one)
        self.out.clear()


class Host:
    """Runs one job on a machine of the cluster, in a worker process and a temporary folder; the driver polls it."""

    def __init__(
        self,
        root: Path,
        document: Mapping[str, Any],
        identity: str,
        luggage: Mapping[str, bytes],
        paths: Sequence[str],
        accept_changed_learner: bool,
    ) -> None:
        self._events: queue.SimpleQueue[_SentEvent] = queue.SimpleQueue()
        self._asked = 0.0
        self._stop = threading.Event()
        folder = RunFolder(root / "run")
        (folder.path / ".run").mkdir(parents=True)
        write_object(folder.path / "protocol.json", document)
        unpack(luggage, folder.path)
        job = RunPlan(folder.protocol()).job(identity)
        self._outbox = Outbox(folder, job)
        self._pieces: Iterator[Piece] = iter(())
        places = [root / "code", *(Path(one) for one in paths if os.path.isdir(one))]
        work = Work(
            folder, self._tell, 1, places, accept_changed_learner=accept_changed_learner, stopped=self._stop.is_set
        )
        self._thread = threading.Thread(target=self._live, args=(job, work), daemon=True)
        self._thread.start()

    def hear(self, patience_s: float) -> tuple[list[_SentEvent], list[Piece], bool]:
        """Return the events since the last call, the next pieces of new files, and whether that is all."""
        time.sleep(max(0.0, self._asked + _ANSWER_EVERY_S - time.monotonic()))
        end = time.monotonic() + patience_s
        while True:
            lives = self._thread.is_alive()
            pieces = list(islice(self._pieces, _PIECES))
            if not pieces and (self._outbox.has_news() or not lives):
                self._pieces = self._outbox.pieces(over=not lives)
                pieces = list(islice(self._pieces, _PIECES))
            # The end of a lifetime is reported once all its files were sent.
            events = [] if pieces and not lives else [self._events.get_nowait() for _ in range(self._events.qsize())]
            over = not lives and not pieces
            if events or pieces or over or time.monotonic() > end:
                self._asked = time.monotonic()
                return events, pieces, over
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the lifetime."""
        self._stop.set()
        self._thread.join(3.5)

    def _tell(self, event: Event) -> None:
        self._events.put((event.kind, event.done, event.why, event.notes))

    def _live(self, job: Job, work: Work) -> None:
        try:
            run_in_workers([job], work)
        except BaseException:
            self._events.put(("failed", 0, f"its host failed: {traceback.format_exc().strip()}", ()))


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [""])[0][:500]


def _last_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [""])[-1][:500]
