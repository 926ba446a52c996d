"""Evaluate a protocol: the metrics that its runs can answer, and their scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.lazy import pl
from perdure.metrics.declare import METRICS
from perdure.results import Tabular
from perdure.runner.engines import Tell
from perdure.runner.protocol import Protocol
from perdure.runner.runner import PreparedRun, RunResult
from perdure.scenario.lint import LintReport
from perdure.settings import Settings
from perdure.settings.presets import STANDARD
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Group
from perdure.text import join_words, plural

_REPORT = "report.html"


class ProtocolLint(Tabular, Struct, frozen=True):
    """Lint reports of a protocol's scenarios, and whether its experts suffice.

    Attributes
    ----------
    name
        Name of the protocol.
    scenarios
        Scenario → its report.
    few_experts
        The consequence of too few experts, as a sentence. None if they suffice.
    """

    name: str
    scenarios: Mapping[str, LintReport]
    few_experts: str | None

    def __repr__(self) -> str:
        experts = ", few experts" if self.few_experts else ""
        return f"ProtocolLint({self.name!r}, {plural(len(self), 'scenario')}, {'ok' if self.ok else 'not ok'}{experts})"

    def __len__(self) -> int:
        return len(self.scenarios)

    def __iter__(self) -> Iterator[LintReport]:
        return iter(self.scenarios.values())

    @property
    def ok(self) -> bool:
        """Whether every scenario is free of errors."""
        return all(report.ok for report in self)

    def table(self) -> pl.DataFrame:
        """Return one row per scenario and metric: the number of values, or why there is none."""
        return pl.concat(
            report.table().select(pl.lit(name).alias("scenario"), pl.all()) for name, report in self.scenarios.items()
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything as one JSON object, as `perdure lint --json` writes it."""
        scenarios = {name: report.as_json() for name, report in self.scenarios.items()}
        return {"protocol": self.name, "scenarios": scenarios, "few_experts": self.few_experts}


class PreparedProtocol(Tabular, Struct, frozen=True, eq=False, dict=True):
    """A protocol that can be run: one run per learner, and the settings of the score. Nothing has run yet.

    Attributes
    ----------
    into
        Run folder.
    runs
        One run per learner.
    settings
        Settings that its lifetimes are scored with.
    in_part
        Whether only a part is run. A part is not scored.
    """

    into: str
    runs: tuple[PreparedRun, ...]
    settings: Settings
    in_part: bool = False

    def __repr__(self) -> str:
        missing = sum(len(run.missing) for run in self.runs)
        return f"PreparedProtocol({self.name!r}, {join_words(self.titles)}, {missing} to run)"

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[PreparedRun]:
        return iter(self.runs)

    @property
    def name(self) -> str:
        """The protocol's name."""
        return self.runs[0].plan.protocol.name

    @property
    def titles(self) -> tuple[str, ...]:
        """The learners' names, in the order in which they run."""
        return tuple(run.plan.protocol.title for run in self.runs)

    @cached_property
    def unanswered(self) -> dict[str, list[str]]:
        """Scenario → the metrics with a threshold that it cannot answer."""
        from perdure.metrics.presets import PRESETS
        from perdure.scenario.lint import lint

        settings, plan = self.settings, self.runs[0].plan  # all learners run the same scenarios
        metrics = [metric for metric in PRESETS.get(settings.preset).metrics.values() if metric.threshold is not None]
        unanswered: dict[str, list[str]] = {}
        for scenario in plan.protocol.scenarios:
            first = next(job for job in plan.lives if job.scenario == scenario.name)
            report = lint(first.syllabus, metrics=metrics, variants=settings.variants or "name")
            unanswered[scenario.name] = [name for name, result in report.metrics.items() if result.sites == 0]
        return unanswered

    def few_experts(self, run: PreparedRun) -> str:
        """Return a sentence about the verdicts that a run has too few experts for, or an empty text."""
        return few_experts(run.plan.protocol, self.settings)

    def run(self, tell: Tell | None = None, *, score: bool = True) -> Evaluation:
        """Run the missing jobs, score them, and write a report; `tell` is called with each event."""
        return self.evaluated([run.live(tell) for run in self.runs], score=score)

    def table(self) -> pl.DataFrame:
        """Return one row per lifetime, expert and twin of each learner: length, seed, and whether it is missing."""
        return _stack(self.titles, self.runs)

    def as_json(self) -> dict[str, Any]:
        """Return the plan as one JSON object, as `perdure run --dry-run --json` writes it."""
        facts = [
            {**run.as_json(), "unanswered": self.unanswered, "few_experts": self.few_experts(run) or None}
            for run in self.runs
        ]
        if len(facts) == 1:
            return facts[0]
        return {"protocol": self.name, "learners": dict(zip(self.titles, facts, strict=True))}

    def evaluated(self, results: Sequence[RunResult], *, score: bool = True) -> Evaluation:
        """Score the finished lifetimes of these runs, and write a report if any is new."""
        finished = [result.folder.path for result in results if result.finished_lives]
        if self.in_part or not score or not finished:
            return Evaluation(self, tuple(results))
        from perdure.gather.survey import survey
        from perdure.reports.thinned import thin_lifetime
        from perdure.reports.write import report
        from perdure.stats.groups import groups

        scored = survey(finished, settings=self.settings, look=thin_lifetime, learning=True)
        page = Path(self.into) / _REPORT
        if any(result.lived for result in results) or not page.exists():
            report(scored, page, title=f"{self.name}: {join_words(self.titles)}")
        return Evaluation(self, tuple(results), GroupedSurvey(scored, groups(scored)), str(page))


class Evaluation(Tabular, Struct, frozen=True, eq=False):
    """The runs of a protocol, one per learner, and their scores.

    Attributes
    ----------
    prepared
        The protocol with its settings.
    runs
        One result per learner. Empty after a dry run.
    scored
        The scores by group. None if there is nothing to score, or only a part was run.
    report
        Path of the report. None if nothing was scored.
    """

    prepared: PreparedProtocol
    runs: tuple[RunResult, ...] = ()
    scored: GroupedSurvey | None = None
    report: str | None = None

    def __repr__(self) -> str:
        counts = [plural(len(self.runs), "learner"), f"{len(self.lived)} lived", f"{len(self.failed)} failed"]
        return f"Evaluation({self.prepared.name!r}, {', '.join(counts)}, {len(self.missing)} missing)"

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[RunResult]:
        return iter(self.runs)

    @property
    def survey(self) -> Survey | None:
        """The lifetimes of all learners, scored."""
        return None if self.scored is None else self.scored.survey

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group per learner and scenario type."""
        return () if self.scored is None else self.scored.groups

    @property
    def lived(self) -> tuple[str, ...]:
        """The lifetimes and experts that were run now, by path below the run folder."""
        return tuple(self._named(run, name) for run in self.runs for name in run.lived)

    @property
    def failed(self) -> dict[str, str]:
        """Lifetime or expert → why it failed."""
        return {self._named(run, name): why for run in self.runs for name, why in run.failed.items()}

    @property
    def missing(self) -> tuple[str, ...]:
        """The lifetimes and experts that are still to be run."""
        return tuple(self._named(run, name) for run in self.runs for name in run.missing)

    @property
    def whole(self) -> bool:
        """Whether nothing failed, nothing requested is missing, and nothing was left out of the score."""
        left_out = self.survey is not None and self.survey.left_out
        return not self.failed and (self.prepared.in_part or not self.missing) and not left_out

    def table(self) -> pl.DataFrame:
        """Return one row per lifetime, expert and twin: finished or not, and why it failed. Without runs, the plan."""
        return _stack(self.prepared.titles, self.runs) if self.runs else self.prepared.table()

    def as_json(self) -> dict[str, Any]:
        """Return everything as one JSON object, as `perdure run --json` writes it. Without runs, the plan."""
        facts = self.prepared.as_json()
        if len(self.prepared) == 1:
            score = {"score": None if self.scored is None else self.scored.as_json()} if self.runs else {}
            return {**facts, **{name: fact for run in self.runs for name, fact in run.as_json().items()}, **score}
        for title, run in zip(self.prepared.titles, self.runs, strict=False):
            facts["learners"][title].update(run.as_json())
        if self.survey is None:
            return facts
        left_out = [{"path": path, "why": why} for path, why in self.survey.left_out]
        return {**facts, "score": [group.as_json() for group in self.groups], "left_out": left_out}

    def _named(self, run: RunResult, name: str) -> str:
        return name if len(self.runs) == 1 else f"{run.plan.protocol.title}/{name}"


def settings_of(protocol: Protocol) -> Settings:
    """Return the settings that a protocol's lifetimes are scored with. Raise before anything runs if they are wrong."""
    from perdure.metrics.presets import compared
    from perdure.metrics.score import Scorer

    settings = Settings(**protocol.score, origins=dict.fromkeys(protocol.score, "protocol"))
    if protocol.primary and METRICS.canonical(protocol.primary) not in compared():
        raise UnknownNameError("primary metric", protocol.primary, compared()).with_place(file=protocol.place)
    try:
        Scorer(settings)
    except PerdureError as problem:
        raise problem.with_place(file=protocol.place, where="[score]") from problem
    return settings


def few_experts(protocol: Protocol, settings: Settings) -> str:
    """Return a sentence about the verdicts that a protocol has too few experts for, or an empty text."""
    from perdure.metrics.presets import PRESETS
    from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS

    metrics = PRESETS.get(settings.preset).metrics.values()
    relative = [metric.name for metric in metrics if metric.expert and metric.threshold is not None]
    if not relative or protocol.experts >= FEW_EXPERTS:
        return ""
    count, names = plural(protocol.experts, "expert") + " per task", " and ".join(relative)
    if not protocol.experts:
        return f"no experts: {names} will have no value; set experts = {FEW_EXPERTS} in the protocol"
    if settings.preset != STANDARD:
        return ""  # papers take experts as constants
    if protocol.experts < TOO_FEW_EXPERTS:
        least = f"a verdict needs {TOO_FEW_EXPERTS}, and {FEW_EXPERTS} to carry no flag"
        return f"{count}: too few for a verdict on {names}; {least}"
    return f"{count}: the verdict on {names} will be flagged 'few experts'; run {FEW_EXPERTS} to avoid that"


def _stack(titles: Sequence[str], runs: Sequence[Tabular]) -> pl.DataFrame:
    """Return the tables of several learners as one, with a column for the learner."""
    return pl.concat(
        run.table().select(pl.lit(title).alias("learner"), pl.all()) for title, run in zip(titles, runs, strict=True)
    )
