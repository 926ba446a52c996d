"""Presets: named ways to score, so that every published number can still be reproduced."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.curves.model import Prep
from perdure.metrics import METRICS, framework2019, l2metrics31, papers
from perdure.metrics.blocks import summaries
from perdure.metrics.declare import Metric, Preset
from perdure.registry import Registry

__all__ = ["CHANGED", "PRESETS", "preset"]


def _standard() -> dict[str, Metric]:
    return {one.name: one for one in METRICS if one.preset == "standard"}


_PREPARED = "the papers' presets clamp and scale by the data now, as the papers do"
_AS_LOGARITHMS = f"pairs are averaged as logarithms, because a mean of ratios lies above 1 by chance; {_PREPARED}"
_JOINED = (
    "curves are joined and cut before they are smoothed, and experts and tasks averaged as logarithms; " + _PREPARED
)
CHANGED: Mapping[str, str] = {
    "forward_transfer": _AS_LOGARITHMS,
    "backward_transfer": _AS_LOGARITHMS,
    "relative_performance": _JOINED,
    "sample_efficiency": f"{_JOINED}; it goes by a common target, no longer by each curve's highest value",
    "fwt": "forward transfer is Lopez-Paz and Ranzato's now; what was called fwt is above_chance",
    "omega_new": "it is no longer divided by the joint learner's accuracy, as in Hayes et al. 2018",
    "dr_remembering": "a measure counts as an accuracy only where it is called so, or its bounds say so",
    "memory_stability": "a measure counts as an accuracy only where it is called so, or its bounds say so",
}
"""Metric → what its definition changed since the first edition (version 0.1)."""

PRESETS: Registry[Preset] = Registry("preset", "perdure.presets")

for _one in (
    Preset(
        "standard",
        "The definitions: corrected algorithms, ratios averaged as logarithms, values scaled per task to 1–101.",
        Prep(),
        _standard,
        summaries,
        "the documentation, What the numbers mean",
    ),
    Preset(
        "new-2022",
        "The metrics of 2022 to the letter: contrast transfer, maintenance as a flat mean, efficiency on whole curves.",
        papers.PREP,
        papers.new_2022,
        summaries,
        "New et al. 2022",
        papers.FIXES,
    ),
    Preset(
        "baker-2023",
        "The five metrics and the cost overhead of 2023 to the letter: arithmetic ratios, efficiency on whole curves.",
        papers.PREP,
        papers.baker_2023,
        summaries,
        "Baker et al. 2023",
        papers.FIXES,
    ),
    Preset(
        "l2metrics-3.1",
        "The reference implementation to the last digit, quirks included, for checking old results.",
        l2metrics31.PREP,
        lambda: l2metrics31.L2METRICS_31,
        l2metrics31.summaries,
        "l2metrics 3.1.0",
        refuses=l2metrics31.refuses,
    ),
    Preset(
        "framework-2019",
        "The metrics of December 2019, on values as measured.",
        framework2019.PREP,
        lambda: framework2019.FRAMEWORK_2019,
        summaries,
        "Metrics Framework, 5 Dec 2019",
        framework2019.FIXES,
        framework2019.refuses,
    ),
):
    PRESETS.add(_one.name, _one)


def preset(name: str) -> Preset:
    """The preset called `name`; an unknown one offers the nearest."""
    return PRESETS.get(name)
