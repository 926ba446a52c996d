"""Parts of a report for papers: the statement of methods, and the checklist after Hsu et al. 2018."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import msgspec

from perdure import __version__
from perdure.log.rules import MEMORY_COLUMNS
from perdure.metrics.matrix_formulas import average_accuracy, bwt, learning_accuracy
from perdure.metrics.score import DEFINITIONS, deciding_settings, told_words
from perdure.reports.data import table_metrics
from perdure.reports.thinned import thinned_lifetime
from perdure.settings.presets import STANDARD
from perdure.stats.answer import told_apart
from perdure.stats.compare import Comparison
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import LEVEL
from perdure.stats.sentences import rule_of
from perdure.text import join_words, number, percent, plural

_LIBRARIES = ("numpy", "scipy", "polars")

_SCALES = {
    "task": "Values were scaled to 1..101 task by task",
    "run": "Values were scaled to 1..101 over all tasks of a run",
    "none": "Values were not scaled",
}


def methods(data: GroupedSurvey, comparisons: Sequence[Comparison] = ()) -> str:
    """Return a paragraph: the data, the definitions, the tests and the versions behind the numbers."""
    parts = (_data, _preparation, _definitions, _estimates, _experts)
    sentences = [sentence for part in parts for sentence in part(data)]
    return " ".join((*sentences, *_comparisons(comparisons), *_versions(data)))


def _data(data: GroupedSurvey) -> Iterator[str]:
    counted = [group for group in data.groups if group.n]
    total = sum(group.n for group in counted)
    if not counted:
        yield f"{plural(len(data.lifetimes), 'lifetime')} were read; none was pooled."
        return
    each = join_words(f"{told_apart(group, counted)} ({group.n})" for group in counted)
    yield f"{plural(total, 'lifetime')} {'was' if total == 1 else 'were'} scored: {each}."
    measures = dict.fromkeys(group.measure for group in counted if group.measure)
    if measures:
        matrices = any(group.unit for group in counted)
        source = "read from accuracy matrices" if matrices else "read from logs of every experience"
        source = "as scored before" if data.survey.written else source
        yield f"The measure was {join_words(measures)}, {source}."
    stated = dict.fromkeys(text for group in counted for text in group.stated)
    if stated:
        yield f"Settings: {'; '.join(stated)}."
    scores = data.survey.scores
    counts = [
        _range("task", {len(score.tasks) for score in scores}),
        _range("learning experience", {score.learning_experiences for score in scores}),
        _range("evaluation experience", {score.evaluation_experiences for score in scores}),
    ]
    if any(counts):
        yield f"A lifetime has {join_words(filter(None, counts))}."
    told = {score.learner: score.told for score in scores if score.told is not None}
    for facts in dict.fromkeys(told.values()):
        who = join_words(learner or "the learner" for learner, own in told.items() if own == facts)
        yield f"{'Each learner' if len(set(told.values())) == 1 else who} {told_words(facts)}."
    if data.left_out:
        reasons = Counter(why for _, why in data.left_out).most_common(3)
        texts = [f"{count} × {why}" if count > 1 else why for why, count in reasons]
        yield f"Left out: {plural(len(data.left_out), 'lifetime or file')} ({'; '.join(texts)})."


def _range(noun: str, counts: set[int]) -> str:
    """Return `2 tasks` or `2 to 4 tasks`; empty for none."""
    few, most = min(counts, default=0), max(counts, default=0)
    return plural(most, noun) if few == most and most else f"{few} to {most} {noun}s" if most else ""


def _preparation(data: GroupedSurvey) -> Iterator[str]:
    """Yield how values were prepared; those of accuracy matrices are not."""
    if all(group.unit for group in data.groups):
        return
    # Scores of other tools do not record it; those made before by Perdure do.
    hows = {life.score.how for life in data.lifetimes}
    settings = deciding_settings(hows.pop()) if len(hows) == 1 else data.survey.settings
    if not settings:
        yield "How values were prepared is not recorded."
    width, window = settings.get("width"), settings.get("window")
    if window == "none":
        yield "Curves were not smoothed."
    elif window:
        blocks = "Learning and evaluation blocks" if settings.get("smooth_evaluation") else "Learning blocks"
        kind = "moving average" if window == "flat" else f"{window} window"
        size = "a fifth of the block, at most 100 experiences"
        if width is not None:
            size = f"{percent(width)} of the block" if width < 1 else f"{width:g} experiences"
        yield f"{blocks} were smoothed by a {settings.get('alignment', 'centred')} {kind} ({size})."
    scale = settings.get("scale")
    if scale in _SCALES:
        known = {span.given for life in data.lifetimes for span in thinned_lifetime(life).ranges.values()}
        sources = {frozenset({True}): ", from recorded bounds", frozenset({False}): ", from the range of the values"}
        mixed = ", from recorded bounds or, without any, from the range of the values" if known else ""
        source = "" if scale == "none" else sources.get(frozenset(known), mixed)
        yield f"{_SCALES[scale]}{source}{'; outliers were clamped' if settings.get('clamp') else ''}."


def _definitions(data: GroupedSurvey) -> Iterator[str]:
    """Yield the definitions of the metrics that a table shows."""
    kinds = [[group for group in data.groups if group.n and bool(group.unit) is unit] for unit in (False, True)]
    metrics = dict.fromkeys(name for groups in kinds if groups for name in table_metrics(groups))
    declared = [data.survey.metrics[name] for name in metrics if name in data.survey.metrics]
    if declared:
        ours = data.survey.preset == STANDARD
        yield f"Metrics follow {f'the definitions of Perdure (edition {DEFINITIONS})' if ours else data.survey.preset}."
    for metric in declared:
        name, summary = metric.name.replace("_", " "), metric.summary.removeprefix("Measure ").rstrip(".")
        yield f"{name[:1].upper()}{name[1:]}: {summary[:1].lower()}{summary[1:]} ({metric.source})."


def _estimates(data: GroupedSurvey) -> Iterator[str]:
    level = percent(data.survey.settings.get("level", LEVEL))
    several = any(group.n > 1 for group in data.groups)
    for preset in dict.fromkeys(group.preset for group in data.groups if group.n):
        if preset != STANDARD:
            yield rule_of(preset)
        elif several:
            yield f"Means over lifetimes have {level} intervals of Student's t; ratios are averaged as logarithms."
            margins = {
                name: estimate.margin
                for group in data.groups
                for name, estimate in group.estimates.items()
                if estimate.verdict and estimate.margin
            }
            texts = [
                f", with a margin of {number(size)} for {name.replace('_', ' ')}" for name, size in margins.items()
            ]
            yield f"A verdict is reached if the whole interval is on one side of the threshold{''.join(texts)}."


def _experts(data: GroupedSurvey) -> Iterator[str]:
    """Yield the number of experts that each lifetime is compared with, if any metric uses them."""
    marks = _expert_marks(data)
    counts = sorted({len(experts) for experts in marks.values()})
    if counts:
        number_of = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        sample = any(group.preset == STANDARD for group in data.groups)
        treated = "treated as a sample, as lifetimes are" if sample else "treated as constants"
        yield f"Single-task experts: {number_of} per {_expert_scope(data)}, {treated}."


def _expert_marks(data: GroupedSurvey) -> dict[tuple[str, str | None, str], set[str]]:
    """Map lifetime, learner and task to the experts that the lifetime's metrics use."""
    marks: dict[tuple[str, str | None, str], set[str]] = {}
    for score in data.survey.scores:
        for measured in score.metrics.values():
            for key, experts in measured.experts.items():
                task = key.rpartition("→")[2]  # of a pair, the second has the expert
                if task in score.tasks and experts:
                    marks.setdefault((score.id, score.learner, task), set()).update(experts)
    return marks


def _expert_scope(data: GroupedSurvey) -> str:
    """Return which lifetimes share their experts: those of all methods, of a method, or none."""
    marks = _expert_marks(data)
    for scope, first in (("task", 2), ("task and method", 1)):
        shared: dict[tuple[str | None, ...], set[str]] = {}
        for key, experts in marks.items():
            shared.setdefault(key[first:], set()).update(experts)
        if all(shared[key[first:]] == experts for key, experts in marks.items()):
            return scope
    return "task and lifetime"


def _comparisons(comparisons: Sequence[Comparison]) -> Iterator[str]:
    differences = [
        difference for comparison in comparisons for difference in comparison.tested.values() if difference.test
    ]
    if not differences:
        return
    baselines = join_words(dict.fromkeys(comparison.baseline for comparison in comparisons))
    tests = join_words(dict.fromkeys(str(difference.test) for difference in differences), "or")
    paired = ", lifetimes paired by seed" if any(difference.paired for difference in differences) else ""
    yield f"Methods were compared with {baselines} by a two-sided {tests} test on each metric{paired}."
    sizes = sorted({difference.family for difference in differences})
    if sizes[-1] > 1:
        yield f"p was adjusted by Holm over the {join_words(sizes, 'or')} metrics tested together."


def _versions(data: GroupedSurvey) -> Iterator[str]:
    survey = data.survey
    sources = survey.settings_from.items()
    changed = [name for name, source in sources if source not in ("preset", "log") and name != "preset"]
    settings = f", with {join_words(f'{name} = {survey.settings.get(name)}' for name in changed)}" if changed else ""
    libraries = ((name, _version(name)) for name in _LIBRARIES)
    used = join_words(
        [f"Python {platform.python_version()}", *(f"{name} {known}" for name, known in libraries if known)]
    )
    yield f"Everything was computed with Perdure {__version__}, preset {survey.preset}{settings}; {used}."
    versions: dict[str, dict[str, None]] = {}
    for life in data.lifetimes:
        for name, known in (life.manifest.get("versions") or {}).items():
            versions.setdefault(str(name), {})[str(known)] = None
    if versions:
        yield f"The runs record {join_words(f'{name} {join_words(known)}' for name, known in versions.items())}."


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


# --- the checklist -------------------------------------------------------------------------------

State = Literal["present", "missing", "cannot be seen", "does not apply"]
_BASIC = (average_accuracy.name, bwt.name, learning_accuracy.name)
_NAIVE = re.compile(r"naive|sequential|fine.?tun|forget|\bsgd\b", re.IGNORECASE)
_JOINT = re.compile(r"joint|offline|multi.?task", re.IGNORECASE)


class ChecklistItem(msgspec.Struct, frozen=True):
    """An item of the guidelines, its state, and the evidence or advice."""

    what: str
    state: State
    found: str


def checklist(data: GroupedSurvey) -> tuple[ChecklistItem, ...]:
    """Check every item of the guidelines."""
    return (
        _basic(data),
        _baseline(data, "A naive sequential baseline", _NAIVE, "a learner called naive, sequential, finetune or sgd"),
        _joint(data),
        _architecture(data),
        _tasks(data),
        _time(data),
        _memory(data),
        _runs(data),
    )


def _basic(data: GroupedSurvey) -> ChecklistItem:
    item = "Average accuracy, backward transfer (BWT) and learning accuracy"
    measured = {
        name: [life.score.metrics[name] for life in data.lifetimes if name in life.score.metrics] for name in _BASIC
    }
    absent = [name for name in _BASIC if all(value.value is None for value in measured[name])]
    if not absent:
        return ChecklistItem(item, "present", "in the tables")
    reasons = [value.why for life in data.lifetimes for name in absent if (value := life.score.metrics.get(name))]
    why = next(filter(None, reasons), "not scored under this preset")
    return ChecklistItem(item, "missing", f"{', '.join(absent)}: {why}")


def _baseline(data: GroupedSurvey, item: str, pattern: re.Pattern[str], advice: str) -> ChecklistItem:
    learners = dict.fromkeys(life.score.learner or "" for life in data.lifetimes)
    names = [*learners, *(group.group for group in data.groups)]
    name = next(filter(pattern.search, names), None)
    return ChecklistItem(item, "missing", f"add {advice}") if name is None else ChecklistItem(item, "present", name)


def _joint(data: GroupedSurvey) -> ChecklistItem:
    item = "Joint training as an upper bound"
    if data.survey.settings.get("joint") is not None:
        return ChecklistItem(item, "present", "given as the setting joint")
    return _baseline(data, item, _JOINT, "a learner called joint, or its accuracies with --joint")


def _architecture(data: GroupedSurvey) -> ChecklistItem:
    item = "The same architecture for all that is compared"
    if len(data.groups) < 2:
        return ChecklistItem(item, "does not apply", "one system is shown")
    return ChecklistItem(item, "cannot be seen", "logs do not hold it; say it in the text")


def _tasks(data: GroupedSurvey) -> ChecklistItem:
    item = "The same task configuration for all that is compared"
    if len(data.groups) < 2:
        return ChecklistItem(item, "does not apply", "one system is shown")
    task_sets = {
        group.group: frozenset(frozenset(life.score.tasks) for life in data.of_group(group)) for group in data.groups
    }
    if len(set(task_sets.values())) == 1:
        return ChecklistItem(item, "present", "all groups go through the same tasks")
    return ChecklistItem(item, "missing", "groups differ in their tasks: " + ", ".join(task_sets))


def _time(data: GroupedSurvey) -> ChecklistItem:
    item = "Training time"
    lifetimes = [thinned_lifetime(life) for life in data.lifetimes]
    timed = [(total, count) for total, count in (life.seconds for life in lifetimes) if total and count]
    stated = [cost.seconds for life in lifetimes for cost in life.costs.values() if cost.seconds]
    if timed:
        seconds = sum(total for total, _ in timed)
        each = number(seconds / sum(count for _, count in timed))
        text = f"{number(seconds)} s of learning in {len(timed)} lifetimes, {each} s per experience"
        return ChecklistItem(item, "present", text)
    if stated:
        return ChecklistItem(item, "present", f"{number(sum(stated))} s of learning, as the matrices state it")
    return ChecklistItem(item, "missing", "no timestamps that tell time apart")


def _memory(data: GroupedSurvey) -> ChecklistItem:
    item = "Memory used"
    costs = (cost for life in data.lifetimes for cost in thinned_lifetime(life).costs.values())
    stated = [cost.memory_mb for cost in costs if cost.memory_mb]
    if not stated:
        return ChecklistItem(item, "cannot be seen", f"log it as {MEMORY_COLUMNS[0]}, or say it in the text")
    return ChecklistItem(item, "present", f"{number(max(stated))} MB at most")


def _runs(data: GroupedSurvey) -> ChecklistItem:
    item = "Several runs from different seeds, with mean and spread"
    counts = [group.n for group in data.groups] or [len(data.lifetimes)]
    if min(counts) < 2:
        advice = "a group has fewer than two lifetimes; run more seeds (`perdure plan` says how many)"
        return ChecklistItem(item, "missing", advice)
    seeded = any(life.score.seed is not None for life in data.lifetimes)
    stated = "" if seeded else "; seeds are not stated in the logs"
    text = f"{', '.join(map(str, counts))} lifetimes per group, mean ± sd and interval{stated}"
    return ChecklistItem(item, "present", text)
