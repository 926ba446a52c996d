"""Watch logs while they grow: survey them once a second, and score the changed ones again."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from perdure.curves.model import CommonRanges, Curves
from perdure.curves.prepare import merge_ranges
from perdure.errors import PerdureError
from perdure.gather.find import FoundLog, abandoned_runs, find_lifetimes, plan_of, with_distinct_ids
from perdure.gather.model import ScoredLifetime, Survey, count_once
from perdure.gather.names import name_lifetimes
from perdure.gather.survey import describe_settings
from perdure.gather.worker import ScoreJob, ScoreWorker
from perdure.log.formats.l2logger import L2Logger
from perdure.log.places import as_text
from perdure.log.read import locate, recognise
from perdure.log.verify import ended
from perdure.metrics.declare import Metric
from perdure.metrics.score import Score, Scorer
from perdure.reports.model import compare_with_baselines
from perdure.reports.thinned import ThinnedLifetime, thin_lifetime
from perdure.settings import Settings
from perdure.stats.answer import answer, answers, keeping
from perdure.stats.groups import GroupedSurvey, alone, group_survey
from perdure.text import join_words, plural
from perdure.watch.live_log import LiveLog
from perdure.watch.progress import Planned, Progress, Totals, totals

_SEARCH_S = 2.0
_FIRST_READS_S = 0.5  # for first readings in one poll, so that the page still answers
_OLD_S = 10.0  # age at which a log becomes as urgent as one with a new block
_COLUMNS = 300  # pixel columns of a lifetime's curves
_LOW_DISK_BYTES = 1 << 30


class Budget:
    """A share of one core for one kind of work, on average. Ten idle seconds are saved for a burst."""

    def __init__(self, share: float, clock: Callable[[], float]) -> None:
        self._share, self._clock = share, clock
        self._left_s, self._updated_at = 10 * share, clock()

    @property
    def left(self) -> float:
        """Share of the savings that is left, 1 at most; negative while work has to wait."""
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


class Monitor:
    """Every lifetime at or below some places. Poll it about once a second; it limits its own processor time."""

    def __init__(
        self,
        logs: Sequence[str | os.PathLike[str]],
        experts: Sequence[str | os.PathLike[str]] = (),
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: bool = False,
    ) -> None:
        # With `wait`, a place may not exist yet.
        self.places = [Path(log) if wait and not Path(log).exists() else locate(log) for log in logs]
        self._awaited = {place for place in self.places if not place.exists()}
        self.settings = Settings.given_or_default(settings)
        self.clock = clock
        self.logs: dict[Path, LiveLog] = {}
        self.version = 0
        """Incremented whenever a shown value changes."""
        self.readings = 0
        """Incremented whenever a log was read."""
        self.published = 0
        """Value of `readings` when the report was computed."""
        self.published_at = clock()
        # Together less than 10 % of one core; the rest is for answering requests.
        self.reports = Budget(0.015, clock)
        self.figures = Budget(0.015, clock)
        self._searching = Budget(0.01, clock)
        self._reading = Budget(0.05, clock)
        self._searched_at: float | None = None
        self._experts = list(experts)
        self._own_experts: tuple[FoundLog, ...] = ()
        self._found_experts = 0
        self._scorer = Scorer(self.settings)
        self._common: CommonRanges | None = None
        """Ranges over the finished lifetimes."""
        self._worker = self._worker_with(())
        self._unplanned: tuple[tuple[str, str], ...] = ()
        """Run folders, and the reason: lifetimes are missing or not planned."""
        self._runs: dict[Path, Planned] = {}
        self._abandoned: Mapping[Path, int] = {}
        """Run folder without an active run → the number of its unfinished experts."""
        self._states: list[str] = []
        self._data: GroupedSurvey | None = None
        self._answer: tuple[Score | None, str] = (None, "")
        self._answered: GroupedSurvey | None = None
        """The data of `_answers`."""
        self._answers: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Metrics that are scored."""
        return self._scorer.metrics

    @property
    def lifetimes(self) -> tuple[ScoredLifetime, ...]:
        """Scored lifetimes, as last read."""
        return tuple(item.life for log in self.logs.values() for item in log.scored)

    @property
    def used_settings(self) -> dict[str, dict[str, Any]]:
        """Settings that decide the scores, and their sources."""
        experts = [*map(str, self._experts), *(str(expert.path) for expert in self._own_experts)]
        settings = describe_settings(self.settings, self._scorer, experts)
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
            if not any(log.unread for log in self.logs.values()):
                self._rescale()
        states = [log.state(now) for log in self.logs.values()]  # which also change with time
        changed = changed or states != self._states
        self._states = states
        self.version += changed
        return changed

    def settle(self) -> None:
        """Find, read and score every log at once, without a budget."""
        self._search()
        now = self.clock()
        for log in self.logs.values():
            if log.look(now):
                self._read(log, now)
        while self._rescale():
            for log in self.logs.values():
                if log.expired and log.look(now):
                    self._read(log, now)
        self._data = None
        self.version += 1

    def progress(self) -> tuple[Progress, ...]:
        """Return the progress of every lifetime, running ones first."""
        now = self.clock()
        lifetimes = [item for log in self.logs.values() for item in log.progress(now)]
        return tuple(sorted(lifetimes, key=lambda item: item.state != "running"))

    def totals(self, lifetimes: Sequence[Progress]) -> Totals:
        """Return the progress of all, including planned lifetimes that have not begun."""
        runs = self._runs
        outside = sum(len(log.scored) or log.journal for log in self.logs.values() if log.found.run not in runs)
        planned = Planned(
            sum(run.lifetimes for run in runs.values()) + outside,
            sum(run.experts for run in runs.values()),
            sum(run.expert_experiences for run in runs.values()),
        )
        return totals(lifetimes, planned, (len(self._own_experts), self._found_experts))

    @property
    def age_text(self) -> str:
        """Age of the shown values; empty once every lifetime is done."""
        now = self.clock()
        ages = [age_s for log in self.logs.values() if (age_s := log.age_s(now)) is not None]
        parts = [f"read {max(ages):.0f} s ago"] if ages else []
        if self.published != self.readings and now - self.published_at >= 1:
            parts.append(f"report {now - self.published_at:.0f} s old")
        return " · ".join(parts)

    def answers(self) -> tuple[str, ...]:
        """Return the answers of the report so far: which learner ends up better, then one sentence per learner."""
        data = self.data()
        if data is not self._answered:
            compared = (comparison.answer for comparison in compare_with_baselines(data)) if data else ()
            learners = answers(data.groups) if data else ()
            self._answered = data
            self._answers = (*filter(None, compared), *(learner.sentence for learner in learners))
        return self._answers

    def answer(self, lifetime: str) -> str:
        """Return the answer for one lifetime so far, in a sentence; empty before its first values."""
        data = self.data()
        score = next((life.score for life in data.lifetimes if life.id == lifetime), None) if data else None
        if data is None or score is None:
            return ""
        if self._answer[0] is not score:
            group = alone(data.survey, score)
            text, retention = answer(group), keeping(group)
            if score.complete is False:  # the page lists separately which blocks are missing
                text = (
                    text.replace(" in this lifetime", " in this lifetime so far") if retention and retention.n else ""
                )
            self._answer = (score, text)
        return self._answer[1]

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Return path and reason of everything that cannot be scored."""
        unread = (pair for log in self.logs.values() for pair in log.left_out)
        return (*unread, *self._unplanned, *self._copies())

    def _copies(self) -> tuple[tuple[str, str], ...]:
        data = self.data()
        return data.survey.left_out if data else ()

    def warnings(self) -> tuple[str, ...]:
        """Return problems of the places, rather than of one lifetime."""
        warnings: list[str] = []
        for place in self.places:
            try:
                free = shutil.disk_usage(place).free
            except OSError:
                awaited = place in self._awaited
                warnings.append(f"{place}: {'does not exist yet' if awaited else 'cannot be read; was it removed?'}")
                continue
            if free < _LOW_DISK_BYTES:
                warnings.append(f"{place}: the disk is filling, {free / 1e6:.0f} MB are left")
        for run, experts in self._abandoned.items():
            own = (log for log in self.logs.values() if log.found.run == run and log.journal)
            lives = sum(log.state(self.clock()) == "quiet" for log in own)
            counts = ((lives, "lifetime"), (experts, "expert"))
            if unfinished := [plural(count, noun) for count, noun in counts if count]:
                verb = "is" if lives + experts == 1 else "are"
                shown = next((place for place in self.places if place.resolve() == run), run)
                warnings.append(
                    f"{shown}: no run is active, and {join_words(unfinished)} {verb} unfinished; run its protocol "
                    "again into this folder to complete it"
                )
        unread = [pair for log in self.logs.values() if not log.journal for pair in log.left_out]
        left_out = (*unread, *self._unplanned, *self._copies())
        return (*warnings, *(why if path in why else f"{path}: {why}" for path, why in left_out))

    def data(self) -> GroupedSurvey | None:
        """Return the data of a report, None without a lifetime. It is updated when the budget of reports allows."""
        rescaling = any(log.expired for log in self.logs.values())  # until then, scales differ
        if self._data is None or (self.published != self.readings and self.reports.left > 0 and not rescaling):
            with self.reports.work():
                once, used = count_once(name_lifetimes(self.lifetimes)), self.used_settings
                # Running lifetimes are shown, but no group counts them.
                preset = self._scorer.preset.name
                survey = Survey(
                    once.lifetimes, once.copies, used["settings"], preset, self.metrics, used["settings_from"]
                )
                self._data = group_survey(survey) if once.lifetimes else None
            self.published, self.published_at = self.readings, self.clock()
        return self._data

    def _search(self) -> bool:
        """Find logs, experts and plans. Return whether a log or a plan is new."""
        try:
            places = [place for place in self.places if place.exists()]
            self._awaited.difference_update(places)
            listing = find_lifetimes(places, self._experts, self.settings.reading())
        except PerdureError:
            return False  # a folder vanished while it was listed; the next search tries again
        lives, experts = listing.lifetimes, listing.experts
        changed, self._unplanned = self._unplanned != listing.left_out, listing.left_out
        by_path = {item.path: replace(item, part=None) for item in lives}  # one file may have several parts
        for item in with_distinct_ids(tuple(by_path.values())):
            log = self.logs.get(item.path)
            if log is None:
                journal = _is_journal(item.path)
                if journal is not None:
                    self.logs[item.path] = LiveLog(item, journal)
                    changed = True
            elif log.found.identity.id != item.identity.id:
                log.expire(item)
        for path in [path for path in self.logs if path not in by_path and path.is_dir()]:
            del self.logs[path]  # its protocol no longer plans it
            changed = True
        for run in {*(place.resolve() for place in places), *(item.run for item in lives if item.run)}:
            with contextlib.suppress(PerdureError):  # no protocol
                plan = plan_of(run)
                length = sum(job.experiences for job in plan.experts)
                planned = Planned(len(plan.names["lives"]), len(plan.names["experts"]), length)
                changed = changed or planned != self._runs.get(run)  # it may change while the run goes on
                self._runs[run] = planned
        changed = self._find_abandoned(experts) or changed
        finished = tuple(expert for expert in experts if ended(expert.path))
        self._found_experts = len(experts)
        if finished != self._own_experts:
            self._own_experts = finished
            self._worker = self._worker_with(finished)
            for log in self.logs.values():
                log.expire()
        return changed

    def _find_abandoned(self, experts: Sequence[FoundLog]) -> bool:
        """Find run folders without an active run, and mark their lifetimes. Return whether any is new."""
        # Locks come first: what ends before its run does is never called unfinished.
        abandoned = abandoned_runs(self._runs)
        before = self._abandoned
        self._abandoned = {
            run: sum(expert.run == run and not ended(expert.path) for expert in experts) for run in abandoned
        }
        for log in self.logs.values():
            log.abandoned = log.found.run in self._abandoned
        return self._abandoned != before

    def _read_changed(self, now: float) -> bool:
        """Read new logs first, then logs with a new block, then the others."""
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
                # Half of the savings is reserved for logs with a new block.
                if left <= (0 if log.path in urgent else 0.5):
                    break
                with self._reading.work():
                    self._read(log, now)
                left = self._reading.left
            count += 1
        return count > 0

    def _rescale(self) -> bool:
        """Mark finished lifetimes as outdated if the range of a task over all of them has grown; return whether so."""
        finished = [life.score for life in self.lifetimes if life.score.complete is not False]
        common = merge_ranges([score.data_ranges for score in finished])
        if common is None or common.spans == (self._common.spans if self._common else {}):
            return False
        self._common = common
        self._worker = self._worker_with(self._own_experts)
        for log in self.logs.values():
            if any(item.life.score.complete is not False for item in log.scored):
                log.expire()
        return True

    def _read(self, log: LiveLog, now: float) -> None:
        try:
            log.read(self._worker, self.metrics, now)
        except Exception as problem:  # one log must not stop the others
            log.left_out = ((as_text(log.path), as_text(f"internal error: {type(problem).__name__}: {problem}")),)
        self.readings += 1

    def _worker_with(self, experts: Sequence[FoundLog]) -> ScoreWorker:
        try:
            given = tuple(map(str, self._experts))
            job = ScoreJob(self.settings, given, tuple(experts), common=self._common, look=_thin, learning=True)
            return ScoreWorker(job)
        except PerdureError:
            return ScoreWorker(ScoreJob(self.settings, common=self._common, look=_thin, learning=True))


def _is_journal(path: Path) -> bool | None:
    """Return whether `path` is a journal, None for a folder without any log."""
    try:
        return type(recognise(path)) is L2Logger
    except PerdureError:
        return None if path.is_dir() else False


def _thin(curves: Curves, count: int) -> ThinnedLifetime:
    return thin_lifetime(curves, count, _COLUMNS)
