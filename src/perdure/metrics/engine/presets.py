"""Presets: named ways to score, so that every published number can still be reproduced."""

from __future__ import annotations

from perdure.curves.model import Prep
from perdure.metrics import METRICS, framework2019, l2metrics31, papers, transfer2019
from perdure.metrics.engine import departures
from perdure.metrics.engine.blocks import summaries
from perdure.metrics.engine.declare import Preset
from perdure.metrics.engine.metric import Metric
from perdure.registry import Registry
from perdure.settings.presets import BAKER_2023, FRAMEWORK_2019, L2METRICS_31, NEW_2022, STANDARD

__all__ = ["PRESETS", "headline", "preset"]


def _standard() -> dict[str, Metric]:
    return {one.name: one for one in METRICS if one.preset == STANDARD}


def _framework_2019() -> dict[str, Metric]:
    both = (vars(framework2019), vars(transfer2019))
    return {name: one for names in both for name, one in names.items() if isinstance(one, Metric)}


PRESETS: Registry[Preset] = Registry("preset", "perdure.presets")

for _one in (
    Preset(
        STANDARD,
        "The definitions: corrected algorithms, ratios averaged as logarithms, values scaled per task to 1–101.",
        Prep(),
        _standard,
        summaries,
        "the documentation, What the numbers mean",
        departures=departures.STANDARD,
        margins=True,
    ),
    Preset(
        NEW_2022,
        "The metrics of 2022 to the letter: contrast transfer, maintenance as a flat mean, efficiency on whole curves.",
        papers.PREP,
        papers.new_2022,
        summaries,
        "New et al. 2022",
        papers.FIXES,
        departures=departures.NEW_2022,
    ),
    Preset(
        BAKER_2023,
        "The five metrics and the cost overhead of 2023 to the letter: arithmetic ratios, efficiency on whole curves.",
        papers.PREP,
        papers.baker_2023,
        summaries,
        "Baker et al. 2023",
        papers.FIXES,
        departures=departures.BAKER_2023,
    ),
    Preset(
        L2METRICS_31,
        "The reference implementation to the last digit, quirks included, for checking old results.",
        l2metrics31.PREP,
        lambda: l2metrics31.L2METRICS_31,
        l2metrics31.summaries,
        "l2metrics 3.1.0",
        refuses=l2metrics31.refuses,
        departures=departures.L2METRICS_31,
    ),
    Preset(
        FRAMEWORK_2019,
        "The metrics of December 2019, on values as measured: each curve a moving average over eleven experiences.",
        framework2019.PREP,
        _framework_2019,
        framework2019.summaries,
        "Metrics Framework, 5 Dec 2019",
        framework2019.FIXES,
        framework2019.refuses,
        departures.FRAMEWORK_2019,
        decides=False,
        taskinfo=True,
    ),
):
    PRESETS.add(_one.name, _one)


def headline() -> tuple[str, ...]:
    """The numbers to lead with of a log: these alone are decided, against thresholds and between systems."""
    return tuple(name for name, one in preset(STANDARD).metrics.items() if one.headline == "log")


def preset(name: str) -> Preset:
    """The preset called `name`; an unknown one offers the nearest."""
    return PRESETS.get(name)
