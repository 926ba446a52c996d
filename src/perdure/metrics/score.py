"""Score one lifetime: every metric of a preset, with a value or the reason for its absence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace

from perdure.curves.arrays import Array, Range, many_differ, mean, start, terminal
from perdure.curves.experts import ExpertLog, Experts, expert_logs, twin_of
from perdure.curves.model import CommonRanges, Curves, Preparation, RangeKey
from perdure.curves.prepare import Directed
from perdure.curves.prepare import Measured as MeasureNames
from perdure.curves.prepare import curves as curves_of
from perdure.errors import MetricError
from perdure.lazy import pl
from perdure.log.accuracy_matrix import MatrixLifetime, MatrixPassage
from perdure.log.model import Identity, Lifetime, Passage
from perdure.log.places import as_text, printable
from perdure.log.problem import Caution
from perdure.log.variants import Settled, settle
from perdure.metrics.arithmetic import Average
from perdure.metrics.declare import METRICS, Metric
from perdure.metrics.matrix import reads_matrix
from perdure.metrics.measure import Context, Flag, Measured, SiteCache, measure
from perdure.metrics.over_items import over_items
from perdure.metrics.presets import PRESETS, chosen_metrics, measure_of_each, prepared
from perdure.results import Tabular
from perdure.scenario.model import FACTS, Block, Scenario
from perdure.scenario.sites import each_task_learned, visible_evaluations
from perdure.settings import UNDECIDING, Settings
from perdure.settings.presets import STANDARD
from perdure.text import join_words, number

DEFINITIONS = 3
"""Edition of the definitions. Scores of different editions are never pooled."""


DORMANT = "dormant_units"
"""Column in which a learner may log the share of its units that no longer respond."""


class BlockSummary(msgspec.Struct, frozen=True):
    """A block and its levels: mean, end, and for learning blocks the peak."""

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
    """Return every block's levels on the prepared scale. An evaluation's end is its mean, and it has no peak."""
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
    """Return the mean of the column `dormant_units` in each block, None if it is empty; nothing without values."""
    column = passage.column(DORMANT)
    if column is None:
        return ()
    parts = (column[first:last] for first, last in pairwise(passage.row_starts.tolist()))
    shares = (part[~np.isnan(part)] for part in parts)
    return tuple(float(share.sum()) / len(share) if len(share) else None for share in shares)


class Bounds(msgspec.Struct, frozen=True):
    """The ends of a range."""

    min: float
    max: float


class NamedRange(Bounds, frozen=True):
    """The range of a task's values, as measured."""

    given: bool
    """Whether it was given or recorded in the log, not found in the data."""


class LearningGain(msgspec.Struct, frozen=True):
    """Rise of a task's learning curve, scaled and not smoothed: the mean of its last tenth minus an earlier level."""

    from_start: float
    """Minus the mean of its first tenth."""
    from_evaluation: float | None = None
    """Minus the task's first evaluation; None if it was learned before that."""


class OtherCode(Caution):
    """A note that a lifetime's experts or twin were run by another version of its learner's code."""

    __slots__ = ()


class Score(Tabular, msgspec.Struct, frozen=True, eq=False):
    """The metrics of one lifetime.

    Attributes
    ----------
    identity
        Facts that identify the lifetime, and decide whether it may be pooled with others.
    metrics
        Metric → its value with details, or the reason why there is none.
    preset
        Preset of the score.
    how
        Every other setting that decided the values, as text. Scores are pooled only if it is the same.
    blocks
        A summary of each block.
    learning_experiences
        Number of learning experiences.
    evaluation_experiences
        Number of evaluation experiences.
    dropped
        Reason → the number of rows that do not count.
    notes
        Remarks about the lifetime.
    not_learned
        Tasks that never reached the performance at which they count as learned.
    measures
        Task → its measure, if tasks have different measures.
    bounds
        Task → (min, max) as measured, if they were given or recorded in the log.
    ranges
        Task → the range its values were scaled by; higher is better.
    other_ranges
        Measure of single metrics → the same ranges.
    learning_gains
        Task → the rise of its learning curve. For logs under the standard preset.
    expert_gains
        Task → the rise from first to last tenth of each expert's learning curve, for tasks with 3 or 4 experts.
    learning
        Task → its wake learning blocks, joined, as measured; higher is better. Empty unless the survey keeps them.
    expert_learning
        Task → the same of each of its experts.
    clamps
        Task → the range that `learning` is clamped to before it is scaled.
    protocol
        The protocol in the manifest.
    complete
        Whether the lifetime reached its end. None if unknown.
    digest
        Digest of its tasks, blocks and values, by which copies are found. None if fewer than 20 values differ.
    """

    JSON: ClassVar = (
        *("id:identity.id", "identity:identity.recorded", "learner:identity.learner", "seed:identity.seed"),
        *("scenario_type:identity.scenario_type", "protocol", "complete", "digest", "measure:known_measure"),
        *("unit:identity.unit", "direction:identity.direction", "variants:identity.variants", "order:identity.order"),
        *("dropped_rows", "learning_experiences", "evaluation_experiences", "tasks:identity.tasks", "metrics"),
        *("blocks", "notes", "not_learned", "bounds:named_bounds"),
        *("ranges:named_ranges", "other_ranges", "learning_gains", "expert_gains"),
    )

    identity: Identity
    metrics: Mapping[str, Measured]
    preset: str = STANDARD
    how: str = ""
    blocks: tuple[BlockSummary, ...] = ()
    learning_experiences: int = 0
    evaluation_experiences: int = 0
    dropped: Mapping[str, int] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    not_learned: tuple[str, ...] = ()
    measures: Mapping[str, str] = msgspec.field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    ranges: Mapping[str, Range] = msgspec.field(default_factory=dict)
    other_ranges: Mapping[str, Mapping[str, Range]] = msgspec.field(default_factory=dict)
    learning_gains: Mapping[str, LearningGain] = msgspec.field(default_factory=dict)
    expert_gains: Mapping[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    learning: Mapping[str, Array] = msgspec.field(default_factory=dict)
    expert_learning: Mapping[str, tuple[Array, ...]] = msgspec.field(default_factory=dict)
    clamps: Mapping[str, Range] = msgspec.field(default_factory=dict)
    protocol: Any = None
    complete: bool | None = None
    digest: str | None = None

    @property
    def id(self) -> str:
        """The lifetime's name in every output."""
        return self.identity.id

    @property
    def learner(self) -> str | None:
        """The learner, if recorded."""
        return self.identity.learner

    @property
    def seed(self) -> int | None:
        """The seed, if recorded."""
        return self.identity.seed

    @property
    def scenario_type(self) -> str | None:
        """Condensed, dispersed, …, if recorded."""
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
        """The measure."""
        return self.identity.measure

    @property
    def dropped_rows(self) -> int:
        """Number of rows that do not count."""
        return sum(self.dropped.values())

    @property
    def protocol_name(self) -> str | None:
        """Name of its protocol."""
        return protocol_name(self.protocol)

    @property
    def told(self) -> tuple[str, ...] | None:
        """Facts that its learner was told, of task, boundary and mode. None if not recorded."""
        tells = self.protocol.get("tells") if isinstance(self.protocol, Mapping) else None
        return tuple(fact for fact in FACTS if fact in tells) if isinstance(tells, list | tuple) else None

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
        """Return one row per metric: its value, or the reason why it is missing, and its flags."""
        rows = [(name, result.value, result.why, "; ".join(result.flags)) for name, result in self.metrics.items()]
        schema = {"metric": pl.String(), "value": pl.Float64(), "why": pl.String(), "flags": pl.String()}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def value(self, metric: str) -> float | None:
        """Return the value of a metric, by its id; None if it has none or was not requested."""
        result = self.metrics.get(metric)
        return None if result is None else result.value

    @property  # not cached, because a survey may hold ten thousand scores
    def values(self) -> dict[str, float | None]:
        """Metric → its value, or None."""
        return {name: result.value for name, result in self.metrics.items()}

    @property
    def why(self) -> dict[str, str]:
        """Metric → the reason for its absence."""
        return {name: result.why for name, result in self.metrics.items() if result.why}

    def __getitem__(self, metric: str) -> float | None:
        """Return the value of a metric, by its id or an alias; None if it has none."""
        return self.metrics[METRICS.canonical(metric)].value

    @property
    def known_measure(self) -> str | Mapping[str, str] | None:
        """The measure; by task, as an object, if tasks are measured differently."""
        return self.measures or self.measure

    @property
    def named_bounds(self) -> dict[str, Bounds]:
        """The bounds of each task that has any, as given or as its log records them."""
        return {task: Bounds(low, high) for task, (low, high) in self.bounds.items()}

    @property
    def named_ranges(self) -> dict[str, NamedRange]:
        """The range that each task's values were scaled by, as measured."""
        spans = {task: span if self.sign(task) > 0 else reversed_range(span) for task, span in self.ranges.items()}
        return {task: NamedRange(span.low, span.high, span.given) for task, span in spans.items()}

    @property
    def data_ranges(self) -> dict[RangeKey, Range]:
        """The ranges that come from data and decide its values; those of tasks with one key are the same."""
        if self.preset != STANDARD or not is_scaled(self.how):
            return {}
        run = deciding_settings(self.how).get("scale") == "run"
        ways = {1.0: "higher", -1.0: "lower"}
        return {
            (str(self.measures.get(task, self.measure)), ways[self.sign(task)], "" if run else task): span
            for task, span in self.ranges.items()
            if not span.given
        }

    @property
    def weights(self) -> Mapping[str, float]:
        """Task → its importance in means over tasks, if it is not 1."""
        return deciding_settings(self.how).get("weights") or {}

    @property
    def measure_for(self) -> Mapping[str, str]:
        """Metric → its measure, if it is not that of the lifetime."""
        return deciding_settings(self.how).get("measure_for") or {}

    def mean_over_tasks(self, values: Mapping[str, float]) -> float:
        """Return the mean of a value per task or pair of tasks."""
        return Average.over(values, "mean", self.weights)([*values.values()])

    def shares(self, keys: Collection[str]) -> list[float]:
        """Return the share of each of these tasks, or pairs of tasks, in a mean over them."""
        return Average.over(keys, "mean", self.weights).shares(len(keys))

    def sign(self, task: str) -> float:
        """Return −1 if lower values of a task's measure are better, else 1."""
        way = self.identity.direction
        if " " in way:  # of each measure by name
            ways = dict(part.rpartition(" ")[::2] for part in way.split(", "))
            way = ways.get(self.measures.get(task, ""), "higher")
        return -1.0 if way == "lower" else 1.0


def reversed_range(span: Range) -> Range:
    """Return the range of the negated values."""
    return Range(-span.high, -span.low, span.given)


def protocol_name(protocol: Any) -> str | None:
    """Return the name of a manifest's protocol: `name@digest` if it has them, else a digest of its content.

    Seeds are excluded, because they differ between lifetimes.
    """
    if protocol is None or isinstance(protocol, str):
        return protocol or None
    if not isinstance(protocol, Mapping):
        return str(protocol)
    if isinstance(protocol.get("name"), str) and protocol["name"]:
        digest = protocol.get("digest")
        return f"{protocol['name']}@{digest[:8]}" if isinstance(digest, str) and digest else str(protocol["name"])
    content = {key: value for key, value in protocol.items() if key not in ("seed", "seeds", "learner_digest", "tells")}
    if not content:
        return None
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:8]


def told_words(told: Sequence[str]) -> str:
    """Return what a learner was told, and what it was not, in words."""
    names = {"task": "the task", "boundary": "where blocks begin", "mode": "whether it is evaluated"}
    known, withheld = ([names[fact] for fact in FACTS if (fact in told) is wanted] for wanted in (True, False))
    if not withheld:
        return f"was told {join_words(known)}"
    return f"was told {join_words(known, 'and') if known else 'nothing'}, not {join_words(withheld, 'or')}"


def learner_digest(protocol: Any) -> str | None:
    """Return the digest of the learner's code in a manifest's protocol, None if it is not recorded or "unknown"."""
    digest = protocol.get("learner_digest") if isinstance(protocol, Mapping) else None
    return digest if isinstance(digest, str) and digest not in ("", "unknown") else None


# --- scoring -------------------------------------------------------------------------------------

_NO_EXPERTS = "experts do not apply to a matrix and were not used"


class Scorer:
    """Settings and experts, prepared once to score any number of lifetimes."""

    def __init__(
        self,
        settings: Settings | None = None,
        experts: Experts | None = None,
        settled: Settled | None = None,
        *,
        common: CommonRanges | None = None,
        learning: bool = False,
    ) -> None:
        """Look up names and load files of metrics, so that misspelt names fail before any log is read.

        `settled` has the names of parameter sets in all these lifetimes and experts. Without it, each lifetime and the
        experts get their own. `common` has the ranges over all these lifetimes. With `learning`, scores keep their
        learning curves, which comparisons need.
        """
        self.settings = Settings.given_or_default(settings)
        if isinstance(self.settings.joint, str):
            raise MetricError(
                "only a survey reads the lifetimes of a joint learner",
                "give numbers here",
                where=f"--joint {self.settings.joint}",
            )
        self.preset = PRESETS.get(self.settings.preset)
        self.prep: Preparation = prepared(self.settings, self.preset)
        self.metrics: dict[str, Metric] = chosen_metrics(self.preset, self.settings.metrics, self.settings.margins)
        self.measure_for = measure_of_each(self.preset, self.metrics, self.settings.measure_for)
        self.experts = experts or Experts()
        self.left_out: dict[str, str] = dict(self.experts.left_out)
        """Path and reason of every expert that no lifetime could use so far."""
        self.served: set[str] = set()
        """Experts that are used for the measure of a lifetime."""
        self.settled = settled
        self.common = common
        self.learning = learning
        self._logs: dict[tuple[str, str, str | None], tuple[ExpertLog, ...]] = {}
        self._sites = SiteCache(Scenario.of("", ()))
        self.how = deciding(self.settings.as_json(self.prep))

    def score(self, lifetime: Lifetime, identity: Identity | None = None) -> Score:
        """Score one lifetime."""
        return self.scored(lifetime, identity)[0]

    def scored(self, lifetime: Lifetime, identity: Identity | None = None) -> tuple[Score, Curves]:
        """Score one lifetime; return the score and the curves.

        `identity` is known from the lifetime's place. Its tasks, their order and the like are filled in here.
        """
        curves = self._curves(lifetime)
        others = {measure: self._curves(lifetime, measure) for measure in set(self.measure_for.values())}
        is_matrix = isinstance(lifetime, MatrixLifetime)
        passage, scenario = curves.passage, curves.scenario
        unfinished = ("this lifetime is incomplete",) if lifetime.complete is False else ()
        score = Score(
            identity=_identified(identity or Identity(lifetime.id), lifetime, curves),
            preset=self.preset.name,
            how=self.how,
            metrics=self._measured(curves, others),
            # The blocks of a matrix have no length, and nothing is known of its learning.
            blocks=() if is_matrix else (self.preset.summarise or summaries)(curves),
            learning_experiences=scenario.learning_experiences,
            evaluation_experiences=0 if is_matrix else scenario.evaluation_experiences,
            dropped={why: count for why, count in passage.dropped.items() if count},
            notes=(
                *lifetime.notes,
                *unfinished,
                *curves.notes,
                *(f"{measure}: {note}" for measure, other in others.items() for note in other.notes),
                *_unknown_tasks(self.settings.learned, scenario),
                *self._other_code(lifetime),
                *((_NO_EXPERTS,) if is_matrix and self.experts.lifetimes else ()),
            ),
            not_learned=() if is_matrix else _not_learned(curves, self.settings.learned),
            measures=passage.measures,
            bounds={} if is_matrix else _known_bounds(curves),
            ranges={} if is_matrix else curves.ranges,
            other_ranges={} if is_matrix else {measure: other.ranges for measure, other in others.items()},
            learning_gains={} if is_matrix or self.preset.name != STANDARD else _learning_gains(curves),
            expert_gains={} if is_matrix or self.preset.name != STANDARD else _expert_gains(curves),
            **(_learning_curves(curves) if self.learning and not is_matrix else {}),
            protocol=lifetime.manifest.get("protocol"),
            complete=lifetime.complete,
            digest=_digest(passage),
        )
        return score, curves

    def data_ranges(self, lifetime: Lifetime) -> dict[RangeKey, Range] | None:
        """Return the ranges of a lifetime that come from its data; None for a matrix."""
        if isinstance(lifetime, MatrixLifetime):
            return None
        # All lifetimes together decide the bounds that a measure's name implies.
        measures = (None, *set(self.measure_for.values()))
        each = [self._curves(lifetime, measure, named_bounds=False) for measure in measures]
        return {
            curves.range_key(task): span for curves in each for task, span in curves.ranges.items() if not span.given
        }

    def _curves(self, lifetime: Lifetime, of_metrics: str | None = None, *, named_bounds: bool = True) -> Curves:
        """Return the curves of the measure, or of another one that some metrics have."""
        settings = self.settings
        measure = lifetime.measured(of_metrics or settings.measures or settings.measure)
        direction: Directed = lifetime.measures[measure] if isinstance(measure, str) else lifetime.measures
        if settings.lower_is_better is not None and of_metrics is None:
            direction = "lower" if settings.lower_is_better else "higher"
        named = named_bounds and self.prep.named_bounds
        prep = msgspec.structs.replace(self.prep, variants=self.prep.variants or lifetime.variants, named_bounds=named)
        if of_metrics is not None:
            prep = msgspec.structs.replace(prep, bounds=None)  # they are those of the other metrics' measure
        settled = self.settled
        if settled is None and prep.variants == "params":
            settled = settle([lifetime.sets, *(expert.sets for expert in self.experts.lifetimes)])
        logs = () if isinstance(lifetime, MatrixLifetime) else self._expert_logs(measure, direction, prep, settled)
        curves = curves_of(
            lifetime, prep, logs, measure=measure, direction=direction, settled=settled, common=self.common
        )
        twins = self.experts.twins
        own = (twin for twin in twins if (twin.learner, twin.seed) == (lifetime.learner, lifetime.seed))
        twin = next(own, None)
        if twin is None:
            return curves
        compared = twin_of(curves, twin.passage(measure, prep.variants, settled))
        if compared is None or prep.clamp:
            why = "went through other blocks" if compared is None else "cannot be clamped as the lifetime was"
            note = f"its stateless twin {why}, so it is not compared with it"
            return msgspec.structs.replace(curves, notes=(*curves.notes, note))
        return msgspec.structs.replace(curves, twin=compared)

    def _measured(self, curves: Curves, others: Mapping[str, Curves]) -> dict[str, Measured]:
        """Measure every metric, some by another measure.

        For a matrix, metrics of logs that were requested by name have a reason instead.
        """
        metrics, unavailable = self.metrics, dict[str, Measured]()
        if isinstance(curves.passage, MatrixPassage):
            metrics = {name: metric for name, metric in self.metrics.items() if reads_matrix(metric)}
            by_name = bool(self.settings.ids)
            asked = [
                name for name in self.metrics if name not in metrics and (by_name or name not in self.preset.metrics)
            ]
            if not metrics and not asked:
                raise MetricError(
                    f"preset {self.preset.name!r} has no accuracy-matrix metrics",
                    "use standard, or name them",
                    where=curves.lifetime,
                )
            unavailable = {name: Measured(None, why=_needs_log(self.metrics[name])) for name in asked}
        sites, aggregate = self._sites_of(curves.scenario), self.settings.aggregate
        measured = {
            name: measure(
                metric,
                others.get(self.measure_for.get(name, ""), curves),
                self._context,
                sites=sites if name not in self.measure_for else None,  # other rows may count
                aggregate=aggregate,
            )
            for name, metric in metrics.items()
        }
        for name, own in self.measure_for.items():
            if name in measured:
                flags = (*measured[name].flags, Flag(f"measured by {own}"))
                measured[name] = msgspec.structs.replace(measured[name], flags=flags)
        if isinstance(curves.passage, MatrixPassage) and curves.passage.matrix.errors:
            measured = {
                name: replace(value, over_items=over_items(metrics[name], curves, self._context, sites))
                if value.value is not None
                else value
                for name, value in measured.items()
            }
        return measured | unavailable

    def _sites_of(self, scenario: Scenario) -> SiteCache:
        """Return the sites of a scenario; those of the lifetime before, if it went through the same blocks."""
        last = self._sites.scenario
        if (last.blocks, last.tasks, last.info) != (scenario.blocks, scenario.tasks, scenario.info):
            self._sites = SiteCache(scenario)
        return self._sites

    @cached_property
    def _context(self) -> Context:
        settings = self.settings
        baselines = {"random_init": settings.random_init, "joint": settings.joint, "unit": settings.unit}
        known = {name: value for name, value in baselines.items() if value is not None}
        return Context(known, expert_average=settings.expert_average, weights=settings.weights)

    def _expert_logs(
        self, measure: MeasureNames, direction: Directed, prep: Preparation, settled: Settled | None
    ) -> tuple[ExpertLog, ...]:
        """Return the experts, smoothed; they are kept for the next lifetime with the same measure and tasks."""
        wanted = measure if measure in self.measure_for.values() else self.settings.measures or measure
        key = (str(wanted), str(direction), prep.variants)
        if key in self._logs and settled is self.settled:
            return self._logs[key]
        opposed = self._opposed_experts(measure, direction)
        agreeing = [expert for expert in self.experts.lifetimes if str(expert.path or expert.id) not in opposed]
        logs, left_out = expert_logs(agreeing, wanted, direction, prep, self.experts.saturations, settled)
        if settled is self.settled:
            self._logs[key] = logs
        unused = {**opposed, **dict(left_out)}
        self.served |= {str(expert.path or expert.id) for expert in self.experts.lifetimes} - unused.keys()
        self.left_out.update(unused)
        return logs

    def _opposed_experts(self, measure: MeasureNames, direction: Directed) -> dict[str, str]:
        """Return the experts whose manifests give a measure the opposite direction, by place, with the reason."""
        if self.settings.lower_is_better is not None and measure not in self.measure_for.values():
            return {}
        directions = {str(measure): direction} if isinstance(direction, str) else direction
        opposed: dict[str, str] = {}
        for expert in self.experts.lifetimes:
            declared = expert.manifest.get("measures")
            place = str(expert.path or expert.id)
            for name, way in directions.items():
                stated = declared.get(name, way) if isinstance(declared, Mapping) else way
                if stated != way:
                    opposed[place] = (
                        f"{place}: {stated} {name} is better for this expert, and {way} is for the lifetime; "
                        "correct the manifest that is wrong, or give --lower-is-better or --higher-is-better"
                    )
        return opposed

    def _other_code(self, lifetime: Lifetime) -> Iterator[str]:
        own, who = learner_digest(lifetime.manifest.get("protocol")), (lifetime.learner, lifetime.seed)
        codes = self._codes.get((lifetime.learner, None), set()) | self._codes.get(who, set())
        others = ", ".join(sorted(code for code in codes if code != own))
        if own and others:
            note = "its experts or its twin were run by another version of its learner's code"
            yield OtherCode(f"{note} ({others}; the lifetime by {own})")

    @cached_property
    def _codes(self) -> dict[tuple[str | None, int | None], set[str]]:
        """Recorded code of experts by learner, and of twins by learner and seed."""
        codes: dict[tuple[str | None, int | None], set[str]] = {}
        for expert in (*self.experts.lifetimes, *self.experts.twins):
            if code := learner_digest(expert.manifest.get("protocol")):
                codes.setdefault((expert.learner, expert.seed if expert.role == "twin" else None), set()).add(code)
        return codes


def _digest(passage: Passage) -> str | None:
    """Return a digest of the mode, task and values of every block; None if fewer than 20 values differ."""
    if not many_differ(passage.values):
        return None
    kinds = [(block.mode, block.task) for block in passage.scenario.blocks]
    digest = hashlib.blake2b(repr(kinds).encode(), digest_size=16)
    digest.update(passage.starts.astype("<i8").tobytes())
    digest.update((passage.values + 0.0).astype("<f8").tobytes())  # a table may hold 0.0 where a journal holds -0.0
    return digest.hexdigest()


def prepared_table(curves: Curves, _count: int = 1) -> pl.DataFrame:
    """Return one row per experience: its block, and its value as measured and as prepared."""
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


_NOT_DECIDING = UNDECIDING | {"experts"}  # settings that may differ within a pool


def _needs_log(metric: Metric) -> str:
    """Return why a metric of logs has no value for a matrix, and which metric to use instead."""
    instead = f"; for a matrix, use {metric.of_matrix}" if metric.of_matrix else ""
    return f"needs a log of experiences; an accuracy matrix holds none{instead}"


def deciding(settings: Mapping[str, Any]) -> str:
    """Return the settings that decide values, as text: lifetimes scored differently are never pooled."""
    decisive = {name: value for name, value in settings.items() if name not in _NOT_DECIDING}
    return json.dumps(decisive, sort_keys=True, default=str)


@cache
def deciding_settings(how: str) -> Mapping[str, Any]:
    """Return the settings in `Score.how`, which all lifetimes of a survey share."""
    return dict(json.loads(how or "{}"))


def stated_settings(score: Score) -> tuple[str, ...]:
    """Return task weights and the measures of single metrics, which every output states."""
    texts = [f"{metric} by {measure}" for metric, measure in score.measure_for.items()]
    if weights := score.weights:
        foreign = "" if score.preset == STANDARD else f"; weights are not part of {score.preset}"
        listed = ", ".join(f"{task} {number(weight)}" for task, weight in weights.items())
        texts.append(f"tasks weighted ({listed}; others 1{foreign})")
    return tuple(texts)


def is_scaled(how: str) -> bool:
    """Return whether values of a score with these settings are on the scale 1 … 101."""
    return bool(deciding_settings(how).get("scale") != "none")


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
        direction=_direction(curves),
        variants=curves.prep.variants or "name",
        unit=lifetime.matrix.unit if isinstance(lifetime, MatrixLifetime) else None,
        role=lifetime.role,
        recorded=str(lifetime.manifest.get("id") or "") or None,
        source=identity.source or (as_text(lifetime.path) if lifetime.path else ""),
    )


def _direction(curves: Curves) -> str:
    """Return the direction of the measure; if measures of tasks differ in it, of each by name."""
    passage = curves.passage
    ways = {passage.measures.get(task, passage.measure): way for task, way in curves.directions.items()}
    shared = set(ways.values())
    return shared.pop() if len(shared) == 1 else ", ".join(f"{name} {way}" for name, way in sorted(ways.items()))


def _known_bounds(curves: Curves) -> dict[str, tuple[float, float]]:
    """Return the bounds of each task that were given or recorded; ranges of lower-is-better are negated."""
    known = {task: span for task, span in curves.ranges.items() if span.given}
    return {
        task: (span.low, span.high) if curves.sign(task) > 0 else (-span.high, -span.low)
        for task, span in known.items()
    }


def _learning_gains(curves: Curves) -> dict[str, LearningGain]:
    first: dict[str, int] = {}
    for index in reversed(visible_evaluations(curves.scenario)):
        first[curves.scenario.blocks[index].task] = index
    gains: dict[str, LearningGain] = {}
    for site in each_task_learned(curves.scenario):
        task, blocks = str(site.key), site.blocks["learned"]
        raw, before = curves.over(blocks).raw, first.get(task)
        end = terminal(raw)
        known = before is not None and before < curves.scenario.where("learn", task)[0]
        evaluated = mean(curves.over((before,)).raw) if known and before is not None else None
        gains[task] = LearningGain(end - start(raw), None if evaluated is None else end - evaluated)
    return gains


def _expert_gains(curves: Curves) -> dict[str, tuple[float, ...]]:
    """Return the gains of experts where there are few: only then do experts that fail leave metrics undecided."""
    few = (task for task, logs in curves.expert_logs.items() if len(logs) in (3, 4))
    return {
        task: tuple(terminal(raw) - start(raw) for expert in curves.experts[task] if len(raw := expert.curve.raw))
        for task in few
    }


def _learning_curves(curves: Curves) -> dict[str, Any]:
    learned = {str(site.key): site.blocks["learned"] for site in each_task_learned(curves.scenario)}
    return {
        "learning": {task: curves.measured_over(blocks).copy() for task, blocks in learned.items()},
        "expert_learning": {
            task: values
            for task in learned
            if (values := tuple(log.awake_values for log in curves.expert_logs.get(task, ()) if len(log.awake_values)))
        },
        "clamps": curves.clamps,
    }


def _unknown_tasks(learned: Mapping[str, float], scenario: Scenario) -> Iterator[str]:
    """Report tasks in `--learned` that this lifetime does not have."""
    known = {task.label for task in scenario.tasks}
    strange = [task for task in learned if task.lower() not in known]
    if strange:
        tasks = ", ".join(task.label for task in scenario.tasks)
        yield f"--learned names {', '.join(strange)}, which is not a task of this lifetime (its tasks: {tasks})"


def _not_learned(curves: Curves, learned: Mapping[str, float]) -> tuple[str, ...]:
    """Return the tasks whose learning never ends at the requested performance, as measured."""
    failed: list[str] = []
    for task, threshold in learned.items():
        sign = curves.sign(task.lower())
        blocks = [curves.measured_over((index,)) for index in curves.scenario.where("learn", task.lower())]
        ends = [float(values[9 * len(values) // 10 :].mean()) for values in blocks]
        present = any(known.label == task.lower() for known in curves.scenario.tasks)
        if present and not any(end >= sign * threshold for end in ends):
            failed.append(task.lower())
    return tuple(failed)
