"""What a protocol will be able to say, before it is run: its settings, the metrics it answers, its experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.errors import PerdureError
from perdure.settings import Settings
from perdure.settings.presets import STANDARD
from perdure.text import plural

if TYPE_CHECKING:
    from perdure.runner.plan import RunPlan
    from perdure.runner.protocol import Protocol


def settings_of(protocol: Protocol) -> Settings:
    """How a protocol's lifetimes are scored; what is wrong with that is said before any is run."""
    from perdure.metrics.scorer import Scorer

    settings = Settings(**protocol.score, origins=dict.fromkeys(protocol.score, "protocol"))
    try:
        Scorer(settings)
    except PerdureError as problem:
        raise problem.at(file=protocol.place, where="[score]") from problem
    return settings


def unanswered(plan: RunPlan, settings: Settings) -> dict[str, list[str]]:
    """For each scenario, the metrics with a threshold that it cannot answer."""
    from perdure.metrics.presets import PRESETS
    from perdure.scenario.lint import lint

    metrics = [metric for metric in PRESETS.get(settings.preset).metrics.values() if metric.threshold is not None]
    found: dict[str, list[str]] = {}
    for scenario in plan.protocol.scenarios:
        life = next(job for job in plan.lives if job.scenario == scenario.name)
        report = lint(life.syllabus, metrics=metrics, variants=settings.variants or "name")
        found[scenario.name] = [name for name, one in report.metrics.items() if one.sites == 0]
    return found


def few_experts(protocol: Protocol, settings: Settings) -> str:
    """What a protocol's number of experts keeps from being decided, in words; nothing where it suffices."""
    from perdure.metrics.presets import PRESETS
    from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS

    metrics = PRESETS.get(settings.preset).metrics.values()
    beside = [one.name for one in metrics if one.expert and one.threshold is not None]
    if not beside or protocol.experts >= FEW_EXPERTS:
        return ""
    here, which = plural(protocol.experts, "expert") + " per task", " and ".join(beside)
    if not protocol.experts:
        return f"no experts: {which} will have no value; set experts = {FEW_EXPERTS} in the protocol"
    if settings.preset != STANDARD:
        return ""  # papers take experts as constants
    if protocol.experts < TOO_FEW_EXPERTS:
        least = f"a verdict needs {TOO_FEW_EXPERTS}, and {FEW_EXPERTS} to carry no flag"
        return f"{here}: too few for a verdict on {which}; {least}"
    return f"{here}: the verdict on {which} will be flagged 'few experts'; run {FEW_EXPERTS} to avoid that"
