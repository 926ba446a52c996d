"""Planning an evaluation: how many lifetimes, of one learner or two, with how many experts, and what it all costs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from msgspec import Struct, to_builtins

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.log.model import TIMESTAMP_FORMAT, Lifetime
from perdure.log.read import find, read
from perdure.metrics.presets import headline
from perdure.sample_size import lifetimes_by_rule
from perdure.stats.model import Document, Tails
from perdure.stats.pilot import PilotMetric
from perdure.stats.power import Dial, ExpertSample, Question, dial, lifetimes_exact, power


class Cost(Struct, frozen=True):
    """The cost of the planned lifetimes and their experts."""

    lives: int
    experts: int
    life_experiences: int
    expert_experiences: int
    experiences: int
    seconds_per_experience: float | None
    """From the pilot's timestamps; null without them."""
    seconds: float | None
    """The time that one machine needs."""
    machines: int
    wall_seconds: float | None
    """The time that all machines need together."""


def cost_of(lives: Sequence[int], experts: Sequence[int], pace: float | None, machines: int = 1) -> Cost:
    """Return the cost of lifetimes and experts of these lengths, at `pace` seconds per experience."""
    total = sum(lives) + sum(experts)
    seconds = None if pace is None else total * pace
    # No number of machines makes the longest lifetime shorter.
    longest = max([*lives, *experts], default=0)
    wall = None if seconds is None or pace is None else max(seconds / machines, longest * pace)
    return Cost(len(lives), len(experts), sum(lives), sum(experts), total, pace, seconds, machines, wall)


class PowerAt(Struct, frozen=True):
    """A number of lifetimes and the power that they reach."""

    lifetimes: int
    power: float


class Plan(Document, frozen=True):
    """The number of lifetimes that an effect of k standard deviations needs, and the power of a given number."""

    question: Question
    """One learner against a threshold minus its margin, or two learners; numbers are of each."""
    k: float
    alpha: float
    beta: float
    tails: Tails
    rule: int
    """By the rule of Baker et al. 2023, App. D, which assumes a known sd; twice that for unpaired learners."""
    exact: int | None
    """By the noncentral t, for the test that decides; null if experts are too few for any number."""
    after_holm: int | None
    """For two learners, if one headline metric alone differs."""
    power_at: PowerAt
    """The power of the rule's number, or of the number asked about."""
    curve: tuple[PowerAt, ...]
    dial: Dial | None = None
    """Power by lifetimes (rows) and experts per task (columns)."""
    pilot: Mapping[str, PilotMetric] | None = None
    cost: Cost | None = None
    notes: tuple[str, ...] = ()
    prior: Mapping[str, PilotMetric] | None = None
    """Without a pilot, from a study: half of its kinds of lifetimes stayed below `sd`, nine in ten below `sd_upper`."""

    def __repr__(self) -> str:
        return f"Plan({self.rule} lifetimes by the rule, {self.exact} exactly, for {self.k:g} sd)"

    def __len__(self) -> int:
        return len(self.metrics or self.curve)

    def __iter__(self) -> Iterator[tuple[str, PilotMetric] | PowerAt]:
        """Iterate over the rows of the table: a metric and its plan, or a number of lifetimes and its power."""
        return iter(self.metrics.items()) if self.metrics else iter(self.curve)

    @property
    def metrics(self) -> Mapping[str, PilotMetric]:
        """The plan of each metric, from a pilot or from a study."""
        return self.pilot or self.prior or {}

    def table(self) -> pl.DataFrame:
        """Return one row per metric of the pilot or the study, without either the power curve."""
        if not self.metrics:
            return pl.DataFrame(to_builtins(self.curve), schema={"lifetimes": pl.Int64(), "power": pl.Float64()})
        rows = ({"metric": name, **to_builtins(one)} for name, one in self.metrics.items())
        return pl.DataFrame([{name: value for name, value in row.items() if name != "dial"} for row in rows])


def family() -> int:
    """How many headline metrics two learners are compared by, which Holm's adjustment runs over."""
    return len(headline())


def make_plan(
    k: float = 1.0,
    alpha: float = 0.05,
    beta: float = 0.1,
    *,
    question: Question = "threshold",
    tails: Tails = "two",
    beside: ExpertSample | None = None,
    lifetimes: int | None = None,
) -> Plan:
    """The plan for an effect of `k` sd: of lifetimes, of paired learners of differences; of two learners, for each.

    `lifetimes` asks what a given number could see; `beside` are the experts that a metric is held against.
    """
    if lifetimes is not None and lifetimes < 2:
        raise PerdureError(f"{lifetimes} lifetimes have no spread", "plan for two or more")
    if beside is not None and not (beside.tasks >= 1 and 0 < beside.spread < math.inf):
        raise PerdureError(
            f"experts of {beside.tasks} tasks that differ by {beside.spread:g} sd", "give positive numbers for both"
        )
    rule = lifetimes_by_rule(k, alpha, beta, unpaired=question == "unpaired")
    exact = lifetimes_exact(k, alpha, beta, tails, question=question, beside=beside)
    two = question != "threshold"
    at = lifetimes or max(rule, 2)

    def power_at(count: int) -> PowerAt:
        return PowerAt(count, power(count, k, alpha, tails, question=question, beside=beside))

    return Plan(
        question,
        k,
        alpha,
        beta,
        tails,
        rule,
        exact,
        lifetimes_exact(k, alpha / family(), beta, tails, question=question, beside=beside) if two else None,
        power_at(at),
        tuple(power_at(count) for count in _counts(max(exact or 0, at))),
        dial(k, alpha, beta, beside, tails, question) if beside else None,
    )


def _counts(most: int) -> tuple[int, ...]:
    """Every number of lifetimes up to a little beyond what is needed, thinned out where there are many."""
    last = max(6, math.ceil(1.5 * most))
    return tuple(dict.fromkeys(round(one) for one in np.linspace(2, last, min(last - 1, 40))))


_CHRONO_FORMAT = TIMESTAMP_FORMAT.replace(".%f", "%.f")  # the same, as Polars spells it


def pace_of(folders: Iterable[str | os.PathLike[str]]) -> float | None:
    """How long the experiences of the lives in these folders took; what cannot be read does not count."""

    def readable() -> Iterator[Lifetime]:
        for one in (one for folder in map(Path, folders) if folder.is_dir() for one in find(folder)):
            with suppress(PerdureError):
                yield read(one)

    return seconds_per_experience(readable())


def seconds_per_experience(lifetimes: Iterable[Lifetime]) -> float | None:
    """The time from first to last record over the experiences between them, all lives together.

    None where no life has two timestamps that differ. Evaluation counts as learning does: a life has both.
    """
    seconds, intervals = 0.0, 0
    for lived in lifetimes:
        times = lived.experiences["timestamp"].str.to_datetime(_CHRONO_FORMAT, strict=False).drop_nulls()
        span = times.max(), times.min()
        if times.len() < 2 or span[0] is None or span[1] is None or span[0] == span[1]:
            continue
        seconds += (span[0] - span[1]).total_seconds()  # type: ignore[operator, union-attr]
        intervals += lived.experiences.select(pl.struct("block_num", "exp_num").n_unique()).item() - 1
    return seconds / intervals if intervals else None
