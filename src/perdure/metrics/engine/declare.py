"""Declare metrics with `@metric`, load them from files, and choose those of a preset."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.curves.model import Curves, Preparation
from perdure.errors import MetricError, UnknownNameError
from perdure.metrics.engine.arithmetic import over_tasks
from perdure.metrics.engine.metric import (
    AveragedAs,
    Better,
    Combine,
    Good,
    Headline,
    Metric,
    Question,
    Sites,
    Value,
    Words,
    parameters,
)
from perdure.registry import Registry
from perdure.settings.presets import STANDARD
from perdure.stopping import Stopped

if TYPE_CHECKING:
    from perdure.metrics.engine.score import BlockSummary
    from perdure.settings import Settings


METRICS: Registry[Metric] = Registry("metric", "perdure.metrics")
_L2METRICS = (
    "of a class written for l2metrics, import Metric and declared from perdure.classic.l2metrics, "
    "and end the file with declared(YourClass(…))"
)

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

    A role annotated `Curve` receives its blocks joined, `tuple[Curve, ...]` one curve per block. A parameter `expert`
    receives the experts of the site's task one after the other, `experts` all at once. `expert: ExpertComparison`
    receives the blocks of the role `learned`, joined and compared with each expert. Any other type is looked up in
    `ADAPTERS`. The formula returns a float or a `Value`, or raises `NoValue`.

    By default the values of a task are averaged, then the tasks; if `scale` is log, their logarithms. A metric that is
    the variant of another has its condition, its capability and its metric of matrices, unless it names its own.

    The first line of the formula's docstring gives the meaning of the number, and may end with its initials in
    brackets. A paragraph `$$…$$` is the formula in LaTeX, and one that begins with `Weakness:` names what misleads it.
    """
    if better not in ("higher", "lower"):
        raise UnknownNameError("value of better", better, ("higher", "lower"))

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


class Departure(msgspec.Struct, frozen=True):
    """A difference between a preset and its document: one row of the presets' page."""

    where: str
    """A metric, or a part of the preparation."""
    document: str
    """What the document says."""
    here: str
    because: str


class Preset(msgspec.Struct, frozen=True, eq=False):
    """A named way to score: the preparation of curves, and the declaration behind each id."""

    name: str
    summary: str
    prep: Preparation
    declarations: Callable[[], Mapping[str, Metric]]
    """Id → declaration; asked for when it is used, so that installed plug-ins are read only then."""
    summarise: Callable[[Curves], tuple[BlockSummary, ...]]
    """What is said of each block."""
    source: str = ""
    fixes: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Setting → why nobody may choose it: it is part of what the preset stands for, or means nothing in it."""
    refuses: Callable[[Settings, Preparation], str | None] = lambda _settings, _prep: None
    """Why it cannot be scored so, in words, where a setting is taken but not every value of it; else None."""
    departures: tuple[Departure, ...] = ()
    """Where it differs from its document."""
    decides: bool = True
    """Whether there are verdicts under it."""
    margins: bool = False
    """Whether a metric's declared margin counts; the papers knew none."""
    taskinfo: bool = False
    """Whether `$L2DATA/taskinfo/info.json` stands for experts where there are no others."""
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What the tool behind it calls a metric → its id here, in the order of that tool's table."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Id → declaration."""
        return self.declarations()


# --- choosing ------------------------------------------------------------------------------------


def from_file(path: Path) -> dict[str, Metric]:
    """The metrics that a Python file declares, in its order; loading it twice gives them twice, not an error."""
    if not path.is_file():
        raise MetricError("no such file of metrics", "give the path of a Python file, or the id of a metric", file=path)
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise MetricError("cannot be imported", "expected a Python file that declares metrics", file=path)
    module = module_from_spec(spec)
    known = path.stem in sys.modules
    if not known:
        sys.modules[path.stem] = module  # dataclasses and the like look their module up
    try:
        with declaring() as found:
            spec.loader.exec_module(module)
    except Stopped:
        raise
    except (Exception, SystemExit) as problem:
        theirs = (getattr(problem, "name", None) or "").split(".")[0] == "l2metrics"
        raise MetricError(
            f"cannot be imported ({type(problem).__name__}: {problem})",
            _L2METRICS if theirs else "repair it",
            file=path,
        ) from problem
    finally:
        if not known:
            sys.modules.pop(path.stem, None)
    if not found:
        raise MetricError("declares no metric", f"decorate a formula with @metric(sites); {_L2METRICS}", file=path)
    return found


def chosen(preset: Preset, wanted: Iterable[str] = (), margins: Mapping[str, float] | None = None) -> dict[str, Metric]:
    """The metrics to score: the preset's and those of the files in `wanted`, or only the ids in `wanted`.

    Where `wanted` names ids, these alone are scored, beside what its files declare.
    """
    own = dict(preset.metrics)
    by_id: dict[str, Metric] = {}
    from_files: dict[str, Metric] = {}
    asked = tuple(METRICS.canonical(one) for one in wanted)
    for one in asked:
        if one.endswith(".py"):
            for name, metric in from_file(Path(one)).items():
                if name in own or name in from_files:
                    raise MetricError(f"there is a metric {name!r} already", "give yours another name", file=one)
                from_files[name] = metric
    for one in asked:
        if not one.endswith(".py"):
            by_id[one] = own.get(one) or from_files.get(one) or _registered(one, {**own, **from_files})
    metrics = (by_id or own) | from_files
    metrics = {name: _led(metric, preset) for name, metric in metrics.items()}
    for given, margin in (margins or {}).items():
        name = METRICS.canonical(given)
        if name not in metrics:
            raise UnknownNameError("metric", name, metrics)
        if metrics[name].threshold is None:
            raise MetricError(f"{name} has no threshold that a margin of {margin:g} could move", "leave it out")
        metrics[name] = msgspec.structs.replace(metrics[name], margin=margin, margin_given=True)
    return metrics


def _led(metric: Metric, preset: Preset) -> Metric:
    """The metric as the preset decides it: whether it leads, and with which margin."""
    if preset.decides and preset.margins:
        return metric
    return msgspec.structs.replace(
        metric,
        headline=metric.headline if preset.decides else "",
        margin=metric.margin if preset.margins else 0.0,
    )


def _registered(name: str, own: Mapping[str, Metric]) -> Metric:
    try:
        return METRICS.get(name)
    except UnknownNameError:
        raise UnknownNameError("metric", name, {*own, *METRICS.names()}) from None
