"""The score of one lifetime: every metric of a preset, a value or the reason for its absence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import msgspec

from perdure.curves.model import Curves
from perdure.lazy import pl
from perdure.log.model import Identity, Passage
from perdure.metrics.declare import METRICS
from perdure.metrics.measure import Measured
from perdure.results import Tabular
from perdure.scenario.model import Block
from perdure.settings.presets import STANDARD

DEFINITIONS = 2
"""Which edition of the definitions the numbers follow; scores of another edition are never pooled with these."""


DORMANT = "dormant_units"
"""The column in which a learner may log the share of its units that no longer answer."""


class BlockSummary(msgspec.Struct, frozen=True):
    """A block and its levels: mean, end, and for learning blocks when it was highest."""

    JSON: ClassVar = (
        *("block:index", "group:block.group", "mode:block.mode", "subtype:block.subtype", "task:block.task"),
        *("length:block.length", "mean", "terminal", "saturation", "experiences_to_saturation"),
        *("squares", "lagged", "dormant_units"),
    )

    index: int
    block: Block
    mean: float | None
    terminal: float | None
    saturation: float | None = None
    experiences_to_saturation: int | None = None
    squares: float | None = None
    """Of an evaluation: the sum of squared deviations from its mean."""
    lagged: float | None = None
    """Of an evaluation: the sum of products of neighbouring deviations."""
    dormant_units: float | None = None
    """Mean share of units that no longer respond, if the learner logs a column of this name."""


def summaries(curves: Curves) -> tuple[BlockSummary, ...]:
    """Every block's levels on the prepared scale; an evaluation's end is its mean, and it does not saturate."""
    dormant = _dormant(curves.passage)
    found: list[BlockSummary] = []
    for index, block in enumerate(curves.scenario.blocks):
        curve = curves.over((index,))
        if block.mode == "learn":
            made = BlockSummary(index, block, curve.mean, curve.terminal, curve.peak, curve.until_peak)
        else:
            made = BlockSummary(index, block, curve.mean, curve.mean, None, None, *curve.raw_deviations)
        found.append(msgspec.structs.replace(made, dormant_units=dormant[index]) if dormant else made)
    return tuple(found)


def _dormant(passage: Passage) -> tuple[float | None, ...]:
    """The mean of the column `dormant_units` in each block, None where it is empty; nothing where there is none."""
    if DORMANT not in passage.columns:
        return ()
    column = passage.rows.get_column(DORMANT).cast(pl.Float64, strict=False)
    starts = passage.row_starts.tolist()
    # Summed by NumPy: the last digit of Polars' sum hangs on where in memory the rows lie.
    shares = (column[first:last].drop_nulls().drop_nans().to_numpy() for first, last in pairwise(starts))
    return tuple(float(one.sum()) / len(one) if len(one) else None for one in shares)


class Bounds(msgspec.Struct, frozen=True):
    """The ends of a range."""

    min: float
    max: float


class OtherCode(str):
    """A note that what a lifetime is compared with was run by other code of its learner."""

    __slots__ = ()


class Score(Tabular, msgspec.Struct, frozen=True, eq=False):
    """The metrics of one lifetime."""

    JSON: ClassVar = (
        *("id", "identity:recorded", "learner", "seed", "scenario_type", "protocol", "complete", "digest:known_digest"),
        *("measure:known_measure", "unit:identity.unit", "direction:identity.direction"),
        *("variants:identity.variants", "order", "dropped_rows", "learning_experiences", "evaluation_experiences"),
        *("tasks", "metrics", "blocks", "notes", "not_learned", "bounds:named_bounds"),
    )

    identity: Identity
    metrics: Mapping[str, Measured]
    preset: str = STANDARD
    how: str = ""
    """Everything else that decided the values, as text, to be told apart."""
    blocks: Sequence[BlockSummary] = ()
    learning_experiences: int = 0
    evaluation_experiences: int = 0
    dropped: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Rows that do not count, by reason."""
    notes: tuple[str, ...] = ()
    not_learned: tuple[str, ...] = ()
    """Tasks that never reached the performance at which they count as learned."""
    measures: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Task → its own measure, where tasks have measures of their own."""
    bounds: Mapping[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    """Task → (min, max) as measured, where they were given or the log records them; not what the data span."""
    protocol: Any = None
    """As the manifest states it."""
    complete: bool | None = None
    """Whether the life reached its end; None where nothing says."""
    digest: str = ""
    """Of its tasks, blocks and values, by which a copy is recognised; blank where too few of them differ."""

    @property
    def id(self) -> str:
        """What the lifetime is called in every output."""
        return self.identity.id

    @property
    def learner(self) -> str | None:
        """Who lived it, where that is recorded."""
        return self.identity.learner

    @property
    def seed(self) -> int | None:
        """The seed that its log states."""
        return self.identity.seed

    @property
    def scenario_type(self) -> str | None:
        """Condensed, dispersed, …, as its log states it."""
        return self.identity.scenario_type

    @property
    def order(self) -> tuple[str, ...]:
        """The tasks of its learning blocks, one after the other."""
        return self.identity.order

    @property
    def tasks(self) -> tuple[str, ...]:
        """Its tasks, in the order in which they are first learned."""
        return self.identity.tasks

    @property
    def measure(self) -> str | None:
        """What was measured."""
        return self.identity.measure

    @property
    def dropped_rows(self) -> int:
        """How many rows do not count."""
        return sum(self.dropped.values())

    @property
    def protocol_name(self) -> str | None:
        """What its protocol is called."""
        return protocol_name(self.protocol)

    @property
    def learner_digest(self) -> str | None:
        """Digest of the code that ran it, None if that is not recorded or not known."""
        return learner_digest(self.protocol)

    def __len__(self) -> int:
        return len(self.metrics)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __repr__(self) -> str:
        known = sum(value is not None for value in self.values.values())
        return f"Score({self.id!r}, {known} of {len(self)} metrics, preset {self.preset})"

    def table(self) -> pl.DataFrame:
        """One row per metric: its value, or why there is none, and what a reader should know of it."""
        rows = [(name, one.value, one.why, "; ".join(one.flags)) for name, one in self.metrics.items()]
        schema = {"metric": pl.String(), "value": pl.Float64(), "why": pl.String(), "flags": pl.String()}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def value(self, metric: str) -> float | None:
        """The value of a metric, by its id; None where it has none or was not asked for."""
        found = self.metrics.get(metric)
        return None if found is None else found.value

    @property  # not kept: ten thousand lives may be
    def values(self) -> dict[str, float | None]:
        """Metric → its value, or None."""
        return {name: one.value for name, one in self.metrics.items()}

    @property
    def why(self) -> dict[str, str]:
        """Metric → the reason for its absence."""
        return {name: one.why for name, one in self.metrics.items() if one.why}

    def __getitem__(self, metric: str) -> float | None:
        """The value of a metric, by its id or an alias, or None."""
        return self.metrics[METRICS.canonical(metric)].value

    @property
    def recorded(self) -> str | None:
        """The id in the manifest of its log."""
        return self.identity.recorded or None

    @property
    def known_digest(self) -> str | None:
        """Digest of its tasks, blocks and values, by which copies are found; null if fewer than 20 values differ."""
        return self.digest or None

    @property
    def known_measure(self) -> str | Mapping[str, str] | None:
        """The measure; by task, as an object, if tasks are measured differently."""
        return self.measures or self.measure

    @property
    def named_bounds(self) -> dict[str, Bounds]:
        """The bounds of each task that has any, as given or as its log records them."""
        return {task: Bounds(low, high) for task, (low, high) in self.bounds.items()}


def protocol_name(protocol: Any) -> str | None:
    """What a manifest's protocol is called: `name@digest` as far as it states them, else a digest of what it says.

    The seeds that a life drew are no part of it: they differ from life to life.
    """
    if protocol is None or isinstance(protocol, str):
        return protocol or None
    if not isinstance(protocol, Mapping):
        return str(protocol)
    if isinstance(protocol.get("name"), str) and protocol["name"]:
        digest = protocol.get("digest")
        return f"{protocol['name']}@{digest[:8]}" if isinstance(digest, str) and digest else str(protocol["name"])
    said = {key: value for key, value in protocol.items() if key not in ("seed", "seeds", "learner_digest")}
    if not said:
        return None
    import hashlib

    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:8]


def learner_digest(protocol: Any) -> str | None:
    """Return the digest of the learner's code in a manifest's protocol, None if it is not recorded or "unknown"."""
    found = protocol.get("learner_digest") if isinstance(protocol, Mapping) else None
    return found if isinstance(found, str) and found not in ("", "unknown") else None
