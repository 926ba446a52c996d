"""ScoredLifetime and Survey: what every verb looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.lazy import pl
from perdure.log.problem import Note
from perdure.metrics.declare import METRICS, Metric, Threshold
from perdure.metrics.score import DEFINITIONS, Score
from perdure.results import LeftOut, Tabular, sealed, to_plain
from perdure.text import plural

SCHEMA = 2
"""The form of the JSON; raised where a field changes its meaning or goes."""


class ScoredLifetime(msgspec.Struct, frozen=True, eq=False):
    """One lifetime of a survey: what it scored, what was seen of its curves, and what its log says of itself."""

    score: Score
    seen: Any = None
    """What `look` made of its curves; None where nobody looked, or there are no curves."""
    manifest: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Of lifetimes that were looked at."""
    info: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def id(self) -> str:
        """The lifetime's name, the same in every output."""
        return self.score.id

    @property
    def sketch(self) -> Any:
        """What was seen, where it was sketched for figures."""
        return self.seen


class Survey(Tabular, msgspec.Struct, frozen=True, eq=False, dict=True):
    """Lifetimes scored the same way, in the order in which they were given, and what was left out."""

    JSON: ClassVar = (
        *("perdure", "schema", "definitions", "preset", "settings", "settings_from", "left_out:excluded"),
        "lifetimes:scores",
    )
    schema: ClassVar[int] = SCHEMA
    """The form of this JSON."""
    definitions: ClassVar[int] = DEFINITIONS
    """The edition of the definitions that the values follow; scores of another edition are not read."""

    lifetimes: tuple[ScoredLifetime, ...]
    left_out: tuple[tuple[str, str], ...]
    """Path and reason of everything that was given and not scored."""
    settings: Mapping[str, Any]
    preset: str
    metrics: Mapping[str, Metric]
    """The declarations behind the ids."""
    settings_from: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Setting → where its value came from."""
    written: Mapping[str, Threshold] = msgspec.field(default_factory=dict)
    """What metrics that only a file of scores knows are held against."""
    name: str = ""
    """What the place or places are called."""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lifetimes)

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def __repr__(self) -> str:
        learners = len({one.learner for one in self.scores})
        told = [plural(len(self), "lifetime"), plural(learners, "learner"), f"preset {self.preset}"]
        return f"Survey({', '.join(told)}{f', {len(self.left_out)} left out' if self.left_out else ''})"

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The lifetimes' scores."""
        return tuple(one.score for one in self.lifetimes)

    @cached_property
    def faults(self) -> tuple[tuple[str, str], ...]:
        """Lifetime and problem of every error that its reader worked around, such as a torn last line."""
        found = ((score.id, note) for score in self.scores for note in score.notes if isinstance(note, Note))
        return tuple((name, str(note)) for name, note in found if note.problem.level == "error")

    @cached_property
    def bars(self) -> dict[str, Threshold]:
        """Metric → what it is held against, in the order in which tables show them."""
        known = {name: metric.criterion for name, metric in self.metrics.items()}
        return {**known, **{name: bar for name, bar in self.written.items() if name not in known}}

    def by_task(self, metric: str) -> dict[str, npt.NDArray[np.float64]]:
        """Task, or pair of tasks → the values of `metric` there, one per lifetime that has any (its mean).

        What the robust summaries take: `stratified_bootstrap(list(found.by_task(…).values()), …)`.
        """
        metric = METRICS.canonical(metric)
        found: dict[str, list[float]] = {}
        for one in self.scores:
            if metric in one.metrics:
                for key, values in one.metrics[metric].by.items():
                    if values:
                        found.setdefault(key, []).append(float(np.mean(values)))
        return {key: np.array(values) for key, values in found.items()}

    def table(self) -> pl.DataFrame:
        """One row per lifetime: who lived it, and the value of each metric."""
        rows = [
            {
                "lifetime": one.id,
                "learner": one.learner,
                "seed": one.seed,
                "scenario_type": one.scenario_type,
                "measure": one.measure,
                **{name: one.value(name) for name in self.bars},
            }
            for one in self.scores
        ]
        texts = dict.fromkeys(("lifetime", "learner", "scenario_type", "measure"), pl.String())
        schema = {**texts, "seed": pl.Int64(), **dict.fromkeys(self.bars, pl.Float64())}
        order = ("lifetime", "learner", "seed", "scenario_type", "measure", *self.bars)
        return pl.DataFrame(rows, schema={name: schema[name] for name in order})

    @property
    def guarded(self) -> bool:
        """Whether a performance was given at which a task counts as learned."""
        return bool(self.settings.get("learned"))

    @property
    def perdure(self) -> str:
        """The version that wrote it."""
        from perdure import __version__

        return __version__

    @property
    def excluded(self) -> tuple[LeftOut, ...]:
        """Logs and experts that were given and not used."""
        return tuple(LeftOut(path, why) for path, why in self.left_out)

    def as_json(self) -> dict[str, Any]:
        """Return everything as one JSON object, as `score.schema.json` describes it."""
        return sealed(to_plain(self))
