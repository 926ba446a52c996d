"""A metric is one declaration: `@metric` over its formula; and presets, which choose among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any

from perdure.curves.model import Curves, Prep
from perdure.errors import MetricError
from perdure.frozen import frozen
from perdure.metrics.engine.metric import (
    AveragedAs,
    Better,
    Combine,
    Good,
    Headline,
    Metric,
    Sites,
    Value,
    parameters,
)
from perdure.metrics.engine.questions import Question, Words
from perdure.registry import Registry
from perdure.settings.presets import STANDARD

if TYPE_CHECKING:
    from perdure.metrics.engine.blocks import BlockSummary
    from perdure.settings import Settings

__all__ = ["METRICS", "Departure", "Preset", "declaring", "metric"]

METRICS: Registry[Metric] = Registry("metric", "perdure.metrics")

_scope: ContextVar[dict[str, Metric] | None] = ContextVar("metrics being declared", default=None)


@contextmanager
def declaring() -> Iterator[dict[str, Metric]]:
    """Gather what `@metric` declares inside, instead of registering it for the whole process."""
    found: dict[str, Metric] = {}
    token = _scope.set(found)
    try:
        yield found
    finally:
        _scope.reset(token)


def metric(
    sites: Sites,
    *,
    name: str | None = None,
    combine: Combine | None = None,
    unit: str = "",
    better: Better = "higher",
    threshold: float | None = None,
    inclusive: bool = False,
    margin: float = 0.0,
    condition: str | None = None,
    capability: str | None = None,
    expert: bool | None = None,
    joint: bool = False,
    source: str = "",
    preset: str = STANDARD,
    aliases: tuple[str, ...] = (),
    of_matrix: str | None = None,
    good: Good | None = None,
    headline: Headline = "",
    scale: AveragedAs = "linear",
    variant_of: Metric | None = None,
    question: Question = "",
    words: Words | None = None,
    compares: tuple[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    register: bool = True,
) -> Callable[[Callable[..., float | Value]], Metric]:
    """Declare the decorated formula as a metric over `sites`; its parameters are the roles.

    A role annotated `Curve` receives its blocks stitched, `tuple[Curve, ...]` one per block. A
    parameter `expert` receives the experts of the site's task one after the other (annotated `Beside`,
    the blocks of the role `learned` joined beside each), `experts` all at once. Any other type is looked
    up in `ADAPTERS`. The formula returns a float or a `Value`, or raises `NoValue`. Unless told otherwise
    the values of a task are averaged, then the tasks; their logarithms where `scale` is log. A metric that is the
    variant of another has its condition, its capability and its metric of matrices, unless it names its own.

    Of the formula's docstring the first line says what the number means, and may end with its initials in brackets;
    a paragraph `$$…$$` writes it as LaTeX, and one that begins with `Weakness:` says what misleads it.
    """
    from perdure.metrics.engine.combine import over_tasks

    def declared(formula: Callable[..., float | Value]) -> Metric:
        called = name or str(getattr(formula, "__name__", "metric"))
        roles = parameters(formula)
        made = Metric(
            name=called,
            formula=formula,
            sites=sites,
            combine=combine or over_tasks,
            summary=_first_line(formula, f"metric {called!r}", "say in a sentence what the number means"),
            needs=_first_line(sites, f"the sites of metric {called!r}", 'complete "the scenario needs …"'),
            unit=unit,
            better=better,
            threshold=threshold,
            inclusive=inclusive,
            margin=margin,
            condition=_own(condition, variant_of, "condition"),
            capability=_own(capability, variant_of, "capability"),
            expert=bool({"expert", "experts"} & set(roles)) if expert is None else expert,
            joint=joint,
            source=source,
            preset=preset,
            aliases=aliases,
            of_matrix=_own(of_matrix, variant_of, "of_matrix"),
            good=good,
            headline=headline,
            scale=scale,
            variant_of=variant_of.name if variant_of else "",
            question=question,
            words=words,
            compares=compares,
            answers=answers or {},
        )
        if register:
            _register(made)
        return made

    return declared


def _own(given: str | None, original: Metric | None, name: str) -> str:
    return str(getattr(original, name, "")) if given is None else given


def _register(made: Metric) -> None:
    found = _scope.get()
    if found is None:
        METRICS.add(made.name, made)
        for alias in made.aliases:
            METRICS.alias(alias, made.name)
    elif made.name in found:
        raise MetricError(f"metric {made.name!r} is declared twice", "give one of them another name")
    else:
        found[made.name] = made


def _first_line(thing: Callable[..., Any], what: str, advice: str) -> str:
    text = inspect.getdoc(thing) or ""
    line = text.partition("\n")[0].strip()
    if not line:
        raise MetricError(f"{what} has no docstring", advice)
    return line


@frozen
class Departure:
    """One place where a preset differs from its document; each part completes a row of the presets' page."""

    where: str
    """A metric, or a part of the preparation."""
    document: str
    """What the document says."""
    here: str
    because: str


@frozen(eq=False)
class Preset:
    """A named way to score: how curves are prepared, and which declaration stands behind each id."""

    name: str
    summary: str
    prep: Prep
    declarations: Callable[[], Mapping[str, Metric]]
    """Id → declaration; asked for when it is used, so that installed plug-ins are read only then."""
    summarise: Callable[[Curves], tuple[BlockSummary, ...]]
    """What is said of each block."""
    source: str = ""
    fixes: Mapping[str, str] = field(default_factory=dict)
    """Setting → why nobody may choose it: it is part of what the preset stands for, or means nothing in it."""
    refuses: Callable[[Settings, Prep], str | None] = lambda _settings, _prep: None
    """Why it cannot be scored so, in words, where a setting is taken but not every value of it; else None."""
    departures: tuple[Departure, ...] = ()
    """Where it differs from its document."""
    decides: bool = True
    """Whether there are verdicts under it."""
    margins: bool = False
    """Whether a metric's declared margin counts; the papers knew none."""
    taskinfo: bool = False
    """Whether `$L2DATA/taskinfo/info.json` stands for experts where there are no others."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the tool behind it calls a metric → its id here, in the order of that tool's table."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Id → declaration."""
        return self.declarations()
