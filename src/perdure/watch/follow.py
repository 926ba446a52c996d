"""Following a run: lifetimes are found, read as they grow, and scored whenever one has begun a new block."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from perdure.errors import PerdureError
from perdure.gather.find import Found, find_lifetimes, named_apart
from perdure.gather.model import Survey
from perdure.gather.serving import OwnExpert
from perdure.gather.survey import Done, How, Surveyor, described, renamed
from perdure.log.formats.l2logger import L2Logger, ended
from perdure.log.read import find, locate, recognise
from perdure.metrics.engine.declare import Metric
from perdure.metrics.engine.score import Score, Scorer
from perdure.metrics.engine.settings import Settings
from perdure.report.material import Material, material, sketched
from perdure.stats.decide import decide
from perdure.stats.groups import split, usable
from perdure.stats.model import Verdict
from perdure.stats.sentences import MARKS
from perdure.watch.followed import Followed, Progress
from perdure.words import number, plural, short

__all__ = ["Follower"]

_SEARCH_S = 3.0
_SHARE = 0.03  # of the time may be spent on scoring what has grown, and as much on writing the report anew
_LOW_DISK = 1 << 30
_KEPT = 1 << 29  # bytes of records that are kept for all lifetimes together; larger ones are read whole each time


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
        self.still: dict[Path, tuple[tuple[int, int], Done]] = {}
        """What does not grow record by record, as tables and matrices: told anew when its file changes."""
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
        self._stands: tuple[int, tuple[str, ...]] = (-1, ())
        self._told: Material | None = None
        self._told_version = -1

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that are scored."""
        return self._scorer.metrics

    @property
    def how(self) -> dict[str, dict[str, Any]]:
        """What decides the scores, and where it came from."""
        settings = described(
            self.settings, self._scorer, [*map(str, self._experts), *(path for path, _ in self._known_experts)]
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
        self.version += changed
        return changed

    def settle(self) -> None:
        """Read and score everything that is there now, however long it takes."""
        self.poll()
        while any(one.tail and one.tail.behind for one in self.lives.values()) or self._unscored():
            self._score_from = 0.0
            self.poll()

    def _unscored(self) -> bool:
        return any(one.due for one in self.lives.values())

    def spent(self, seconds: float) -> None:
        """Writing the report took so long; the next one waits until that is a small share of the time."""
        self._publish_from = self.clock() + seconds * (1 / _SHARE - 1)

    def progress(self) -> tuple[Progress, ...]:
        """Where every lifetime stands."""
        now = self.clock()
        followed = (
            replace(one.progress(now, self.metrics), verdicts=self._decided(one.told.score) if one.told else {})
            for one in self.lives.values()
        )
        still = (life.score for _, done in self.still.values() for _, life in done.lives)
        return (*followed, *(replace(_ended(one), verdicts=self._decided(one)) for one in still))

    def _decided(self, score: Score) -> Mapping[str, Verdict]:
        """What a lifetime's own spread decides, once for every score."""
        known = self._verdicts.get(score.id)
        if known is None or known[0] is not score:
            made = {
                name: decide((score,), name, metric.held_against, self.settings.level).verdict
                for name, metric in self.metrics.items()
                if score.values.get(name) is not None
            }
            known = self._verdicts[score.id] = (score, {name: one for name, one in made.items() if one})
        return known[1]

    def standing(self) -> tuple[str, ...]:
        """What the lifetimes that have ended say together so far, a line for each group; none for single ones."""
        if self._stands[0] != self.scored:
            scores = [one.told.score for one in self.lives.values() if one.told is not None]
            scores += [life.score for _, done in self.still.values() for _, life in done.lives]
            try:
                groups = split(scores, self.settings.group) if scores else {}
            except PerdureError:  # none of its lifetimes has a name yet that the pattern finds
                groups = {}
            ended_ones = ((name, usable(lives)[0]) for name, lives in groups.items())
            said = tuple(self._said(name, lives) for name, lives in ended_ones if len(lives) > 1)
            self._stands = (self.scored, tuple(one for one in said if one))
        return self._stands[1]

    def _said(self, group: str, lives: Sequence[Score]) -> str:
        found: list[str] = []
        for name, metric in self.metrics.items():
            made = decide(lives, name, metric.held_against, self.settings.level)
            if made.verdict and made.estimate is not None:
                word = f" {made.word}" if made.word not in (None, "undecided") else ""
                found.append(f"{short(name)} {number(made.estimate, made.width)} {MARKS[made.verdict]}{word}")
        return f"{group}, {plural(len(lives), 'lifetime')} so far: {', '.join(found)}" if found else ""

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """What was given and cannot be scored, with the reason."""
        told = [(str(one.path), one.problem) for one in self.lives.values() if one.problem]
        return (*told, *(pair for _, done in self.still.values() for pair in done.left_out))

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
        return (*found, *(f"{path}: {why}" for _, done in self.still.values() for path, why in done.left_out))

    def material(self) -> Material | None:
        """What the lifetimes that hold something came to, as a report takes it; None while there is nothing."""
        if self._told_version != self.scored:
            grown = (renamed(one.told, one.id) for one in self.lives.values() if one.told is not None)
            lives = (*grown, *(life for _, done in self.still.values() for _, life in done.lives))
            scorer, how = self._scorer, self.how
            # Lives that still run are shown as they stand, though no group counts them.
            survey = Survey(lives, (), how["settings"], scorer.preset.name, scorer.metrics, how["settings_from"])
            self._told = material(survey) if lives else None
            self._told_version = self.scored
        return self._told

    def _search(self, now: float) -> bool:
        if now - self._searched < _SEARCH_S:
            return False
        self._searched = now
        changed = False
        try:
            places = [place for place in self.logs if place.exists()]
            found, own = find_lifetimes(places, self._experts, self.settings.reading())
        except PerdureError:
            return False  # a folder vanished while it was listed; the next search will know
        for one in named_apart(found):
            if one.path in self.lives:
                self.lives[one.path].id = one.identity.id
            elif one.path.is_dir() and any(find(one.path)):
                self.lives[one.path] = Followed(one, now, self.settings.measure)
                changed = True
            elif one.part in (None, "") or one.path not in self.still:
                changed = self._tell(replace(one, part=None)) or changed
        experts = tuple((path, run) for path, run in own if ended(Path(path)))
        if experts != self._known_experts:
            self._known_experts = experts
            self._surveyor = self._with(experts)
            for followed in self.lives.values():
                followed.told_blocks = -1
        return changed

    def _tell(self, found: Found) -> bool:
        """Score what lies in a file, unless it was scored as it is now."""
        try:
            state = found.path.stat()
        except OSError:
            return False
        mark = (state.st_size, state.st_mtime_ns)
        if found.path in self.still and self.still[found.path][0] == mark:
            return False
        self.still[found.path] = (mark, self._surveyor([found])[0])
        self.scored += 1
        return True

    def _with(self, found: Sequence[OwnExpert]) -> Surveyor:
        """What scores lifetimes beside the experts that are there by now; nothing is written beside a log."""
        look = partial(sketched, columns=300)
        how = How(self.settings, tuple(map(str, self._experts)), tuple(found), look=look, cache=False)
        try:
            return Surveyor(how)
        except PerdureError:
            return Surveyor(How(self.settings, look=look, cache=False))

    def _score(self, now: float) -> bool:
        """Score lifetimes that have a new block, one after the other, within the share of time that may be spent."""
        changed = False
        if now < self._score_from:
            return False
        for one in sorted(self.lives.values(), key=lambda followed: followed.told_at):
            if now < self._score_from:
                break
            if not one.due:
                continue
            whole = one.blocks
            started = time.perf_counter()
            (done,) = self._surveyor([self._read(one)])
            if done.lives:
                one.told, one.problem = done.lives[0][1], None
                self.scored += 1
                changed = True
            elif done.left_out:
                one.problem = done.left_out[0][1]
            one.told_blocks = whole
            one.told_at = now = self.clock()
            self._score_from = now + (time.perf_counter() - started) * (1 / _SHARE - 1)
        return changed

    def _read(self, one: Followed) -> Found:
        """A lifetime with what is known of it, read only where it has grown; what cannot be is left to the survey.

        One that is over is read whole once more, and verified: it does not grow, so nothing of it is kept.
        """
        others = sum(other.growing.size for other in self.lives.values() if other is not one)
        large = one.tail is None or one.tail.size + others > _KEPT
        if large or one.over or type(recognise(one.path)) is not L2Logger:
            one.growing.forget()
            return one.found
        try:
            return replace(one.found, lifetime=one.growing.read(one.path, self._surveyor.options))
        except Exception:  # the survey says what is wrong with it
            return one.found


def _ended(score: Score) -> Progress:
    """Where a lifetime stands that a file holds whole."""
    count = score.learning_experiences + score.evaluation_experiences
    return Progress(
        score.id, "done", count, count, "", None, learner=score.learner, seed=score.seed, values=score.values
    )
