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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from perdure import files
from perdure.cluster import actor_starter, joined, line_of
from perdure.errors import LogError, PerdureError, ProtocolError
from perdure.log.manifest import write_object
from perdure.runner.document import Resources
from perdure.runner.engines import Event, Failures, Work
from perdure.runner.engines.local import run_in_workers
from perdure.runner.engines.shipping import Change, Inbox, Outbox, check_arrived, files_to_continue, write_files
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan

_TRIES = 6  # in which a lifetime gets no block further
_BACK_OFF_S = (1, 2, 4, 8, 15)
_LOOK_EVERY_S = 0.5
_POLL_S = 1.5  # for which a host waits for news before it answers
_STOP_PATIENCE_S = 2.0
_AHEAD = 4  # lifetimes that wait for room, so that a cluster that grows by demand sees it
_MAX_ANSWER_BYTES = 16 << 20
_ANSWER_EVERY_S = 0.3


def run_on_ray(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Run `jobs` on the cluster; return why jobs failed, by id. The records are the same as those of a local run."""
    with joined(work.address, "running on a cluster") as ray:
        protocol = work.folder.protocol()
        needs = protocol.resources
        _check_room(ray, needs, work)
        start = actor_starter(
            ray,
            "perdure.runner.engines.ray:Host",
            work.paths,
            num_cpus=needs.cpus,
            num_gpus=needs.gpus,
            resources=dict(needs.custom),
            **({} if needs.gigabytes is None else {"memory": int(needs.gigabytes * 1e9)}),
        )
        fleet = _Fleet(ray, work, start, needs, dict(protocol.document), deque(jobs), Failures(work))
        try:
            while fleet.waiting or fleet.out:
                fleet.send()
                fleet.listen()
        finally:
            fleet.stop()
        return fleet.failures.by_id


def _resources(needs: Resources) -> dict[str, float]:
    memory = {} if needs.gigabytes is None else {"memory": needs.gigabytes * 1e9}
    return {"CPU": needs.cpus, "GPU": needs.gpus, **memory, **needs.custom}


def _room(available: Mapping[str, float], needs: Resources) -> int:
    """Return how many lifetimes fit into these resources; without any needs, one for each core."""
    wanted = {name: amount for name, amount in _resources(needs).items() if amount} or {"CPU": 1.0}
    return int(min(available.get(name, 0.0) / amount for name, amount in wanted.items()))


def _check_room(ray: Any, needs: Resources, work: Work) -> None:
    """Report that no machine has room for a lifetime; raise if the cluster was started here, since it cannot grow."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(_room(node, needs) for node in nodes):
        return
    lacking = ", ".join(
        f"{name} {amount:g} (at most {max((node.get(name, 0) for node in nodes), default=0):g})"
        for name, amount in _resources(needs).items()
        if amount > max((node.get(name, 0) for node in nodes), default=0)
    )
    why = f"no machine of the cluster has what [resources] asks for: {lacking or 'not all of it together'}"
    if work.address is None and not os.environ.get("RAY_ADDRESS"):
        raise ProtocolError(why, "ask for less, or give --address of a cluster that has it")
    work.tell(Event("waiting", "", why=f"{why}; waiting for one that has"))


class _Remote(Struct):
    """A lifetime on a machine of the cluster."""

    job: Job
    actor: Any
    slot: int
    inbox: Inbox
    blocks: int
    """Number of blocks in the state that was sent."""
    machine: str | None = None
    """Name of its machine, once it has begun."""
    done: int = 0
    ending: Event | None = None
    """The event "done" or "failed" that its machine reported."""


class _Fleet(Struct):
    ray: Any
    work: Work
    start: Callable[..., Any]
    needs: Resources
    document: Mapping[str, Any]
    waiting: deque[Job]
    failures: Failures
    out: dict[Any, _Remote] = {}
    """Lifetimes on the cluster, by the answer that is awaited."""
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
            else:
                self.begin(job)

    def begin(self, job: Job) -> None:
        """Start the actor of a lifetime with all the files that it needs."""
        paths = [str(path.resolve()) for path in self.work.paths]
        sent = files_to_continue(self.work.folder, job)
        latest = self.work.folder.states(job).latest()
        used_slots = {remote.slot for remote in self.out.values()}
        slot = next(number for number in range(len(used_slots) + 1) if number not in used_slots)
        actor = self.start(pickle.dumps((self.document, job.id, sent, paths, self.work.accept_changed_learner)))
        inbox = Inbox(self.work.folder, job)
        self.poll(_Remote(job, actor, slot, inbox, 0 if latest is None else latest[0].blocks))

    def poll(self, remote: _Remote) -> None:
        """Poll the host for events. The first answer confirms the start and does not wait."""
        self.out[remote.actor.call.remote("news", 0.0 if remote.machine is None else _POLL_S)] = remote

    def listen(self) -> None:
        """Handle the answers that have arrived."""
        if not self.out:
            time.sleep(0.1)  # all lifetimes left are waiting to be tried again
            return
        self.ray.wait(list(self.out), num_returns=1, timeout=_LOOK_EVERY_S)
        ready, _ = self.ray.wait(list(self.out), num_returns=len(self.out), timeout=0)
        for answer in ready:
            remote = self.out.pop(answer)
            try:
                machine, news = self.ray.get(answer)
            except self.ray.exceptions.RayTaskError as problem:  # Perdure's code or a dependency fails there
                self.kill(remote)
                self.fail(remote, f"its machine could not run it: {line_of(problem, -1)}", str(problem))
            except self.ray.exceptions.RayError as problem:
                self.kill(remote)
                self.lost(remote, f"{type(problem).__name__}: {line_of(problem, 0)}")
            else:
                if remote.machine is None:
                    remote.machine = machine
                    self.work.tell(Event("begun", remote.job.id, remote.slot))
                self.receive(remote, *news)

    def receive(self, remote: _Remote, events: bytes, changes: Sequence[Change], over: bool) -> None:
        """Store the records that a host sent; poll it again or finish."""
        try:
            remote.inbox.take(changes)
        except OSError as problem:
            self.kill(remote)
            why = f"{self.work.folder.path}: cannot be written: {problem.strerror or problem}; {files.remedy(problem)}"
            self.fail(remote, f"{why}, and run again")
            return
        except PerdureError as problem:
            self.kill(remote)
            self.fail(remote, str(problem))
            return
        for event in msgspec.json.decode(events, type=list[Event]):
            remote.done = max(remote.done, event.done)
            if event.kind in ("done", "failed"):
                remote.ending = event
            elif event.kind in ("progress", "note"):
                self.failures.note_progress(remote.job, event.done)
                self.work.tell(msgspec.structs.replace(event, worker=remote.slot))
        if not over:
            self.poll(remote)
            return
        with suppress(Exception):
            self.ray.wait([remote.actor.leave.remote()], timeout=_STOP_PATIENCE_S)
        self.kill(remote)
        ending = remote.ending
        if ending is None:
            self.lost(remote, "it ended without a message")
        elif ending.why is not None:
            self.fail(remote, ending.why)
        else:
            self.finish(remote, ending.notes)

    def finish(self, remote: _Remote, notes: tuple[str, ...]) -> None:
        """Verify a lifetime that is reported as done."""
        try:
            check_arrived(self.work.folder, remote.job)
        except LogError as problem:
            self.work.folder.start_again(remote.job)
            self.lost(remote, str(problem))
            return
        self.work.folder.states(remote.job).forget()  # a machine that was killed may have sent some late
        self.failures.note_progress(remote.job, remote.done)
        self.work.tell(Event("done", remote.job.id, remote.slot, remote.done, notes=notes))

    def lost(self, remote: _Remote, why: str) -> None:
        """Send a lifetime whose machine was lost to another one, after a pause; fail if it never gets any further."""
        job = remote.job
        latest = self.work.folder.states(job).latest()
        further = latest is not None and latest[0].blocks > remote.blocks
        tries = self.tries[job.id] = 1 if further else self.tries.get(job.id, 0) + 1
        where = f"{remote.machine}: " if remote.machine else ""
        if tries >= _TRIES:
            self.fail(remote, f"was lost {tries} times without getting any further; the last time: {where}{why}")
            return
        self.work.tell(Event("waiting", job.id, why=f"{job.id} was lost ({where}{why}); it is resumed"))
        self.not_before[job.id] = time.monotonic() + _BACK_OFF_S[min(tries, len(_BACK_OFF_S)) - 1]
        self.waiting.append(job)

    def fail(self, remote: _Remote, why: str, trace: str | None = None) -> None:
        """Report a failure, and start no more lifetimes if they would fail the same way."""
        if trace is not None:
            self.work.folder.note_failure(remote.job, trace)
        if not self.failures.add(remote.job, why, remote.done, remote.slot, left=len(self.waiting)):
            self.waiting.clear()

    def kill(self, remote: _Remote) -> None:
        """Kill an actor, which may be gone already."""
        with suppress(Exception):
            self.ray.kill(remote.actor)

    def stop(self) -> None:
        """Stop all actors; those that have begun first remove their folders."""
        remotes = list(self.out.values())
        with suppress(Exception):
            requests = []
            for remote in remotes:
                if remote.machine:
                    remote.actor.call.remote("stop")
                    requests.append(remote.actor.leave.remote())
            if requests:
                self.ray.wait(requests, num_returns=len(requests), timeout=_STOP_PATIENCE_S)
        for remote in remotes:
            self.kill(remote)
        self.out.clear()


class Host:
    """Runs one job on a machine of the cluster, in a worker process and a temporary folder; the driver polls it."""

    def __init__(
        self,
        root: Path,
        document: Mapping[str, Any],
        identity: str,
        sent: Mapping[str, bytes],
        paths: Sequence[str],
        accept_changed_learner: bool,
    ) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._answered = 0.0
        self._stop = threading.Event()
        folder = RunFolder(root / "run")
        (folder.path / ".run").mkdir(parents=True)
        write_object(folder.path / "protocol.json", document)
        write_files(sent, folder.path)
        job = RunPlan(folder.protocol()).job(identity)
        self._outbox = Outbox(folder, job)
        self._changes: Iterator[Change] = iter(())
        places = [root / "code", *(Path(path) for path in paths if os.path.isdir(path))]
        work = Work(
            folder,
            self._events.put,
            1,
            places,
            accept_changed_learner=accept_changed_learner,
            stopped=self._stop.is_set,
        )
        self._thread = threading.Thread(target=self._run, args=(job, work), daemon=True)
        self._thread.start()

    def news(self, patience_s: float) -> tuple[bytes, list[Change], bool]:
        """Return the events since the last call, as JSON, the next changes of files, and whether that is all.

        Without any news, wait for them up to `patience_s`. Only plain types, since a client of a cluster passes the
        answer through a process that may lack Perdure.
        """
        time.sleep(max(0.0, self._answered + _ANSWER_EVERY_S - time.monotonic()))
        end = time.monotonic() + patience_s
        while True:
            runs = self._thread.is_alive()
            changes = self._next_changes()
            if not changes and (self._outbox.has_news() or not runs):
                self._changes = self._outbox.changes(over=not runs)
                changes = self._next_changes()
            # The end of a lifetime is reported once all its files were sent.
            events = [] if changes and not runs else [self._events.get() for _ in range(self._events.qsize())]
            over = not runs and not changes
            if events or changes or over or time.monotonic() >= end:
                self._answered = time.monotonic()
                return msgspec.json.encode(events), changes, over
            time.sleep(0.05)

    def _next_changes(self) -> list[Change]:
        changes: list[Change] = []
        size = 0
        for change in self._changes:
            changes.append(change)
            size += len(change[1] or b"")
            if size >= _MAX_ANSWER_BYTES:
                break
        return changes

    def stop(self) -> None:
        """Stop the lifetime."""
        self._stop.set()
        self._thread.join(3.5)

    def _run(self, job: Job, work: Work) -> None:
        try:
            run_in_workers([job], work)
        except BaseException:
            self._events.put(Event("failed", job.id, why=f"its host failed: {traceback.format_exc().strip()}"))
