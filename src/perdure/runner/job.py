"""Run one job of a plan: make or restore the learner, take it through its lifetime, and report how that ended."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perdure.errors import LearnerError, LogError, OutOfTimeError, PerdureError, WriteError, message_of
from perdure.learners.digest import chained, continues
from perdure.learners.find import learner_digest, make_learner
from perdure.learners.interface import Saved, fingerprint_of
from perdure.log.manifest import object_in, rewrite
from perdure.log.places import MANIFEST
from perdure.runner.engines import Event, Tell
from perdure.runner.folder import RunFolder
from perdure.runner.lifetime import LiveRun, Stateless, lead, run_lifetime
from perdure.runner.plan import PRE_DEPLOYMENT, Job
from perdure.runner.protocol import Protocol
from perdure.runner.resume import Checkpoint, refuse_gone_parts, restored
from perdure.stopping import Stopped


def run_job(
    protocol: Protocol, job: Job, folder: RunFolder, tell: Tell, *, accept_changed_learner: bool = False
) -> Event:
    """Run `job` from its last checkpoint, or else from its seed, and return an event "done" or "failed".

    A finished job is left alone. `tell` receives the progress, and a note if the learner's code changed since the
    lifetime began: it then starts again from its seed, or continues if `accept_changed_learner`.
    """
    done, process = 0, os.getpid()
    limit = protocol.limits.seconds_per_life
    deadline = float("inf") if limit is None else time.monotonic() + limit

    def progress(count: int) -> None:
        nonlocal done
        if limit is not None and time.monotonic() > deadline:
            raise out_of_time(job, limit, count)
        done = count
        tell(Event("progress", job.id, done=done))

    def note(text: str) -> None:
        tell(Event("note", job.id, done=done, notes=(text,)))

    try:
        if folder.is_finished(job):
            return Event("done", job.id)
        folder.refuse_gone()
        folder.clear_failure(job)
        learner, life, notes = _begin(protocol, job, folder, progress, note, accept=accept_changed_learner)
        lead(life, learner)
        refuse_gone_parts(folder.place(job), life.rows)
        if job.id == PRE_DEPLOYMENT:
            _keep_pre_deployed(job, folder, learner, life.learner_digest)
        folder.states(job).forget()
    except (Stopped, KeyboardInterrupt):
        raise
    except BaseException as problem:  # a learner may raise anything
        if os.getpid() != process:  # a child that the learner forked, and that continued as if it were this process
            os._exit(1)
        folder.note_failure(job, traceback.format_exc())
        return Event("failed", job.id, done=done, why=describe_failure(problem))
    return Event("done", job.id, done=done, notes=(*notes, *life.notes))


def describe_failure(problem: BaseException) -> str:
    """Return one line about an exception: the message of our own errors, else the class, message and place."""
    if isinstance(problem, PerdureError):
        return message_of(problem)
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(problem).__name__}: {message_of(problem)}{where}"


def out_of_time(job: Job, limit: float, done: int) -> OutOfTimeError:
    """Return the error of a lifetime that took longer than its protocol allows."""
    return OutOfTimeError(
        f"took longer than seconds_per_life = {limit:g}, after {done} of {job.experiences} experiences",
        "raise the limit, or shorten the scenario",
        where=job.id,
    )


def _begin(
    protocol: Protocol,
    job: Job,
    folder: RunFolder,
    progress: Callable[[int], None],
    note: Callable[[str], None],
    *,
    accept: bool,
) -> tuple[Any, LiveRun, tuple[str, ...]]:
    """Return the learner, its lifetime, resumed or new, and notes about states that could not be resumed."""
    place, states, digest = folder.place(job), folder.states(job), learner_digest(protocol.learner)
    notes = [f"{job.id} did not go on from {name}, which was damaged" for name in states.drop_unread()]
    while place.exists() and (state := states.latest()) is not None:
        before, blocks = state[0].learner_digest, state[0].blocks
        changed = f"its learner changed after {blocks} blocks (from {before} to {digest})"
        if not continues(before, digest) and not accept:
            note(f"{job.id} started again from its seed: {changed}; --accept-changed-learner continues instead")
            break
        try:
            learner, life = _opened(protocol, job, folder, progress, chained(before, digest))
        except WriteError:
            raise
        except LogError as problem:
            # Each try has a fresh learner: one that was restored in part is neither the one nor the other.
            notes.append(f"{job.id} did not go on from its state after {blocks} blocks: {problem}")
            states.drop_latest()
            continue
        if not continues(before, digest):
            _record_digest(place, chained(before, digest))
            note(f"{job.id} continued although {changed}")
        return learner, life, tuple(notes)
    if notes:
        notes.append(f"{job.id} was run again from its seed")
    elif job.id == PRE_DEPLOYMENT and place.exists() and folder.pre_deployed.latest() is not None:
        notes.append(f"{job.id} was run again: its saved state was altered")
    before = _pre_deployed_digest(protocol, job, folder)
    if not continues(before, digest):
        changed = f"pre-deployment was run by a learner that changed since (from {before} to {digest})"
        if not accept:
            raise LearnerError(
                changed, "choose another folder, or continue from it with --accept-changed-learner", file=folder.path
            )
        note(f"{job.id} was run although {changed}")
    if place.exists():
        folder.start_again(job)
    return (*_opened(protocol, job, folder, progress, chained(before, digest)), tuple(notes))


def _pre_deployed_digest(protocol: Protocol, job: Job, folder: RunFolder) -> str | None:
    """Return the digest of the code that pre-deployment ended with, None if `job` does not start from it."""
    if protocol.pre_deployment is None or job.id == PRE_DEPLOYMENT:
        return None
    state = folder.pre_deployed.latest()
    return None if state is None else state[0].learner_digest


def _record_digest(life: Path, digest: str) -> None:
    """Record in the manifest of a lifetime that it continues with other code."""
    manifest = object_in(life / MANIFEST)
    rewrite(life, {MANIFEST: {**manifest, "protocol": {**(manifest.get("protocol") or {}), "learner_digest": digest}}})


def _opened(
    protocol: Protocol, job: Job, folder: RunFolder, progress: Callable[[int], None], digest: str
) -> tuple[Any, LiveRun]:
    place = folder.place(job)

    def made() -> Any:
        learner = make_learner(protocol.learner, job.seeds.learner, protocol.params)
        if not (place.exists() and job.role != "twin") and protocol.pre_deployment is not None:
            _pre_deploy(protocol, job, folder, learner)
        return learner

    learner = Stateless(made) if job.role == "twin" else made()
    life = run_lifetime(
        job.syllabus,
        place.parent,
        place.name,
        job.seed,
        learner=learner,
        title=protocol.title,
        seeds=job.seeds,
        role=job.role,
        protocol={
            "name": protocol.name,
            "digest": protocol.digest,
            "scenario": job.scenario,
            "learner_digest": digest,
            **({"primary": protocol.primary} if protocol.primary else {}),
        },
        step_limit=protocol.limits.steps_per_episode,
        tells=protocol.tells,
        states=folder.states(job).folder if job.role != "twin" else None,  # it has no state to go on from
        progress=progress,
    )
    return learner, life


def _pre_deploy(protocol: Protocol, job: Job, folder: RunFolder, learner: Any) -> None:
    """Make a new learner a clone of the pre-deployed one, with different random numbers."""
    if not isinstance(learner, Saved):
        raise LearnerError(
            "pre-deployment needs a learner with save(folder) and restore(folder)",
            "add them, or remove [pre_deployment]",
            file=protocol.learner,
        )
    if job.id == PRE_DEPLOYMENT:
        return
    state = folder.pre_deployed.latest()
    if state is None:
        raise LearnerError("the pre-deployed learner is missing", "run pre-deployment first", file=folder.path)
    checkpoint, place = state
    restored(learner, place, checkpoint.fingerprint)
    reseed = getattr(learner, "reseed", None)
    if callable(reseed):
        reseed(job.seeds.learner)


def _keep_pre_deployed(job: Job, folder: RunFolder, learner: Any, digest: str | None) -> None:
    blocks, fingerprint = len(job.syllabus.scenario.blocks), fingerprint_of(learner)
    folder.pre_deployed.keep(learner, Checkpoint(job.id, blocks, job.experiences, 0, fingerprint, job.seeds, digest))
