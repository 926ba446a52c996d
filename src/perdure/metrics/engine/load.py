"""Choosing metrics: those of a preset, by id, or from a user's own file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from perdure.errors import MetricError, UnknownName
from perdure.frozen import replace
from perdure.metrics.engine.declare import METRICS, Preset, declaring
from perdure.metrics.engine.metric import Metric
from perdure.stopping import Stopped

__all__ = ["chosen", "from_file"]

_L2METRICS = (
    "of a class written for l2metrics, import Metric and declared from perdure.classic.l2metrics, "
    "and end the file with declared(YourClass(…))"
)


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
            raise UnknownName("metric", name, metrics)
        if metrics[name].threshold is None:
            raise MetricError(f"{name} has no threshold that a margin of {margin:g} could move", "leave it out")
        metrics[name] = replace(metrics[name], margin=margin, margin_given=True)
    return metrics


def _led(metric: Metric, preset: Preset) -> Metric:
    """The metric as the preset decides it: whether it leads, and with which margin."""
    if preset.decides and preset.margins:
        return metric
    return replace(
        metric,
        headline=metric.headline if preset.decides else "",
        margin=metric.margin if preset.margins else 0.0,
    )


def _registered(name: str, own: Mapping[str, Metric]) -> Metric:
    try:
        return METRICS.get(name)
    except UnknownName:
        raise UnknownName("metric", name, {*own, *METRICS.names()}) from None
