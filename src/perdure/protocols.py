"""What a protocol will be able to say, before it is run: its settings, the metrics it answers, its experts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.results import Tabular
from perdure.settings import Settings
from perdure.settings.presets import STANDARD
from perdure.words import plural

if TYPE_CHECKING:
    from perdure.run.plan import Plan as Jobs
    from perdure.run.protocol import Protocol
    from perdure.scenario.lint import LintReport
    from perdure.stats.plan import Plan

__all__ = ["ProtocolLint", "experts_in", "few_experts", "lint_protocol", "settings_of", "unanswered", "with_cost"]


@dataclass(frozen=True, repr=False)
class ProtocolLint(Tabular):
    """What `lint` finds in each scenario of a protocol, and whether its experts suffice."""

    name: str
    scenarios: Mapping[str, LintReport]
    few_experts: str | None
    """What the number of experts keeps from being decided, in words."""

    def __repr__(self) -> str:
        told = ", few experts" if self.few_experts else ""
        return f"ProtocolLint({self.name!r}, {plural(len(self), 'scenario')}, {'ok' if self.ok else 'not ok'}{told})"

    def __len__(self) -> int:
        return len(self.scenarios)

    def __iter__(self) -> Iterator[LintReport]:
        return iter(self.scenarios.values())

    @property
    def ok(self) -> bool:
        """Whether no scenario has an error."""
        return all(one.ok for one in self)

    def table(self) -> pl.DataFrame:
        """One row per scenario and metric: how many values it gives, or why none."""
        return pl.concat(
            one.table().select(pl.lit(name).alias("scenario"), pl.all()) for name, one in self.scenarios.items()
        )

    def as_json(self) -> dict[str, Any]:
        """All of it as one JSON object, as `perdure lint --json` writes it."""
        scenarios = {name: one.as_json() for name, one in self.scenarios.items()}
        return {"protocol": self.name, "scenarios": scenarios, "few_experts": self.few_experts}


def lint_protocol(
    path: str | os.PathLike[str], settings: Settings | None = None, *, kind: str | None = None
) -> ProtocolLint:
    """Whether each syllabus of a protocol is sound, which metrics it can answer, and whether experts suffice."""
    from perdure.run.protocol import read_protocols
    from perdure.verbs import lint

    protocol, *_ = read_protocols(os.fspath(path))  # its learners share all that is looked at
    gap = few_experts(protocol, settings_of(protocol))
    scenarios = {one.name: one.syllabus(protocol.seed) for one in protocol.scenarios}
    return ProtocolLint(
        protocol.name, {name: lint(one, settings, kind=kind) for name, one in scenarios.items()}, gap or None
    )


def experts_in(path: str | os.PathLike[str]) -> int:
    """How many experts a protocol has for each task variant."""
    from perdure.run.protocol import read_protocols

    return read_protocols(os.fspath(path))[0].experts


def with_cost(
    plan: Plan,
    protocol: str | os.PathLike[str],
    *,
    lifetimes: int | None = None,
    experts: int | None = None,
    pilot: Iterable[str | os.PathLike[str]] = (),
    machines: int = 1,
) -> Plan:
    """The plan, and what it costs to run it as a protocol: as many lifetimes as it asks for, unless they are given.

    `experts` per task are the protocol's unless given. How long it takes is known by the timestamps of a `pilot`.
    """
    from perdure.run.plan import Plan as Jobs
    from perdure.run.protocol import read_protocols
    from perdure.stats.pace import pace_of
    from perdure.stats.plan import Cost

    most = max((one.lifetimes or 0 for one in plan.metrics.values()), default=0)
    one = read_protocols(os.fspath(protocol))[0].with_lifetimes(lifetimes or most or plan.exact or plan.rule)
    jobs = Jobs(one.with_experts(one.experts if experts is None else experts))
    lives, beside = [job.experiences for job in jobs.lives], [job.experiences for job in jobs.experts]
    longest = max([*lives, *beside], default=0)
    cost = Cost(len(lives), len(beside), sum(lives), sum(beside), pace_of(pilot), machines, longest)
    return replace(plan, cost=cost)


def settings_of(protocol: Protocol) -> Settings:
    """How a protocol's lifetimes are scored; what is wrong with that is said before any is run."""
    from perdure.metrics.engine.score import Scorer

    settings = Settings(**protocol.score, origins=dict.fromkeys(protocol.score, "protocol"))
    try:
        Scorer(settings)
    except PerdureError as problem:
        raise problem.at(file=protocol.place, where="[score]") from problem
    return settings


def unanswered(plan: Jobs, settings: Settings) -> dict[str, list[str]]:
    """For each scenario, the metrics with a threshold that it cannot answer."""
    from perdure.metrics.engine.presets import preset
    from perdure.scenario.lint import lint

    metrics = [metric for metric in preset(settings.preset).metrics.values() if metric.threshold is not None]
    found: dict[str, list[str]] = {}
    for scenario in plan.protocol.scenarios:
        life = next(job for job in plan.lives if job.scenario == scenario.name)
        report = lint(life.syllabus, metrics=metrics, variants=settings.variants or "name")
        found[scenario.name] = [name for name, one in report.metrics.items() if one.sites == 0]
    return found


def few_experts(protocol: Protocol, settings: Settings) -> str:
    """What a protocol's number of experts keeps from being decided, in words; nothing where it suffices."""
    from perdure.metrics.engine.presets import preset
    from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS

    metrics = preset(settings.preset).metrics.values()
    beside = [one.name for one in metrics if one.expert and one.threshold is not None]
    if not beside or protocol.experts >= FEW_EXPERTS:
        return ""
    here, which = plural(protocol.experts, "expert") + " per task", " and ".join(beside)
    if not protocol.experts:
        return f"no experts: {which} will have no value; set experts = {FEW_EXPERTS} in the protocol"
    if settings.preset != STANDARD:
        return ""  # papers take experts as constants
    if protocol.experts < TOO_FEW_EXPERTS:
        least = f"a verdict needs {TOO_FEW_EXPERTS}, and {FEW_EXPERTS} to carry no flag"
        return f"{here}: too few for a verdict on {which}; {least}"
    return f"{here}: the verdict on {which} will be flagged 'few experts'; run {FEW_EXPERTS} to avoid that"
