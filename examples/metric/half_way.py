"""Custom metrics: how soon a learner is half way, and how much of its performance remains at the end."""

# ruff: noqa: D403 - the docstring of sites completes "the scenario needs …"

from __future__ import annotations

from collections.abc import Iterator

from perdure import Curve, NoValue, Scenario, Site, metric
from perdure.scenario import sites


@metric(sites.each_learning_block, unit="experiences", better="lower", source="this example")
def time_to_half_way(learned: Curve) -> float:
    """Number of experiences from a block's first value to half way to its best."""
    index = learned.reached((learned.values[0] + learned.peak) / 2)
    if index == 0:
        raise NoValue("the block starts at its best, so there is no way to go")
    return index if index is not None else len(learned)


def first_and_last_evaluation(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated at least twice after it was learned"""
    blocks_by_task: dict[str, list[int]] = {}
    for site in sites.since_learning(scenario):
        blocks_by_task.setdefault(str(site.key), list(site.blocks["reference"])).append(site.blocks["evaluation"][0])
    for task, blocks in blocks_by_task.items():
        yield Site(task, {"first": (blocks[0],), "last": (blocks[-1],)})


@metric(first_and_last_evaluation, unit="points", threshold=0, source="this example")
def kept_to_the_end(first: Curve, last: Curve) -> float:
    """Change of a task's performance from right after its learning to its last evaluation."""
    return last.mean - first.mean
