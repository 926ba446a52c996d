"""Known-answer learners: lifetimes whose forgetting, transfer, speed and noise were put there on purpose."""

from perdure.simulate.learner import NOTIONAL, IdealLearner
from perdure.simulate.lifetimes import expert, experts, lifetime, lifetimes, write_log
from perdure.simulate.many import metric_values

__all__ = ["NOTIONAL", "IdealLearner", "expert", "experts", "lifetime", "lifetimes", "metric_values", "write_log"]
