"""Does your learner keep what it learns? Test and evaluation for lifelong learning.

The public names load on first use, so that importing perdure costs nothing and does nothing. `__init__.pyi` says the
same to type checkers.
"""

from perdure.lazy import loading

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = loading(
    __name__,
    {
        "curves.model": "Curve Prep",
        "curves.prepare": "smooth",
        "errors": "LogError PerdureError",
        "gather.model": "Survey",
        "gather.survey": "score survey",
        "log.check": "check_log:check",
        "log.formats.learnkit": "write_learnkit",
        "log.formats.matrix": "matrix_lifetime read_matrix",
        "log.model": "Lifetime",
        "log.problem": "Check",
        "log.read": "find lifetimes read",
        "log.write.bulk": "write_lives",
        "log.write.journal": "Journal",
        "metrics": "METRICS",
        "metrics.engine.declare": "Metric NoValue Value metric",
        "metrics.engine.score": "Score",
        "metrics.engine.settings": "settings_for",
        "report.draw": "KINDS:FIGURES View draw save:save_figure",
        "report.material": "Material",
        "report.model": "Report",
        "report.write": "write_report",
        "run.lifetime": "live",
        "run.runner": "RunResult run_protocol",
        "scenario.compose": "compose single_of",
        "scenario.lint": "LintReport",
        "scenario.model": "Block Scenario Task",
        "scenario.sites": "Site",
        "scenario.syllabus": "Syllabus read_syllabus write_syllabus",
        "settings": "Settings",
        "stats.correlate": "Correlations",
        "stats.groups": "groups",
        "stats.model": "Group",
        "stats.plan": "Plan",
        "stats.robust": "interquartile_mean optimality_gap performance_profile stratified_bootstrap",
        "stats.systems": "Comparisons",
        "verbs": "compare correlate lint plan",
    },
)
