"""`perdure list`: list the available metrics, presets, readers, tasks, learners and layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from perdure.cli.options import Json, emit_json
from perdure.settings.presets import STANDARD

if TYPE_CHECKING:
    from perdure.metrics.declare import Metric


EXAMPLE = "perdure list metrics"

Kind = Literal["metrics", "presets", "readers", "tasks", "learners", "layouts"]
Facts = Mapping[str, Any]


def list(  # noqa: A001 - the verb's own name
    kind: Annotated[Kind, typer.Argument(help="The kind of thing to list.")] = "metrics",
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help="List only the metrics of this preset.")
    ] = None,
    json: Json = None,
) -> None:
    """List the available metrics, presets, readers, tasks, learners or layouts, with one line about each."""
    facts = _KINDS[kind](preset)
    if json:
        emit_json(facts, json)
    if json != "-":
        _show(facts)


def _metrics(preset: str | None) -> tuple[Facts, ...]:
    from perdure.metrics.declare import METRICS
    from perdure.metrics.presets import PRESETS

    chosen = PRESETS.get(preset or STANDARD).metrics.values()
    others = () if preset else (metric for metric in METRICS if metric.preset != STANDARD)
    return tuple(_facts(metric) for metric in (*chosen, *others))


def _facts(metric: Metric) -> Facts:
    return {
        "name": metric.name,
        "aliases": [*metric.aliases],
        "headline": metric.headline,
        "variant_of": metric.variant_of,
        "summary": metric.summary,
        "condition": metric.condition,
        "capability": metric.capability,
        "threshold": metric.threshold,
        "better": metric.better,
        "bar": metric.bar,
        "unit": metric.unit,
        "needs": metric.needs + ("; an expert of that task" if metric.expert else ""),
        "good": metric.good.words if metric.good else "",
        "source": metric.source,
        "preset": metric.preset,
        "equation": metric.equation,
        "weakness": metric.weakness,
    }


def _presets(_preset: str | None) -> tuple[Facts, ...]:
    from perdure.metrics.presets import PRESETS

    return tuple(
        {
            "name": preset.name,
            "summary": preset.summary,
            "source": preset.source,
            "metrics": [*preset.metrics],
            "fixes": dict(preset.fixes),
        }
        for preset in PRESETS
    )


def _readers(_preset: str | None) -> tuple[Facts, ...]:
    from perdure.log import READERS

    return tuple({"name": reader.name, "summary": reader.summary} for reader in READERS)


def _tasks(_preset: str | None) -> tuple[Facts, ...]:
    from importlib import import_module

    from perdure.tasks.catalogue import kind_named
    from perdure.tasks.interface import TASKS

    import_module("perdure.tasks.catalogue")  # registers the embedded tasks
    kinds = {name: kind_named(name) for name in TASKS.names()}
    return tuple(
        {
            "name": name,
            "summary": kind.summary,
            "measures": dict(kind.measures),
            "parameters": [
                {
                    "name": parameter.name,
                    "default": parameter.default,
                    "form": parameter.form,
                    "meaning": parameter.meaning,
                }
                for parameter in kind.parameters or ()
            ],
        }
        for name, kind in kinds.items()
    )


def _learners(_preset: str | None) -> tuple[Facts, ...]:
    import inspect

    from perdure.learners.find import LEARNERS, REFERENCE, batched_learners, find_learner, torch_learners

    names = dict.fromkeys((*REFERENCE, *LEARNERS.names()))
    embedded = {name: (inspect.getdoc(find_learner(name)) or "").partition("\n")[0] for name in names}
    ordinary = tuple({"name": name, "summary": summary} for name, summary in {**embedded, **torch_learners()}.items())
    learners, methods = batched_learners()
    return (*ordinary, *({"name": name, "summary": text, "methods": methods} for name, text in learners.items()))


def _layouts(_preset: str | None) -> tuple[Facts, ...]:
    from perdure.scenario.layouts import LAYOUTS

    return tuple(
        {
            "name": layout.name,
            "summary": layout.summary,
            "scenario_type": layout.scenario_type,
            "in_rounds": layout.in_rounds,
        }
        for layout in LAYOUTS.values()
    )


_KINDS: Mapping[Kind, Callable[[str | None], tuple[Facts, ...]]] = {
    "metrics": _metrics,
    "presets": _presets,
    "readers": _readers,
    "tasks": _tasks,
    "learners": _learners,
    "layouts": _layouts,
}


def _show(facts: tuple[Facts, ...]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from perdure.cli.console import Console

    console = Console(highlight=False)
    for fact in facts:
        also = f"({', '.join(fact['aliases'])})" if fact.get("aliases") else ""
        parts = ((fact["name"], "bold"), (also, "bold"), (fact.get("bar") or "", "cyan"))
        console.print(*(Text(text, style) for text, style in parts if text))
        console.print(Padding(Text(fact["summary"]), (0, 0, 0, 2)))
        details = [f"needs {fact['needs']}"] if fact.get("needs") else []
        details += (
            [f"takes {', '.join(parameter['name'] for parameter in fact['parameters'])}"]
            if fact.get("parameters")
            else []
        )
        details += [f"method = {', '.join(fact['methods'])}"] if fact.get("methods") else []
        details += [f"fixes {', '.join(fact['fixes'])}"] if fact.get("fixes") else []
        details += [f"good: {fact['good']}"] if fact.get("good") else []
        details += [text for text in (fact.get("condition"), fact.get("source")) if text]
        if details:
            console.print(Padding(Text(" · ".join(details), "dim"), (0, 0, 0, 2)))
