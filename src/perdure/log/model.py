"""Lifetime and Passage: the records of a lifetime, and those that count for a measure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError, UnknownNameError
from perdure.lazy import pl
from perdure.results import Shown
from perdure.scenario.model import Mode, Scenario, Task, VariantMode, Variants, variant_mode

if TYPE_CHECKING:
    from perdure.log.variants import ParameterTable, Sets, Settled

Direction = Literal["higher", "lower"]
Unit = Literal["percent", "fraction", "raw"]
Role = Literal["life", "expert", "twin"]
"""A lifetime, a learner of a single task, or a lifetime's stateless twin."""

TIMESTAMP_FORMAT = "%Y%m%dT%H%M%S.%f"


class Identity(msgspec.Struct, frozen=True):
    """The identity of a lifetime, determined when it is read and the same in every output."""

    id: str
    """Its path from the last name of the argument down, with `#` and its name inside a file of several."""
    learner: str | None = None
    """The learner, if recorded."""
    seed: int | None = None
    """The seed, if recorded."""
    scenario_type: str | None = None
    """Condensed, dispersed, …, if recorded."""
    order: tuple[str, ...] = ()
    """The tasks of its learning blocks, one after the other."""
    tasks: tuple[str, ...] = ()
    """Its tasks, in the order in which they are first learned."""
    measure: str | None = None
    unit: Unit | None = None
    """The unit of accuracies, None for other measures."""
    direction: str = "higher"
    """The better values of the measure, `higher` or `lower`; of each measure if they differ."""
    variants: VariantMode = "name"
    """The mode by which variants count as tasks: `name`, `params` or `agnostic`."""
    role: Role = "life"
    recorded: str | None = None
    """Its id in the manifest; two lifetimes of a group never share that and a seed."""
    source: str = ""
    """Its place."""
    argument: str = ""
    """The argument that holds it, as typed; blank if the argument is the lifetime itself."""
    holder: str = ""
    """The nearest folder, or file of several lifetimes, that holds it; it names a learner without a name."""


class Lifetime(Shown, msgspec.Struct, frozen=True, eq=False, dict=True):
    """Records of one learner in one scenario.

    Attributes
    ----------
    id
        Name of the lifetime.
    experiences
        Every row, also those that do not count, ordered by block number, experience number, worker id and row.
    measures
        Measure → its direction.
    learner
        Learner, if recorded.
    seed
        Seed, if recorded.
    role
        ``"life"`` or ``"expert"``.
    complete
        Whether the lifetime reached its end. None if unknown.
    path
        Path of the log.
    info
        Content of `scenario_info.json`.
    manifest
        Content of the manifest.
    notes
        Remarks of the reader, such as on lines that it left out.
    inside
        Name inside a file that holds several lifetimes.
    stated_type
        Scenario type, used if neither `info` nor the manifest states one.
    variants
        Default meaning of a task: the label, or the label with its parameters.
    """

    id: str
    experiences: pl.DataFrame
    measures: Mapping[str, Direction]
    learner: str | None = None
    seed: int | None = None
    role: Role = "life"
    complete: bool | None = None
    path: Path | None = None
    info: Mapping[str, Any] = msgspec.field(default_factory=dict)
    manifest: Mapping[str, Any] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    inside: str = ""
    stated_type: str | None = None
    variants: Literal["name", "params"] = "name"

    def __repr__(self) -> str:
        known = {"learner": self.learner, "seed": self.seed, "complete": self.complete}
        facts = "".join(f", {name} {value!r}" for name, value in known.items() if value is not None)
        return f"Lifetime({self.id!r}, {self.role}, {self.height} records{facts})"

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values for some of the fields."""
        return msgspec.structs.replace(self, **changes)

    @cached_property
    def scenario(self) -> Scenario:
        """The blocks, derived from the rows that count for the first measure."""
        return self.passage().scenario

    @property
    def height(self) -> int:
        """The number of rows."""
        return self.experiences.height

    @property
    def scenario_type(self) -> str | None:
        """The type that the log states: condensed, dispersed, …"""
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
        """The parameter sets of each label."""
        from perdure.log.variants import sets_of

        return sets_of(self)

    def passage(
        self,
        measure: str | Mapping[str, str] | None = None,
        variants: Variants | None = None,
        settled: Settled | None = None,
    ) -> Passage:
        """Return the values that count for `measure` (the first one by default), block by block.

        A mapping gives each task its own measure, by its label or by its name without variant. `variants` decides
        what is a task; None uses the mode of the source. `settled` names the parameter sets of several lifetimes
        that are compared; None names those of this lifetime only.
        """
        from perdure.log.blocks import passage

        return passage(self, self.measured(measure), variant_mode(variants or self.variants), settled)

    def measured(self, measure: str | Mapping[str, str] | None = None) -> str | dict[str, str]:
        """Return the name of one measure for all tasks, or one for each label of this log."""
        if not isinstance(measure, Mapping):
            return self.measure(measure)
        named = {task.lower(): name for task, name in measure.items()}
        labels = self.experiences.get_column("task_name").unique(maintain_order=True).to_list()
        tasks = {label: named.get(label.lower()) or named.get(Task.parse(label.lower()).name) for label in labels}
        without = [label for label, name in tasks.items() if name is None]
        if without:
            raise LogError(
                f"no measure is named for task {without[0]!r} (named: {', '.join(named) or 'none'})",
                "give one to every task, as in --measure pong=reward,battle=units",
                where=self.id,
            )
        return {label: self.measure(name) for label, name in tasks.items()}

    def measure(self, name: str | None = None) -> str:
        """Return the name of a measure of this log, the first declared one by default."""
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
    """Remarks on how tasks were distinguished."""
    measures: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Task → its measure, if tasks have different ones; `measure` then names them all."""
    cuts: tuple[int, ...] = ()
    """The rows at which a learning block goes on after probes, rising."""

    @property
    def columns(self) -> Collection[str]:
        """The columns of the rows."""
        return self.rows.columns

    def column(self, *names: str) -> npt.NDArray[np.float64] | None:
        """Return the first of these columns that is logged, with missing numbers as NaN; None if it holds none."""
        name = next((name for name in names if name in self.columns), None)
        if name is None:
            return None
        values = self.rows[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        return None if np.isnan(values).all() else values

    def rows_of(self, *modes: Mode) -> npt.NDArray[np.bool_]:
        """Return whether each row is of a block of one of these modes."""
        chosen = [block.mode in modes for block in self.scenario.blocks]
        return np.repeat(np.array(chosen, dtype=bool), np.diff(self.row_starts))

    def times(self, block: int) -> list[tuple[str | None, str | None]]:
        """Return the timestamps of the first and the last row of a block; of each piece, if it has probes."""
        recorded, (first, end) = self.rows["timestamp"], self.row_starts[block : block + 2].tolist()
        edges = [first, *self.cuts[bisect_right(self.cuts, first) : bisect_left(self.cuts, end)], end]
        return [(recorded[start], recorded[stop - 1]) for start, stop in pairwise(edges)]

    @property
    def dropped_rows(self) -> int:
        return sum(self.dropped.values())
