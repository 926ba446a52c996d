"""What each kind of figure shows, computed once from the lifetimes: every renderer draws this and computes nothing.

What no lifetime has is None and stays so; forward and backward transfer are never in one number; and
each number comes with how many lifetimes have it.
"""

from __future__ import annotations

from perdure.report.draw.data.capabilities import CapabilitiesData, capabilities
from perdure.report.draw.data.groups import (
    MetricsData,
    PowerData,
    ProfilesData,
    ScatterData,
    SharesData,
    efficiency_maintenance,
    metrics,
    performance_cost,
    power,
    profiles,
    shares,
    shown_metrics,
    stability_plasticity,
)
from perdure.report.draw.data.lives import (
    EvaluationsData,
    ExpertsData,
    LifetimeData,
    RawData,
    ScenarioData,
    evaluations,
    experts,
    lifetime,
    raw,
    scenario,
)
from perdure.report.draw.data.matrices import (
    AccuracyData,
    ForgettingData,
    LearningFinalData,
    OverviewData,
    TransferData,
    TransferMatrix,
    accuracy,
    forgetting,
    learning_final,
    overview,
    transfer,
)
from perdure.report.draw.data.places import AnnotatedData, OverTimeData, annotated, over_time
from perdure.report.draw.data.view import Flagged, Nothing, View, flags_of, flags_text, plain_data

__all__ = [
    "AccuracyData",
    "AnnotatedData",
    "CapabilitiesData",
    "EvaluationsData",
    "ExpertsData",
    "Flagged",
    "ForgettingData",
    "LearningFinalData",
    "LifetimeData",
    "MetricsData",
    "Nothing",
    "OverTimeData",
    "OverviewData",
    "PowerData",
    "ProfilesData",
    "RawData",
    "ScatterData",
    "ScenarioData",
    "SharesData",
    "TransferData",
    "TransferMatrix",
    "View",
    "accuracy",
    "annotated",
    "capabilities",
    "efficiency_maintenance",
    "evaluations",
    "experts",
    "flags_of",
    "flags_text",
    "forgetting",
    "learning_final",
    "lifetime",
    "metrics",
    "over_time",
    "overview",
    "performance_cost",
    "plain_data",
    "power",
    "profiles",
    "raw",
    "scenario",
    "shares",
    "shown_metrics",
    "stability_plasticity",
    "transfer",
]
