"""Simulated learners with known forgetting, transfer, speed, height and noise, and their lifetimes."""

from perdure.simulate.learner import NOTIONAL, NULL, IdealLearner, performance
from perdure.simulate.lifetimes import as_lifetimes, expert, experts, lifetime, lifetimes, write_log
from perdure.simulate.values import metric_values, truth

__all__ = [
    "NOTIONAL",
    "NULL",
    "IdealLearner",
    "as_lifetimes",
    "expert",
    "experts",
    "lifetime",
    "lifetimes",
    "metric_values",
    "performance",
    "truth",
    "write_log",
]
