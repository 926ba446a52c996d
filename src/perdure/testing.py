"""Contracts that plug-in authors run against what they wrote; each breach is an AssertionError in words."""

from perdure.log.contract import check_reader, require
from perdure.metrics.contract import check_metric
from perdure.runner.contract import BATCHES, check_learner
from perdure.tasks.contract import check_task

__all__ = ["BATCHES", "check_learner", "check_metric", "check_reader", "check_task", "require"]
