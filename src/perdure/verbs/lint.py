"""lint: is this syllabus, or each of a protocol, sound, and what can it answer?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perdure.errors import ScenarioError
from perdure.lazy import pl
from perdure.results import Tabular
from perdure.scenario.lint import LintReport
from perdure.settings import Settings
from perdure.settings.presets import FRAMEWORK_2019
from perdure.text import plural
from perdure.verbs.protocol import few_experts, settings_of

if TYPE_CHECKING:
    from perdure.metrics.declare import Metric
    from perdure.scenario.syllabus import Syllabus


def lint(
    syllabus: str | os.PathLike[str] | Syllabus, settings: Settings | None = None, *, kind: str | None = None
) -> LintReport:
    """Whether a syllabus is sound, and which metrics it can answer: a path, its text, or one that was composed.

    `kind` is one of the 2019 types, whose rules then apply; without it the header's `scenario_type` decides.
    """
    from perdure.scenario.document import read_source
    from perdure.scenario.lint import lint as linted
    from perdure.scenario.syllabus import Syllabus

    settings = Settings.given_or_default(settings)
    variants = settings.variants or "name"

    def asked(of_kind: str | None) -> Iterable[Metric]:
        return _metrics_of(settings, of_kind)

    if isinstance(syllabus, Syllabus):
        return linted(syllabus, kind=kind, metrics=asked, variants=variants)
    given = os.fspath(syllabus)
    if given.endswith(".toml"):
        raise ScenarioError("a protocol, and no syllabus", "perdure.lint_protocol looks at each of its own", file=given)
    text, place = (given, "syllabus") if given.lstrip().startswith("{") else read_source(given)
    return linted(text, kind=kind, metrics=asked, place=place, variants=variants)


def shows_2019(settings: Settings, kind: str | None) -> bool:
    """Whether a syllabus shows the metrics of 2019: it is of a type of then, and nobody asked for others."""
    return kind is not None and not _chosen(settings)


class ProtocolLint(Tabular, Struct, frozen=True):
    """What `lint` finds in each scenario of a protocol, and whether its experts suffice."""

    name: str
    scenarios: Mapping[str, LintReport]
    few_experts: str | None
    """What the number of experts keeps from being decided, in words."""

    def __repr__(self) -> str:
        told = ", few experts" if self.few_experts else ""
        return f"ProtocolLint({self.name!r}, {plural(len(self), 'scenario')}, {'ok' if self.ok else 'not ok'}{told})"

    def __len__(self) -> int:
        return len(self.scenarios)

    def __iter__(self) -> Iterator[LintReport]:
        return iter(self.scenarios.values())

    @property
    def ok(self) -> bool:
        """Whether no scenario has an error."""
        return all(one.ok for one in self)

    def table(self) -> pl.DataFrame:
        """One row per scenario and metric: how many values it gives, or why none."""
        return pl.concat(
            one.table().select(pl.lit(name).alias("scenario"), pl.all()) for name, one in self.scenarios.items()
        )

    def as_json(self) -> dict[str, Any]:
        """All of it as one JSON object, as `perdure lint --json` writes it."""
        scenarios = {name: one.as_json() for name, one in self.scenarios.items()}
        return {"protocol": self.name, "scenarios": scenarios, "few_experts": self.few_experts}


def lint_protocol(
    path: str | os.PathLike[str], settings: Settings | None = None, *, kind: str | None = None
) -> ProtocolLint:
    """Whether each syllabus of a protocol is sound, which metrics it can answer, and whether experts suffice."""
    from perdure.runner.protocol import read_protocols

    protocol, *_ = read_protocols(os.fspath(path))  # its learners share all that is looked at
    gap = few_experts(protocol, settings_of(protocol))
    scenarios = {one.name: one.syllabus(protocol.seed) for one in protocol.scenarios}
    return ProtocolLint(
        protocol.name, {name: lint(one, settings, kind=kind) for name, one in scenarios.items()}, gap or None
    )


def _metrics_of(settings: Settings, kind: str | None) -> Iterable[Metric]:
    """Every metric, or those of the preset or the ids asked for; beside them what the files asked for declare.

    A syllabus of a 2019 type was made for the metrics of 2019, and shows these unless told otherwise.
    """
    from perdure.metrics.declare import METRICS
    from perdure.metrics.presets import PRESETS, chosen_metrics

    if _chosen(settings):
        return chosen_metrics(PRESETS.get(settings.preset), settings.metrics).values()
    if kind is not None:
        return chosen_metrics(PRESETS.get(FRAMEWORK_2019), settings.files).values()
    own = chosen_metrics(PRESETS.get(settings.preset), settings.files)
    return [*METRICS, *(metric for name, metric in own.items() if name not in METRICS.names())]


def _chosen(settings: Settings) -> bool:
    """Whether somebody said which metrics are meant."""
    return "preset" in settings.origins or settings.preset != Settings().preset or bool(settings.ids)
