"""l2metrics 3.1's classes and command: `from perdure.classic.l2metrics import Metric, MetricsReport`.

As a command, `python -m perdure.classic.l2metrics -l LOG` in place of `python -m l2metrics` or `calc_metrics.py`.
"""

from perdure.classic.l2metrics.command import main
from perdure.classic.l2metrics.metric import Metric, declared, stand_in
from perdure.classic.l2metrics.report import MetricsReport, store_expert

__all__ = ["Metric", "MetricsReport", "declared", "main", "stand_in", "store_expert"]
