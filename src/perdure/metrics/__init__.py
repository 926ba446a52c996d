"""What is measured: every metric of the definitions, one declaration each.

Importing this package registers them all, in the order in which tables show them.
"""

# isort: off
from perdure.metrics import maintenance, transfer, efficiency, recovery, learning, cost, general, twin
from perdure.metrics.matrix import common, cited
from perdure.metrics import framework2019, transfer2019

# isort: on
from perdure.metrics.engine.declare import METRICS, Preset, declaring, metric
from perdure.metrics.engine.metric import Metric, NoValue, Value
from perdure.metrics.engine.questions import Words
from perdure.scenario.sites import Site

__all__ = [
    "METRICS",
    "Metric",
    "NoValue",
    "Preset",
    "Site",
    "Value",
    "Words",
    "cited",
    "common",
    "cost",
    "declaring",
    "efficiency",
    "framework2019",
    "general",
    "learning",
    "maintenance",
    "metric",
    "recovery",
    "transfer",
    "transfer2019",
    "twin",
]
