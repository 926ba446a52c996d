"""The statement of methods: a paragraph to paste, made from what was done and the declarations of what is shown."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from statistics import mean

from perdure import __version__
from perdure.report.material import Material
from perdure.stats.answers import questions
from perdure.stats.compare import Comparison
from perdure.stats.sentences import rule_of
from perdure.words import listed, number, plural

__all__ = ["methods"]

_USED = ("numpy", "scipy", "polars")


def methods(material: Material, comparisons: tuple[Comparison, ...] = ()) -> str:
    """What was measured, on how much, how it was decided, and by which versions."""
    return " ".join(_sentences(material, comparisons))


def _sentences(material: Material, comparisons: tuple[Comparison, ...]) -> Iterator[str]:
    groups, survey = material.groups, material.survey
    if not material.lives:
        return
    named = [f"{one.group} (n = {one.n})" for one in groups] or [plural(len(material.lives), "lifetime")]
    yield f"We evaluated {listed(named)} over {plural(len(material.tasks), 'task')}{_amounts(material)}."
    measures = sorted({one.score.measure for one in material.lives if one.score.measure})
    how = survey.settings
    if measures:
        yield f"Performance was measured as {listed(measures)}{_prepared(how)}."
    experts = how.get("experts") or []
    if experts:
        yield f"Ratios to experts use {plural(len(experts), 'single-task expert')}."
    for one in questions(groups, survey.metrics):
        metric = survey.metrics[one.metric]
        cited = f" ({metric.source})" if metric.source else ""
        summary = metric.summary.rstrip(".")
        yield f"{one.metric.replace('_', ' ').capitalize()}: {summary[0].lower()}{summary[1:]}{cited}."
    yield rule_of(survey.preset)
    if comparisons:
        kinds = {"paired t tests" if one.pairing.paired else "Welch's tests" for one in comparisons}
        family = max((each.family for one in comparisons for each in one.tested.values()), default=0)
        over = f", adjusted by Holm's method over {plural(family, 'headline metric')}" if family > 1 else ""
        yield f"Groups were compared by two-sided {listed(sorted(kinds))}{over}."
    used = [f"{name} {_version(name)}" for name in _USED]
    yield (
        f"Computed with Perdure {__version__} (preset {survey.preset}), Python {platform.python_version()}, "
        f"{listed(used)}."
    )


def _amounts(material: Material) -> str:
    learned = [one.score.learning_experiences for one in material.lives if one.score.learning_experiences]
    tested = [one.score.evaluation_experiences for one in material.lives if one.score.evaluation_experiences]
    if not learned:
        return ""
    evaluated = f" and {number(round(mean(tested)))} of evaluation" if tested else ""
    return f"; on average, a lifetime has {number(round(mean(learned)))} experiences of learning{evaluated}"


def _prepared(how: Mapping[str, object]) -> str:
    if how.get("scale") in (None, "none"):
        return ", as logged"
    smoothed = (
        f"; learning was smoothed with a {how.get('window')} window" if how.get("window") not in (None, "none") else ""
    )
    return f" and scaled to 1–101 by each task's range{smoothed}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(unknown)"
