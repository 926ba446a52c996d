"""Does your learner keep what it learns? Test and evaluation for lifelong learning.

The public names load on first use, so that importing perdure costs nothing and does nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perdure.curves.model import Curve as Curve
    from perdure.curves.model import Prep as Prep
    from perdure.errors import LogError as LogError
    from perdure.errors import PerdureError as PerdureError
    from perdure.gather.model import Survey as Survey
    from perdure.gather.survey import score as score
    from perdure.gather.survey import survey as survey
    from perdure.log.check import check_log as check
    from perdure.log.model import Lifetime as Lifetime
    from perdure.log.problem import Check as Check
    from perdure.log.read import read as read
    from perdure.log.write.bulk import write_lives as write_lives
    from perdure.log.write.journal import Journal as Journal
    from perdure.metrics.engine.declare import METRICS as METRICS
    from perdure.metrics.engine.declare import Metric as Metric
    from perdure.metrics.engine.declare import NoValue as NoValue
    from perdure.metrics.engine.declare import Value as Value
    from perdure.metrics.engine.declare import metric as metric
    from perdure.metrics.engine.score import Score as Score
    from perdure.metrics.engine.settings import settings_for as settings_for
    from perdure.report.model import Report as Report
    from perdure.report.write import write_report as write_report
    from perdure.run.lifetime import live as live
    from perdure.run.runner import RunResult as RunResult
    from perdure.run.runner import run_protocol as run_protocol
    from perdure.scenario.compose import compose as compose
    from perdure.scenario.lint import LintReport as LintReport
    from perdure.scenario.model import Block as Block
    from perdure.scenario.model import Scenario as Scenario
    from perdure.scenario.model import Task as Task
    from perdure.scenario.sites import Site as Site
    from perdure.scenario.syllabus import Syllabus as Syllabus
    from perdure.scenario.syllabus import read_syllabus as read_syllabus
    from perdure.settings import Settings as Settings
    from perdure.stats.correlate import Correlations as Correlations
    from perdure.stats.groups import groups as groups
    from perdure.stats.model import Group as Group
    from perdure.stats.plan import Plan as Plan
    from perdure.stats.systems import Comparisons as Comparisons
    from perdure.verbs import compare as compare
    from perdure.verbs import correlate as correlate
    from perdure.verbs import lint as lint
    from perdure.verbs import plan as plan

__version__ = "0.1.0"

_HOMES = {
    "METRICS": "perdure.metrics",
    "Block": "perdure.scenario.model",
    "Check": "perdure.log.problem",
    "Comparisons": "perdure.stats.systems",
    "Correlations": "perdure.stats.correlate",
    "Curve": "perdure.curves.model",
    "Group": "perdure.stats.model",
    "Journal": "perdure.log.write.journal",
    "Lifetime": "perdure.log.model",
    "LintReport": "perdure.scenario.lint",
    "LogError": "perdure.errors",
    "Metric": "perdure.metrics.engine.declare",
    "NoValue": "perdure.metrics.engine.declare",
    "PerdureError": "perdure.errors",
    "Plan": "perdure.stats.plan",
    "Prep": "perdure.curves.model",
    "Report": "perdure.report.model",
    "RunResult": "perdure.run.runner",
    "Scenario": "perdure.scenario.model",
    "Score": "perdure.metrics.engine.score",
    "Settings": "perdure.settings",
    "Site": "perdure.scenario.sites",
    "Survey": "perdure.gather.model",
    "Syllabus": "perdure.scenario.syllabus",
    "Task": "perdure.scenario.model",
    "Value": "perdure.metrics.engine.declare",
    "check": "perdure.log.check:check_log",
    "compare": "perdure.verbs",
    "compose": "perdure.scenario.compose",
    "correlate": "perdure.verbs",
    "groups": "perdure.stats.groups",
    "lint": "perdure.verbs",
    "live": "perdure.run.lifetime",
    "metric": "perdure.metrics.engine.declare",
    "plan": "perdure.verbs",
    "read": "perdure.log.read",
    "read_syllabus": "perdure.scenario.syllabus",
    "run_protocol": "perdure.run.runner",
    "score": "perdure.gather.survey",
    "settings_for": "perdure.metrics.engine.settings",
    "survey": "perdure.gather.survey",
    "write_lives": "perdure.log.write.bulk",
    "write_report": "perdure.report.write",
}

__all__ = [
    "METRICS",
    "Block",
    "Check",
    "Comparisons",
    "Correlations",
    "Curve",
    "Group",
    "Journal",
    "Lifetime",
    "LintReport",
    "LogError",
    "Metric",
    "NoValue",
    "PerdureError",
    "Plan",
    "Prep",
    "Report",
    "RunResult",
    "Scenario",
    "Score",
    "Settings",
    "Site",
    "Survey",
    "Syllabus",
    "Task",
    "Value",
    "check",
    "compare",
    "compose",
    "correlate",
    "groups",
    "lint",
    "live",
    "metric",
    "plan",
    "read",
    "read_syllabus",
    "run_protocol",
    "score",
    "settings_for",
    "survey",
    "write_lives",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'perdure' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
