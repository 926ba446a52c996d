"""The worker of a survey's process: read lifetimes and their experts, and score them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from perdure.curves.arrays import Range
from perdure.curves.experts import Experts, merge_experts, read_experts
from perdure.curves.model import CommonRanges, Curves, RangeKey
from perdure.curves.prepare import merge_ranges, states_all_bounds
from perdure.errors import PerdureError
from perdure.gather.find import FoundLog
from perdure.gather.model import ScoredLifetime
from perdure.gather.pool import parallel_map
from perdure.log.manifest import manifest_in
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.read import READERS, Options, lifetimes, recognise
from perdure.log.variants import Sets, Settled, settle
from perdure.metrics.score import Scorer
from perdure.settings import Settings
from perdure.settings.presets import STANDARD

CurveHook = Callable[[Curves, int], Any]
"""Selects the data of a lifetime's curves to return, given the number of lifetimes. The result must be picklable."""


class ScoreJob(msgspec.Struct, frozen=True):
    """The arguments of a process that scores lifetimes."""

    settings: Settings
    experts: tuple[str | Lifetime, ...] = ()
    """Experts that were given, which serve every lifetime."""
    own_experts: tuple[FoundLog, ...] = ()
    """Experts found among the lifetimes. Those of a run folder serve only its lifetimes."""
    settled: Settled | None = None
    """Names of the parameter sets in all lifetimes, if parameters make tasks."""
    common: CommonRanges | None = None
    """Ranges over all lifetimes, if they come from the data."""
    look: CurveHook | None = None
    learning: bool = False
    """Whether scores keep their learning curves."""
    count: int = 1
    """Number of logs."""


class ScoreResult(msgspec.Struct, frozen=True):
    """The scored lifetimes of one log, those left out, and the experts used so far."""

    lifetimes: tuple[tuple[str, ScoredLifetime], ...]
    """Each with its name in a file of several, or an empty name."""
    left_out: tuple[tuple[str, str], ...] = ()
    experts_left_out: tuple[tuple[str, str], ...] = ()
    experts_served: tuple[str, ...] = ()


class ExpertPool:
    """The experts of lifetimes, each read once.

    Experts `found` in a run folder serve only the lifetimes of that run, because they belong to its learner. The
    `given` experts, and those found outside run folders, serve all lifetimes.
    """

    def __init__(
        self,
        given: Iterable[str | os.PathLike[str] | Lifetime] = (),
        found: Iterable[FoundLog] = (),
        options: Options | None = None,
    ) -> None:
        self._options = options or Options()
        self._found: dict[Path | None, list[FoundLog]] = {}
        for expert in found:
            self._found.setdefault(expert.run, []).append(expert)
        given = tuple(given)
        in_memory = [expert for expert in given if isinstance(expert, Lifetime)]
        paths = [expert for expert in given if not isinstance(expert, Lifetime)]
        # A wrong path is an error of the call, so it is raised here.
        read = read_experts([*paths, *(str(expert.path) for expert in self._found.pop(None, ()))], self._options)
        experts = tuple(expert for expert in in_memory if expert.role != "twin")
        twins = tuple(expert for expert in in_memory if expert.role == "twin")
        self._for_all = merge_experts(Experts(experts, twins=twins), read)
        self._for_run: dict[Path | None, Experts] = {}

    def of(self, run: Path | None) -> Experts:
        """Return the experts of a lifetime in the run folder `run`, or outside run folders if it is None."""
        if run not in self._for_run:
            own = self._found.get(run)
            read = read_own_experts(own, self._options) if own else Experts()
            self._for_run[run] = merge_experts(self._for_all, read)
        return self._for_run[run]

    def all(self) -> tuple[Lifetime, ...]:
        """Return every expert of every run."""
        experts = {id(expert): expert for run in (None, *self._found) for expert in self.of(run).lifetimes}
        return tuple(experts.values())


def read_own_experts(found: Iterable[FoundLog], options: Options) -> Experts:
    """Read experts that were found among lifetimes, without those that the protocol of their run does not plan."""
    surplus = {str(expert.path): expert.surplus for expert in found}
    read = read_experts(surplus, options)

    def planned(experts: Iterable[Lifetime]) -> tuple[Lifetime, ...]:
        return tuple(expert for expert in experts if expert.inside not in surplus.get(str(expert.path), ()))

    return replace(read, lifetimes=planned(read.lifetimes), twins=planned(read.twins))


class ScoreWorker:
    """A callable that scores the lifetimes of one log, and keeps the experts for the next."""

    def __init__(self, job: ScoreJob, experts: ExpertPool | None = None) -> None:
        self.job = job
        self.options = job.settings.reading()
        self.experts = experts or ExpertPool(job.experts, job.own_experts, self.options)
        self._scorers: dict[Path | None, Scorer] = {}
        self.raised: PerdureError | None = None
        """The error behind the latest reason for leaving a lifetime out."""

    def __call__(self, log: FoundLog) -> ScoreResult:
        """Score every lifetime of a log; those that cannot be scored are left out with the reason."""
        scored: list[tuple[str, ScoredLifetime]] = []
        left_out: list[tuple[str, str]] = []
        scorer: Scorer | None = None
        try:
            scorer = self.scorer(log.run)
            for member, lifetime in self.read(log):
                try:
                    scored.append(("" if member is log else lifetime.inside, self._score(scorer, member, lifetime)))
                except Exception as problem:
                    left_out.append(self._leave_out(member, problem))
        except Exception as problem:
            scorer = None
            left_out.append(self._leave_out(log, problem))
        unused, used = (scorer.left_out, scorer.served) if scorer else ({}, ())
        return ScoreResult(tuple(scored), tuple(left_out), tuple(unused.items()), tuple(used))

    def scorer(self, run: Path | None) -> Scorer:
        if run not in self._scorers:
            self._scorers[run] = Scorer(
                self.job.settings,
                self.experts.of(run),
                self.job.settled,
                common=self.job.common,
                learning=self.job.learning,
            )
        return self._scorers[run]

    def read(self, log: FoundLog) -> Iterator[tuple[FoundLog, Lifetime]]:
        """Read the lifetimes of a log, without the experts in a file of several."""
        if log.lifetime is not None:
            yield log, log.lifetime
            return
        options = replace(self.options, rows=self.options.rows or log.rows)
        for lifetime in lifetimes(log.path, options, log.part):
            if not lifetime.inside:
                yield log, lifetime
            elif lifetime.role == "life" and lifetime.inside not in log.surplus:
                yield log.member(lifetime.inside), lifetime

    def _score(self, scorer: Scorer, log: FoundLog, lifetime: Lifetime) -> ScoredLifetime:
        score, curves = scorer.scored(lifetime, log.identity)
        if self.job.look is None:
            return ScoredLifetime(score)
        return ScoredLifetime(score, self.job.look(curves, self.job.count), lifetime.manifest, lifetime.info)

    def _leave_out(self, log: FoundLog, problem: Exception) -> tuple[str, str]:
        name = log.identity.source or log.identity.id
        if isinstance(problem, PerdureError):
            self.raised = problem
            return name, as_text(str(problem))
        if os.environ.get("PERDURE_TRACEBACK"):
            raise problem
        return name, as_text(f"{log.path}: internal error: {type(problem).__name__}: {problem}")


# --- parameter sets ------------------------------------------------------------------------------


class _SetReader:
    """A callable that reads the parameter sets of the lifetimes of a log, if its parameters make tasks."""

    def __init__(self, job: ScoreJob) -> None:
        self.worker = ScoreWorker(job)

    def __call__(self, log: FoundLog) -> tuple[Sets, ...]:
        variants = self.worker.job.settings.variants
        try:
            return tuple(
                replace(lifetime.sets, id=member.identity.id)
                for member, lifetime in self.worker.read(log)
                if (variants or lifetime.variants) == "params"
            )
        except Exception:
            return ()  # scoring the log reports the problem


def settle_sets(worker: ScoreWorker, logs: Sequence[FoundLog], count: int) -> Settled | None:
    """Name the parameter sets of the whole survey, including experts; return None if names make tasks."""
    variants = Scorer(worker.job.settings).prep.variants
    several = len(logs) > 1 or any(log.part is not None for log in logs)
    if variants not in (None, "params") or not several:
        return None
    if variants is None and not any(map(_has_parameter_tasks, logs)):
        return None
    sets = parallel_map(_SetReader, worker.job, logs, count)
    experts = [expert.sets for expert in worker.experts.all()]
    return settle([*chain.from_iterable(sets), *experts])


# --- ranges --------------------------------------------------------------------------------------


class _RangeReader:
    """A callable that reads the ranges of the lifetimes of a log that come from its data."""

    def __init__(self, job: ScoreJob) -> None:
        self.worker = ScoreWorker(job)

    def __call__(self, log: FoundLog) -> tuple[Mapping[RangeKey, Range], ...]:
        try:
            if self._has_all_bounds(log):
                return ()
            scorer = self.worker.scorer(log.run)
            ranges = (scorer.data_ranges(lifetime) for _, lifetime in self.worker.read(log))
            return tuple(own for own in ranges if own)
        except Exception:
            return ()  # scoring the log reports the problem

    def _has_all_bounds(self, log: FoundLog) -> bool:
        """Return whether the log records bounds for every task, so that its rows need not be read twice."""
        settings = self.worker.job.settings
        if (
            settings.measure
            or settings.measures
            or settings.measure_for
            or log.lifetime is not None
            or not log.path.is_dir()
        ):
            return False
        return states_all_bounds(manifest_in(log.path))


def settle_ranges(worker: ScoreWorker, logs: Sequence[FoundLog], count: int) -> CommonRanges | None:
    """Return the ranges over all lifetimes and experts of the survey; None if each lifetime keeps its own."""
    settings = worker.job.settings
    prep = Scorer(settings).prep
    several = len(logs) > 1 or any(log.part is not None for log in logs)
    if settings.preset != STANDARD or prep.scale == "none" or not several:
        return None
    if prep.bounds is not None and not settings.measure_for:
        return None
    return merge_ranges([*chain.from_iterable(parallel_map(_RangeReader, worker.job, logs, count))])


def _has_parameter_tasks(log: FoundLog) -> bool:
    """Return whether a log holds lifetimes whose format makes parameters part of the task."""
    if log.lifetime is not None:
        return log.lifetime.variants == "params"
    try:
        return recognise(log.path) is READERS.get("learnkit")
    except PerdureError:
        return False
