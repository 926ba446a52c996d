"""Living in this very process, one job after another."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence

from msgspec import Struct

from perdure.runner.engines.work import Event, Tell, Work
from perdure.runner.failures import Failures
from perdure.runner.folder import RunFolder
from perdure.runner.job import live_job
from perdure.runner.plan import Job
from perdure.runner.worker import failure_in_words
from perdure.stopping import Stopped

__all__ = ["live_here"]


def live_here(jobs: Sequence[Job], work: Work) -> dict[str, str]:
    """Live all `jobs`; what failed, by id, and why."""
    protocol, failures, here, tell = work.folder.protocol(), Failures(), os.getcwd(), work.tell
    folder = RunFolder(work.folder.path.resolve())
    for at, job in enumerate(jobs):
        tell(Event("begun", job.id))
        progress = _Progress(job, tell)
        try:
            notes = live_job(
                protocol,
                job,
                folder,
                progress,
                progress.note,
                accept_changed_learner=work.accept_changed_learner,
            )
        except (Stopped, KeyboardInterrupt):
            raise
        except BaseException as problem:  # a learner may raise anything; the others go on
            folder.note_failure(job, traceback.format_exc())
            why = failure_in_words(problem)
            failures.note(job, why, progress.done)
            tell(Event("failed", job.id, done=progress.done, why=why))
            if (hopeless := failures.hopeless(len(jobs) - at - 1)) is not None:
                tell(Event("stopped", "", why=hopeless))
                break
        else:
            failures.note_progress(job, progress.done)
            tell(Event("done", job.id, done=progress.done, notes=notes))
        finally:
            os.chdir(here)  # a learner may have gone elsewhere
    return failures.by_id


class _Progress(Struct):
    job: Job
    tell: Tell
    done: int = 0

    def __call__(self, done: int) -> None:
        self.done = done
        self.tell(Event("progress", self.job.id, done=done))

    def note(self, text: str) -> None:
        self.tell(Event("note", self.job.id, done=self.done, notes=(text,)))
