"""Watch logs while they grow: survey them once a second, and read and score again those whose files changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from perdure.curves.model import Curves
from perdure.errors import EmptyLogError, PerdureError
from perdure.gather.copies import count_once
from perdure.gather.find import Found, find_lifetimes, named_apart
from perdure.gather.model import Life, Survey
from perdure.gather.planned import planned_names
from perdure.gather.score_files import is_score_file, read_score_file
from perdure.gather.serving import OwnExpert
from perdure.gather.survey import described
from perdure.gather.surveyor import Done, How, Surveyor
from perdure.log.formats.l2logger import L2Logger
from perdure.log.manifest import DESCRIBING_FILES, MANIFEST, manifest_in
from perdure.log.places import as_text
from perdure.log.read import locate, recognise
from perdure.log.sources import DATA_FILE
from perdure.log.verify import BLOCKS_FILE, ended, ledger_of
from perdure.metrics.engine.metric import Metric
from perdure.metrics.engine.score import Score
from perdure.metrics.engine.scorer import Scorer
from perdure.metrics.engine.settings import Settings
from perdure.report.material import Material, material
from perdure.report.sketch import Sketch, sketched
from perdure.stats.answer import answer, answers, keeping
from perdure.stats.decide import decide
from perdure.stats.groups import alone
from perdure.stats.model import Verdict
from perdure.watch.progress import Planned, Progress, Totals, planned_scenario, totals, waits_for
from perdure.words import plural

__all__ = ["QUIET_S", "Budget", "LiveLog", "Monitor"]

QUIET_S = 60.0
"""A lifetime whose files did not change for this long is no longer called running."""
_SEARCH_S = 2.0
_FIRST_READS_S = 0.5  # of first readings in one poll, so that the page answers meanwhile
_OLD_S = 10.0  # since a log was read, after which it is as urgent as one with a new block
_SPEED_S = 2.0  # of growth, before a speed is computed from it
_COLUMNS = 300  # pixel columns of a lifetime's curves
_LEAST_LEARNING = 20  # experiences of a learning block that shows whether its task was learned
_LOW_DISK_BYTES = 1 << 30

Files = Mapping[str, tuple[int, int, int]]
"""File or folder → inode, size and modification time in ns."""


class Budget:
    """A share of one core for one kind of work, on average. Ten idle seconds are saved for a burst."""

    def __init__(self, share: float, clock: Callable[[], float]) -> None:
        self._share, self._clock = share, clock
        self._left_s, self._updated_at = 10 * share, clock()

    @property
    def left(self) -> float:
        """Share of the savings that is left, 1 at most; negative while work is to wait."""
        now = self._clock()
        self._left_s = min(10 * self._share, self._left_s + self._share * (now - self._updated_at))
        self._updated_at = now
        return self._left_s / (10 * self._share)

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """Charge the processor time of the body."""
        started = time.process_time()
        try:
            yield
        finally:
            self._left_s -= time.process_time() - started


class ScoredLife(msgspec.Struct, frozen=True, eq=False):
    """A lifetime as last read."""

    life: Life
    values: Mapping[str, float | None]
    verdicts: Mapping[str, Verdict]
    never_learned: tuple[str, ...]

    @property
    def experiences(self) -> int:
        """Number of experiences that count."""
        return self.life.score.learning_experiences + self.life.score.evaluation_experiences


class LiveLog:
    """One watched log: a journal of one lifetime, or another file or folder with one or several."""

    def __init__(self, found: Found, journal: bool) -> None:
        self.found = found
        self.journal = journal
        self.scored: tuple[ScoredLife, ...] = ()
        self.left_out: tuple[tuple[str, str], ...] = ()
        """Path and reason of each lifetime that cannot be scored."""
        self.over = False
        """Whether the journal ended the lifetime."""
        self.manifest: Mapping[str, Any] = {}
        self.current_at = 0.0
        """When the files were last as shown."""
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

    def read(self, surveyor: Surveyor, metrics: Mapping[str, Metric], now: float) -> None:
        """Read and score the log. What was read before stays if that fails."""
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
        surveyor.raised = None
        done = _score(self.found, surveyor)
        empty = self.journal and not self.over and isinstance(surveyor.raised, EmptyLogError)
        self.left_out = () if empty else done.left_out
        if done.lives:
            level = surveyor.how.settings.level
            self.scored = tuple(_scored_life(life, metrics, level) for _, life in done.lives)
            count = sum(item.experiences for item in self.scored)
            self._counts = [*self._counts[:1], (now, count)]

    def _describe(self, metrics: Mapping[str, Metric]) -> None:
        """Take from the manifest what is planned."""
        state = _states([str(self.path / MANIFEST)])
        if state == self._described and self._waits:
            return
        with contextlib.suppress(PerdureError):  # reading the log reports what is wrong with it
            self.manifest, self._described = manifest_in(self.path), state
        planned = planned_scenario(self.manifest)
        lengths = [block.length for block in planned.blocks] if planned else [None]
        self._total = None if None in lengths else sum(length or 0 for length in lengths)
        self._waits = waits_for(planned, metrics)

    def expire(self, found: Found | None = None) -> None:
        """Forget that the log was read, because its id or its experts changed."""
        self.found = found or self.found
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
        """Return the seconds since the files were as shown; None if they no longer change."""
        return None if self.state(now) in ("done", "gone") else now - self.current_at

    def state(self, now: float) -> str:
        """Return the state of the log's lifetimes; see `Progress.state`."""
        if not self.path.exists():
            return "gone"
        quiet = self._changed_at is None or now - self._changed_at > QUIET_S
        if not self.journal:
            return "done" if quiet else "running"
        if self.over:
            return "done"
        if (self.path / "traceback.txt").exists():
            return "failed"
        if self.unread:
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
            yield f"no record for {now - (self._changed_at or 0):.0f} s; its worker may have died"
        if state == "gone":
            yield "its folder was removed"
        if self._was_cut:
            yield "the log was cut short or replaced, and read again"
        if self.journal and item and item.never_learned:
            yield f"never learned so far: {', '.join(item.never_learned)}"


class Monitor:
    """Every lifetime at or below some places. Poll it about once a second; it limits its own processor time."""

    def __init__(
        self,
        logs: Sequence[str | os.PathLike[str]],
        experts: Sequence[str | os.PathLike[str]] = (),
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.places = [locate(log) for log in logs]
        self.settings = settings or Settings()
        self.clock = clock
        self.logs: dict[Path, LiveLog] = {}
        self.version = 0
        """Raised whenever anything shown has changed."""
        self.readings = 0
        """Raised whenever a log was read."""
        self.published = 0
        """The `readings` that the report includes."""
        self.published_at = clock()
        # Together less than 10 % of one core; the rest is for answering requests.
        self.reports = Budget(0.015, clock)
        self.figures = Budget(0.015, clock)
        self._searching = Budget(0.01, clock)
        self._reading = Budget(0.05, clock)
        self._searched_at: float | None = None
        self._experts = list(experts)
        self._own_experts: tuple[OwnExpert, ...] = ()
        self._found_experts = 0
        self._scorer = Scorer(self.settings)
        self._surveyor = self._surveyor_with(())
        self._unplanned: tuple[tuple[str, str], ...] = ()
        """Run folders, and what is missing there or not planned."""
        self._runs: dict[Path, Planned] = {}
        self._states: list[str] = []
        self._material: Material | None = None
        self._answer: tuple[Score | None, str] = (None, "")

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that are scored."""
        return self._scorer.metrics

    @property
    def lives(self) -> tuple[Life, ...]:
        """All lifetimes that were scored, as last read."""
        return tuple(item.life for log in self.logs.values() for item in log.scored)

    @property
    def how(self) -> dict[str, dict[str, Any]]:
        """The settings that decide the scores, and their sources."""
        experts = [*map(str, self._experts), *(expert.path for expert in self._own_experts)]
        settings = described(self.settings, self._scorer, experts)
        return {"settings": settings, "settings_from": self.settings.sources()}

    def poll(self) -> bool:
        """Find new logs, and read those that changed as far as the budgets allow. Return whether anything changed."""
        now, changed = self.clock(), False
        if self._searched_at is None or (now - self._searched_at >= _SEARCH_S and self._searching.left > 0):
            self._searched_at = now
            with self._searching.work():
                changed = self._search()
        if self._reading.left > 0:
            changed = self._read_changed(now) or changed
        states = [log.state(now) for log in self.logs.values()]  # which also change with time
        changed = changed or states != self._states
        self._states = states
        self.version += changed
        return changed

    def settle(self) -> None:
        """Find, read and score everything that is there now, whatever that costs."""
        self._search()
        now = self.clock()
        for log in self.logs.values():
            if log.look(now):
                self._read(log, now)
        self._material = None
        self.version += 1

    def progress(self) -> tuple[Progress, ...]:
        """Return the progress of every lifetime, running ones first."""
        now = self.clock()
        found = [item for log in self.logs.values() for item in log.progress(now)]
        return tuple(sorted(found, key=lambda item: item.state != "running"))

    def totals(self, lifetimes: Sequence[Progress]) -> Totals:
        """Return the progress of all, including planned lifetimes that have not begun."""
        runs = self._runs
        outside = sum(len(log.scored) or log.journal for log in self.logs.values() if log.found.run not in runs)
        planned = Planned(
            sum(run.lifetimes for run in runs.values()) + outside, sum(run.experts for run in runs.values())
        )
        return totals(lifetimes, planned, (len(self._own_experts), self._found_experts))

    @property
    def age_text(self) -> str:
        """Age of what is shown; empty once every lifetime is done."""
        now = self.clock()
        ages = [age_s for log in self.logs.values() if (age_s := log.age_s(now)) is not None]
        parts = [f"read {max(ages):.0f} s ago"] if ages else []
        if self.published != self.readings and now - self.published_at >= 1:
            parts.append(f"report {now - self.published_at:.0f} s old")
        return " · ".join(parts)

    def standing(self) -> tuple[str, ...]:
        """Return the answers of the report so far, one sentence per learner."""
        found = self.material()
        return tuple(item.sentence for item in answers(found.groups)) if found else ()

    def answer(self, lifetime: str) -> str:
        """Return what one lifetime shows so far, in a sentence; empty before its first values."""
        found = self.material()
        score = next((life.score for life in found.lives if life.id == lifetime), None) if found else None
        if found is None or score is None:
            return ""
        if self._answer[0] is not score:
            group = alone(found.survey, score)
            text, kept = answer(group), keeping(group)
            if score.complete is False:  # the page lists separately what it waits for
                text = text.replace(" in this lifetime", " in this lifetime so far") if kept and kept.n else ""
            self._answer = (score, text)
        return self._answer[1]

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Return path and reason of everything that cannot be scored."""
        unread = (pair for log in self.logs.values() for pair in log.left_out)
        return (*unread, *self._unplanned, *self._copies())

    def _copies(self) -> tuple[tuple[str, str], ...]:
        found = self.material()
        return found.survey.left_out if found else ()

    def warnings(self) -> tuple[str, ...]:
        """Return what is wrong with the places, rather than with one lifetime."""
        found: list[str] = []
        for place in self.places:
            try:
                free = shutil.disk_usage(place).free
            except OSError:
                found.append(f"{place}: cannot be looked at; was it removed?")
                continue
            if free < _LOW_DISK_BYTES:
                found.append(f"{place}: the disk is filling, {free / 1e6:.0f} MB are left")
        unread = [pair for log in self.logs.values() if not log.journal for pair in log.left_out]
        left_out = (*unread, *self._unplanned, *self._copies())
        return (*found, *(why if path in why else f"{path}: {why}" for path, why in left_out))

    def material(self) -> Material | None:
        """Return what a report shows, None without a lifetime. It is made again when the budget of reports allows."""
        if self._material is None or (self.published != self.readings and self.reports.left > 0):
            with self.reports.work():
                once, how = count_once(self.lives), self.how
                # Running lifetimes are shown, but no group counts them.
                preset = self._scorer.preset.name
                survey = Survey(once.lives, once.copies, how["settings"], preset, self.metrics, how["settings_from"])
                self._material = material(survey) if once.lives else None
            self.published, self.published_at = self.readings, self.clock()
        return self._material

    def _search(self) -> bool:
        """Find logs, experts and plans. Return whether a log or a plan is new."""
        try:
            places = [place for place in self.places if place.exists()]
            there = find_lifetimes(places, self._experts, self.settings.reading())
        except PerdureError:
            return False  # a folder vanished while it was listed; the next search tries again
        lives, experts = there.lives, there.experts
        changed, self._unplanned = self._unplanned != there.left_out, there.left_out
        by_path = {found.path: replace(found, part=None) for found in lives}  # one file may have several parts
        for found in named_apart(tuple(by_path.values())):
            log = self.logs.get(found.path)
            if log is None:
                journal = _is_journal(found.path)
                if journal is not None:
                    self.logs[found.path] = LiveLog(found, journal)
                    changed = True
            elif log.found.identity.id != found.identity.id:
                log.expire(found)
        for path in [path for path in self.logs if path not in by_path and path.is_dir()]:
            del self.logs[path]  # its protocol does not plan it any more
            changed = True
        for run in {*(place.resolve() for place in places), *(found.run for found in lives if found.run)}:
            with contextlib.suppress(PerdureError):  # no protocol
                names = planned_names(run)
                plan = Planned(len(names["lives"]), len(names["experts"]))
                changed = changed or plan != self._runs.get(run)  # it may change while the run goes on
                self._runs[run] = plan
        finished = tuple(expert for expert in experts if ended(Path(expert.path)))
        self._found_experts = len(experts)
        if finished != self._own_experts:
            self._own_experts = finished
            self._surveyor = self._surveyor_with(finished)
            for log in self.logs.values():
                log.expire()
        return changed

    def _read_changed(self, now: float) -> bool:
        """Read first what was never read, then logs with a new block, then the others."""
        left = self._reading.left
        with self._reading.work():
            changed = [log for log in self.logs.values() if log.look(now)]
        urgent = {log.path for log in changed if log.new_block or now - log.current_at > _OLD_S}
        changed.sort(key=lambda log: (not log.unread, log.path not in urgent, log.current_at))
        started = time.perf_counter()
        count = 0
        for log in changed:
            if log.unread:  # happens once, and is not rationed
                if time.perf_counter() - started > _FIRST_READS_S:
                    break
                self._read(log, now)
            else:
                # Half of the savings is kept for logs with a new block.
                if left <= (0 if log.path in urgent else 0.5):
                    break
                with self._reading.work():
                    self._read(log, now)
                left = self._reading.left
            count += 1
        return count > 0

    def _read(self, log: LiveLog, now: float) -> None:
        log.read(self._surveyor, self.metrics, now)
        self.readings += 1

    def _surveyor_with(self, experts: Sequence[OwnExpert]) -> Surveyor:
        try:
            return Surveyor(How(self.settings, tuple(map(str, self._experts)), tuple(experts), look=_sketch))
        except PerdureError:
            return Surveyor(How(self.settings, look=_sketch))


def _is_journal(path: Path) -> bool | None:
    """Return whether `path` is a journal, None for a folder without any log."""
    try:
        return type(recognise(path)) is L2Logger
    except PerdureError:
        return None if path.is_dir() else False


def _names_at(path: Path, *, journal: bool) -> list[str]:
    """Return the files to look at. For a journal, blocks that its ledger closed are left out, and folders are included.

    A new block changes the folder that holds it; closed blocks are verified whenever the log is read.
    """
    if not path.is_dir():
        return [os.fspath(path)]
    tree = list(os.walk(path))
    if not journal:
        return [os.path.join(folder, name) for folder, _, names in tree for name in names]
    ledger = ledger_of(path)
    closed = {str(path / file) for file, block in ledger.closed.items() if not block.may_grow} if ledger else set()
    found = [str(path / name) for name in (BLOCKS_FILE, *DESCRIBING_FILES)]
    for folder, below, names in tree:
        data = os.path.join(folder, DATA_FILE)
        if data in closed:
            continue
        if DATA_FILE in names:
            found += [folder, data]
        elif below and folder != str(path):  # a worker's blocks
            found.append(folder)
    return found


def _states(names: Sequence[str]) -> Files:
    """Return the state of each file that exists."""
    found: dict[str, tuple[int, int, int]] = {}
    for name in names:
        with contextlib.suppress(OSError):
            state = os.stat(name)
            found[name] = (state.st_ino, state.st_size, state.st_mtime_ns)
    return found


def _is_data(name: str) -> bool:
    return name.endswith(DATA_FILE)


def _score(found: Found, surveyor: Surveyor) -> Done:
    if not is_score_file(found.path):
        return surveyor([found])[0]
    settings = surveyor.how.settings
    try:
        scores = read_score_file(found.path, settings.metrics, settings.margins)
    except Exception as problem:
        return Done((), ((as_text(found.path), as_text(str(problem))),))
    return Done(tuple(("", Life(score)) for score in scores.scores), scores.left_out)


def _scored_life(life: Life, metrics: Mapping[str, Metric], level: float) -> ScoredLife:
    values = life.score.values
    verdicts = {
        name: decide((life.score,), name, metric.held_against, level).verdict
        for name, metric in metrics.items()
        if values.get(name) is not None
    }
    known = {name: verdict for name, verdict in verdicts.items() if verdict}
    return ScoredLife(life, values, known, _never_learned(life.sketch))


def _never_learned(sketch: Sketch | None) -> tuple[str, ...]:
    """Return the tasks whose finished learning blocks all end no better than they began."""
    improved: dict[str, bool] = {}
    if sketch is None:
        return ()
    for stretch in sketch.stretches[:-1]:
        task, line = stretch.block.task, stretch.smoothed
        if line is None or stretch.length < _LEAST_LEARNING:
            continue
        tenth = max(1, len(line.y) // 10)
        gain = float(line.y[-tenth:].mean() - line.y[:tenth].mean())
        improved[task] = improved.get(task, False) or (gain < 0 if task in sketch.lower else gain > 0)
    return tuple(task for task, better in improved.items() if not better)


def _sketch(curves: Curves, count: int) -> Sketch:
    return sketched(curves, count, _COLUMNS)
