"""Failures: what could not be lived and why, and when there is no point in trying the rest."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct, field

from perdure.runner.plan import Job

__all__ = ["Failures"]

_ENOUGH = 3
"""Lives that fail alike in their first block, and none that gets beyond it: the next will fail too."""


class Failures(Struct):
    """What failed, by id, and why."""

    by_id: dict[str, str] = {}
    _early: Counter[str] = field(default_factory=Counter)
    _hope: bool = False

    def note(self, job: Job, why: str, done: int) -> None:
        """A life failed after so many experiences."""
        self.by_id[job.id] = why
        if done < _first_block(job):
            self._early[re.sub(r"\d+", "#", why.replace(job.id, ""))] += 1
        else:
            self._hope = True

    def note_progress(self, job: Job, done: int) -> None:
        """A life got so far."""
        self._hope = self._hope or done >= _first_block(job)

    def hopeless(self, left: int) -> str | None:
        """Why the `left` lives that were not begun need not be tried; None where they should be."""
        if self._hope or not left or len(self._early) != 1 or self._early.total() < _ENOUGH:
            return None
        return (
            f"the first {self._early.total()} all failed in the same way in their first block, so the other {left} "
            f"were not started: {next(iter(self.by_id.values()))}; fix it, and run again"
        )


def _first_block(job: Job) -> int:
    """How many experiences the first block has; one that is measured in steps counts as one."""
    return job.syllabus.scenario.blocks[0].length or 1
