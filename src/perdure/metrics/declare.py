"""Declare metrics: the `@metric` decorator, the record it makes, and the registry of all metrics."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar, Literal, cast, get_type_hints

import msgspec

from perdure.errors import MetricError, UnknownNameError
from perdure.metrics.arithmetic import Average, Value, over_tasks
from perdure.registry import Registry
from perdure.scenario.model import Scenario
from perdure.scenario.sites import Site
from perdure.settings.presets import STANDARD
from perdure.stopping import Stopped

CONTINUAL, ADAPTING = "continual learning", "adapting to new tasks"
"""The two Core Capabilities of the 2019 framework."""

Combine = Callable[[Sequence[Sequence[float]], Average], "float | Value"]
"""Combines the values of each key (none empty) into the lifetime's value; on a log scale, their logarithms."""
Sites = Callable[[Scenario], Iterator[Site]]
Better = Literal["higher", "lower"]
Headline = Literal["log", "matrix", ""]
AveragedAs = Literal["log", "linear"]

Question = Literal["", "keeps", "helps", "beside", "recovers", "does"]
"""Question that a metric answers; empty if it answers none and is shown only among all metrics."""

QUESTIONS: dict[Question, str] = {
    "keeps": "Does it keep what it learns?",
    "helps": "Does learning one task help another?",
    "beside": "How does it compare with single-task experts?",
    "recovers": "How fast does it recover?",
    "does": "How well does it do?",
}
"""Questions in the order in which answers are shown."""


class VerdictWords(msgspec.Struct, frozen=True):
    """Words for a metric's verdict, the sentence they appear in, and the title of its column."""

    better: str = "above"
    worse: str = "below"
    who: str = ""
    does: str = ""
    """Text after `who`, with `{}` for the word. Metrics with the same `who` and `than` share a sentence."""
    than: str = ""
    of_change: bool = False
    """Whether the value is a change of learned performance. The threshold then has a word too: gains, keeps, loses."""
    asks: str = ""
    """Title of the metric's column in tables that compare learners; without it there is no column."""
    about: str = ""
    """Subtitle of that column: the unit of its values."""
    spelled: str = ""
    """Name of the metric without abbreviations."""
    pairs: str = ""
    """For a metric of ordered pairs of tasks, the meaning of each value; without it no matrix of pairs is shown."""

    def sentence(self, word: str) -> str:
        """Return the sentence for a verdict's word; an empty text if none is declared."""
        return " ".join(part for part in (self.who, self.does.format(word), self.than) if part) if self.does else ""


class ComparedAs(msgspec.Struct, frozen=True):
    """Words and margin of a metric that is tested when learners are compared."""

    better: str = "better"
    worse: str = "worse"
    margin: float = 5.0
    """Difference that does not matter: points of 100, or a factor for ratios."""
    of: Headline = "log"
    """Whether logs or matrices are compared by it."""
    of_change: bool = False
    """Whether it is a change of what was learned, in which a learner that learned little does well."""


class PublishedRange(msgspec.Struct, frozen=True):
    """Values that a document calls good, in its words. They decide nothing."""

    words: str
    above: float | None = None
    """Lower end on a scale of 100, if the document gives a number."""


class Threshold(msgspec.Struct, frozen=True):
    """Threshold that a metric's values are tested against: lifelong learning is demonstrated beyond it."""

    JSON: ClassVar = ("threshold", "margin", "better", "inclusive", "headline", "scale", "expert")

    threshold: float | None = None
    margin: float = 0.0
    better: Better = "higher"
    inclusive: bool = False
    """Whether a single value at the threshold itself counts as beyond it."""
    headline: Headline = ""
    """Whether the metric is a headline number of logs or of matrices. Only headline numbers get a verdict."""
    scale: AveragedAs = "linear"
    """Scale on which lifetimes are averaged and compared; ratios use logarithms."""
    expert: bool = False
    """Whether the values depend on experts, which are a sample as lifetimes are."""
    margin_given: bool = False
    """Whether a user set the margin. A declared margin is meant on a scale of 100."""
    words: VerdictWords | None = None
    """Words for the verdict; None if the metric declares none."""
    compared: ComparedAs | None = None
    """Words and margin for comparisons; None if the metric is not tested there."""

    @property
    def sign(self) -> float:
        """1 if higher is better, −1 if lower is."""
        return 1.0 if self.better == "higher" else -1.0


_EQUATION, _WEAKNESS = "$$", "Weakness:"
_INITIALS = r"\(([A-Z][A-Z-]+)\)\.?$"


class Metric(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """One number about a lifetime: its sites, its formula, and the meaning of its value.

    The decorator `metric` makes one.

    Attributes
    ----------
    name
        Id of the metric.
    formula
        Function of the curves of a site.
    sites
        Function that yields the sites of a scenario.
    combine
        Function that combines the values of all sites.
    summary
        First line of the formula's docstring.
    needs
        Property of the scenario without which there is no site.
    unit
        Unit of the values.
    better
        Which values are better.
    threshold
        Value beyond which lifelong learning is demonstrated. None for a metric without a verdict.
    inclusive
        Whether the threshold itself demonstrates it.
    margin
        Distance that is subtracted from the threshold.
    margin_given
        Whether a user set the margin. A declared margin is meant on a scale of 100.
    condition
        Condition of lifelong learning that it measures.
    capability
        Capability that it measures.
    expert
        Whether it needs experts.
    joint
        Whether it needs the performance of a learner that is trained on all tasks together.
    source
        Publication that defines it.
    preset
        Preset that it belongs to.
    aliases
        Other names that requests may use, in any capitals. Outputs only use `name`.
    of_matrix
        For a metric of logs, the metric that answers the same question for an accuracy matrix.
    good
        Values that a publication calls good.
    headline
        ``"log"`` or ``"matrix"`` if it is one of the first numbers to show there.
    scale
        Scale of the averages over sites and over lifetimes: values or their logarithms. Tables always show values.
    variant_of
        Name of the metric that answers the same question in another way.
    question
        Question that it answers. Metrics with a question are shown first.
    words
        Words for its verdict. None for above and below.
    compared
        Words and margin for comparisons of learners. None if it is not tested there.
    compares
        For a metric that compares two evaluations, the roles of the later and of the earlier one.
    answers
        Core Capability of 2019 → the question that the metric answers for it.
    """

    name: str
    formula: Callable[..., float | Value]
    sites: Sites
    combine: Combine
    summary: str
    needs: str
    unit: str = ""
    better: Better = "higher"
    threshold: float | None = None
    inclusive: bool = False
    margin: float = 0.0
    margin_given: bool = False
    condition: str = ""
    capability: str = ""
    expert: bool = False
    joint: bool = False
    source: str = ""
    preset: str = STANDARD
    aliases: tuple[str, ...] = ()
    of_matrix: str = ""
    good: PublishedRange | None = None
    headline: Headline = ""
    scale: AveragedAs = "linear"
    variant_of: str = ""
    question: Question = ""
    words: VerdictWords | None = None
    compared: ComparedAs | None = None
    compares: tuple[str, str] | None = None
    answers: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        threshold = "" if self.threshold is None else f", threshold {self.threshold:g}"
        summary = shorten(self.summary, 80, placeholder=" …")
        return f"Metric({self.name!r}, {self.better} is better{threshold}: {summary})"

    @cached_property
    def roles(self) -> Mapping[str, Any]:
        """The formula's parameters and their types, in order."""
        try:
            hints = get_type_hints(self.formula)
        except Exception as problem:
            raise MetricError(
                f"the annotations of its formula cannot be resolved ({problem})",
                "import Curve and the like where the formula can see them",
                where=f"metric {self.name!r}",
            ) from problem
        return {name: hints.get(name) for name in inspect.signature(self.formula).parameters}

    @cached_property
    def _paragraphs(self) -> tuple[str, ...]:
        """The docstring's paragraphs after the first line, each in one line."""
        paragraphs = (inspect.getdoc(self.formula) or "").split("\n\n")[1:]
        return tuple(" ".join(paragraph.split()) for paragraph in paragraphs)

    @property
    def equation(self) -> str:
        """The docstring's `$$…$$`: the value at one site (for a matrix, of the lifetime) as LaTeX; empty if missing."""
        equations = (text for text in self._paragraphs if text.startswith(_EQUATION) and text.endswith(_EQUATION))
        return next(equations, "").strip(_EQUATION)

    @property
    def weakness(self) -> str:
        """The docstring's paragraph that begins with `Weakness:`; empty if missing."""
        weaknesses = (text for text in self._paragraphs if text.startswith(_WEAKNESS))
        return next(weaknesses, "").removeprefix(_WEAKNESS).strip()

    @property
    def remarks(self) -> tuple[str, ...]:
        """The docstring's other paragraphs."""
        return tuple(text for text in self._paragraphs if not text.startswith((_EQUATION, _WEAKNESS)))

    @property
    def initials(self) -> str:
        """The abbreviation in papers, such as `BWT`: the end of the summary, in brackets; empty if missing."""
        match = re.search(_INITIALS, self.summary)
        return match[1] if match else ""

    @property
    def spelled(self) -> str:
        """Name for people, without abbreviations."""
        return (self.words.spelled if self.words else "") or self.name.replace("_", " ")

    @property
    def criterion(self) -> Threshold:
        """The threshold of its values, as data."""
        return Threshold(**{name: getattr(self, name) for name in Threshold.__struct_fields__})

    @property
    def bar(self) -> str:
        """The threshold as tables show it: `> 1`, `≥ 0`, `> 0 − 2` with a margin; empty if there is none."""
        if self.threshold is None:
            return ""
        higher = self.better == "higher"
        sign = ("≥" if higher else "≤") if self.inclusive else (">" if higher else "<")
        margin = f" {'−' if higher else '+'} {self.margin:g}" if self.margin else ""
        return f"{sign} {self.threshold:g}{margin}"


# --- the registry and the decorator --------------------------------------------------------------

METRICS: Registry[Metric] = Registry("metric", "perdure.metrics")
_L2METRICS = (
    "of a class written for l2metrics, import Metric and declared from perdure.classic.l2metrics, "
    "and end the file with declared(YourClass(…))"
)

_scope: ContextVar[dict[str, Metric] | None] = ContextVar("metrics being declared", default=None)


@contextmanager
def declaring() -> Iterator[dict[str, Metric]]:
    """Collect the metrics that are declared inside, instead of registering them for the whole process."""
    declared: dict[str, Metric] = {}
    token = _scope.set(declared)
    try:
        yield declared
    finally:
        _scope.reset(token)


def metric(
    sites: Sites,
    *,
    name: str | None = None,
    combine: Combine = over_tasks,
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
    good: PublishedRange | None = None,
    headline: Headline = "",
    scale: AveragedAs = "linear",
    variant_of: Metric | None = None,
    question: Question = "",
    words: VerdictWords | None = None,
    compared: ComparedAs | None = None,
    compares: tuple[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    register: bool = True,
) -> Callable[[Callable[..., float | Value]], Metric]:
    """Declare the decorated formula as a metric over `sites`.

    The formula's parameters are the roles of a site. A role annotated `Curve` receives its blocks joined,
    `tuple[Curve, ...]` one curve per block. A parameter `expert` receives the experts of the site's task one after the
    other, `experts` all at once. `expert: ExpertComparison` receives the blocks of the role `learned`, joined and
    compared with each expert. The formula returns a float or a `Value`, or raises `NoValue`.

    The first line of the formula's docstring gives the meaning of the number, and may end with its initials in
    brackets. A paragraph `$$…$$` is the formula in LaTeX, and one that begins with `Weakness:` names what misleads it.

    Parameters
    ----------
    sites
        Function that yields the sites of a scenario. The first line of its docstring completes "the scenario needs …".
    name
        Id of the metric. By default the formula's name.
    combine
        Function that combines the values of all sites. By default the values of a task are averaged, then the tasks.
    unit
        Unit of the values.
    better
        Which values are better, ``"higher"`` or ``"lower"``.
    threshold
        Value beyond which lifelong learning is demonstrated. Without it, the metric has no verdict.
    inclusive
        Whether the threshold itself demonstrates it.
    margin
        Distance that is subtracted from the threshold.
    condition
        Condition of lifelong learning that the metric measures. By default that of `variant_of`.
    capability
        Capability that the metric measures. By default that of `variant_of`.
    expert
        Whether the metric needs experts. By default whether the formula has a parameter `expert` or `experts`.
    joint
        Whether it needs the performance of a jointly trained learner.
    source
        Publication that defines the metric.
    preset
        Preset that the metric belongs to.
    aliases
        Other names for the metric.
    of_matrix
        Metric of accuracy matrices that answers the same question. By default that of `variant_of`.
    good
        Values that the publication calls good.
    headline
        ``"log"`` or ``"matrix"`` if it is one of the first numbers there, which get a verdict.
    scale
        ``"log"`` averages logarithms of values, over sites and over lifetimes.
    variant_of
        Metric that answers the same question in another way.
    question
        Question that the metric answers.
    words
        Words for its verdict.
    compared
        Words and margin for comparisons of learners. Without them, it is not tested there.
    compares
        Roles of the later and of the earlier evaluation, if it compares two.
    answers
        Core Capability of 2019 → the question that the metric answers for it.
    register
        Whether to add the metric to `METRICS`.

    Returns
    -------
    Callable
        A decorator that returns the `Metric`.

    Raises
    ------
    MetricError
        If `sites` is not a function, or the formula has no docstring. Parameters that are not roles of the sites show
        as the reason of a missing value; `perdure.testing.check_metric` finds them beforehand.
    PerdureError
        If `better` is unknown, or another metric has the name.

    Examples
    --------
    >>> from perdure.scenario import sites
    >>> @perdure.metric(sites.each_learning_block, unit="points", register=False)
    ... def rise(learned: perdure.Curve) -> float:
    ...     '''Measure how much the performance rises in a learning block.'''
    ...     return learned.terminal - learned.raw_start
    >>> rise
    Metric('rise', higher is better: Measure how much the performance rises in a learning block.)
    """
    if not callable(cast("Any", sites)):
        what = f"sites is {sites!r}"
        raise MetricError(what, "give a function of perdure.scenario.sites, such as sites.each_learning_block")
    if better not in ("higher", "lower"):
        raise UnknownNameError("value of better", better, ("higher", "lower"))

    def declared(formula: Callable[..., float | Value]) -> Metric:
        own_name = name or str(getattr(formula, "__name__", "metric"))

        def inherited(given: str | None, field: str) -> str:
            return str(getattr(variant_of, field, "")) if given is None else given

        result = Metric(
            name=own_name,
            formula=formula,
            sites=sites,
            combine=combine,
            summary=_first_line(formula, f"metric {own_name!r}", "say in a sentence what the number means"),
            needs=_first_line(sites, f"the sites of metric {own_name!r}", 'complete "the scenario needs …"'),
            unit=unit,
            better=better,
            threshold=threshold,
            inclusive=inclusive,
            margin=margin,
            condition=inherited(condition, "condition"),
            capability=inherited(capability, "capability"),
            expert=bool({"expert", "experts"} & inspect.signature(formula).parameters.keys())
            if expert is None
            else expert,
            joint=joint,
            source=source,
            preset=preset,
            aliases=aliases,
            of_matrix=inherited(of_matrix, "of_matrix"),
            good=good,
            headline=headline,
            scale=scale,
            variant_of=variant_of.name if variant_of else "",
            question=question,
            words=words,
            compared=compared,
            compares=compares,
            answers=answers or {},
        )
        if register:
            _register(result)
        return result

    return declared


def _register(metric: Metric) -> None:
    declared = _scope.get()
    if declared is None:
        METRICS.add(metric.name, metric)
        for alias in metric.aliases:
            METRICS.alias(alias, metric.name)
    elif metric.name in declared:
        raise MetricError(f"metric {metric.name!r} is declared twice", "give one of them another name")
    else:
        declared[metric.name] = metric


def _first_line(function: Callable[..., Any], described: str, advice: str) -> str:
    line = (inspect.getdoc(function) or "").partition("\n")[0].strip()
    if not line:
        raise MetricError(f"{described} has no docstring", advice)
    return line


def metrics_in_file(path: Path) -> dict[str, Metric]:
    """Return the metrics that a Python file declares, in its order. Loading a file twice is not an error."""
    if not path.is_file():
        raise MetricError("no such file of metrics", "give the path of a Python file, or the id of a metric", file=path)
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise MetricError("cannot be imported", "expected a Python file that declares metrics", file=path)
    module = module_from_spec(spec)
    is_known = path.stem in sys.modules
    if not is_known:
        sys.modules[path.stem] = module  # dataclasses look up their module
    try:
        with declaring() as metrics:
            spec.loader.exec_module(module)
    except Stopped:
        raise
    except (Exception, SystemExit) as problem:
        needs_l2metrics = (getattr(problem, "name", None) or "").split(".")[0] == "l2metrics"
        raise MetricError(
            f"cannot be imported ({type(problem).__name__}: {problem})",
            _L2METRICS if needs_l2metrics else "repair it",
            file=path,
        ) from problem
    finally:
        if not is_known:
            sys.modules.pop(path.stem, None)
    if not metrics:
        raise MetricError("declares no metric", f"decorate a formula with @metric(sites); {_L2METRICS}", file=path)
    return metrics
