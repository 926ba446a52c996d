"""Report: verdicts, comparisons, checklist and provenance of lifetimes, before they are written as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import msgspec

from perdure import __version__
from perdure.gather.model import ScoredLifetime, Survey
from perdure.lazy import pl
from perdure.metrics.declare import Headline, Metric
from perdure.reports.data import baselines, comparable_groups, compare_groups
from perdure.reports.methods import ChecklistItem, checklist, methods
from perdure.results import Tabular, json_keys, to_plain, with_checksum
from perdure.stats.answer import answer, called, interpretation, leading, told_apart
from perdure.stats.compare import Comparison, name_sections
from perdure.stats.groups import GroupedSurvey, changed_learners
from perdure.stats.model import Estimate, Group
from perdure.stats.pairing import Want
from perdure.stats.sentences import decides, rule_of
from perdure.stats.tally import Tally, tally_of_groups
from perdure.text import interval, join_words, number, p_words, plural

_MOST_COMPARED = 30
_LEADS = {
    "met": "{group} shows {condition}",
    "not met": "{group} does not show {condition}",
    "undecided": "Whether {group} shows {condition} is undecided",
    "mixed": "{group} shows {condition} in part",
    "not measured": "{condition} was not measured for {group}",
}

CONDITION_RULE = (
    "A condition is met where every one of its headline metrics that has a value is met, not met where one is not met "
    "and none is met, mixed where some are met and some not met, else undecided."
)


class ConditionVerdict(msgspec.Struct, frozen=True):
    """Verdict on one group and one condition of lifelong learning."""

    group: str
    condition: str
    verdict: str
    """met, not met, undecided, mixed, or not measured."""
    sentence: str


class Report(Tabular, msgspec.Struct, frozen=True, eq=False):
    """Lifetimes and their groups, with verdicts, comparisons and provenance.

    Attributes
    ----------
    title
        Title of the report.
    data
        The scored lifetimes and their groups.
    verdicts
        One verdict per group and condition of lifelong learning.
    comparisons
        Comparisons of every group with the baseline.
    checklist
        Requirements of a sound evaluation, and whether they are met.
    provenance
        Versions, settings and commands.
    notes
        Remarks about the lifetimes.
    tally
        Every group against every threshold, under presets that test as Baker et al. 2023.
    leads
        Sentences about accuracy matrices, which precede the verdicts.
    """

    JSON: ClassVar = (
        *("title", "leads", "verdicts", "rule"),
        *(f"{key}:data.survey.{path}" for key, path in json_keys(Survey).items()),
        *("groups:data.groups", "tally", "comparisons", "checklist", "notes", "methods", "provenance"),
    )

    title: str
    data: GroupedSurvey
    verdicts: tuple[ConditionVerdict, ...]
    comparisons: tuple[Comparison, ...]
    checklist: tuple[ChecklistItem, ...]
    provenance: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()
    tally: Tally | None = None
    leads: tuple[str, ...] = ()

    def __repr__(self) -> str:
        groups = plural(len(self.data.groups), "group")
        return f"Report({self.title!r}, {groups}, {plural(len(self), 'verdict')})"

    def __len__(self) -> int:
        return len(self.verdicts)

    def __iter__(self) -> Iterator[ConditionVerdict]:
        return iter(self.verdicts)

    def table(self) -> pl.DataFrame:
        """Return one row per group and condition: its verdict, and a sentence."""
        texts = dict.fromkeys(("group", "condition", "verdict", "sentence"), pl.String())
        return pl.DataFrame([msgspec.structs.asdict(verdict) for verdict in self], schema=texts)

    @property
    def rule(self) -> str:
        """Rule by which verdicts are reached."""
        preset = self.data.survey.preset
        return f"{rule_of(preset)} {CONDITION_RULE}" if decides(preset) else rule_of(preset)

    @property
    def valued(self) -> tuple[str, ...]:
        """Metrics that have a value in some lifetime."""
        scores = self.data.survey.scores
        return tuple(
            name
            for name in self.data.survey.metrics
            if any(name in score.metrics and score.metrics[name].value is not None for score in scores)
        )

    @property
    def answers(self) -> tuple[str, ...]:
        """Sentences on comparisons, on accuracy matrices, and on each learner and scenario type."""
        groups = self.data.groups
        several = len({group.scenario_type for group in groups}) > 1
        sentences: list[str] = []
        for group in groups:
            name = told_apart(group, [peer for peer in groups if peer.scenario_type == group.scenario_type])
            prefix = name if name != called(group) else group.scenario_type if several else ""
            sentences.append(f"{prefix}: {answer(group)}" if prefix else answer(group))
        return (*self.compared, *self.leads, *sentences)

    @property
    def compared(self) -> tuple[str, ...]:
        """Sentences on which learner ends up better, one per comparison."""
        return tuple(comparison.answer for comparison in self.comparisons if comparison.answer)

    @property
    def methods(self) -> str:
        """Paragraph on methods for a paper."""
        return methods(self.data, self.comparisons)

    def as_json(self) -> dict[str, Any]:
        """Return the report as one JSON object, without curves."""
        return with_checksum(to_plain(self))


def given_settings(report: Report) -> str:
    """Return the settings that were given, with their sources."""
    places: dict[str, list[str]] = {}
    for name, source in report.provenance.get("settings_from", {}).items():
        if source not in ("preset", "log"):
            places.setdefault(source, []).append(name)
    return "; ".join(f"{', '.join(names)} ({source})" for source, names in places.items())


def report_of(
    data: GroupedSurvey,
    *,
    title: str | None = None,
    command: str = "",
    now: str = "",
    baseline: str | None = None,
    paired: Want = "auto",
) -> Report:
    """Return the report of lifetimes; `command` and `now` go into its provenance.

    Groups are compared with the `baseline`, or else with the last one, as in `perdure compare`.
    """
    return Report(
        title=title or _title(data),
        data=data,
        verdicts=verdicts(data.groups, data.survey.metrics),
        comparisons=compare_with_baselines(data, baseline, paired),
        checklist=checklist(data),
        provenance=_provenance(data, command, now),
        notes=_notes(data),
        tally=tally_of_groups(data.groups),
        leads=leads(data.groups, data.survey.metrics),
    )


def _title(data: GroupedSurvey) -> str:
    """Return the names of learners, or else of groups, or else of arguments; their number if there are many."""
    scores, count = [life.score for life in data.lifetimes], len(data.lifetimes)
    learners = list(dict.fromkeys(score.learner for score in scores if score.learner))
    if not learners and count == 1:
        return data.lifetimes[0].id
    groups = [group.group for group in data.groups if group.group != "all"]
    names = learners or groups or list(dict.fromkeys(filter(None, (score.identity.argument for score in scores))))
    if len(names) == 1:
        return f"{names[0]}: does it keep what it learns?"
    if 0 < len(names) <= 3:
        return join_words(names)
    return f"{len(names)} methods, {plural(count, 'lifetime')}" if names else plural(count, "lifetime")


def compare_with_baselines(
    data: GroupedSurvey, baseline: str | None = None, paired: Want = "auto"
) -> tuple[Comparison, ...]:
    """Compare each group with the baseline of its set."""
    bases = baselines(data, baseline)
    comparisons = (
        comparison
        for groups in comparable_groups(data)
        for base in bases
        if base in groups
        for comparison in compare_groups(data, [group for group in groups if group.n], base, paired=paired).values()
    )
    return name_sections(tuple(islice(comparisons, _MOST_COMPARED)))


def _notes(data: GroupedSurvey) -> tuple[str, ...]:
    notes: list[str] = []
    if data.apart:
        notes.append(data.apart)
    notes += changed_learners(data.survey.scores).values()
    notes += [
        f"{group.group}: {plural(len(group.left_out), 'lifetime')} not counted: the end was not reached"
        for group in data.groups
        if group.left_out
    ]
    shared = Counter(note for life in data.lifetimes for note in life.score.notes)
    for note, count in shared.most_common(8):
        notes.append(note if count == len(data.lifetimes) else f"{note} ({plural(count, 'lifetime')})")
    return tuple(notes)


def _provenance(data: GroupedSurvey, command: str, now: str) -> dict[str, Any]:
    survey = data.survey
    return {
        "perdure": __version__,
        "written": now,
        "command": command,
        "preset": survey.preset,
        "settings": dict(survey.settings),
        "settings_from": dict(survey.settings_from),
        "lifetimes": [_origin(life) for life in data.lifetimes],
    }


def _origin(life: ScoredLifetime) -> dict[str, Any]:
    recorded = ("protocol", "versions", "git", "machine", "command", "started")
    return {
        "id": life.id,
        "path": life.score.identity.source or None,
        "learner": life.score.learner,
        "seed": life.score.seed,
        "complete": life.score.complete,
        **{name: life.manifest[name] for name in recorded if life.manifest.get(name) is not None},
    }


# --- conditions of lifelong learning: the verdict in a sentence, one per condition and group ---------


def headline(declared: Mapping[str, Metric], kind: Headline = "log") -> tuple[str, ...]:
    """Return the headline metrics of logs, or of matrices, that have a threshold and a condition."""
    return tuple(
        name
        for name, metric in declared.items()
        if metric.headline == kind and metric.threshold is not None and metric.condition
    )


def verdicts(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[ConditionVerdict, ...]:
    """Return a verdict for each group and condition, in the order of the declarations."""
    results: list[ConditionVerdict] = []
    for group in groups:
        conditions: dict[str, list[str]] = {}
        for name in headline(declared, "matrix" if group.unit else "log"):
            conditions.setdefault(declared[name].condition, []).append(name)
        results += [_verdict(group, condition, names) for condition, names in conditions.items()]
    return tuple(results)


def leads(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[str, ...]:
    """Return sentences about groups of accuracy matrices: AA, LA, BWT and FM, and how to read them."""
    sentences: list[str] = []
    for group in groups:
        if group.unit and (numbers := leading(group)):
            name = group.lives[0] if group.n == 1 else f"{group.group}, {plural(group.n, 'lifetime')}"
            sentences += [f"{name}: {numbers}.", *interpretation(group, declared)]
    return tuple(sentences)


def _verdict(group: Group, condition: str, names: Sequence[str]) -> ConditionVerdict:
    estimates = [group.estimates[name] for name in names if name in group.estimates]
    valued = [estimate for estimate in estimates if estimate.mean is not None]
    verdict = _combine([estimate.verdict or "undecided" for estimate in valued])
    lead = _LEADS[verdict].format(group=group.group if group.group != "all" else "The learner", condition=condition)
    if not group.n and group.left_out:
        parts = [f"none of {plural(len(group.left_out), 'lifetime')} has reached its end"]
    elif valued:
        parts = [_metric_text(estimate) for estimate in valued]
    else:
        parts = [estimates[0].lacking if estimates else "no metric of it was scored"]
    return ConditionVerdict(group.group, condition, verdict, f"{lead}: {'; '.join(parts)}.")


def _combine(verdicts: Collection[str]) -> str:
    """Return the verdict on a condition from those on its metrics, as `CONDITION_RULE` states."""
    if not verdicts:
        return "not measured"
    if all(verdict == "met" for verdict in verdicts):
        return "met"
    if "not met" in verdicts:
        return "mixed" if "met" in verdicts else "not met"
    return "undecided"


def _metric_text(estimate: Estimate) -> str:
    """Return `performance maintenance −55.3 (95 % interval −57 to −53, 11 lifetimes) forgets (p < .001 …)`."""
    about = plural(estimate.n, "lifetime")
    if estimate.low is not None:
        about = f"{estimate.interval_name} {interval(estimate.low, estimate.high, ' to ')}, {about}"
    name, value = estimate.metric.replace("_", " "), number(estimate.mean, estimate.width)
    if estimate.withheld:
        return f"{name} {value} ({about}) {estimate.withheld}"
    tails = "one-tailed " if estimate.tails == "one" else ""
    test = "" if estimate.p is None else f" ({tails}{p_words(estimate.p)} against {number(estimate.against)})"
    meaning = f": {estimate.says}" if estimate.says and estimate.word not in ("undecided", None) else ""
    return f"{name} {value} ({about}) {estimate.word or estimate.verdict or 'undecided'}{test}{meaning}"
