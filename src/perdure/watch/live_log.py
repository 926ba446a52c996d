"""One watched log: its files, its scores as last read, and its progress."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import EmptyLogError, PerdureError
from perdure.gather.find import FoundLog
from perdure.gather.model import ScoredLifetime
from perdure.gather.score_files import is_score_file, read_score_file
from perdure.gather.worker import ScoreResult, ScoreWorker
from perdure.log.manifest import manifest_in
from perdure.log.places import BLOCKS_FILE, DATA_FILE, DESCRIBING_FILES, MANIFEST, as_text
from perdure.log.verify import ended, ledger_of
from perdure.metrics.declare import Metric
from perdure.metrics.score import Score
from perdure.reports.thinned import ThinnedLifetime, thinned_lifetime
from perdure.stats.decide import decide
from perdure.stats.model import Verdict
from perdure.text import plural
from perdure.watch.progress import Progress, planned_scenario, waits_for

QUIET_S = 60.0
"""A lifetime whose files did not change for this long is no longer called running."""
ABANDONED_S = 5.0
"""The same if no run is active in its run folder."""
_SPEED_S = 2.0  # of growth, before a speed is computed from it
_LEAST_LEARNING = 20  # experiences of a learning block that shows whether its task was learned

Files = Mapping[str, tuple[int, int, int]]
"""File or folder → inode, size and modification time in ns."""


class ScoredLife(msgspec.Struct, frozen=True, eq=False):
    """A lifetime as last read."""

    life: ScoredLifetime
    values: Mapping[str, float | None]
    verdicts: Mapping[str, Verdict]
    never_learned: tuple[str, ...]

    @property
    def experiences(self) -> int:
        """Number of experiences that count."""
        return self.life.score.learning_experiences + self.life.score.evaluation_experiences


class LiveLog:
    """One watched log: a journal of one lifetime, or another file or folder with one or several."""

    def __init__(self, log: FoundLog, journal: bool) -> None:
        self.found = log
        self.journal = journal
        self.scored: tuple[ScoredLife, ...] = ()
        self.left_out: tuple[tuple[str, str], ...] = ()
        """Path and reason of each lifetime that cannot be scored."""
        self.over = False
        """Whether the journal ended the lifetime."""
        self.abandoned = False
        """Whether its run folder has no active run."""
        self.manifest: Mapping[str, Any] = {}
        self.current_at = 0.0
        """Time at which the shown values were last up to date."""
        self._total: int | None = None
        self._waits: Mapping[str, str] = {}
        self._described: Files = {}
        self._names: Sequence[str] = ()
        self._files: Files = {}
        self._read: Files = {}
        self._changed_at: float | None = None
        self._was_cut = False
        self._counts: list[tuple[float, int]] = []
        """Time and experiences at the first and at the latest reading."""

    @property
    def path(self) -> Path:
        """Location of the log."""
        return self.found.path

    @property
    def unread(self) -> bool:
        """Whether nothing was read from it yet."""
        return not self.scored and not self.left_out

    @property
    def expired(self) -> bool:
        """Whether its scores are outdated, although its files may not have changed."""
        return bool(self.scored) and not self._read and self.path.exists()

    @property
    def new_block(self) -> bool:
        """Whether a block began or ended since the log was read: its folders or its ledger changed."""
        return any(self._read.get(name) != self._files.get(name) for name in self._names if not _is_data(name))

    def look(self, now: float) -> bool:
        """Return whether the log changed since it was read."""
        if self.unread or not self.journal:
            self._names = _names_at(self.path, journal=self.journal)
        files = _states(self._names)
        if not files:
            return False  # removed, or being replaced
        if files != self._files:
            self._note_change(files, now)
        if files == self._read:
            self.current_at = now
        return files != self._read

    def _note_change(self, files: Files, now: float) -> None:
        before, self._files = self._files, files
        if before:
            self._changed_at = now
            self._was_cut = self._was_cut or any(
                name not in files or files[name][0] != inode or files[name][1] < size
                for name, (inode, size, _) in before.items()
                if self.journal and _is_data(name)
            )
        elif self.journal:  # its worker may have died long ago
            newest_s = max(changed_ns for _, _, changed_ns in files.values()) / 1e9
            self._changed_at = now - max(0.0, time.time() - newest_s)

    def read(self, worker: ScoreWorker, metrics: Mapping[str, Metric], now: float) -> None:
        """Read and score the log. If that fails, the earlier scores stay."""
        self.current_at = now
        if self.journal:
            self._names = _names_at(self.path, journal=True)
            self._files = _states(self._names)  # before the log is read, so that later changes are noticed
            self.over = ended(self.path)
            if self.over:
                self._names = [str(self.path / BLOCKS_FILE)]
                self._files = {name: state for name, state in self._files.items() if name in self._names}
            self._describe(metrics)
        self._read = self._files
        worker.raised = None
        done = _score(self.found, worker)
        empty = self.journal and not self.over and isinstance(worker.raised, EmptyLogError)
        self.left_out = () if empty else done.left_out
        if done.lifetimes:
            level = worker.job.settings.level
            self.scored = tuple(_scored_life(life, metrics, level) for _, life in done.lifetimes)
            count = sum(item.experiences for item in self.scored)
            self._counts = [*self._counts[:1], (now, count)]

    def _describe(self, metrics: Mapping[str, Metric]) -> None:
        """Read the planned scenario from the manifest."""
        state = _states([str(self.path / MANIFEST)])
        if state == self._described and self._waits:
            return
        with contextlib.suppress(PerdureError):  # reading the log reports the problem
            self.manifest, self._described = manifest_in(self.path), state
        planned = planned_scenario(self.manifest)
        lengths = [block.length for block in planned.blocks] if planned else [None]
        self._total = None if None in lengths else sum(length or 0 for length in lengths)
        self._waits = waits_for(planned, metrics)

    def expire(self, log: FoundLog | None = None) -> None:
        """Mark the log as unread, because its id or its experts changed."""
        self.found = log or self.found
        self._read = {}

    def progress(self, now: float) -> Iterator[Progress]:
        """Yield the progress of each lifetime."""
        state, age_s = self.state(now), self.age_s(now)
        for item in self.scored:
            score = item.life.score
            total = self._total if self.journal else None if state == "running" else item.experiences
            speed = self._speed if state == "running" else None
            yield Progress(
                score.id,
                state,
                item.experiences,
                total,
                self._block_text(score, state),
                max(0, total - item.experiences) / speed if total is not None and speed else None,
                speed,
                tuple(self._warnings(item, state, now)),
                score.learner,
                score.seed,
                item.values,
                item.verdicts,
                {} if self.over else {name: why for name, why in self._waits.items() if item.values.get(name) is None},
                age_s,
            )
        if self.journal and not self.scored:
            yield Progress(
                self.found.identity.id,
                state,
                0,
                self._total,
                "nothing logged yet" if self.unread else "cannot be read",
                None,
                warnings=tuple(self._warnings(None, state, now)),
                learner=self.manifest.get("learner"),
                seed=self.manifest.get("seed"),
                waits=self._waits,
                age_s=age_s,
            )

    def age_s(self, now: float) -> float | None:
        """Return the seconds since the shown values were up to date; None if the files no longer change."""
        return None if self.state(now) in ("done", "gone") else now - self.current_at

    def state(self, now: float) -> str:
        """Return the state of the log's lifetimes; see `Progress.state`."""
        if not self.path.exists():
            return "gone"
        limit_s = ABANDONED_S if self.abandoned else QUIET_S
        quiet = self._changed_at is None or now - self._changed_at > limit_s
        if not self.journal:
            return "done" if quiet else "running"
        if self.over:
            return "done"
        if (self.path / "traceback.txt").exists():
            return "failed"
        if self.unread and not (quiet and self.abandoned):
            return "waiting"
        return "quiet" if quiet else "running"

    @property
    def _speed(self) -> float | None:
        (first_at, first), (last_at, last) = self._counts[0], self._counts[-1]
        return (last - first) / (last_at - first_at) if last_at - first_at >= _SPEED_S and last > first else None

    def _block_text(self, score: Score, state: str) -> str:
        if not self.journal:
            return f"{plural(len(score.blocks), 'block')} so far" if state == "running" else ""
        if not score.blocks:
            return ""
        last = score.blocks[-1].block
        if self.over:
            return f"ended after block {last.group}"
        word = "learning" if last.mode == "learn" else "evaluating"
        return f"block {last.group}: {word} {last.task}" + (" (asleep)" if last.subtype == "sleep" else "")

    def _warnings(self, item: ScoredLife | None, state: str, now: float) -> Iterator[str]:
        if self.journal:  # the others report theirs for the whole file
            yield from (why for _, why in self.left_out)
        if state == "failed":
            yield "the learner raised an exception: see traceback.txt"
        if state == "quiet":
            died = "no run is active any more" if self.abandoned else "its worker may have died"
            yield f"no record for {now - (self._changed_at or now):.0f} s; {died}"
        if state == "gone":
            yield "its folder was removed"
        if self._was_cut:
            yield "the log was cut short or replaced, and read again"
        if self.journal and item and item.never_learned:
            yield f"never learned{'' if self.over else ' so far'}: {', '.join(item.never_learned)}"


def _names_at(path: Path, *, journal: bool) -> list[str]:
    """Return the files to check. For a journal, closed blocks are left out, and folders are included.

    A new block changes the folder that contains it; closed blocks are verified whenever the log is read.
    """
    if not path.is_dir():
        return [os.fspath(path)]
    tree = list(os.walk(path))
    if not journal:
        return [os.path.join(folder, name) for folder, _, names in tree for name in names]
    ledger = ledger_of(path)
    closed = {str(path / file) for file, block in ledger.closed.items() if not block.may_grow} if ledger else set()
    watched = [str(path / name) for name in (BLOCKS_FILE, *DESCRIBING_FILES)]
    for folder, below, names in tree:
        data = os.path.join(folder, DATA_FILE)
        if data in closed:
            continue
        if DATA_FILE in names:
            watched += [folder, data]
        elif below and folder != str(path):  # a worker's blocks
            watched.append(folder)
    return watched


def _states(names: Sequence[str]) -> Files:
    """Return the state of each file that exists."""
    states: dict[str, tuple[int, int, int]] = {}
    for name in names:
        with contextlib.suppress(OSError):
            state = os.stat(name)
            states[name] = (state.st_ino, state.st_size, state.st_mtime_ns)
    return states


def _is_data(name: str) -> bool:
    return name.endswith(DATA_FILE)


def _score(log: FoundLog, worker: ScoreWorker) -> ScoreResult:
    if not is_score_file(log.path):
        return worker(log)
    settings = worker.job.settings
    try:
        scores = read_score_file(log.path, settings.metrics, settings.margins)
    except Exception as problem:
        return ScoreResult((), ((as_text(log.path), as_text(str(problem))),))
    return ScoreResult(tuple(("", ScoredLifetime(score)) for score in scores.scores), scores.left_out)


def _scored_life(life: ScoredLifetime, metrics: Mapping[str, Metric], level: float) -> ScoredLife:
    values = life.score.values
    verdicts = {
        name: decide((life.score,), name, metric.criterion, level).verdict
        for name, metric in metrics.items()
        if values.get(name) is not None
    }
    known = {name: verdict for name, verdict in verdicts.items() if verdict}
    return ScoredLife(life, values, known, _never_learned(thinned_lifetime(life)))


def _never_learned(lifetime: ThinnedLifetime) -> tuple[str, ...]:
    """Return the tasks whose finished learning blocks all end no better than they began."""
    improved: dict[str, bool] = {}
    for block in lifetime.blocks[:-1]:
        task, curve = block.block.task, block.smoothed
        if curve is None or block.length < _LEAST_LEARNING:
            continue
        tenth = max(1, len(curve.y) // 10)
        gain = float(curve.y[-tenth:].mean() - curve.y[:tenth].mean())
        improved[task] = improved.get(task, False) or (gain < 0 if task in lifetime.lower else gain > 0)
    return tuple(task for task, better in improved.items() if not better)
