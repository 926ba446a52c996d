"""Scoring one lifetime: every metric of a preset, a value or the reason for its absence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, islice, tee
from typing import Any

import numpy as np

from perdure.curves.build import alike, expert_logs
from perdure.curves.experts import ExpertLog, Experts
from perdure.curves.lives import Asked
from perdure.curves.model import Curves, Prep
from perdure.curves.twin import twin_of
from perdure.errors import MetricError
from perdure.lazy import pl
from perdure.log.accuracy_matrix import MatrixLifetime, MatrixPassage
from perdure.log.model import Direction, Identity, Lifetime
from perdure.log.places import as_text, printable
from perdure.log.variants import Settled, settle
from perdure.metrics.engine.blocks import BlockSummary
from perdure.metrics.engine.compact import CompactBlocks, CompactMetrics, same
from perdure.metrics.engine.declare import METRICS, Context, Metric
from perdure.metrics.engine.load import chosen
from perdure.metrics.engine.measure import Measured, Sites, measured_together
from perdure.metrics.engine.presets import preset as preset_called
from perdure.metrics.engine.settings import Settings, prepared
from perdure.metrics.matrix.cells import reads_matrix
from perdure.results import Tabular
from perdure.scenario.model import Scenario
from perdure.settings import UNDECIDING
from perdure.settings.presets import STANDARD

__all__ = ["DEFINITIONS", "Score", "Scorer", "deciding", "prepared_table", "protocol_name"]

_NO_EXPERTS = "experts do not apply to a matrix and were not used"
_FEW_BLOCKS = 1000  # of which there may be many lives
_UNFINISHED = {True: ("this lifetime is incomplete",), False: ()}


DEFINITIONS = 2
"""Which edition of the definitions the numbers follow; scores of another edition are never pooled with these."""


@dataclass(frozen=True, eq=False, repr=False)
class Score(Tabular):
    """One lifetime, measured."""

    identity: Identity
    metrics: Mapping[str, Measured]
    preset: str = STANDARD
    how: str = ""
    """Everything else that decided the values, as text, to be told apart."""
    blocks: Sequence[BlockSummary] = ()
    learning_experiences: int = 0
    evaluation_experiences: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows that do not count, by reason."""
    notes: tuple[str, ...] = ()
    not_learned: tuple[str, ...] = ()
    """Tasks that never reached the performance at which they count as learned."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """Task → its own measure, where tasks have measures of their own."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Task → (min, max) as measured, where they were given or the log records them; not what the data span."""
    protocol: Any = None
    """As the manifest states it."""
    complete: bool | None = None
    """Whether the life reached its end; None where nothing says."""

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
            "measure": dict(self.measures) or who.measure,
            "unit": who.unit,
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
            "bounds": {task: {"min": low, "max": high} for task, (low, high) in self.bounds.items()},
        }


class Scorer:
    """Settings and experts made ready once, to score any number of lifetimes."""

    def __init__(
        self, settings: Settings | None = None, experts: Experts | None = None, settled: Settled | None = None
    ) -> None:
        """Looks names up and loads files of metrics, so that what is misspelt fails before any log is read.

        `settled` is what parameter sets are called in all these lifetimes and experts; without it each lifetime
        is settled with the experts alone.
        """
        self.settings = settings or Settings()
        if isinstance(self.settings.joint, str):
            raise MetricError(
                "a place is looked at by a survey alone", "give numbers here", where=f"--joint {self.settings.joint}"
            )
        self.preset = preset_called(self.settings.preset)
        self.prep: Prep = prepared(self.settings, self.preset)
        self.metrics: dict[str, Metric] = chosen(self.preset, self.settings.metrics, self.settings.margins)
        self.experts = experts or Experts()
        self.left_out: dict[str, str] = dict(self.experts.left_out)
        """What was given as an expert and serves no lifetime so far, with the reason."""
        self.served: set[str] = set()
        """The experts that serve the measure of a lifetime."""
        self.settled = settled
        self._logs: dict[tuple[str, str, str | None], tuple[ExpertLog, ...]] = {}
        self._sites: Sites | None = None
        self.how = deciding(self.settings.as_json(self.prep))

    def score(self, lifetime: Lifetime, identity: Identity | None = None) -> Score:
        """Every metric of one lifetime."""
        return self.scored(lifetime, identity)[0]

    def scored(self, lifetime: Lifetime, identity: Identity | None = None) -> tuple[Score, Curves]:
        """Every metric of one lifetime, and the curves they were read from; `identity` is what is known of its place.

        What can only be told from the curves, as its tasks and their order, is filled in here.
        """
        return next(self.scored_together([(lifetime, identity)]))

    def scored_together(self, lifetimes: Iterable[tuple[Lifetime, Identity | None]]) -> Iterator[tuple[Score, Curves]]:
        """What `scored` gives for each, sooner where neighbours share their blocks; what cannot be scored raises."""
        kinds = groupby(lifetimes, lambda life: (self._asked(life[0]), isinstance(life[0], MatrixLifetime)))
        for (asked, is_matrix), group in kinds:
            lives, to_prepare = tee(group)
            experts = () if is_matrix else self._expert_logs(asked)
            for prepared_together in alike((lifetime for lifetime, _ in to_prepare), asked, experts):
                some = list(islice(lives, len(prepared_together)))
                together = [
                    self._with_twin(curves, lifetime, asked)
                    for curves, (lifetime, _) in zip(prepared_together, some, strict=True)
                ]
                metrics = self._measured(together)
                for (lifetime, identity), curves, found in zip(some, together, metrics, strict=True):
                    yield self._score(lifetime, identity, curves, found), curves

    def _score(
        self, lifetime: Lifetime, identity: Identity | None, curves: Curves, metrics: Mapping[str, Measured]
    ) -> Score:
        matrix = lifetime.matrix if isinstance(lifetime, MatrixLifetime) else None
        passage, scenario = curves.passage, curves.scenario
        return Score(
            identity=_identified(identity or Identity(lifetime.id), lifetime, curves),
            preset=self.preset.name,
            how=self.how,
            metrics=metrics,
            # A matrix tells of no experiences: its blocks have no length, and nothing is known of its learning.
            blocks=self.preset.summarise(curves) if matrix is None else (),
            learning_experiences=scenario.learning_experiences,
            evaluation_experiences=scenario.evaluation_experiences if matrix is None else 0,
            dropped={why: count for why, count in passage.dropped.items() if count},
            notes=(
                *lifetime.notes,
                *_UNFINISHED[lifetime.complete is False],
                *curves.notes,
                *_unused(self.settings.learned, scenario),
                *((_NO_EXPERTS,) if matrix is not None and self.experts.lifetimes else ()),
            ),
            not_learned=_not_learned(curves, self.settings.learned) if matrix is None else (),
            measures=passage.measures,
            bounds=_known_bounds(curves) if matrix is None else {},
            protocol=lifetime.manifest.get("protocol"),
            complete=lifetime.complete,
        )

    def _asked(self, lifetime: Lifetime) -> Asked:
        """What the settings ask of a lifetime."""
        measured = lifetime.measured(self.settings.measures or self.settings.measure)
        direction: Direction | Mapping[str, Direction] = (
            lifetime.measures[measured] if isinstance(measured, str) else lifetime.measures
        )
        if self.settings.lower_is_better is not None:
            direction = "lower" if self.settings.lower_is_better else "higher"
        prep = self.prep if self.prep.variants else replace(self.prep, variants=lifetime.variants)
        settled = self.settled
        if settled is None and prep.variants == "params":
            settled = settle([lifetime.sets, *(one.sets for one in self.experts.lifetimes)])
        return Asked(measured, direction, prep, settled)

    def _with_twin(self, curves: Curves, lifetime: Lifetime, asked: Asked) -> Curves:
        """The curves with the twin of their life: of its learner and its seed, through its blocks."""
        own = (one for one in self.experts.twins if (one.learner, one.seed) == (lifetime.learner, lifetime.seed))
        twin = next(own, None)
        if twin is None:
            return curves
        found = twin_of(curves, twin.passage(asked.measure, asked.prep.variants, asked.settled))
        if found is None or asked.prep.clamp:
            why = "went through other blocks" if found is None else "cannot be clamped as the lifetime was"
            return replace(curves, notes=(*curves.notes, f"its stateless twin {why}, and says nothing about it"))
        return replace(curves, twin=found)

    def _measured(self, together: Sequence[Curves]) -> list[dict[str, Measured]]:
        """Every metric of each; of a matrix those that it can give, and why not for others asked for by name."""
        metrics, cannot = self.metrics, dict[str, Measured]()
        if isinstance(together[0].passage, MatrixPassage):
            metrics = {key: one for key, one in self.metrics.items() if reads_matrix(one)}
            restricted = bool(self.settings.ids)
            asked = [
                key for key in self.metrics if key not in metrics and (restricted or key not in self.preset.metrics)
            ]
            if not metrics and not asked:
                raise MetricError(
                    f"preset {self.preset.name!r} has no accuracy-matrix metrics",
                    "use standard, or name them",
                    where=together[0].lifetime,
                )
            cannot = {key: Measured(None, why=_no_log(self.metrics[key])) for key in asked}
        made = measured_together(together, metrics, self._context, self.settings.aggregate, self._sites_of(together))
        return [{**one, **cannot} for one in made] if cannot else made

    def _sites_of(self, together: Sequence[Curves]) -> Sites | None:
        """Where lives are read that may not be the last of their blocks; None for one alone, which may have many."""
        scenario = together[0].scenario
        if len(together) < 2 or len(scenario.blocks) > _FEW_BLOCKS:
            return None
        if self._sites is None or not self._sites.fit(scenario):
            self._sites = Sites(scenario)
        return self._sites

    @cached_property
    def _context(self) -> Context:
        settings = self.settings
        baselines = {"random_init": settings.random_init, "joint": settings.joint, "unit": settings.unit}
        known = {name: value for name, value in baselines.items() if value is not None}
        return Context(known, expert_average=settings.expert_average)

    def _expert_logs(self, asked: Asked) -> tuple[ExpertLog, ...]:
        """The experts smoothed, kept for the next lifetime of the same measure whose tasks are told apart alike."""
        measured = self.settings.measures or asked.measure
        key = (str(measured), str(asked.direction), asked.prep.variants)
        if key in self._logs and asked.settled is self.settled:
            return self._logs[key]
        logs, left_out = expert_logs(
            self.experts.lifetimes, measured, asked.direction, asked.prep, self.experts.saturations, asked.settled
        )
        if asked.settled is self.settled:
            self._logs[key] = logs
        unused = dict(left_out)
        self.served |= {str(one.path or one.id) for one in self.experts.lifetimes} - unused.keys()
        self.left_out.update(unused)
        return logs


def prepared_table(curves: Curves, _count: int = 1) -> pl.DataFrame:
    """One row per experience: where it stands, as measured, and as prepared."""
    blocks = curves.scenario.blocks
    lengths = np.diff(curves.starts)
    which = np.repeat(np.arange(len(blocks), dtype=np.int64), lengths)
    modes = np.array([block.mode for block in blocks])
    tasks = np.array([block.task for block in blocks])
    subtypes = np.array([block.subtype for block in blocks])
    return pl.DataFrame(
        {
            "lifetime": pl.Series([curves.lifetime], dtype=pl.String).new_from_index(0, len(which)),
            "block": which,
            "experience": np.arange(len(which)) - curves.starts[which],
            "mode": modes[which],
            "subtype": subtypes[which],
            "task": tasks[which],
            "measured": curves.as_logged,
            "scaled": curves.raw,
            "prepared": curves.values,
        }
    )


_NOT_DECIDING = UNDECIDING | {"experts"}  # may differ in a pool


def _no_log(metric: Metric) -> str:
    """Why a metric of logs has no value of a matrix, and what to ask for in its place."""
    instead = f"; of a matrix, {metric.of_matrix} says it" if metric.of_matrix else ""
    return f"needs a log of experiences; an accuracy matrix holds none{instead}"


def deciding(settings: Mapping[str, Any]) -> str:
    """What of the settings decides values, as text: lifetimes scored differently are never pooled."""
    told = {name: value for name, value in settings.items() if name not in _NOT_DECIDING}
    return json.dumps(told, sort_keys=True, default=str)


def _identified(identity: Identity, lifetime: Lifetime, curves: Curves) -> Identity:
    scenario = curves.scenario
    return replace(
        identity,
        learner=printable(str(lifetime.learner)) if lifetime.learner else None,
        seed=lifetime.seed,
        scenario_type=lifetime.scenario_type,
        order=tuple(block.task for block in scenario.blocks if block.mode == "learn"),
        tasks=tuple(task.label for task in scenario.tasks),
        measure=curves.passage.measure,
        variants=curves.prep.variants or "name",
        unit=lifetime.matrix.unit if isinstance(lifetime, MatrixLifetime) else None,
        role=lifetime.role,
        recorded=str(lifetime.manifest.get("id") or ""),
        source=identity.source or (as_text(lifetime.path) if lifetime.path else ""),
    )


def _known_bounds(curves: Curves) -> dict[str, tuple[float, float]]:
    """Of each task that has any, the bounds that were known beforehand; a range of lower-is-better lies negated."""
    known = {task: one for task, one in curves.ranges.items() if one.given}
    return {
        task: (one.low, one.high) if curves.sign(task) > 0 else (-one.high, -one.low) for task, one in known.items()
    }


def _unused(learned: Mapping[str, float], scenario: Scenario) -> Iterator[str]:
    """What a file of performances at which tasks count as learned says of tasks that this life does not have."""
    known = {task.label for task in scenario.tasks}
    strange = [task for task in learned if task.lower() not in known]
    if strange:
        tasks = ", ".join(task.label for task in scenario.tasks)
        yield f"--learned speaks of {', '.join(strange)}, which is not a task of this lifetime (its tasks: {tasks})"


def _not_learned(curves: Curves, learned: Mapping[str, float]) -> tuple[str, ...]:
    """The tasks whose learning never ends at the performance asked for, as measured."""
    failed: list[str] = []
    for task, threshold in learned.items():
        sign = curves.sign(task.lower())
        blocks = [curves.measured_over((index,)) for index in curves.scenario.where("learn", task.lower())]
        ends = [float(values[9 * len(values) // 10 :].mean()) for values in blocks]
        present = any(one.label == task.lower() for one in curves.scenario.tasks)
        if present and not any(end >= sign * threshold for end in ends):
            failed.append(task.lower())
    return tuple(failed)


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
    said = {key: value for key, value in protocol.items() if key not in ("seed", "seeds")}
    if not said:
        return None
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:8]
