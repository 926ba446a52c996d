"""What does not grow record by record: tables, matrices, other tools' logs and scores, told anew when they change."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from perdure.gather.find import Found
from perdure.gather.model import Life
from perdure.gather.score_files import is_score_file, read_score_file
from perdure.gather.surveyor import Done, Surveyor
from perdure.log.places import as_text
from perdure.metrics.engine.score import Score
from perdure.watch.followed import QUIET_S, Progress
from perdure.words import plural

__all__ = ["Still"]

Mark = tuple[int, int, int]
"""How many files, their size, and when the newest was written."""


class Still:
    """One file or folder, which may hold several lifetimes."""

    def __init__(self, found: Found) -> None:
        self.found = replace(found, part=None)
        self.done = Done(())
        self._mark: Mark | None = None
        self._first: Mark | None = None
        self._grew = -1e9

    @property
    def told(self) -> bool:
        """Whether it was scored at all."""
        return self._mark is not None

    def changed(self) -> bool:
        """Whether it is not as it was told last."""
        return _mark(self.found.path) not in (None, self._mark)

    def tell(self, surveyor: Surveyor, now: float) -> None:
        """Score what lies there now."""
        mark = _mark(self.found.path)
        if self._first is None:
            self._first = mark
        elif mark != self._first:
            self._grew = now
        self._mark = mark
        self.done = _scored(self.found, surveyor)

    @property
    def lives(self) -> tuple[Life, ...]:
        """The lifetimes that it held when it was told."""
        return tuple(life for _, life in self.done.lives)

    def progress(self, score: Score, now: float) -> Progress:
        """Where one of them stands: nothing says that it has ended, but that it no longer grows."""
        count = score.learning_experiences + score.evaluation_experiences
        grows = now - self._grew < QUIET_S
        return Progress(
            score.id,
            "running" if grows else "done",
            count,
            None if grows else count,
            f"{plural(len(score.blocks), 'block')} so far" if grows else "",
            None,
            learner=score.learner,
            seed=score.seed,
            values=score.values,
        )


def _scored(found: Found, surveyor: Surveyor) -> Done:
    if not is_score_file(found.path):
        return surveyor([found])[0]
    settings = surveyor.how.settings
    try:
        kept = read_score_file(found.path, settings.metrics, settings.margins)
    except Exception as problem:
        return Done((), ((as_text(found.path), as_text(str(problem))),))
    return Done(tuple(("", Life(one)) for one in kept.scores), kept.left_out)


def _mark(path: Path) -> Mark | None:
    """What tells whether anything was written there; None where nothing lies there any more."""
    sizes, newest, count = 0, 0, 0
    try:
        for name in _files(path):
            state = os.stat(name, follow_symlinks=True)
            count, sizes, newest = count + 1, sizes + state.st_size, max(newest, state.st_mtime_ns)
    except OSError:
        return None  # it is being replaced; the next look will know
    return (count, sizes, newest) if count else None


def _files(path: Path) -> list[str]:
    if path.is_dir():
        return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return [os.fspath(path)]
