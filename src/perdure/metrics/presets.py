"""Presets: named ways to score, so that every published number can still be reproduced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perdure.curves.model import Prep
from perdure.metrics import METRICS, efficiency, framework2019, l2metrics31, transfer
from perdure.metrics.blocks import summaries
from perdure.metrics.combine import flat
from perdure.metrics.declare import Metric, Preset
from perdure.registry import Registry

__all__ = ["CHANGED", "PRESETS", "preset"]


def _standard() -> dict[str, Metric]:
    return {one.name: one for one in METRICS if one.preset == "standard"}


def _new_2022() -> dict[str, Metric]:
    """Transfer as a contrast, maintenance as a flat mean, sample efficiency on whole curves."""
    registered = {
        name: METRICS.get(name)
        for name in (
            "performance_maintenance",
            "forward_transfer",
            "forward_transfer_contrast",
            "backward_transfer",
            "backward_transfer_contrast",
            "relative_performance",
            "sample_efficiency",
            "performance_recovery",
            "recovery_time",
            "droop",
            "recovery_rate",
            "cumulative_gain",
            "learn_burn",
            "terminal_performance",
        )
    }
    return registered | {
        "performance_maintenance": replace(
            registered["performance_maintenance"], combine=flat, source="New et al. 2022"
        ),
        "forward_transfer": replace(transfer.forward_transfer_contrast, name="forward_transfer"),
        "backward_transfer": replace(transfer.backward_transfer_contrast, name="backward_transfer"),
        "relative_performance": replace(
            registered["relative_performance"], condition="Transfer and Adaptation", source="New et al. 2022"
        ),
        "sample_efficiency": efficiency.sample_efficiency_uncut,
    }


def _baker_2023() -> dict[str, Metric]:
    names = (
        "performance_maintenance",
        "forward_transfer",
        "backward_transfer",
        "relative_performance",
        "sample_efficiency",
        "cost_overhead",
    )
    return {name: METRICS.get(name) for name in names} | {"sample_efficiency": efficiency.sample_efficiency_uncut}


_PAPER = "the paper's own preparation and averages are what the preset stands for; standard takes it"
_FIXED_BY_PAPERS = dict.fromkeys(
    ("window", "width", "smooth_evaluation", "clamp", "scale", "bounds", "aggregate"), _PAPER
)

CHANGED: Mapping[str, str] = {
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
        "The definitions: corrected algorithms, ratio transfer, values scaled per task to 1–101.",
        Prep(),
        _standard,
        summaries,
        "the documentation, What the numbers mean",
    ),
    Preset(
        "new-2022",
        "Contrast transfer, maintenance as a flat mean, clamped values, efficiency on whole curves.",
        Prep(clamp=True),
        _new_2022,
        summaries,
        "New et al. 2022",
        _FIXED_BY_PAPERS,
    ),
    Preset(
        "baker-2023",
        "The five lifelong-learning metrics and cost overhead of the 2023 paper, efficiency on whole curves.",
        Prep(),
        _baker_2023,
        summaries,
        "Baker et al. 2023",
        _FIXED_BY_PAPERS,
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
