"""The scores that every verb shows, and the lifetimes that count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.lazy import pl
from perdure.log.problem import Note
from perdure.metrics.declare import METRICS, Metric, Threshold
from perdure.metrics.score import DEFINITIONS, Score
from perdure.results import LeftOut, Tabular, to_plain, with_checksum
from perdure.text import plural

SCHEMA = 2
"""Version of the JSON format, raised when a field changes its meaning or is removed."""


class ScoredLifetime(msgspec.Struct, frozen=True, eq=False):
    """One lifetime of a survey: its score, the data of its curves, and the manifest of its log."""

    score: Score
    seen: Any = None
    """Result of `look` for its curves; None without `look` or without curves."""
    manifest: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Empty without `look`."""
    info: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def id(self) -> str:
        """The lifetime's name, the same in every output."""
        return self.score.id


class Survey(Tabular, msgspec.Struct, frozen=True, eq=False, dict=True):
    """Lifetimes scored with the same settings, in the order in which they were given.

    Attributes
    ----------
    lifetimes
        The scored lifetimes.
    left_out
        Path and reason of everything that was given and not scored.
    settings
        Settings of the score, by name.
    preset
        Preset of the score.
    metrics
        Metric → its declaration.
    settings_from
        Setting → its source.
    written
        Thresholds of metrics that only a file of scores declares.
    name
        Names of the paths that were given.
    notes
        Remarks about the survey.
    """

    JSON: ClassVar = (
        *("perdure", "schema", "definitions", "preset", "settings", "settings_from", "left_out:excluded"),
        "lifetimes:scores",
    )
    schema: ClassVar[int] = SCHEMA
    """Version of this JSON."""
    definitions: ClassVar[int] = DEFINITIONS
    """Version of the definitions that the values follow. Scores of another version are not read."""

    lifetimes: tuple[ScoredLifetime, ...]
    left_out: tuple[tuple[str, str], ...]
    settings: Mapping[str, Any]
    preset: str
    metrics: Mapping[str, Metric]
    settings_from: Mapping[str, str] = msgspec.field(default_factory=dict)
    written: Mapping[str, Threshold] = msgspec.field(default_factory=dict)
    name: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lifetimes)

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def __repr__(self) -> str:
        learners = len({score.learner for score in self.scores})
        facts = [plural(len(self), "lifetime"), plural(learners, "learner"), f"preset {self.preset}"]
        return f"Survey({', '.join(facts)}{f', {len(self.left_out)} left out' if self.left_out else ''})"

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The scores of the lifetimes."""
        return tuple(lifetime.score for lifetime in self.lifetimes)

    @cached_property
    def faults(self) -> tuple[tuple[str, str], ...]:
        """Lifetime and problem of every error that its reader worked around, such as a torn last line."""
        notes = ((score.id, note) for score in self.scores for note in score.notes if isinstance(note, Note))
        return tuple((name, str(note)) for name, note in notes if note.problem.level == "error")

    @cached_property
    def bars(self) -> dict[str, Threshold]:
        """Metric → its threshold, in the order of tables."""
        known = {name: metric.criterion for name, metric in self.metrics.items()}
        return {**known, **{name: bar for name, bar in self.written.items() if name not in known}}

    def by_task(self, metric: str) -> dict[str, npt.NDArray[np.float64]]:
        """Return the values of `metric` by task or pair of tasks: the mean of each lifetime with a value.

        Robust summaries take them as input: `stratified_bootstrap(list(survey.by_task(…).values()), …)`.
        """
        metric = METRICS.canonical(metric)
        means: dict[str, list[float]] = {}
        for score in self.scores:
            for key, values in score.metrics[metric].by.items() if metric in score.metrics else ():
                if values:
                    means.setdefault(key, []).append(float(np.mean(values)))
        return {key: np.array(values) for key, values in means.items()}

    def table(self) -> pl.DataFrame:
        """Return one row per lifetime: its learner and seed, and the value of each metric."""
        rows = [
            {
                "lifetime": score.id,
                "learner": score.learner,
                "seed": score.seed,
                "scenario_type": score.scenario_type,
                "measure": score.measure,
                **{name: score.value(name) for name in self.bars},
            }
            for score in self.scores
        ]
        texts = dict.fromkeys(("lifetime", "learner", "scenario_type", "measure"), pl.String())
        schema = {**texts, "seed": pl.Int64(), **dict.fromkeys(self.bars, pl.Float64())}
        order = ("lifetime", "learner", "seed", "scenario_type", "measure", *self.bars)
        return pl.DataFrame(rows, schema={name: schema[name] for name in order})

    @property
    def guarded(self) -> bool:
        """Whether the settings give a performance at which a task counts as learned."""
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
        return with_checksum(to_plain(self))


# --- copies ---------------------------------------------------------------------------------------

_ONCE = " in the same tasks and blocks, and counts once; if both were lived, record the learner and seed of each"
_ANY = object()  # any learner, or any seed


class CountedLifetimes(msgspec.Struct, frozen=True, eq=False):
    """The lifetimes that count, and the copies that are left out."""

    lifetimes: tuple[ScoredLifetime, ...]
    copies: tuple[tuple[str, str], ...] = ()
    """Path and reason of each copy."""
    notes: tuple[str, ...] = ()


def count_once(lifetimes: Iterable[ScoredLifetime]) -> CountedLifetimes:
    """Leave out lifetimes with the tasks, blocks and values of an earlier one of the same learner and seed.

    A missing learner or seed matches every learner or seed. Lifetimes that differ in their recorded seeds all count,
    because a deterministic learner repeats its values; a note says so.
    """
    counted: list[ScoredLifetime] = []
    copies: list[tuple[str, str]] = []
    repeated: list[tuple[Score, Score]] = []
    seen: dict[tuple[object, ...], Score] = {}
    for lifetime in lifetimes:
        score = lifetime.score
        if not score.digest:
            counted.append(lifetime)
            continue
        values = (score.digest, score.preset, score.how)
        learners = (score.learner, None) if score.learner else (_ANY,)
        seeds = (_ANY,) if score.seed is None else (score.seed, None)
        original = next((seen[key] for key in product((values,), learners, seeds) if key in seen), None)
        if original is not None:
            copies.append((score.identity.source or score.id, f"{score.id} has the values of {original.id}{_ONCE}"))
            continue
        repeated += [(score, seen[key]) for key in product((values,), learners, (_ANY,)) if key in seen][:1]
        for key in product((values,), (score.learner, _ANY), (score.seed, _ANY)):
            seen.setdefault(key, score)
        counted.append(lifetime)
    return CountedLifetimes(tuple(counted), tuple(copies), tuple(_repeat_notes(repeated)))


def _repeat_notes(repeated: list[tuple[Score, Score]]) -> Iterable[str]:
    if repeated:
        later, first = repeated[0]
        count = "1 lifetime has" if len(repeated) == 1 else f"{len(repeated)} lifetimes have"
        yield (
            f"{count} the same values as one with another seed, as {later.id} and {first.id}: all are counted, "
            "though a learner that ignores its seed is observed only once"
        )
