"""The metrics of the definitions, one declaration each.

Importing this package registers them all, in the order in which tables show them.
"""

# isort: off
from perdure.metrics import (
    maintenance,
    worst_case,
    transfer,
    efficiency,
    recovery,
    learning,
    stream,
    cost,
    matrix_formulas,
)

# isort: on
from perdure.metrics.arithmetic import NoValue, Value
from perdure.metrics.declare import METRICS, Metric, VerdictWords, declaring, metric
from perdure.scenario.sites import Site

__all__ = [
    "METRICS",
    "Metric",
    "NoValue",
    "Site",
    "Value",
    "VerdictWords",
    "cost",
    "declaring",
    "efficiency",
    "learning",
    "maintenance",
    "matrix_formulas",
    "metric",
    "recovery",
    "stream",
    "transfer",
    "worst_case",
]

for _name in (
    "global_perf",
    "time_to_saturation",
    "maintenance_on_test",
    "maintenance_on_test_time",
    "maintenance_on_test_mean",
    "ste_relative",
):
    METRICS.add_later(_name, f"perdure.classic.framework2019:{_name}")
for _name in (
    "ste_forward_transfer",
    "ste_reverse_transfer",
    "time_to_learn_gain",
    "transfer_of_recovery",
    "transfer_of_maintenance",
    "transfer_of_continual_learning",
):
    METRICS.add_later(_name, f"perdure.classic.framework2019:{_name}")
