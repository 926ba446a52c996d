"""The score of one lifetime: every metric of a preset, a value or the reason for its absence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from perdure.frozen import replace
from perdure.lazy import pl
from perdure.log.model import Identity
from perdure.metrics.engine.blocks import BlockSummary
from perdure.metrics.engine.compact import CompactBlocks, CompactMetrics, same
from perdure.metrics.engine.declare import METRICS
from perdure.metrics.engine.measure import Measured
from perdure.results import Tabular
from perdure.settings.presets import STANDARD

__all__ = ["DEFINITIONS", "OtherCode", "Score", "learner_digest", "protocol_name"]

_FEW_BLOCKS = 1000  # of which there may be many lives


DEFINITIONS = 2
"""Which edition of the definitions the numbers follow; scores of another edition are never pooled with these."""


class OtherCode(str):
    """A note that what a lifetime is compared with was run by other code of its learner."""

    __slots__ = ()


class Score(Tabular, Struct, frozen=True, eq=False):
    """One lifetime, measured."""

    identity: Identity
    metrics: Mapping[str, Measured]
    preset: str = STANDARD
    how: str = ""
    """Everything else that decided the values, as text, to be told apart."""
    blocks: Sequence[BlockSummary] = ()
    learning_experiences: int = 0
    evaluation_experiences: int = 0
    dropped: Mapping[str, int] = {}
    """Rows that do not count, by reason."""
    notes: tuple[str, ...] = ()
    not_learned: tuple[str, ...] = ()
    """Tasks that never reached the performance at which they count as learned."""
    measures: Mapping[str, str] = {}
    """Task → its own measure, where tasks have measures of their own."""
    bounds: Mapping[str, tuple[float, float]] = {}
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
        if isinstance(self.metrics, CompactMetrics):
            return self.metrics.value(metric)
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

    def compact(self) -> Score:
        """The same in less memory, where many are kept; of lives of thousands of blocks there are never many."""
        if len(self.blocks) > _FEW_BLOCKS:
            return self
        alike = ("dropped", "notes", "not_learned", "measures", "bounds")
        shared = {name: same(getattr(self.identity, name)) for name in ("order", "tasks", "argument", "holder")}
        return replace(
            self,
            identity=replace(self.identity, **shared),
            metrics=CompactMetrics(self.metrics),
            blocks=CompactBlocks(self.blocks) if self.blocks else (),
            **{name: same(getattr(self, name)) for name in alike},
        )

    def as_json(self) -> dict[str, Any]:
        """The lifetime as one JSON object; every number in it is finite."""
        who = self.identity
        return {
            "id": who.id,
            "identity": who.recorded or None,
            "learner": who.learner,
            "seed": who.seed,
            "scenario_type": who.scenario_type,
            "protocol": self.protocol,
            "complete": self.complete,
            "digest": self.digest or None,
            "measure": dict(self.measures) or who.measure,
            "unit": who.unit,
            "direction": who.direction,
            "variants": who.variants,
            "order": list(who.order),
            "dropped_rows": self.dropped_rows,
            "learning_experiences": self.learning_experiences,
            "evaluation_experiences": self.evaluation_experiences,
            "tasks": list(who.tasks),
            "metrics": {
                name: {
                    "value": one.value,
                    "by": {key: list(values) for key, values in one.by.items()},
                    "why": one.why,
                    "flags": list(map(str, one.flags)),
                    "experts": {task: list(marks) for task, marks in one.experts.items()},
                    "at": {key: [list(place) for place in places] for key, places in one.at.items()},
                }
                for name, one in self.metrics.items()
            },
            "blocks": [block.as_json() for block in self.blocks],
            "notes": list(map(str, self.notes)),
            "not_learned": list(self.not_learned),
            "bounds": self.bounds_json(),
        }

    def bounds_json(self) -> dict[str, dict[str, float]]:
        """Return the bounds of each task that has any, as score files hold them."""
        return {task: {"min": low, "max": high} for task, (low, high) in self.bounds.items()}


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
