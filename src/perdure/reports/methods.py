"""The statement of methods: a paragraph for a paper on how its numbers were computed."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from perdure import __version__
from perdure.metrics.declare import Metric
from perdure.metrics.score import DEFINITIONS
from perdure.reports.data import table_metrics
from perdure.settings.presets import STANDARD
from perdure.stats.answer import told_apart
from perdure.stats.compare import Comparison
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import LEVEL, Group
from perdure.stats.sentences import rule_of
from perdure.text import listed, number, plural

_USED = ("numpy", "scipy", "polars")

_SCALES = {
    "task": "Values were scaled to 1..101 task by task",
    "run": "Values were scaled to 1..101 over all tasks of a run",
    "none": "Values were not scaled",
}


def methods(data: GroupedSurvey, comparisons: Sequence[Comparison] = ()) -> str:
    """Return a paragraph: what was scored, by which definitions and tests, with which versions."""
    parts = (_scored, _prepared, _defined, _estimated, _experts)
    said = (line for part in parts for line in part(data))
    return " ".join((*said, *_compared(comparisons), *_with(data)))


def _scored(data: GroupedSurvey) -> Iterator[str]:
    counted = [group for group in data.groups if group.n]
    total = sum(group.n for group in counted)
    if not counted:
        yield f"{plural(len(data.lifetimes), 'lifetime')} were read; none was pooled."
        return
    each = listed(f"{told_apart(group, counted)} ({group.n})" for group in counted)
    yield f"{plural(total, 'lifetime')} {'was' if total == 1 else 'were'} scored: {each}."
    measures = dict.fromkeys(group.measure for group in counted if group.measure)
    if measures:
        matrices = any(group.unit for group in counted)
        source = "read from accuracy matrices" if matrices else "read from logs of every experience"
        yield f"The measure was {listed(measures)}, {source}."
    scores = data.survey.scores
    facts = [
        _range("task", {len(one.tasks) for one in scores}),
        _range("learning experience", {one.learning_experiences for one in scores}),
        _range("evaluation experience", {one.evaluation_experiences for one in scores}),
    ]
    if any(facts):
        yield f"A lifetime has {listed(one for one in facts if one)}."
    if data.left_out:
        yield f"Left out: {plural(len(data.left_out), 'lifetime or file')} ({_reasons(data.left_out)})."


def _range(what: str, counts: set[int]) -> str:
    """Return `2 tasks` or `2 to 4 tasks`; empty for none."""
    few, most = min(counts, default=0), max(counts, default=0)
    return plural(most, what) if few == most and most else f"{few} to {most} {what}s" if most else ""


def _reasons(left_out: Sequence[tuple[str, str]]) -> str:
    counted = Counter(why for _, why in left_out).most_common(3)
    return "; ".join(f"{count} × {why}" if count > 1 else why for why, count in counted)


def _prepared(data: GroupedSurvey) -> Iterator[str]:
    """Yield how values were prepared; those of accuracy matrices are not."""
    if all(group.unit for group in data.groups):
        return
    settings = data.survey.settings
    width, window = settings.get("width"), settings.get("window")
    if window == "none":
        yield "Curves were not smoothed."
    elif window:
        which = "Learning and evaluation blocks" if settings.get("smooth_evaluation") else "Learning blocks"
        by = f"a {settings.get('alignment', 'centred')} " + (
            "moving average" if window == "flat" else f"{window} window"
        )
        wide = "a fifth of the block, at most 100 experiences" if width is None else _width(width)
        yield f"{which} were smoothed by {by} ({wide})."
    clamped = "; outliers were clamped" if settings.get("clamp") else ""
    if settings.get("scale") in _SCALES:
        yield f"{_SCALES[settings['scale']]}{clamped}."


def _width(width: float) -> str:
    return f"{width:.0%} of the block".replace("%", " %") if width < 1 else f"{width:g} experiences"


def _defined(data: GroupedSurvey) -> Iterator[str]:
    """Yield the definitions of the shown metrics."""
    declared: Mapping[str, Metric] = data.survey.metrics
    kinds: dict[bool, list[Group]] = {}
    for group in data.groups:
        if group.n:
            kinds.setdefault(bool(group.unit), []).append(group)
    shown = dict.fromkeys(name for groups in kinds.values() for name in table_metrics(groups))
    said = [
        f"{name.replace('_', ' ')}: {one.summary[:1].lower()}{one.summary[1:].rstrip('.')} ({one.source})"
        for name in shown
        if (one := declared.get(name))
    ]
    if said:
        yield f"Metrics, by the definitions of Perdure (edition {DEFINITIONS}): {'; '.join(said)}."


def _estimated(data: GroupedSurvey) -> Iterator[str]:
    presets = dict.fromkeys(group.preset for group in data.groups if group.n)
    level = data.survey.settings.get("level", LEVEL)
    several = any(group.n > 1 for group in data.groups)
    for preset in presets:
        if preset == STANDARD and several:
            yield (
                f"Means over lifetimes are given with {level:.0%} intervals of Student's t".replace("%", " %")
                + ", of ratios on logarithms."
            )
            margins = {
                name: one.margin
                for group in data.groups
                for name, one in group.estimates.items()
                if one.verdict and one.margin
            }
            held = "".join(f", {name.replace('_', ' ')} with a margin of {number(by)}" for name, by in margins.items())
            yield f"A verdict is reached where the whole interval lies on one side of the threshold{held}."
        elif preset != STANDARD:
            yield rule_of(preset)


def _experts(data: GroupedSurvey) -> Iterator[str]:
    """Yield the number of experts per task, if any metric used them."""
    found: dict[str, set[Any]] = {}
    for life in data.survey.scores:
        for one in life.metrics.values():
            for task, marks in one.experts.items():
                found.setdefault(task, set()).update(marks)
    counts = sorted({len(marks) for marks in found.values() if marks})
    if counts:
        each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        sample = any(group.preset == STANDARD for group in data.groups)
        how = "taken as a sample, as lifetimes are" if sample else "taken as constants"
        yield f"Single-task experts: {each} of each of {plural(len(found), 'task')}, {how}."


def _compared(comparisons: Sequence[Comparison]) -> Iterator[str]:
    tested = [one for made in comparisons for one in made.tested.values() if one.test]
    if not tested:
        return
    baselines = listed(dict.fromkeys(made.baseline for made in comparisons))
    tests = listed(dict.fromkeys(str(one.test) for one in tested), "or")
    paired = ", lifetimes paired by seed" if any(one.paired for one in tested) else ""
    sizes = sorted({one.family for one in tested})
    over = f" over the {listed(sizes, 'or')} headline metrics that both could answer"
    yield (
        f"Methods were compared with {baselines} by a two-sided {tests} test on each metric{paired}"
        f"{f', p adjusted by Holm{over}' if sizes[-1] > 1 else ''}."
    )


def _with(data: GroupedSurvey) -> Iterator[str]:
    survey = data.survey
    given = [name for name, source in survey.settings_from.items() if source not in ("preset", "log")]
    settings = f", with {listed(f'{name} = {survey.settings.get(name)}' for name in given)}" if given else ""
    used = ((name, _version(name)) for name in _USED)
    by = listed([f"Python {platform.python_version()}", *(f"{name} {known}" for name, known in used if known)])
    yield f"Everything was computed with Perdure {__version__}, preset {survey.preset}{settings}; {by}."
    versions: dict[str, dict[str, None]] = {}
    for one in data.lifetimes:
        for name, known in (one.manifest.get("versions") or {}).items():
            versions.setdefault(str(name), {})[str(known)] = None
    if versions:
        yield f"The runs record {listed(f'{name} {listed(known)}' for name, known in versions.items())}."


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
