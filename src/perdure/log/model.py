"""Lifetime and Passage: what was recorded, and what of it counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError, UnknownNameError
from perdure.lazy import pl
from perdure.log.rules import BLOCK_SUBTYPES, BLOCK_TYPES, EXPERIENCE_STATUSES, STANDARD_COLUMNS
from perdure.results import Shown
from perdure.scenario.model import Scenario, Task, Variants, variant_mode

if TYPE_CHECKING:
    from perdure.log.variants import ParameterTable, Sets, Settled

__all__ = [
    "BLOCK_SUBTYPES",
    "BLOCK_TYPES",
    "EXPERIENCE_STATUSES",
    "STANDARD_COLUMNS",
    "TIMESTAMP_FORMAT",
    "Direction",
    "Identity",
    "Lifetime",
    "Passage",
    "Role",
]

Direction = Literal["higher", "lower"]
Role = Literal["life", "expert", "twin"]
"""A life, a learner of one task alone, or a life's stateless twin."""

TIMESTAMP_FORMAT = "%Y%m%dT%H%M%S.%f"


class Identity(msgspec.Struct, frozen=True):
    """Who a lifetime is: settled when it is read, the same for every source and in every output."""

    id: str
    """Its path from the argument's own last name down, with `#` and its name inside a file of several."""
    learner: str | None = None
    seed: int | None = None
    scenario_type: str | None = None
    order: tuple[str, ...] = ()
    """The tasks of its learning blocks, one after the other."""
    tasks: tuple[str, ...] = ()
    measure: str | None = None
    unit: str | None = None
    """Of accuracies; None where the measure is the log's own."""
    direction: str = "higher"
    """Which values of the measure are better, `higher` or `lower`; of each measure if they differ."""
    variants: str = "name"
    """Whose variants count as tasks: `name`, `params` or `agnostic`."""
    role: Role = "life"
    recorded: str = ""
    """What its manifest calls it; two lifetimes of a group never share that and a seed."""
    source: str = ""
    """Where it lies."""
    argument: str = ""
    """The argument that holds it, as typed; blank where the argument is the lifetime itself."""
    holder: str = ""
    """The nearest folder, or file of several lifetimes, that holds it: it stands for a learner that is not named."""


class Lifetime(Shown, msgspec.Struct, frozen=True, eq=False, dict=True):
    """One learner's passage through a scenario, as recorded.

    `experiences` holds every row, also those that no metric will count, in the order of
    definitions: block number, experience number, worker id, row.
    """

    id: str
    experiences: pl.DataFrame
    measures: Mapping[str, Direction]
    learner: str | None = None
    seed: int | None = None
    role: Role = "life"
    complete: bool | None = None
    """Whether the life reached its end; None where the log does not say."""
    path: Path | None = None
    info: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What `scenario_info.json` holds."""
    manifest: Mapping[str, Any] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What the reader had to leave out or repair, in words."""
    inside: str = ""
    """What it is called inside a file that holds several lifetimes."""
    stated_type: str | None = None
    """Its scenario type, where neither `info` nor the manifest states one."""
    variants: Literal["name", "params"] = "name"
    """What its source takes for a task where nobody says otherwise: the label, or the label with its parameters."""

    def __repr__(self) -> str:
        known = {"learner": self.learner, "seed": self.seed, "complete": self.complete}
        told = "".join(f", {name} {value!r}" for name, value in known.items() if value is not None)
        return f"Lifetime({self.id!r}, {self.role}, {self.height} records{told})"

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values for some of the fields."""
        return msgspec.structs.replace(self, **changes)

    @cached_property
    def scenario(self) -> Scenario:
        """The blocks as lived, derived from the rows that count for the first measure."""
        return self.passage().scenario

    @property
    def height(self) -> int:
        """How many rows were recorded."""
        return self.experiences.height

    @property
    def scenario_type(self) -> str | None:
        """Condensed, dispersed, …, as the log states it."""
        scenario = self.manifest.get("scenario")
        described = scenario.get("info") if isinstance(scenario, Mapping) else None
        stated = self.info.get("scenario_type") or (described or {}).get("scenario_type")
        return str(stated) if stated else self.stated_type

    @cached_property
    def parameters(self) -> ParameterTable:
        """The parameters of its rows, in columns."""
        from perdure.log.blocks import parameter_table

        return parameter_table(self)

    @cached_property
    def sets(self) -> Sets:
        """Its parameter sets, label by label."""
        from perdure.log.variants import sets_of

        return sets_of(self)

    def passage(
        self,
        measure: str | Mapping[str, str] | None = None,
        variants: Variants | None = None,
        settled: Settled | None = None,
    ) -> Passage:
        """The values that count for `measure` (the first one by default), block by block.

        A mapping gives each task a measure of its own, by its label or by its name without variant.
        `variants` says what is a task, None as its source has it. `settled` is what parameter sets are called
        where several lifetimes are seen together; without it this one is alone.
        """
        from perdure.log.blocks import passage

        return passage(self, self.measured(measure), variant_mode(variants or self.variants), settled)

    def measured(self, measure: str | Mapping[str, str] | None = None) -> str | dict[str, str]:
        """What is measured: the name of one measure for all tasks, or of one for each label of this log."""
        if not isinstance(measure, Mapping):
            return self.measure(measure)
        named = {task.lower(): name for task, name in measure.items()}
        labels = self.experiences.get_column("task_name").unique(maintain_order=True).to_list()
        found = {label: named.get(label.lower()) or named.get(Task.parse(label.lower()).name) for label in labels}
        without = [label for label, name in found.items() if name is None]
        if without:
            raise LogError(
                f"no measure is named for task {without[0]!r} (named: {', '.join(named) or 'none'})",
                "give one to every task, as in --measure pong=reward,battle=units",
                where=self.id,
            )
        return {label: self.measure(name) for label, name in found.items()}

    def measure(self, name: str | None = None) -> str:
        """The name of a measure of this log; the first declared one where none is given."""
        if name is None:
            if not self.measures:
                raise LogError("no measure is declared", "name one", where=self.id)
            return next(iter(self.measures))
        if name not in self.measures:
            raise UnknownNameError(f"measure of {self.id}", name, self.measures)
        return name


class Passage(msgspec.Struct, frozen=True, eq=False):
    """The experiences of one lifetime that count for one measure, block by block.

    Block `i` of `scenario` owns `values[starts[i]:starts[i + 1]]`, one value per experience: rows
    that share an experience number within a block are averaged. `rows` are the kept rows before
    that averaging, and `row_starts` their block boundaries.
    """

    scenario: Scenario
    measure: str
    values: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    rows: pl.DataFrame
    row_starts: npt.NDArray[np.int64]
    dropped: Mapping[str, int]
    """Rows that do not count, by reason: incomplete, missing, not finite."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how tasks were told apart."""
    measures: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Task → its own measure, where tasks have measures of their own; `measure` then names them all."""

    @property
    def columns(self) -> Collection[str]:
        """What is recorded in each row."""
        return self.rows.columns

    def times(self, block: int) -> tuple[str | None, str | None]:
        """When the first and the last experience of a block were recorded."""
        recorded, (first, end) = self.rows["timestamp"], self.row_starts[block : block + 2].tolist()
        return recorded[first], recorded[end - 1]

    @property
    def dropped_rows(self) -> int:
        return sum(self.dropped.values())
