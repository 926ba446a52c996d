"""Report: what is to be said about lifetimes, before it takes the form of a page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from itertools import islice
from typing import Any

from perdure import __version__
from perdure.frozen import frozen
from perdure.gather.model import Life
from perdure.lazy import pl
from perdure.metrics.engine.metric import Headline, Metric
from perdure.reports.checklist import ChecklistItem, checklist
from perdure.reports.data import baselines, comparable_groups, compare_groups
from perdure.reports.methods import methods
from perdure.results import Tabular, sealed
from perdure.stats.answer import answer, called, told_apart
from perdure.stats.difference import Comparison
from perdure.stats.groups import changed_learners
from perdure.stats.model import Estimate, Group
from perdure.stats.reading import leading, reading
from perdure.stats.scored import GroupedSurvey
from perdure.stats.sentences import decides, rule_of
from perdure.stats.tally import Tally, tally_of_groups
from perdure.words import interval, listed, number, p_words, plural

__all__ = ["CONDITION_RULE", "Report", "Verdict", "given_settings", "headline", "leads", "report_of", "verdicts"]

MOST_COMPARED = 6
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


@frozen
class Verdict:
    """What the lifetimes of one group say about one condition of lifelong learning."""

    group: str
    condition: str
    verdict: str
    """met, not met, undecided, mixed, or not measured."""
    sentence: str


@frozen(eq=False, repr=False)
class Report(Tabular):
    """Lifetimes, their groups, what they show, and where everything came from."""

    title: str
    material: GroupedSurvey
    verdicts: tuple[Verdict, ...]
    comparisons: tuple[Comparison, ...]
    checklist: tuple[ChecklistItem, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tally: Tally | None = None
    """Every group against every threshold, under presets that test as Baker et al. 2023 do."""
    leads: tuple[str, ...] = ()
    """What is said of accuracy matrices before any verdict."""

    def __repr__(self) -> str:
        groups = plural(len(self.material.groups), "group")
        return f"Report({self.title!r}, {groups}, {plural(len(self), 'verdict')})"

    def __len__(self) -> int:
        return len(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def table(self) -> pl.DataFrame:
        """One row per group and condition of lifelong learning: its verdict, and that in a sentence."""
        texts = dict.fromkeys(("group", "condition", "verdict", "sentence"), pl.String())
        return pl.DataFrame([asdict(one) for one in self], schema=texts)

    @property
    def rule(self) -> str:
        """How verdicts are reached."""
        preset = self.material.survey.preset
        return f"{rule_of(preset)} {CONDITION_RULE}" if decides(preset) else rule_of(preset)

    @property
    def valued(self) -> tuple[str, ...]:
        """The metrics of which any lifetime has a value."""
        lives = self.material.lives
        return tuple(
            name
            for name in self.material.survey.metrics
            if any(name in one.score.metrics and one.score.metrics[name].value is not None for one in lives)
        )

    @property
    def answers(self) -> tuple[str, ...]:
        """What is said of accuracy matrices, then a sentence per learner and scenario."""
        groups = self.material.groups
        several = len({group.scenario_type for group in groups}) > 1
        told: list[str] = []
        for group in groups:
            name = told_apart(group, [other for other in groups if other.scenario_type == group.scenario_type])
            where = name if name != called(group) else group.scenario_type if several else ""
            told.append(f"{where}: {answer(group)}" if where else answer(group))
        return (*self.leads, *told)

    @property
    def methods(self) -> str:
        """The statement of methods: a paragraph to paste into a paper."""
        return methods(self.material, self.comparisons)

    def as_json(self) -> dict[str, Any]:
        """Every fact of the report as one JSON object; curves are left to the logs."""
        facts = {
            "title": self.title,
            "leads": list(self.leads),
            "verdicts": [asdict(one) for one in self],
            "rule": self.rule,
            **self.material.survey.facts(),
            "groups": [group.as_json() for group in self.material.groups],
            "tally": self.tally.as_json() if self.tally else None,
            "comparisons": [one.as_json() for one in self.comparisons],
            "checklist": [{"what": one.what, "state": one.state, "found": one.found} for one in self.checklist],
            "notes": list(self.notes),
            "methods": self.methods,
            "provenance": dict(self.provenance),
        }
        return sealed(facts)


def given_settings(report: Report) -> str:
    """Which settings somebody gave, and where, as pages say it."""
    places: dict[str, list[str]] = {}
    for name, source in report.provenance.get("settings_from", {}).items():
        if source not in ("preset", "log"):
            places.setdefault(source, []).append(name)
    return "; ".join(f"{', '.join(names)} ({source})" for source, names in places.items())


def report_of(
    material: GroupedSurvey, *, title: str | None = None, command: str = "", now: str = "", baseline: str | None = None
) -> Report:
    """What there is to say about the lifetimes; `command` and `now` are said, not looked up.

    Groups are compared with the `baseline`, the last one if it is not named, as `perdure compare` does.
    """
    return Report(
        title=title or _title(material),
        material=material,
        verdicts=verdicts(material.groups, material.survey.metrics),
        comparisons=_comparisons(material, baseline),
        checklist=checklist(material),
        provenance=_provenance(material, command, now),
        notes=_notes(material),
        tally=tally_of_groups(material.groups),
        leads=leads(material.groups, material.survey.metrics),
    )


def _title(material: GroupedSurvey) -> str:
    learners = list(dict.fromkeys(one.score.learner for one in material.lives if one.score.learner))
    count = len(material.lives)
    if len(learners) == 1:
        return f"{learners[0]}: does it keep what it learns?"
    if 0 < len(learners) <= 3:
        return listed(learners)
    if learners:
        return f"{len(learners)} methods, {plural(count, 'lifetime')}"
    return material.lives[0].id if count == 1 else plural(count, "lifetime")


def _comparisons(material: GroupedSurvey, baseline: str | None) -> tuple[Comparison, ...]:
    """Each group against the baseline of its kind."""
    bases = baselines(material, baseline)
    made = (
        one
        for groups in comparable_groups(material)
        for base in bases
        if base in groups
        for one in compare_groups(material, [group for group in groups if group.n], base).values()
    )
    return tuple(islice(made, MOST_COMPARED))


def _notes(material: GroupedSurvey) -> tuple[str, ...]:
    notes: list[str] = []
    if material.apart:
        notes.append(material.apart)
    notes += changed_learners(material.survey.scores).values()
    notes += [
        f"{group.group}: {plural(len(group.left_out), 'lifetime')} not counted: the end was not reached"
        for group in material.groups
        if group.left_out
    ]
    shared: dict[str, int] = {}
    for one in material.lives:
        for note in one.score.notes:
            shared[note] = shared.get(note, 0) + 1
    most = sorted(shared.items(), key=lambda item: -item[1])[:8]
    notes += [note if count == len(material.lives) else f"{note} ({plural(count, 'lifetime')})" for note, count in most]
    return tuple(notes)


def _provenance(material: GroupedSurvey, command: str, now: str) -> dict[str, Any]:
    survey = material.survey
    return {
        "perdure": __version__,
        "written": now,
        "command": command,
        "preset": survey.preset,
        "settings": dict(survey.settings),
        "settings_from": dict(survey.settings_from),
        "lifetimes": [_origin(one) for one in material.lives],
    }


def _origin(one: Life) -> dict[str, Any]:
    manifest = one.manifest
    kept = ("protocol", "versions", "git", "machine", "command", "started")
    return {
        "id": one.id,
        "path": one.score.identity.source or None,
        "learner": one.score.learner,
        "seed": one.score.seed,
        "complete": one.score.complete,
        **{name: manifest[name] for name in kept if manifest.get(name) is not None},
    }


# --- conditions of lifelong learning: the verdict in a sentence, one per condition and group ---------


def headline(declared: Mapping[str, Metric], kind: Headline = "log") -> tuple[str, ...]:
    """The metrics that decide about logs, or about matrices: headline ones with a threshold and a condition."""
    return tuple(
        name for name, one in declared.items() if one.headline == kind and one.threshold is not None and one.condition
    )


def verdicts(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[Verdict, ...]:
    """A sentence for each condition and group, in the order of the declarations; of a matrix for what it can answer."""
    found: list[Verdict] = []
    for group in groups:
        conditions: dict[str, list[str]] = {}
        for name in headline(declared, "matrix" if group.unit else "log"):
            conditions.setdefault(declared[name].condition, []).append(name)
        found += [_verdict(group, condition, names) for condition, names in conditions.items()]
    return tuple(found)


def leads(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[str, ...]:
    """What is said of groups of accuracy matrices before any verdict: AA, LA, BWT and FM, and how they read."""
    said: list[str] = []
    for group in groups:
        if group.unit and (numbers := leading(group)):
            called = group.lives[0] if group.n == 1 else f"{group.group}, {plural(group.n, 'lifetime')}"
            said.append(f"{called}: {numbers}.")
            said += reading(group, declared)
    return tuple(said)


def _verdict(group: Group, condition: str, names: Sequence[str]) -> Verdict:
    found = {name: group.estimates[name] for name in names if name in group.estimates}
    valued = {name: one for name, one in found.items() if one.mean is not None}
    verdict = _together([one.verdict or "undecided" for one in valued.values()])
    called = group.group if group.group != "all" else "The learner"
    lead = _LEADS[verdict].format(group=called, condition=condition)
    parts = [_part(name, one) for name, one in valued.items()]
    if not group.n and group.left_out:
        parts = [f"none of {plural(len(group.left_out), 'lifetime')} has reached its end"]
    elif not parts:
        parts = [one.lacking for one in found.values()][:1] or ["no metric of it was scored"]
    return Verdict(group.group, condition, verdict, f"{lead}: {'; '.join(parts)}.")


def _together(verdicts: Collection[str]) -> str:
    """The verdict on a condition from those on its metrics, as `CONDITION_RULE` states."""
    if not verdicts:
        return "not measured"
    if all(one == "met" for one in verdicts):
        return "met"
    if "not met" in verdicts:
        return "mixed" if "met" in verdicts else "not met"
    return "undecided"


def _part(name: str, one: Estimate) -> str:
    """`performance maintenance −55.3 (95 % interval −57 to −53, 11 lifetimes): forgets (p < .001 against −5)`."""
    made = one.decision
    lives = plural(one.n, "lifetime")
    spread = f"{one.level:.0%} interval ".replace("%", " %") + f"{interval(one.low, one.high, ' to ')}, {lives}"
    about = lives if one.low is None else spread
    tails = "one-tailed " if made.tails == "one" else ""
    chance = "" if made.p is None else f" ({tails}{p_words(made.p)} against {number(made.against)})"
    said = made.word or made.verdict or "undecided"
    means = f": {made.says}" if made.says and made.word not in ("undecided", None) else ""
    shown = number(one.mean, one.width)
    return f"{name.replace('_', ' ')} {shown} ({about}) {made.withheld or said + chance + means}"
