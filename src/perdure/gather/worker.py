"""Work of one process of a survey: read lifetimes, give them their experts, and score them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from perdure.curves.experts import Experts, merge_experts, read_experts
from perdure.curves.model import Curves
from perdure.errors import PerdureError
from perdure.gather.find import Found, OwnExpert
from perdure.gather.model import ScoredLifetime
from perdure.gather.pool import parallel_map
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.read import READERS, Options, lifetimes, recognise
from perdure.log.variants import Sets, Settled, settle
from perdure.metrics.score import Scorer
from perdure.settings import Settings

CurveHook = Callable[[Curves, int], Any]
"""Returns what to keep of a lifetime's curves, given the number of lifetimes; the result must survive a pickle."""


class ScoreJob(msgspec.Struct, frozen=True):
    """Everything that a process needs before it scores its first lifetime."""

    settings: Settings
    experts: tuple[str | Lifetime, ...] = ()
    """Experts that were given; they serve every lifetime."""
    own_experts: tuple[OwnExpert, ...] = ()
    """Experts found among the lifetimes; those of a run folder serve its lifetimes only."""
    settled: Settled | None = None
    """Names of the parameter sets in all lifetimes, if parameters make tasks."""
    look: CurveHook | None = None
    count: int = 1
    """Number of lifetimes, or files of them."""


class ScoreResult(msgspec.Struct, frozen=True):
    """The scored lifetimes of one place, what was left out, and which experts were used so far."""

    lifetimes: tuple[tuple[str, ScoredLifetime], ...]
    """Each with its name inside a file of several, or an empty name."""
    left_out: tuple[tuple[str, str], ...] = ()
    experts_left_out: tuple[tuple[str, str], ...] = ()
    experts_served: tuple[str, ...] = ()


class ExpertPool:
    """Experts, read once each, for the lifetimes that may be compared with them.

    Experts found in a run folder serve the lifetimes of that run only, because they belong to its learner.
    Those that were `given`, and those found in no run folder, serve all.
    """

    def __init__(
        self,
        given: Iterable[str | os.PathLike[str] | Lifetime] = (),
        found: Iterable[OwnExpert] = (),
        options: Options | None = None,
    ) -> None:
        self._options = options or Options()
        self._found: dict[Path | None, list[OwnExpert]] = {}
        for expert in found:
            self._found.setdefault(expert.run, []).append(expert)
        given = tuple(given)
        in_memory = [expert for expert in given if isinstance(expert, Lifetime)]
        paths = [expert for expert in given if not isinstance(expert, Lifetime)]
        # A wrong path is an error of the call, and raised at once.
        read = read_experts([*paths, *(expert.path for expert in self._found.pop(None, ()))], self._options)
        experts = tuple(expert for expert in in_memory if expert.role != "twin")
        twins = tuple(expert for expert in in_memory if expert.role == "twin")
        self._for_all = merge_experts(Experts(experts, twins=twins), read)
        self._for_run: dict[Path | None, Experts] = {}

    def of(self, run: Path | None) -> Experts:
        """Return the experts of a lifetime in the run folder `run`, or in none."""
        if run not in self._for_run:
            own = self._found.get(run)
            read = read_own_experts(own, self._options) if own else Experts()
            self._for_run[run] = merge_experts(self._for_all, read)
        return self._for_run[run]

    def all(self) -> tuple[Lifetime, ...]:
        """Return every expert of every run."""
        found = {id(expert): expert for run in (None, *self._found) for expert in self.of(run).lifetimes}
        return tuple(found.values())


def read_own_experts(found: Iterable[OwnExpert], options: Options) -> Experts:
    """Read experts that were found among lifetimes, without those that the protocol of their run does not plan."""
    surplus = {expert.path: expert.surplus for expert in found}
    read = read_experts(surplus, options)

    def planned(experts: Iterable[Lifetime]) -> tuple[Lifetime, ...]:
        return tuple(expert for expert in experts if expert.inside not in surplus.get(str(expert.path), ()))

    return replace(read, lifetimes=planned(read.lifetimes), twins=planned(read.twins))


class ScoreWorker:
    """Scores the lifetimes at one place after the other; it keeps the experts between them."""

    def __init__(self, job: ScoreJob, experts: ExpertPool | None = None) -> None:
        self.job = job
        self.options = job.settings.reading()
        self.experts = experts or ExpertPool(job.experts, job.own_experts, self.options)
        self._scorers: dict[Path | None, Scorer] = {}
        self.raised: PerdureError | None = None
        """The error behind the last reason for leaving something out."""

    def __call__(self, found: Found) -> ScoreResult:
        """Score every lifetime at a place; those that cannot be scored are left out with the reason."""
        lives: list[tuple[str, ScoredLifetime]] = []
        left_out: list[tuple[str, str]] = []
        scorer: Scorer | None = None
        try:
            scorer = self._scorer(found.run)
            for place, lifetime in self.read(found):
                try:
                    lives.append(("" if place is found else lifetime.inside, self._score(scorer, place, lifetime)))
                except Exception as problem:
                    left_out.append(self._leave_out(place, problem))
        except Exception as problem:
            scorer = None
            left_out.append(self._leave_out(found, problem))
        unused, used = (scorer.left_out, scorer.served) if scorer else ({}, ())
        return ScoreResult(tuple(lives), tuple(left_out), tuple(unused.items()), tuple(used))

    def _scorer(self, run: Path | None) -> Scorer:
        if run not in self._scorers:
            self._scorers[run] = Scorer(self.job.settings, self.experts.of(run), self.job.settled)
        return self._scorers[run]

    def read(self, found: Found) -> Iterator[tuple[Found, Lifetime]]:
        """Read the lifetimes at a place, without the experts in a file of several."""
        if found.lifetime is not None:
            yield found, found.lifetime
            return
        options = replace(self.options, rows=self.options.rows or found.rows)
        for lifetime in lifetimes(found.path, options, found.part):
            if not lifetime.inside:
                yield found, lifetime
            elif lifetime.role == "life" and lifetime.inside not in found.surplus:
                yield found.inside(lifetime.inside), lifetime

    def _score(self, scorer: Scorer, place: Found, lifetime: Lifetime) -> ScoredLifetime:
        score, curves = scorer.scored(lifetime, place.identity)
        if self.job.look is None:
            return ScoredLifetime(score)
        return ScoredLifetime(score, self.job.look(curves, self.job.count), lifetime.manifest, lifetime.info)

    def _leave_out(self, place: Found, problem: Exception) -> tuple[str, str]:
        name = place.identity.source or place.identity.id
        if isinstance(problem, PerdureError):
            self.raised = problem
            return name, as_text(str(problem))
        if os.environ.get("PERDURE_TRACEBACK"):
            raise problem
        return name, as_text(f"{place.path}: internal error: {type(problem).__name__}: {problem}")


# --- parameter sets ------------------------------------------------------------------------------


class _SetReader:
    """Reads the parameter sets of the lifetimes at a place, if parameters make tasks there."""

    def __init__(self, job: ScoreJob) -> None:
        self.worker = ScoreWorker(job)

    def __call__(self, found: Found) -> tuple[Sets, ...]:
        variants = self.worker.job.settings.variants
        try:
            return tuple(
                replace(lifetime.sets, id=place.identity.id)
                for place, lifetime in self.worker.read(found)
                if (variants or lifetime.variants) == "params"
            )
        except Exception:
            return ()  # scoring it reports the problem


def settle_sets(worker: ScoreWorker, found: Sequence[Found], count: int) -> Settled | None:
    """Name the parameter sets over the whole survey, experts included; None if names make tasks."""
    variants = Scorer(worker.job.settings).prep.variants
    several = len(found) > 1 or any(place.part is not None for place in found)
    if variants not in (None, "params") or not several:
        return None
    if variants is None and not any(map(_has_parameter_tasks, found)):
        return None
    sets = parallel_map(_SetReader, worker.job, found, count)
    experts = [expert.sets for expert in worker.experts.all()]
    return settle([one for at_place in sets for one in at_place] + experts)


def _has_parameter_tasks(found: Found) -> bool:
    """Return whether a place holds lifetimes whose source makes parameters part of the task."""
    if found.lifetime is not None:
        return found.lifetime.variants == "params"
    try:
        return recognise(found.path) is READERS.get("learnkit")
    except PerdureError:
        return False
