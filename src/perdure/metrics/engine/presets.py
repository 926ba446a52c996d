"""Presets: named ways to score, so that every published number can still be reproduced."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.curves.model import Prep
from perdure.metrics import METRICS, framework2019, l2metrics31, papers, transfer2019
from perdure.metrics.engine import departures
from perdure.metrics.engine.blocks import summaries
from perdure.metrics.engine.declare import Preset
from perdure.metrics.engine.metric import Metric
from perdure.registry import Registry
from perdure.settings.presets import BAKER_2023, FRAMEWORK_2019, L2METRICS_31, NEW_2022, STANDARD

__all__ = ["CHANGED", "OLD_NAMES", "PRESETS", "headline", "preset"]


def _standard() -> dict[str, Metric]:
    return {one.name: one for one in METRICS if one.preset == STANDARD}


def _framework_2019() -> dict[str, Metric]:
    both = (vars(framework2019), vars(transfer2019))
    return {name: one for names in both for name, one in names.items() if isinstance(one, Metric)}


_AS_LOGARITHMS = "pairs are averaged as logarithms, because a mean of ratios lies above 1 by chance"
_JOINED = "curves are joined and cut before they are smoothed, and experts and tasks averaged as logarithms"
_ACCURACY = "a measure counts as an accuracy only where it is called so, or its bounds say so"
_BY_DATA = "values are scaled by the data alone, as in the paper, whatever bounds a log records"
_CLAMPED = "values are clamped at their 10th and 90th percentile and scaled by the data alone, as in the paper"
CHANGED: Mapping[str, Mapping[str, str]] = {
    STANDARD: {
        "forward_transfer": _AS_LOGARITHMS,
        "backward_transfer": _AS_LOGARITHMS,
        "relative_performance": _JOINED,
        "sample_efficiency": f"{_JOINED}; it goes by a common target, no longer by each curve's highest value",
        "fwt": "forward transfer is Lopez-Paz and Ranzato's now; what was called fwt is above_chance",
        "omega_new": "it is no longer divided by the joint learner's accuracy, as in Hayes et al. 2018",
        "dr_remembering": _ACCURACY,
        "memory_stability": _ACCURACY,
    },
    NEW_2022: {
        **dict.fromkeys(papers.NEW_2022, _BY_DATA),
        "cumulative_gain": f"the sign of a slope counts, however uncertain; {_BY_DATA}",
    },
    BAKER_2023: {
        **dict.fromkeys(papers.BAKER_2023, _CLAMPED),
        "sample_efficiency": f"the joined curve is smoothed once more (Alg. 4); {_CLAMPED}",
        "cost_overhead": "it is the time of the whole lifetime per learning experience (App. G), evaluations and all",
    },
}
"""Preset → metric → what its definition changed since the first edition (version 0.1)."""

OLD_NAMES: Mapping[str, str] = {"fwt": "above_chance", "fwt_gem": "fwt"}
"""What metrics of the first edition are called now."""

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
