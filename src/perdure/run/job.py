"""Living one job of a plan: make the learner, take it through, leave nothing half done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from perdure.errors import LogError, OutOfTime, WriteError
from perdure.learners.find import make_learner
from perdure.learners.interface import LearnerError, Saved
from perdure.run.folder import RunFolder
from perdure.run.lead import lead
from perdure.run.lifetime import Life, live
from perdure.run.plan import PRE_DEPLOYMENT, Job
from perdure.run.protocol import Protocol
from perdure.run.resume import Checkpoint, refuse_gone_parts, restored
from perdure.run.stateless import Stateless

__all__ = ["OutOfTime", "live_job", "out_of_time"]


def live_job(protocol: Protocol, job: Job, folder: RunFolder, progress: Callable[[int], None]) -> tuple[str, ...]:
    """Live `job` to its end, from where its learner was kept, or else from its seed; a finished one is left alone.

    What comes back is what is odd about the life, in words.
    """
    if folder.is_finished(job):
        return ()
    folder.refuse_gone()
    folder.clear_failure(job)
    learner, life, again = _begun(protocol, job, folder, _limited(protocol, job, progress))
    lead(life, learner)
    refuse_gone_parts(folder.place(job), life.rows)
    if job.id == PRE_DEPLOYMENT:
        _keep_pre_deployed(job, folder, learner)
    folder.states(job).forget()
    return (*again, *life.notes)


def out_of_time(job: Job, limit: float, done: int) -> OutOfTime:
    """The error of a life that took longer than its protocol allows."""
    return OutOfTime(
        f"took longer than seconds_per_life = {limit:g}, after {done} of {job.experiences} experiences",
        "raise the limit, or shorten the scenario",
        where=job.id,
    )


def _begun(
    protocol: Protocol, job: Job, folder: RunFolder, progress: Callable[[int], None]
) -> tuple[Any, Life, tuple[str, ...]]:
    """A learner and its life, taken up or begun, and why what there was of it was not taken up."""
    place, states = folder.place(job), folder.states(job)
    notes = [f"{job.id} did not go on from {name}, which was damaged" for name in states.drop_unread()]
    while place.exists() and (kept := states.latest()) is not None:
        try:
            return (*_opened(protocol, job, folder, progress), tuple(notes))
        except WriteError:
            raise
        except LogError as problem:
            # Each try has a fresh learner: one that was restored in part is neither the one nor the other.
            notes.append(f"{job.id} did not go on from its state after {kept[0].blocks} blocks: {problem}")
            states.drop_latest()
    if notes:
        notes.append(f"{job.id} was run again from its seed")
    elif job.id == PRE_DEPLOYMENT and place.exists() and folder.pre_deployed.latest() is not None:
        notes.append(f"{job.id} was run again: its saved state was altered")
    if place.exists():
        folder.start_again(job)
    return (*_opened(protocol, job, folder, progress), tuple(notes))


def _opened(protocol: Protocol, job: Job, folder: RunFolder, progress: Callable[[int], None]) -> tuple[Any, Life]:
    place = folder.place(job)

    def made() -> Any:
        learner = make_learner(protocol.learner, job.seeds.learner, protocol.params)
        if not (place.exists() and job.role != "twin") and protocol.pre_deployment is not None:
            _pre_deploy(protocol, job, folder, learner)
        return learner

    learner = Stateless(made) if job.role == "twin" else made()
    life = live(
        job.syllabus,
        place.parent,
        place.name,
        job.seed,
        learner=learner,
        title=protocol.title,
        seeds=job.seeds,
        role=job.role,
        protocol={"name": protocol.name, "digest": protocol.digest, "scenario": job.scenario},
        step_limit=protocol.limits.steps_per_episode,
        states=folder.states(job).folder if job.role != "twin" else None,  # it has no state to go on from
        progress=progress,
    )
    return learner, life


def _pre_deploy(protocol: Protocol, job: Job, folder: RunFolder, learner: Any) -> None:
    """Make a fresh learner a clone of the pre-deployed one, with random numbers of its own."""
    if not isinstance(learner, Saved):
        raise LearnerError(
            "pre-deployment needs a learner with save(folder) and restore(folder)",
            "add them, or remove [pre_deployment]",
            file=protocol.learner,
        )
    if job.id == PRE_DEPLOYMENT:
        return
    found = folder.pre_deployed.latest()
    if found is None:
        raise LearnerError("the pre-deployed learner is missing", "run pre-deployment first", file=folder.path)
    checkpoint, place = found
    restored(learner, place, checkpoint.fingerprint)
    reseed = getattr(learner, "reseed", None)
    if callable(reseed):
        reseed(job.seeds.learner)


def _keep_pre_deployed(job: Job, folder: RunFolder, learner: Any) -> None:
    ask = getattr(learner, "fingerprint", None)
    fingerprint = str(ask()) if callable(ask) else None
    blocks = len(job.syllabus.scenario.blocks)
    folder.pre_deployed.keep(learner, Checkpoint(job.id, blocks, job.experiences, 0, fingerprint, job.seeds))


def _limited(protocol: Protocol, job: Job, progress: Callable[[int], None]) -> Callable[[int], None]:
    limit = protocol.limits.seconds_per_life
    if limit is None:
        return progress
    end = time.monotonic() + limit

    def told(done: int) -> None:
        if time.monotonic() > end:
            raise out_of_time(job, limit, done)
        progress(done)

    return told
