"""Presets: named ways to score, so that every published number can still be reproduced."""

from __future__ import annotations

from perdure.curves.model import Prep
from perdure.metrics import METRICS, papers
from perdure.metrics.engine import departures
from perdure.metrics.engine.blocks import summaries
from perdure.metrics.engine.declare import Preset
from perdure.metrics.engine.metric import Metric
from perdure.registry import Registry
from perdure.settings.presets import BAKER_2023, FRAMEWORK_2019, L2METRICS_31, NEW_2022, STANDARD

__all__ = ["PRESETS", "headline", "preset"]


def _standard() -> dict[str, Metric]:
    return {one.name: one for one in METRICS if one.preset == STANDARD}


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
):
    PRESETS.add(_one.name, _one)
PRESETS.add_later(L2METRICS_31, "perdure.classic.presets:L2METRICS_31")
PRESETS.add_later(FRAMEWORK_2019, "perdure.classic.presets:FRAMEWORK_2019")


def headline() -> tuple[str, ...]:
    """The numbers to lead with of a log: these alone are decided, against thresholds and between systems."""
    return tuple(name for name, one in preset(STANDARD).metrics.items() if one.headline == "log")


def preset(name: str) -> Preset:
    """The preset called `name`; an unknown one offers the nearest."""
    return PRESETS.get(name)
