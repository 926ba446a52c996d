"""`perdure list`: the metrics, presets, readers, tasks, learners and layouts there are."""

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
    everything = (*chosen, *(() if preset else (one for one in METRICS if one.preset != STANDARD)))
    return tuple(_facts(one) for one in everything)


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
            "name": one.name,
            "summary": one.summary,
            "source": one.source,
            "metrics": [*one.metrics],
            "fixes": dict(one.fixes),
        }
        for one in PRESETS
    )


def _readers(_preset: str | None) -> tuple[Facts, ...]:
    from perdure.log import READERS

    return tuple({"name": one.name, "summary": one.summary} for one in READERS)


def _tasks(_preset: str | None) -> tuple[Facts, ...]:
    from importlib import import_module

    from perdure.tasks.catalogue import kind_named
    from perdure.tasks.interface import TASKS

    import_module("perdure.tasks.catalogue")  # registers what is embedded
    kinds = {name: kind_named(name) for name in TASKS.names()}
    return tuple(
        {
            "name": name,
            "summary": kind.summary,
            "measures": dict(kind.measures),
            "parameters": [
                {"name": one.name, "default": one.default, "form": one.form, "meaning": one.meaning}
                for one in kind.parameters or ()
            ],
        }
        for name, kind in kinds.items()
    )


def _learners(_preset: str | None) -> tuple[Facts, ...]:
    import inspect

    from perdure.learners.find import LEARNERS, REFERENCE, batched_learners, find_learner, torch_learners

    names = dict.fromkeys((*REFERENCE, *LEARNERS.names()))
    made = {name: (inspect.getdoc(find_learner(name)) or "").partition("\n")[0] for name in names}
    ordinary = tuple({"name": name, "summary": summary} for name, summary in {**made, **torch_learners()}.items())
    learners, methods = batched_learners()
    return (*ordinary, *({"name": one, "summary": said, "methods": methods} for one, said in learners.items()))


def _layouts(_preset: str | None) -> tuple[Facts, ...]:
    from perdure.scenario.layouts import LAYOUTS

    return tuple(
        {"name": one.name, "summary": one.summary, "scenario_type": one.scenario_type, "in_rounds": one.in_rounds}
        for one in LAYOUTS.values()
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
    for one in facts:
        also = f"({', '.join(one['aliases'])})" if one.get("aliases") else ""
        parts = ((one["name"], "bold"), (also, "bold"), (one.get("bar") or "", "cyan"))
        console.print(*(Text(text, style) for text, style in parts if text))
        console.print(Padding(Text(one["summary"]), (0, 0, 0, 2)))
        details = [f"needs {one['needs']}"] if one.get("needs") else []
        details += [f"takes {', '.join(each['name'] for each in one['parameters'])}"] if one.get("parameters") else []
        details += [f"method = {', '.join(one['methods'])}"] if one.get("methods") else []
        details += [f"fixes {', '.join(one['fixes'])}"] if one.get("fixes") else []
        details += [f"good: {one['good']}"] if one.get("good") else []
        details += [text for text in (one.get("condition"), one.get("source")) if text]
        if details:
            console.print(Padding(Text(" · ".join(details), "bright_black"), (0, 0, 0, 2)))
