"""Lifetimes before they are prepared: what is asked of them, and the values that count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.curves.experts import oriented, values_of
from perdure.curves.model import Prep, Range
from perdure.curves.ranges import given_ranges, recorded_ranges
from perdure.errors import LogError, MetricError
from perdure.frozen import frozen, replace
from perdure.lazy import pl
from perdure.log.model import Direction, Lifetime, Passage
from perdure.log.variants import Settled
from perdure.scenario.model import Block, Task

__all__ = [
    "Asked",
    "Directed",
    "Life",
    "Measured",
    "life_of",
    "oriented_blocks",
    "passage_of",
    "way_of",
]

_LARGEST = 1e300  # the range of larger values, or the sum of many, is no number

Measured = str | Mapping[str, str]
Directed = Direction | Mapping[str, Direction]


@frozen
class Asked:
    """What is asked of lifetimes that are prepared together: the measure and its direction, or those of each task."""

    measure: Measured
    direction: Directed
    prep: Prep
    """With `variants` said."""
    settled: Settled | None = None
    """What parameter sets are called, where they make tasks."""

    def __post_init__(self) -> None:
        if not isinstance(self.measure, str) and self.prep.scale == "run":
            raise MetricError("tasks with different measures have no common range", "use --scale task")


@frozen(eq=False)
class Life:
    """A lifetime before it is prepared: the values that count, and the ranges that are known beforehand."""

    lifetime: Lifetime
    passage: Passage
    values: Array
    starts: npt.NDArray[np.int64]
    given: Mapping[str, Range]
    ways: Mapping[str, Direction]
    """Task → whether higher is better there."""

    def like(self, other: Life) -> bool:
        """Whether both went through the same blocks, and are scaled by the same given ranges."""
        mine, its = self.passage.scenario, other.passage.scenario
        return (
            (mine.blocks is its.blocks or mine.blocks == its.blocks)
            and (self.starts is other.starts or np.array_equal(self.starts, other.starts))
            and (self.given is other.given or self.given == other.given)
            and mine.tasks == its.tasks
            and self.passage.measures == other.passage.measures
            and mine.info == its.info
        )


def life_of(lifetime: Lifetime, passage: Passage, asked: Asked, before: Life | None) -> Life:
    if not len(passage.values):
        dropped = ", ".join(f"{count} {why}" for why, count in passage.dropped.items() if count)
        raise LogError(
            f"no value of {passage.measure!r} counts" + (f" (dropped: {dropped})" if dropped else ""),
            "choose another with --measure, or see perdure check",
            where=lifetime.id,
        )
    values, starts = values_of(passage, asked.prep)
    if max(values.max(), -values.min()) > _LARGEST:
        at = int(np.abs(values).argmax())
        block = int(np.searchsorted(starts, at, side="right")) - 1
        task = passage.scenario.blocks[block].task
        raise LogError(
            f"a value of {values[at]:g}, and what lies beyond ±{_LARGEST:g} cannot be averaged",
            "divide all values by a constant, or log nothing where a learner has diverged",
            where=f"{lifetime.id}: block {block} ({task})",
        )
    blocks, manifest = passage.scenario.blocks, lifetime.manifest.get("scenario")
    if before and blocks is before.passage.scenario.blocks and manifest is before.lifetime.manifest.get("scenario"):
        return Life(lifetime, passage, values, starts, before.given, before.ways)
    tasks = (task.label for task in passage.scenario.tasks)
    ways = {task: way_of(task, passage.measures, asked.direction) for task in tasks}
    given = given_ranges(lifetime, asked.prep, ways, passage.scenario.tasks)
    if given is None:
        given = recorded_ranges(lifetime, passage, asked.prep, ways)
    return Life(lifetime, passage, values, starts, given, ways)


def way_of(task: str, measures: Measured, direction: Directed) -> Direction:
    """Whether higher is better in `task`, which may have a measure of its own."""
    if isinstance(direction, str):
        return direction
    assert not isinstance(measures, str), "directions of measures come with measures of tasks"
    named = measures.get(task) or measures.get(Task.parse(task).name, "")
    return direction.get(named, "higher")


def oriented_blocks(
    values: Array, starts: npt.NDArray[np.int64], blocks: Sequence[Block], ways: Mapping[str, Direction]
) -> Array:
    """The values such that higher is better in every task."""
    if len(set(ways.values())) == 1:
        return oriented(values, next(iter(ways.values())))
    signs = [-1.0 if ways[block.task] == "lower" else 1.0 for block in blocks]
    turned: Array = values * np.repeat(signs, np.diff(starts))
    return turned


def passage_of(lifetime: Lifetime, asked: Asked) -> Passage:
    prep = asked.prep
    if prep.variants != "agnostic" or prep.suffix == "last":
        return lifetime.passage(asked.measure, prep.variants, asked.settled)
    whole = pl.col("task_name").cast(pl.String)
    cut = lifetime.experiences.with_columns(whole.str.split("_").list.first().cast(pl.Categorical()))
    return replace(lifetime, experiences=cut).passage(asked.measure, "name")
