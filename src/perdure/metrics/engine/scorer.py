"""Scoring lifetimes: every metric of a preset in each of them, those of the same blocks together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, islice, tee
from typing import Any

import numpy as np

from perdure.curves.build import alike, expert_logs
from perdure.curves.copies import digest_of
from perdure.curves.experts import ExpertLog, Experts
from perdure.curves.lives import Asked
from perdure.curves.model import Curves, Prep
from perdure.curves.twin import twin_of
from perdure.errors import MetricError
from perdure.frozen import replace
from perdure.lazy import pl
from perdure.log.accuracy_matrix import MatrixLifetime, MatrixPassage
from perdure.log.model import Direction, Identity, Lifetime
from perdure.log.places import as_text, printable
from perdure.log.variants import Settled, settle
from perdure.metrics.engine.load import chosen
from perdure.metrics.engine.measure import Measured, Sites, measured_together
from perdure.metrics.engine.metric import Context, Metric
from perdure.metrics.engine.presets import preset as preset_called
from perdure.metrics.engine.score import OtherCode, Score, learner_digest
from perdure.metrics.engine.settings import Settings, prepared
from perdure.metrics.matrix.cells import reads_matrix
from perdure.scenario.model import Scenario
from perdure.settings import UNDECIDING

__all__ = ["Scorer", "deciding", "prepared_table"]

_NO_EXPERTS = "experts do not apply to a matrix and were not used"
_FEW_BLOCKS = 1000  # whose sites are worth keeping for the lives to come
_UNFINISHED = {True: ("this lifetime is incomplete",), False: ()}


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
                *self._other_code(lifetime),
                *((_NO_EXPERTS,) if matrix is not None and self.experts.lifetimes else ()),
            ),
            not_learned=_not_learned(curves, self.settings.learned) if matrix is None else (),
            measures=passage.measures,
            bounds=_known_bounds(curves) if matrix is None else {},
            protocol=lifetime.manifest.get("protocol"),
            complete=lifetime.complete,
            digest=digest_of(passage.scenario.blocks, passage.starts, passage.values),
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

    def _other_code(self, lifetime: Lifetime) -> Iterator[str]:
        own, who = learner_digest(lifetime.manifest.get("protocol")), (lifetime.learner, lifetime.seed)
        codes = self._codes.get((lifetime.learner, None), set()) | self._codes.get(who, set())
        others = ", ".join(sorted(code for code in codes if code != own))
        if own and others:
            said = "its experts or its twin were run by other code of its learner"
            yield OtherCode(f"{said} ({others}; the lifetime by {own})")

    @cached_property
    def _codes(self) -> dict[tuple[str | None, int | None], set[str]]:
        """The recorded code of experts by learner, and of twins by learner and seed."""
        found: dict[tuple[str | None, int | None], set[str]] = {}
        for one in (*self.experts.lifetimes, *self.experts.twins):
            if code := learner_digest(one.manifest.get("protocol")):
                found.setdefault((one.learner, one.seed if one.role == "twin" else None), set()).add(code)
        return found

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
        opposed = self._opposed_experts(asked)
        agreeing = [one for one in self.experts.lifetimes if str(one.path or one.id) not in opposed]
        logs, left_out = expert_logs(
            agreeing, measured, asked.direction, asked.prep, self.experts.saturations, asked.settled
        )
        if asked.settled is self.settled:
            self._logs[key] = logs
        unused = {**opposed, **dict(left_out)}
        self.served |= {str(one.path or one.id) for one in self.experts.lifetimes} - unused.keys()
        self.left_out.update(unused)
        return logs

    def _opposed_experts(self, asked: Asked) -> dict[str, str]:
        """Return the experts whose manifests give a measure the opposite direction, by place, with the reason."""
        if self.settings.lower_is_better is not None:
            return {}
        way = asked.direction
        ways = {str(asked.measure): way} if isinstance(way, str) else way
        found: dict[str, str] = {}
        for expert in self.experts.lifetimes:
            declared = expert.manifest.get("measures")
            place = str(expert.path or expert.id)
            for measure, way in ways.items():
                stated = declared.get(measure, way) if isinstance(declared, Mapping) else way
                if stated != way:
                    found[place] = (
                        f"{place}: this expert says that {stated} {measure} is better, and the lifetime that {way} is; "
                        "correct the manifest that is wrong, or give --lower-is-better or --higher-is-better"
                    )
        return found


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
        direction=_direction(curves),
        variants=curves.prep.variants or "name",
        unit=lifetime.matrix.unit if isinstance(lifetime, MatrixLifetime) else None,
        role=lifetime.role,
        recorded=str(lifetime.manifest.get("id") or ""),
        source=identity.source or (as_text(lifetime.path) if lifetime.path else ""),
    )


def _direction(curves: Curves) -> str:
    """Return the direction of the measure; if measures of tasks differ in it, of each by name."""
    passage = curves.passage
    ways = {passage.measures.get(task, passage.measure): way for task, way in curves.directions.items()}
    shared = set(ways.values())
    return shared.pop() if len(shared) == 1 else ", ".join(f"{name} {way}" for name, way in sorted(ways.items()))


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
