"""Check a syllabus: its problems, and the metrics that it can answer, before any compute is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from perdure.errors import UnknownNameError
from perdure.lazy import pl
from perdure.results import Tabular
from perdure.scenario.model import Scenario
from perdure.scenario.problems import LEVELS, SyllabusProblem, where
from perdure.scenario.rules import KIND_RULES, KINDS, advice
from perdure.scenario.sites import key_text
from perdure.scenario.syllabus import Syllabus, parse_syllabus, syllabus_text
from perdure.scenario.variants import Variants, under
from perdure.text import plural


class SiteLike(Protocol):
    """A place where a metric can be read; its key is a task or an ordered pair of tasks."""

    @property
    def key(self) -> str | tuple[str, str]: ...


class Sited(Protocol):
    """The part of a metric that lint needs."""

    @property
    def name(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def expert(self) -> bool: ...
    @property
    def sites(self) -> Callable[[Scenario], Iterable[SiteLike]]: ...


class Eligibility(Struct, frozen=True):
    """The number of values of a metric that a scenario gives, for which tasks or pairs, or why none."""

    sites: int
    keys: tuple[str, ...]
    why: str | None
    expert: bool = False
    """Whether an expert is needed besides."""


class LintReport(Tabular, Struct, frozen=True):
    """The problems of a syllabus and the metrics that it can answer; `facts` is the same as JSON."""

    syllabus: Syllabus
    problems: tuple[SyllabusProblem, ...]
    metrics: Mapping[str, Eligibility]
    kind: str | None = None
    tasks: tuple[str, ...] = ()
    """The tasks as a lifetime of it would be scored."""

    def __repr__(self) -> str:
        answered = sum(one.sites > 0 for one in self.metrics.values())
        told = f"{plural(len(self), 'problem')}, {answered} of {len(self.metrics)} metrics"
        return f"LintReport({self.syllabus.scenario.name!r}, {'ok' if self.ok else 'not ok'}, {told})"

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[SyllabusProblem]:
        return iter(self.problems)

    def as_json(self) -> dict[str, Any]:
        """Return `facts`."""
        return self.facts

    def table(self) -> pl.DataFrame:
        """Return one row per metric: the number of values that the scenario gives, or why none."""
        rows = [(name, one.sites, ", ".join(one.keys), one.why, one.expert) for name, one in self.metrics.items()]
        kinds = {"metric": pl.String(), "sites": pl.Int64(), "keys": pl.String(), "why": pl.String()}
        return pl.DataFrame(rows, schema={**kinds, "expert": pl.Boolean()}, orient="row")

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return all(problem.level != "error" for problem in self.problems)

    @property
    def facts(self) -> dict[str, Any]:
        """The report as JSON; a count of experiences is null if a block is measured in steps."""
        scenario = self.syllabus.scenario
        return {
            "ok": self.ok,
            "name": scenario.name,
            "blocks": len(scenario.blocks),
            "experiences": _experiences(scenario, ("learn", "evaluate")),
            "learning_experiences": _experiences(scenario, ("learn",)),
            "evaluation_experiences": _experiences(scenario, ("evaluate",)),
            "phases": list(dict.fromkeys(self.syllabus.phases)),
            "tasks": list(self.tasks),
            "problems": [
                {"level": found.level, "where": found.where, "what": found.what, "fix": found.fix}
                for found in self.problems
            ],
            "metrics": {
                name: {"sites": found.sites, "keys": list(found.keys), "why": found.why}
                for name, found in self.metrics.items()
            },
        }


def lint(
    syllabus: str | bytes | Syllabus,
    *,
    kind: str | None = None,
    metrics: Iterable[Sited] | Callable[[str | None], Iterable[Sited]] = (),
    place: str = "syllabus",
    variants: Variants = "name",
) -> LintReport:
    """Return the problems of a syllabus (as text, or as data), and which of `metrics` it can answer.

    `kind` is one of the 2019 types, whose structure rules then apply; without it the header's `scenario_type` decides.
    `metrics` may be a function of the type. `place` is where the text was found, and `variants` decides what counts as
    a task when a lifetime is scored. Raise a ScenarioError if it is not a syllabus.
    """
    text = syllabus_text(syllabus) if isinstance(syllabus, Syllabus) else syllabus
    parsed, problems = parse_syllabus(text, place)
    chosen = _kind(kind, parsed)
    findings = [finding for rule in KIND_RULES.get(chosen or "", ()) for finding in rule(parsed)]
    if parsed.scenario.blocks:
        findings += advice(parsed, chosen)
    scored = under(parsed.scenario, variants)
    everything = [*problems]
    for finding in findings:
        steps = ("instructions",) if finding.block is None else parsed.places[finding.block]
        everything.append(SyllabusProblem(finding.level, where(steps), finding.what, finding.fix))
    return LintReport(
        parsed,
        tuple(sorted(everything, key=lambda problem: LEVELS.index(problem.level))),
        {one.name: _eligibility(one, scored) for one in (metrics(chosen) if callable(metrics) else metrics)},
        chosen,
        tuple(task.label for task in scored.tasks),
    )


def _kind(kind: str | None, syllabus: Syllabus) -> str | None:
    known = {word.lower(): word for word in KINDS}
    if kind is not None and kind.lower() not in known:
        raise UnknownNameError("syllabus type", kind, KINDS)
    return known.get(str(kind or syllabus.scenario.info.get("scenario_type", "")).lower())


def _eligibility(metric: Sited, scenario: Scenario) -> Eligibility:
    try:
        keys = [site.key for site in metric.sites(scenario)]
        # Some sites know which evaluation is missing, which is more precise than the general need.
        missing = getattr(metric.sites, "missing", None)
        why = None if keys else (missing and missing(scenario)) or f"needs {metric.needs}"
    except Exception as problem:  # a plug-in's sites may raise anything; name it rather than hide it
        keys, why = [], f"its sites cannot be found: {type(problem).__name__}: {problem}"
    return Eligibility(len(keys), tuple(map(key_text, dict.fromkeys(keys))), why, metric.expert)


def _experiences(scenario: Scenario, modes: tuple[str, ...]) -> int | None:
    lengths = [block.length for block in scenario.blocks if block.mode in modes]
    return None if None in lengths else sum(length or 0 for length in lengths)
