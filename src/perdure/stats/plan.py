"""The result of planning: lifetimes of one learner or two by an effect in sd, and the cost of both."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.log.model import TIMESTAMP_FORMAT, Lifetime
from perdure.log.read import find, read
from perdure.metrics.presets import compared
from perdure.sample_size import lifetimes_by_rule
from perdure.stats.model import Document, Tails
from perdure.stats.pilot import PilotMetric
from perdure.stats.power import DESIGN, Design, PowerGrid, Question, lifetimes_exact, power, power_grid


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


def cost_of(lives: Sequence[int], experts: Sequence[int], per_experience_s: float | None, machines: int = 1) -> Cost:
    """Return the cost of lifetimes and experts of these lengths."""
    total = sum(lives) + sum(experts)
    seconds = None if per_experience_s is None else total * per_experience_s
    # No number of machines makes the longest lifetime shorter.
    longest = max([*lives, *experts], default=0)
    wall = None
    if seconds is not None and per_experience_s is not None:
        wall = max(seconds / machines, longest * per_experience_s)
    return Cost(len(lives), len(experts), sum(lives), sum(experts), total, per_experience_s, seconds, machines, wall)


class PowerAt(Struct, frozen=True):
    """A number of lifetimes and the power that they reach."""

    lifetimes: int
    power: float


class Plan(Document, frozen=True):
    """Number of lifetimes that an effect of k standard deviations needs, and the power of a given number.

    Attributes
    ----------
    question
        One learner against a threshold minus its margin, or two learners. Numbers are per learner.
    k
        Effect in standard deviations.
    alpha
        Significance level.
    beta
        Probability of missing the effect.
    tails
        Whether the test is one-sided or two-sided.
    rule
        Number by the rule of Baker et al. 2023, App. D, which assumes a known sd; twice that for unpaired learners.
    exact
        Number by the noncentral t, for the test that decides. None if no number suffices with so few experts.
    after_holm
        For two learners, the number if only one of the metrics tested together differs.
    power_at
        Power of the rule's number, or of the given number.
    curve
        Power by number of lifetimes.
    grid
        Power by lifetimes (rows) and experts per task (columns).
    pilot
        Metric → its plan, from a pilot.
    cost
        Estimated cost, if a protocol was given.
    notes
        Remarks about the plan.
    prior
        Metric → its plan without a pilot, from a study: `sd` is the median spread, `sd_upper` the 90th percentile.
    """

    question: Question
    k: float
    alpha: float
    beta: float
    tails: Tails
    rule: int
    exact: int | None
    after_holm: int | None
    power_at: PowerAt
    curve: tuple[PowerAt, ...]
    grid: PowerGrid | None = field(default=None, name="dial")
    pilot: Mapping[str, PilotMetric] | None = None
    cost: Cost | None = None
    notes: tuple[str, ...] = ()
    prior: Mapping[str, PilotMetric] | None = None

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
        """Return one row per metric of the pilot or the study, without nested values; otherwise the power curve."""
        if not self.metrics:
            return pl.DataFrame(to_builtins(self.curve), schema={"lifetimes": pl.Int64(), "power": pl.Float64()})
        rows = ({"metric": name, **to_builtins(metric)} for name, metric in self.metrics.items())
        nested = ("dial", "narrower")
        return pl.DataFrame([{name: value for name, value in row.items() if name not in nested} for row in rows])


def family() -> int:
    """Return the number of metrics that a comparison tests, over which Holm's adjustment runs."""
    return len(compared())


def make_plan(k: float = 1.0, design: Design = DESIGN, *, lifetimes: int | None = None) -> Plan:
    """Return the plan for an effect of `k` sd: of lifetimes, of paired learners of differences; of two learners each.

    `lifetimes` asks for the power of a given number instead of that of the rule's number.
    """
    if lifetimes is not None and lifetimes < 2:
        raise PerdureError(f"{lifetimes} lifetimes have no spread", "plan for two or more")
    experts = design.experts
    if experts is not None and not (experts.tasks >= 1 and 0 < experts.spread < math.inf):
        raise PerdureError(
            f"experts of {experts.tasks} tasks that differ by {experts.spread:g} sd", "give positive numbers for both"
        )
    rule = lifetimes_by_rule(k, design.alpha, design.beta, unpaired=design.question == "unpaired")
    exact = lifetimes_exact(k, design)
    after_holm = None
    if design.question != "threshold":
        after_holm = lifetimes_exact(k, replace(design, alpha=design.alpha / family()))
    shown = lifetimes or max(rule, 2)
    return Plan(
        design.question,
        k,
        design.alpha,
        design.beta,
        design.tails,
        rule,
        exact,
        after_holm,
        PowerAt(shown, power(shown, k, design)),
        tuple(PowerAt(count, power(count, k, design)) for count in _counts(max(exact or 0, shown))),
        power_grid(k, design),
    )


def _counts(most: int) -> tuple[int, ...]:
    """Return the numbers of lifetimes of the power curve: all up to half as many again as needed, at most 40."""
    last = max(6, math.ceil(1.5 * most))
    return tuple(dict.fromkeys(round(count) for count in np.linspace(2, last, min(last - 1, 40))))


_CHRONO_FORMAT = TIMESTAMP_FORMAT.replace(".%f", "%.f")  # in the syntax of Polars


def readable_lifetimes(folders: Iterable[str | os.PathLike[str]]) -> Iterator[Lifetime]:
    """Yield the lifetimes in these folders that can be read."""
    for folder in map(Path, folders):
        for source in find(folder) if folder.is_dir() else ():
            with suppress(PerdureError):
                yield read(source)


def seconds_per_experience(lifetimes: Iterable[Lifetime]) -> float | None:
    """Return the time from first to last record over the experiences between them, of all lifetimes together.

    None if no lifetime has two timestamps that differ. Evaluation counts as learning does.
    """
    seconds, intervals = 0.0, 0
    for lifetime in lifetimes:
        times = lifetime.experiences["timestamp"].str.to_datetime(_CHRONO_FORMAT, strict=False).drop_nulls()
        last, first = times.max(), times.min()
        if times.len() < 2 or last is None or first is None or first == last:
            continue
        seconds += (last - first).total_seconds()  # type: ignore[operator, union-attr]
        intervals += lifetime.experiences.select(pl.struct("block_num", "exp_num").n_unique()).item() - 1
    return seconds / intervals if intervals else None
