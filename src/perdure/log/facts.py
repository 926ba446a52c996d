"""What each block of a log says of itself, and the scenario that its blocks make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.lazy import pl
from perdure.log.parameters import parameters
from perdure.log.variants import task_of
from perdure.scenario.model import Block, Mode, Scenario, Subtype, Task
from perdure.scenario.parameters import same_value

if TYPE_CHECKING:
    from perdure.log.model import Lifetime

__all__ = ["Facts", "scenario_of"]

_MODES: dict[str, Mode] = {"train": "learn", "test": "evaluate"}


class Facts(msgspec.Struct, frozen=True):
    """What each block's first row says, and the parameters of its last."""

    kinds: list[str]
    tasks: list[str]
    subtypes: list[Subtype]
    numbers: list[int]
    first: list[str | None]
    last: list[str | None]
    labels: list[str]
    """The tasks as logged."""

    @classmethod
    def of(cls, rows: pl.DataFrame, labels: pl.Series, row_starts: npt.NDArray[np.int64]) -> Facts:
        # By lists, not arrays: Polars would import numpy.ma to look at an array, 20 ms.
        first, last = row_starts[:-1].tolist(), (row_starts[1:] - 1).tolist()
        names = ("block_type", "task_name", "block_subtype", "block_num", "task_params")
        kinds, tasks, subtypes, numbers, texts = (rows.get_column(name)[first].to_list() for name in names)
        ends = rows.get_column("task_params")[last].to_list()  # not by `gather`, a query of its own
        return cls(kinds, tasks, subtypes, numbers, texts, ends, labels[first].to_list())

    @property
    def plain(self) -> bool:
        """Whether every label has, as far as its blocks begin and end, one text of parameters."""
        texts = {(label, text) for label, text in zip(self.labels, self.first, strict=True)}
        return self.first == self.last and len(texts) == len(set(self.labels))


def scenario_of(
    lifetime: Lifetime,
    facts: Facts,
    lengths: npt.NDArray[np.int64],
    noise: Mapping[str, frozenset[str]],
    tasks: Mapping[str, Task],
    *,
    as_one: bool,
) -> Scenario:
    """The blocks as scored; `as_one`: variants are one task, and each block remembers which it was."""
    params = [
        _params(first, last, noise.get(label, frozenset()))
        for first, last, label in zip(facts.first, facts.last, facts.labels, strict=True)
    ]
    blocks = [
        Block(_MODES[kind], task, length, found, subtype, number, label.lower() if as_one and label != task else "")
        for kind, task, length, found, subtype, number, label in zip(
            facts.kinds, facts.tasks, lengths.tolist(), params, facts.subtypes, facts.numbers, facts.labels, strict=True
        )
    ]
    described = (tasks.get(task) or task_of(lifetime, task) for task in dict.fromkeys(facts.tasks))
    return Scenario.of(lifetime.id, blocks, described, info=lifetime.info)


def _params(first: str | None, last: str | None, noise: frozenset[str]) -> dict[str, Any]:
    """A block's parameters: those that its first and its last row share, without noise."""
    found = parameters(first)
    if first != last:
        ends = parameters(last)
        found = {name: value for name, value in found.items() if name in ends and same_value(value, ends[name])}
    return {name: value for name, value in found.items() if name not in noise} if noise else found
