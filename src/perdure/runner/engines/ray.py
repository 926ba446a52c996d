"""Living on a cluster: each job in a Ray actor on some machine, whose records come home as its blocks end.

No drive needs to be shared. What the run folder here shows is what counts: a life is done when all of it has
arrived and its ledger agrees; one whose machine was lost goes on elsewhere, from the last state that arrived.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from perdure import files
from perdure.cluster import ONE_THREAD, code_for, guests, joined
from perdure.errors import LogError, PerdureError, ProtocolError
from perdure.runner.engines.shipping import Inbox, believed, luggage
from perdure.runner.engines.work import Event, Failures, Work
from perdure.runner.plan import Job
from perdure.runner.protocol import Resources

__all__ = ["live_on_ray"]

_TRIES = 6  # in which a life gets no block further
_BACK_OFF_S = (1, 2, 4, 8, 15)
_LOOK_EVERY_S = 0.5
_PATIENCE_S = 1.5  # of a question to a host that has nothing to say
_STOP_PATIENCE_S = 2.0
_AHEAD = 4  # lives that wait for room, so that a cluster that grows by demand sees it


def live_on_ray(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Live all `jobs` on the cluster; what failed, by id, and why. The records are those of a local run."""
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
    """How many lives fit into these resources; those that ask for nothing, one for each core."""
    wanted = {name: much for name, much in _wanted(needs).items() if much} or {"CPU": 1.0}
    return int(min(there.get(name, 0.0) / much for name, much in wanted.items()))


def _check_room(ray: Any, needs: Resources, work: Work) -> None:
    """Say it where no machine has room for a life: a cluster may grow, one that was started here will not."""
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
    """A life on some machine."""

    job: Job
    actor: Any
    slot: int
    inbox: Inbox
    blocks: int
    """How many were kept when it set out."""
    machine: str | None = None
    done: int = 0
    ending: tuple[Any, ...] | None = None
    """How it ended, as its machine says."""


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
        """Send off as many lives as there is room for."""
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
        answer = actor.begin.remote(self.code, "perdure.runner.engines.host:Host", given, os.getcwd(), ONE_THREAD)
        self.out[answer] = _Out(job, actor, slot, Inbox(self.work.folder, job), blocks)

    def listen(self) -> None:
        if not self.out:
            time.sleep(0.1)  # all that is left waits to be tried again
            return
        self.ray.wait(list(self.out), num_returns=1, timeout=_LOOK_EVERY_S)
        ready, _ = self.ray.wait(list(self.out), num_returns=len(self.out), timeout=0)
        for answer in ready:
            one = self.out.pop(answer)
            try:
                said = self.ray.get(answer)
            except self.ray.exceptions.RayTaskError as problem:  # our own code, or what it stands on, is not in order
                self.end(one)
                self.fail(one, f"its machine could not run it: {_last_line(problem)}", str(problem))
            except self.ray.exceptions.RayError as problem:
                self.end(one)
                self.lost(one, f"{type(problem).__name__}: {_first_line(problem)}")
            else:
                self.hear(one, said)

    def hear(self, one: _Out, said: Any) -> None:
        """Take what a machine sent, and ask it again."""
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
        """A life is done if the folder here shows it."""
        try:
            believed(self.work.folder, one.job)
        except LogError as problem:
            self.work.folder.start_again(one.job)
            self.lost(one, str(problem))
            return
        self.work.folder.states(one.job).forget()  # what a machine that was killed sent last may have stayed
        self.failures.note_progress(one.job, one.done)
        self.work.tell(Event("done", one.job.id, one.slot, one.done, notes=notes))

    def lost(self, one: _Out, why: str) -> None:
        """A machine is gone: its life goes on elsewhere, later each time, unless it never gets any further."""
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

    def fail(self, one: _Out, why: str, traceback: str | None = None) -> None:
        """A life failed; where all do, the rest is not begun."""
        if traceback is not None:
            self.work.folder.note_failure(one.job, traceback)
        if not self.failures.add(one.job, why, one.done, one.slot, left=len(self.waiting)):
            self.waiting.clear()

    def left(self, one: _Out, *, stop: bool = False) -> Any:
        """Let a machine be left clean, once it is done, or what it does is stopped: what to wait for."""
        if stop:
            one.actor.call.remote("stop")
        return one.actor.leave.remote()

    def end(self, one: _Out) -> None:
        with suppress(Exception):  # it may be gone already
            self.ray.kill(one.actor)

    def stop(self) -> None:
        """End what still lives: asked first, so that machines are left clean, then forced."""
        left = list(self.out.values())
        with suppress(Exception):
            asked = [self.left(one, stop=True) for one in left if one.machine]
            if asked:
                self.ray.wait(asked, num_returns=len(asked), timeout=_STOP_PATIENCE_S)
        for one in left:
            self.end(one)
        self.out.clear()


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [""])[0][:500]


def _last_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [""])[-1][:500]
