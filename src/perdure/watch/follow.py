"""Following a run: lifetimes are found, read as they grow, and scored whenever one has begun a new block."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from perdure.curves.model import Curves, Prep
from perdure.errors import PerdureError
from perdure.gather.copies import count_once
from perdure.gather.find import Found, find_lifetimes, named_apart
from perdure.gather.model import Survey
from perdure.gather.planned import planned_names
from perdure.gather.serving import OwnExpert
from perdure.gather.survey import described, renamed
from perdure.gather.surveyor import How, Surveyor
from perdure.log.formats.l2logger import L2Logger, ended
from perdure.log.read import find, locate, recognise
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
from perdure.watch.followed import Followed, Progress
from perdure.watch.still import Still
from perdure.watch.totals import Planned, Totals, totals

__all__ = ["Follower"]

_SEARCH_S = 3.0
_SHARE = 0.03  # of the time may be spent on scoring what has grown, and as much on writing the report anew
_COLUMNS = 300  # of pixels, of a lifetime in the report
_LOW_DISK = 1 << 30


class Follower:
    """Every lifetime below some folders. Poll it about once a second; it reads only what has grown."""

    def __init__(
        self,
        logs: Sequence[str | os.PathLike[str]],
        experts: Sequence[str | os.PathLike[str]] = (),
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.logs = [locate(log) for log in logs]
        self.settings = settings or Settings()
        self.clock = clock
        self.lives: dict[Path, Followed] = {}
        self.still: dict[Path, Still] = {}
        """What does not grow record by record, as tables and matrices: told anew when its files change."""
        self.version = 0
        """Raised whenever anything has grown."""
        self.scored = 0
        """Raised whenever a lifetime was scored anew."""
        self.published = 0
        """Which of these scores a report may be asked for; it follows `scored` as far as time allows."""
        self._publish_from = 0.0
        self._experts = list(experts)
        self._known_experts: tuple[OwnExpert, ...] = ()
        self._scorer = Scorer(self.settings)
        self._surveyor = self._with(())
        self._searched = -1e9
        self._score_from = 0.0
        self._verdicts: dict[str, tuple[Score, Mapping[str, Verdict]]] = {}
        self._runs: dict[Path, Planned] = {}
        self._found_experts = 0
        self._unlike_plan: tuple[tuple[str, str], ...] = ()
        """Run folders, and what is missing there or not planned."""
        self._said: tuple[Score | None, str] = (None, "")
        self._drawn: tuple[str | None, int, str, float] = (None, -1, "", 0.0)
        self._overdue = False
        """Whether that figure is to be drawn anew when time allows."""
        self._told: Material | None = None
        self._told_version = -1

    @property
    def prep(self) -> Prep:
        """How curves are smoothed."""
        return self._scorer.prep

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that are scored."""
        return self._scorer.metrics

    @property
    def how(self) -> dict[str, dict[str, Any]]:
        """What decides the scores, and where it came from."""
        settings = described(
            self.settings, self._scorer, [*map(str, self._experts), *(one.path for one in self._known_experts)]
        )
        return {"settings": settings, "settings_from": self.settings.sources()}

    def poll(self) -> bool:
        """Look for new lifetimes and new records, and score what ended a block; whether anything changed."""
        now = self.clock()
        changed = self._search(now)
        for one in self.lives.values():
            changed = one.look(now) or changed
        changed = self._score(now) or changed
        if self.published != self.scored and now >= self._publish_from:
            self.published = self.scored
            changed = True
        if self._overdue and now >= self._drawn[3]:
            self._overdue, changed = False, True
        self.version += changed
        return changed

    def settle(self) -> None:
        """Read and score everything that is there now, however long it takes."""
        self.poll()
        while any(one.tail and one.tail.behind for one in self.lives.values()) or self._unscored():
            self._score_from = 0.0
            self.poll()
        self.published = self.scored

    def _unscored(self) -> bool:
        now = self.clock()
        return any(one.due(now) for one in self.lives.values())

    def spent(self, seconds: float) -> None:
        """A part of the report took so long; the next one waits until that is a small share of the time."""
        self._publish_from = max(self._publish_from, self.clock()) + seconds * (1 / _SHARE - 1)

    def drawn(self, lifetime: str, draw: Callable[[], str]) -> str:
        """A lifetime's figure, drawn anew when it has grown and as far as time allows: it has all blocks so far."""
        name, version, figure, draw_from = self._drawn
        if name != lifetime or (version != self.version and self.clock() >= draw_from):
            started, figure = time.perf_counter(), draw()
            wait = (time.perf_counter() - started) * (1 / _SHARE - 1)
            self._drawn = (lifetime, self.version, figure, self.clock() + wait)
        self._overdue = self._drawn[1] != self.version
        return figure

    def progress(self) -> tuple[Progress, ...]:
        """Where every lifetime stands, those that run first."""
        now = self.clock()
        found = [
            replace(one.progress(now, self.metrics), verdicts=self._decided(one.told.score) if one.told else {})
            for one in self.lives.values()
        ]
        for place in self.still.values():
            found += [replace(place.progress(one.score, now), verdicts=self._decided(one.score)) for one in place.lives]
        return tuple(sorted(found, key=lambda one: one.state != "running"))

    def totals(self, lives: Sequence[Progress]) -> Totals:
        """How far they all are, given where each stands; planned ones that have not begun are counted too."""
        runs = self._runs
        outside = sum(one.found.run not in runs for one in self.lives.values())
        outside += sum(len(one.lives) for one in self.still.values() if one.found.run not in runs)
        planned = Planned(
            sum(one.lifetimes for one in runs.values()) + outside, sum(one.experts for one in runs.values())
        )
        return totals(lives, planned, (len(self._known_experts), self._found_experts))

    def _decided(self, score: Score) -> Mapping[str, Verdict]:
        """What a lifetime's own spread decides, once for every score."""
        known = self._verdicts.get(score.id)
        if known is None or known[0] is not score:
            made = {
                name: decide((score,), name, metric.held_against, self.settings.level).verdict
                for name, metric in self.metrics.items()
                if score.value(name) is not None
            }
            known = self._verdicts[score.id] = (score, {name: one for name, one in made.items() if one})
        return known[1]

    def standing(self) -> tuple[str, ...]:
        """What the lifetimes that have ended say so far: the answers of a report, a sentence for each learner."""
        told = self.material()
        return tuple(one.sentence for one in answers(told.groups)) if told else ()

    def said(self, lifetime: str) -> str:
        """What one lifetime says by itself so far, in a sentence; nothing before its first values."""
        told = self.material()
        one = next((life for life in told.lives if life.id == lifetime), None) if told else None
        if told is None or one is None:
            return ""
        if self._said[0] is not one.score:
            group = alone(told.survey, one.score)
            said, found = answer(group), keeping(group)
            if one.score.complete is False:  # what it waits for is said beside it
                said = said.replace(" in this lifetime", " in this lifetime so far") if found and found.n else ""
            self._said = (one.score, said)
        return self._said[1]

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """What was given and cannot be scored, with the reason."""
        told = [(str(one.path), one.problem) for one in self.lives.values() if one.problem]
        return (*told, *self._unread(), *self._copies())

    def _unread(self) -> list[tuple[str, str]]:
        return [*(pair for place in self.still.values() for pair in place.done.left_out), *self._unlike_plan]

    def _copies(self) -> tuple[tuple[str, str], ...]:
        """Return the path and reason of each lifetime that is a copy of another one."""
        found = self.material()
        return found.survey.left_out if found else ()

    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the place rather than with a lifetime."""
        found: list[str] = []
        for place in self.logs:
            try:
                free = shutil.disk_usage(place).free
            except OSError:
                found.append(f"{place}: cannot be looked at; was it removed?")
                continue
            if free < _LOW_DISK:
                found.append(f"{place}: the disk is filling, {free / 1e6:.0f} MB are left")
        left_out = (*self._unread(), *self._copies())
        return (*found, *(why if path in why else f"{path}: {why}" for path, why in left_out))

    def material(self) -> Material | None:
        """What the lifetimes that hold something came to when last published, as a report takes it; None of nothing."""
        if self._told_version != self.published:
            started = time.perf_counter()
            grown = (renamed(one.told, one.id) for one in self.lives.values() if one.told is not None)
            once = count_once((*grown, *(life for place in self.still.values() for life in place.lives)))
            scorer, how = self._scorer, self.how
            # Lives that still run are shown as they stand, though no group counts them.
            survey = Survey(
                once.lives, once.copies, how["settings"], scorer.preset.name, scorer.metrics, how["settings_from"]
            )
            self._told = material(survey) if once.lives else None
            self._told_version = self.published
            self.spent(time.perf_counter() - started)
        return self._told

    def _search(self, now: float) -> bool:
        if now - self._searched < _SEARCH_S:
            return False
        self._searched = now
        try:
            places = [place for place in self.logs if place.exists()]
            there = find_lifetimes(places, self._experts, self.settings.reading())
        except PerdureError:
            return False  # a folder vanished while it was listed; the next search will know
        found, own = there.lives, there.experts
        changed, self._unlike_plan = self._unlike_plan != there.left_out, there.left_out
        for one in named_apart(found):
            if one.path in self.lives:
                self.lives[one.path].id = one.identity.id
            elif one.path not in self.still and (not one.path.is_dir() or any(find(one.path))):
                self._follow(one, now)
                changed = True
        known = {one.path for one in found}
        for path in [path for path in self.lives if path not in known and path.is_dir()]:
            del self.lives[path]  # its protocol does not plan it any more
            changed = True
        changed = self._tell(now) or changed
        experts = tuple(one for one in own if ended(Path(one.path)))
        self._found_experts = len(own)
        for run in {*(place.resolve() for place in places), *(one.run for one in found if one.run)}:
            with suppress(PerdureError):  # no protocol; and more lifetimes may be asked for while it runs
                names = planned_names(run)
                self._runs[run] = Planned(len(names["lives"]), len(names["experts"]))
        if experts != self._known_experts:
            self._known_experts = experts
            self._surveyor = self._with(experts)
            for followed in self.lives.values():
                followed.told_blocks = -1
        return changed

    def _follow(self, found: Found, now: float) -> None:
        """Follow a journal record by record, and anything else as it changes."""
        try:
            grows = type(recognise(found.path)) is L2Logger
        except PerdureError:
            grows = False
        if grows:
            self.lives[found.path] = Followed(found, now, self.settings.measure)
        else:
            self.still[found.path] = Still(found)

    def _tell(self, now: float) -> bool:
        """Score what changed as a whole, the first time at once, and later within the share of time."""
        told = False
        for place in self.still.values():
            if (place.told and now < self._score_from) or not place.changed():
                continue
            started, again = time.perf_counter(), place.told
            place.tell(self._surveyor, now)
            self.scored += 1
            told = True
            if again:
                now = self.clock()
                self._score_from = now + (time.perf_counter() - started) * (1 / _SHARE - 1)
        return told

    def _with(self, found: Sequence[OwnExpert]) -> Surveyor:
        """What scores lifetimes beside the experts that are there by now; nothing is written beside a log."""
        how = How(self.settings, tuple(map(str, self._experts)), tuple(found), look=_seen)
        try:
            return Surveyor(how)
        except PerdureError:
            return Surveyor(How(self.settings, look=_seen))

    def _score(self, now: float) -> bool:
        """Score lifetimes that have a new block, one after the other, within the share of time that may be spent."""
        changed = False
        if now < self._score_from:
            return False
        for one in sorted(self.lives.values(), key=lambda followed: followed.told_at):
            if now < self._score_from:
                break
            if not one.due(now):
                continue
            whole, rows = one.blocks, one.tail.rows if one.tail else 0
            started = time.perf_counter()
            (done,) = self._surveyor([one.found])
            if done.lives:
                one.told, one.problem = done.lives[0][1], None
                self.scored += 1
                changed = True
            elif done.left_out:
                one.problem = done.left_out[0][1]
            one.told_blocks, one.told_rows = whole, rows
            one.told_at = now = self.clock()
            self._score_from = now + (time.perf_counter() - started) * (1 / _SHARE - 1)
        return changed


def _seen(curves: Curves, count: int) -> Sketch:
    """What is kept to be drawn."""
    return sketched(curves, count, _COLUMNS)
