"""Presets: named ways to score, so that every published number can still be reproduced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perdure.curves.model import Curves, Preparation
from perdure.errors import MetricError, UnknownNameError
from perdure.metrics import METRICS
from perdure.metrics.declare import ComparedAs, Metric, metrics_in_file
from perdure.metrics.matrix import reads_matrix
from perdure.registry import Registry
from perdure.settings import OPTIONS, Settings
from perdure.settings.presets import BAKER_2023, FRAMEWORK_2019, L2METRICS_31, NEW_2022, STANDARD

if TYPE_CHECKING:
    from perdure.metrics.score import BlockSummary


class Preset(msgspec.Struct, frozen=True, eq=False):
    """A named way to score: the preparation of curves, and the declaration behind each id."""

    name: str
    summary: str
    prep: Preparation
    declarations: Callable[[], Mapping[str, Metric]]
    """Returns id → declaration. It is called on use, so that plug-ins are only loaded then."""
    summarise: Callable[[Curves], tuple[BlockSummary, ...]] | None = None
    """Returns the summaries of all blocks, if they are not those of `standard`."""
    source: str = ""
    fixes: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Setting → the reason why it cannot be chosen: it is part of the preset's definition, or has no meaning in it."""
    refuses: Callable[[Settings, Preparation], str | None] = lambda _settings, _prep: None
    """Returns the reason why values of settings are refused, or None."""
    decides: bool = True
    """Whether there are verdicts."""
    margins: bool = False
    """Whether the margins that metrics declare count; the papers have none."""
    taskinfo: bool = False
    """Whether `$L2DATA/taskinfo/info.json` replaces experts if there are none."""
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Name of a metric in the original tool → its id here, in the order of that tool's table."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Id → declaration."""
        return self.declarations()


PRESETS: Registry[Preset] = Registry("preset", "perdure.presets")


def headline() -> tuple[str, ...]:
    """Return the headline numbers of a log. Only they are tested against thresholds."""
    return tuple(name for name, metric in PRESETS.get(STANDARD).metrics.items() if metric.headline == "log")


def compared() -> tuple[str, ...]:
    """Return the metrics that are tested when logs of learners are compared, the level at the end first."""
    metrics = [metric for metric in METRICS if metric.compared and metric.compared.of == "log"]
    return tuple(metric.name for metric in sorted(metrics, key=lambda metric: metric.compared != ComparedAs()))


# --- settings under a preset ---------------------------------------------------------------------


def prepared(settings: Settings, preset: Preset) -> Preparation:
    """Return the preparation of curves under `preset`. Refuse a setting that it fixes or cannot use."""
    given = settings.given
    for name, why in preset.fixes.items():
        if name in given:
            raise MetricError(
                f"preset {preset.name!r} does not take it: {why}", "leave it out", where=OPTIONS[name].flag
            )
    baselines = [name for name in ("random_init", "joint") if name in given]
    if baselines and not settings.metrics and not any(map(reads_matrix, preset.metrics.values())):
        raise MetricError(
            f"preset {preset.name!r} has no accuracy-matrix metrics that could use it",
            "take standard, or name them with --metrics",
            where=OPTIONS[baselines[0]].flag,
        )
    prep = settings.prepared(preset.prep)
    refused = preset.refuses(settings, prep)
    if refused:
        raise MetricError(refused, "leave that out, or take another preset", where=f"preset {preset.name!r}")
    return prep


def chosen_metrics(
    preset: Preset, wanted: Iterable[str] = (), margins: Mapping[str, float] | None = None
) -> dict[str, Metric]:
    """Return the metrics to score: those of the preset and of the files in `wanted`.

    If `wanted` has ids, only these and the metrics of its files are scored.
    """
    own = dict(preset.metrics)
    from_files: dict[str, Metric] = {}
    names = tuple(METRICS.canonical(name) for name in wanted)
    for file in (name for name in names if name.endswith(".py")):
        for name, metric in metrics_in_file(Path(file)).items():
            if name in own or name in from_files:
                raise MetricError(f"there is a metric {name!r} already", "give yours another name", file=file)
            from_files[name] = metric
    known = own | from_files
    by_id = {name: known.get(name) or _registered(name, known) for name in names if not name.endswith(".py")}
    metrics = (by_id or own) | from_files
    if not (preset.decides and preset.margins):
        metrics = {
            name: msgspec.structs.replace(
                metric,
                headline=metric.headline if preset.decides else "",
                margin=metric.margin if preset.margins else 0.0,
            )
            for name, metric in metrics.items()
        }
    for given, margin in (margins or {}).items():
        name = METRICS.canonical(given)
        compared = METRICS.get(name) if name in METRICS and METRICS.get(name).compared else None
        moved = metrics.get(name, compared)
        if moved is None:
            raise UnknownNameError("metric", name, metrics)
        if moved.threshold is None and moved.compared is None:
            raise MetricError(f"{name} has no threshold that a margin of {margin:g} could move", "leave it out")
        metrics[name] = msgspec.structs.replace(moved, margin=margin, margin_given=True)
    return metrics


def measure_of_each(preset: Preset, metrics: Mapping[str, Metric], measures: Mapping[str, str]) -> dict[str, str]:
    """Return the measures of single metrics by id. Refuse unknown metrics, and those that only comparisons compute."""
    by_id = {METRICS.canonical(given): measure for given, measure in measures.items()}
    known = {**preset.metrics, **metrics}
    for name in by_id:
        if name in METRICS and not METRICS.get(name).preset:
            raise MetricError(
                f"{name} is computed when lifetimes are compared", "give --measure", where="--measure-for"
            )
        if name not in known:
            raise UnknownNameError("metric in --measure-for", name, known)
    return by_id


def _registered(name: str, known: Mapping[str, Metric]) -> Metric:
    try:
        return METRICS.get(name)
    except UnknownNameError:
        raise UnknownNameError("metric", name, {*known, *METRICS.names()}) from None


# --- the presets ---------------------------------------------------------------------------------

PRESETS.add(
    STANDARD,
    Preset(
        STANDARD,
        "The definitions: corrected algorithms, ratios averaged as logarithms, values scaled per task to 1–101.",
        Preparation(),
        lambda: {metric.name: metric for metric in METRICS if metric.preset == STANDARD},
        source="the documentation, What the numbers mean",
        margins=True,
    ),
)
PRESETS.add_later(NEW_2022, "perdure.metrics.papers:NEW_2022_PRESET")
PRESETS.add_later(BAKER_2023, "perdure.metrics.papers:BAKER_2023_PRESET")
PRESETS.add_later(L2METRICS_31, "perdure.classic.l2metrics31:L2METRICS_31")
PRESETS.add_later(FRAMEWORK_2019, "perdure.classic.framework2019:FRAMEWORK_2019")
