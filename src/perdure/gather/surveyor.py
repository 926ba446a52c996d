"""Surveyor: what one process does with the lifetimes that it is given: read, verify, give experts, score."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perdure.curves.model import Curves
from perdure.errors import PerdureError
from perdure.frozen import frozen, replace
from perdure.gather.find import Found
from perdure.gather.model import Life
from perdure.gather.processes import worked
from perdure.gather.serving import OwnExpert, Serving
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.read import READERS, lifetimes, recognise
from perdure.log.variants import Sets, Settled, settle
from perdure.metrics.engine.compact import same
from perdure.metrics.engine.score import Score
from perdure.metrics.engine.scorer import Scorer
from perdure.metrics.engine.settings import Settings

__all__ = ["Done", "How", "Look", "Surveyor", "settled_over"]

Look = Callable[[Curves, int], Any]
"""What is to be kept of a lifetime's curves, given how many lifetimes there are; it must survive a pickle."""

_ROWS_AT_ONCE = 1 << 20


@frozen
class How:
    """What every process needs to know before it scores its first lifetime."""

    settings: Settings
    experts: tuple[str | Lifetime, ...] = ()
    """Given, so they serve every lifetime."""
    own_experts: tuple[OwnExpert, ...] = ()
    """Found among the lifetimes; those of a run folder serve its lifetimes alone."""
    settled: Settled | None = None
    """What parameter sets are called in all of them, where parameters make tasks."""
    look: Look | None = None
    count: int = 1
    """How many lifetimes, or files of them, there are."""
    """Whether a copy may be kept beside a log."""


@frozen
class Done:
    """The lifetimes of one place, told, and what was left out; and which experts served so far.

    It comes from another process, which is not told of the place to hear of it again.
    """

    lives: tuple[tuple[str, Life], ...]
    """Each with what it is called inside a file of several, or nothing."""
    left_out: tuple[tuple[str, str], ...] = ()
    experts_left_out: tuple[tuple[str, str], ...] = ()
    experts_served: tuple[str, ...] = ()


class Surveyor:
    """What one process keeps between lifetimes: the experts, read and smoothed once."""

    def __init__(self, how: How, serving: Serving | None = None) -> None:
        self.how = how
        self.options = how.settings.reading()
        self._scorers: dict[Path | None, Scorer] = {}
        self.serving = serving or Serving(how.experts, how.own_experts, self.options)
        self.raised: PerdureError | None = None
        """The last reason for leaving something out, as it was raised."""

    def __call__(self, places: Sequence[Found]) -> list[Done]:
        """Every lifetime at each place, told; those that cannot be are left out with the reason.

        Neighbours that share their experts and blocks are measured together.
        """
        telling = [_Telling(one) for one in places]
        for some in _in_pieces(self._each(telling)):
            self._tell(some)
            some.clear()  # before the next is read: long lives are held one at a time
        return [one.done() for one in telling]

    def _each(self, telling: Sequence[_Telling]) -> Iterator[_Read]:
        """The lifetimes at the places, read as they are asked for."""
        for one in telling:
            try:
                one.scorer = self.scorer(one.place.run)
                for found, lifetime in self.read(one.place):
                    yield one, found, lifetime
                    del lifetime
            except Exception as problem:
                one.scorer = None
                one.leave_out(one.place, self._why(one.place, problem))

    def scorer(self, run: Path | None) -> Scorer:
        """The scorer of a run folder's or a file's lifetimes, with its own experts and those given."""
        if run not in self._scorers:
            self._scorers[run] = Scorer(self.how.settings, self.serving.of(run), self.how.settled)
        return self._scorers[run]

    def read(self, found: Found) -> Iterator[tuple[Found, Lifetime]]:
        """The lifetimes at a place, the experts among those of one file left out."""
        if found.lifetime is not None:
            yield found, found.lifetime
            return
        options = replace(self.options, rows=self.options.rows or found.rows)
        for one in lifetimes(found.path, options, found.part):
            if not one.inside:
                yield found, one
            elif one.role == "life" and one.inside not in found.surplus:
                yield found.inside(one.inside), one

    def _tell(self, some: Sequence[_Read]) -> None:
        """Score lifetimes together or, where one of them cannot be, each by itself."""
        scorer = self.scorer(some[0][0].place.run)
        try:
            scored = scorer.scored_together((lifetime, found.identity) for _, found, lifetime in some)
            told = [self._life(*made, lifetime) for made, (_, _, lifetime) in zip(scored, some, strict=True)]
        except Exception as problem:
            if len(some) == 1:
                telling, found, _ = some[0]
                telling.leave_out(found, self._why(found, problem))
            else:
                for each in some:
                    self._tell([each])
            return
        for (telling, found, lifetime), life in zip(some, told, strict=True):
            telling.lives.append(("" if found is telling.place else lifetime.inside, life))

    def _life(self, made: Score, curves: Curves, lifetime: Lifetime) -> Life:
        made = made.compact()
        if self.how.look is None:
            return Life(made)
        manifest, info = ({key: same(one) for key, one in told.items()} for told in (lifetime.manifest, lifetime.info))
        return Life(made, self.how.look(curves, self.how.count), manifest, info)

    def _why(self, found: Found, problem: Exception) -> str:
        if isinstance(problem, PerdureError):
            self.raised = problem
            return as_text(str(problem))
        if os.environ.get("PERDURE_TRACEBACK"):
            raise problem
        return as_text(f"{found.path}: internal error: {type(problem).__name__}: {problem}")


@dataclass
class _Telling:
    """One place, while its lifetimes are read and scored."""

    place: Found
    scorer: Scorer | None = None
    """Whose experts serve it; None where it could not be read."""
    lives: list[tuple[str, Life]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def leave_out(self, found: Found, why: str) -> None:
        self.left_out.append((found.identity.source or found.identity.id, why))

    def done(self) -> Done:
        served, unserved = (self.scorer.served, self.scorer.left_out) if self.scorer else ((), {})
        return Done(tuple(self.lives), tuple(self.left_out), tuple(unserved.items()), tuple(served))


_Read = tuple[_Telling, Found, Lifetime]
"""A lifetime, and the place that it was read from."""


def _in_pieces(lives: Iterable[_Read]) -> Iterator[list[_Read]]:
    """Neighbours that are scored in one go: some thousands of rows, so that long lives are held one at a time."""
    some: list[_Read] = []
    rows = 0
    for one in lives:
        here = one[2].height
        if some and (rows + here > _ROWS_AT_ONCE or one[0].place.run != some[0][0].place.run):
            yield some
            some, rows = [], 0
        some.append(one)
        rows += here
        del one
        if rows >= _ROWS_AT_ONCE:
            yield some
            some, rows = [], 0
    if some:
        yield some


# --- whose variants ------------------------------------------------------------------------------


class _Sets:
    """What one process does where parameters make tasks: it looks at the sets of each lifetime first."""

    def __init__(self, how: How) -> None:
        self.surveyor = Surveyor(how)

    def __call__(self, found: Found) -> tuple[Sets, ...]:
        how = self.surveyor.how.settings
        try:
            return tuple(
                replace(one.sets, id=place.identity.id)
                for place, one in self.surveyor.read(found)
                if (how.variants or one.variants) == "params"
            )
        except Exception:
            return ()  # what is wrong with it is said when it is scored


def settled_over(surveyor: Surveyor, found: Sequence[Found], count: int) -> Settled | None:
    """What parameter sets are called over the whole survey, experts included; None where names make tasks."""
    asked = surveyor.how.settings
    preset = Scorer(asked).prep.variants
    several = len(found) > 1 or any(one.part is not None for one in found)
    if preset not in (None, "params") or not several:
        return None
    if preset is None and not any(_by_parameters(one) for one in found):
        return None
    sets = worked(_Sets, surveyor.how, found, count)
    experts = [one.sets for one in surveyor.serving.everywhere()]
    return settle([each for one in sets for each in one] + experts)


def _by_parameters(found: Found) -> bool:
    """Whether a place holds lifetimes whose source takes parameters for a part of the task."""
    if found.lifetime is not None:
        return found.lifetime.variants == "params"
    try:
        return recognise(found.path) is READERS.get("learnkit")
    except PerdureError:
        return False
