"""`perdure lint`: check a syllabus or a protocol, and list the metrics that it can measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from perdure.cli.console import Console
from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.terminal import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.evaluation import ProtocolLint
    from perdure.scenario.document import Level
    from perdure.scenario.lint import Eligibility, LintReport
    from perdure.settings import Settings


EXAMPLE = "perdure compose condensed --task pong breakout --learn 100 --evaluate 10 | perdure lint -"

# Level → the ending of its plural, and of its singular.
PLURALS: dict[Level, tuple[str, str]] = {"error": ("s", ""), "warning": ("s", ""), "advice": ("", "")}

_SCREEN = 20  # rows

File = Annotated[
    str,
    typer.Argument(
        help="A syllabus, a protocol.toml, a log's scenario_info.json, or '-' for stdin.", show_default=False
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--type", metavar="CL|ANT-A|ANT-B|ANT-C", help="Also check the rules of this 2019 syllabus type."),
]


@with_settings(only=["preset", "metrics", "variants"])
def lint(
    file: File,
    settings: Settings,
    type_: Kind = None,
    every: Annotated[bool, typer.Option("--all", help="List every metric, not only the headline ones.")] = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Check a syllabus or protocol: is it valid, which metrics can it measure, are there enough experts?

    Exit status 0: no errors (warnings and advice may remain); 1: errors; 2: not a syllabus.
    """
    from perdure import api

    of_protocol = file.endswith(".toml")
    result = api.lint_protocol(file, settings, kind=type_) if of_protocol else api.lint(file, settings, kind=type_)
    if json:
        emit_json(result.as_json(), json)
    if json != "-":
        _show_all(result, settings, quiet, every or bool(settings.metrics))
    raise SystemExit(0 if result.ok else 1)


def _show_all(result: LintReport | ProtocolLint, settings: Settings, quiet: bool, every: bool) -> None:
    from perdure.api import shows_2019
    from perdure.evaluation import ProtocolLint

    *reports, last = result if isinstance(result, ProtocolLint) else (result,)
    for report in reports:
        _show(report, quiet, shows_2019(settings, report.kind), every)
    experts = result.few_experts if isinstance(result, ProtocolLint) else None
    _show(last, quiet, shows_2019(settings, last.kind), every, experts)


def _show(report: LintReport, quiet: bool, of_2019: bool, every: bool, experts: str | None = None) -> None:
    from perdure.scenario.draw import lifetime_legend, lifetime_line

    console = Console(highlight=False)
    scenario = report.syllabus.scenario
    with console.capture() as capture:
        if not quiet:
            console.print(_heading(report), markup=False)
        if scenario.blocks and not quiet:
            console.print(lifetime_line(scenario, min(console.width, 100)))
            console.print(lifetime_legend(scenario))
        _show_problems(report, console)
        if experts:
            _show_problem(console, "advice", "experts", experts)
        if of_2019 and not quiet:
            console.print(
                "Metrics of the 2019 framework that it can measure (for the current metrics: --preset standard):"
            )
        _show_metrics(report, console, every)
        if not quiet:
            console.print(_verdict(report, ["advice"] if experts else []))
    # Rich pads tables with spaces, which would be copied along.
    show("\n".join(line.rstrip() for line in capture.get().splitlines()))


def _verdict(report: LintReport, further: Sequence[Level]) -> str:
    levels = [*(problem.level for problem in report.problems), *further]
    counts = (f"{levels.count(level)} {level}{endings[levels.count(level) == 1]}" for level, endings in PLURALS.items())
    return f"{'ok' if report.ok else 'not ok'}: {', '.join(counts)}"


def _heading(report: LintReport) -> str:
    facts = report.as_json()
    counts = f"{facts['blocks']:,} blocks"
    if facts["experiences"] is not None:
        counts += (
            f", {facts['experiences']:,} experiences "
            f"({facts['learning_experiences']:,} learning, {facts['evaluation_experiences']:,} evaluation)"
        )
    phases = " ".join(facts["phases"][:8]) + (f" … {facts['phases'][-1]}" if len(facts["phases"]) > 8 else "")
    return f"{facts['name']}{f' as {report.kind}' if report.kind else ''}: {counts}\n{phases}".rstrip()


def _show_problems(report: LintReport, console: Console, most: int = 20) -> None:
    for problem in report.problems[:most]:
        _show_problem(console, problem.level, problem.where, problem.what, problem.fix)
    if len(report.problems) > most:
        console.print(f"… and {len(report.problems) - most:,} more; --json FILE lists them all")


def _show_problem(console: Console, level: Level, where: str, what: str, fix: str = "") -> None:
    colours = {"error": "red", "warning": "magenta", "advice": "cyan"}
    line = Text().append(f"{level}  ", f"bold {colours[level]}").append(where, "bold").append(f": {what}")
    console.print(line.append(f"  → {fix}" if fix else "", "dim"))


def _show_metrics(report: LintReport, console: Console, every: bool) -> None:
    """Print the tasks that each metric measures. If the list is long, print only metrics that answer a question."""
    from rich.table import Table

    from perdure.metrics import METRICS

    if not report.metrics or not report.syllabus.scenario.blocks:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("values", justify="right", no_wrap=True)
    table.add_column("measured for, or what is missing")
    with_question = {metric.name: metric for metric in METRICS if metric.question}
    few = {
        name: metric
        for name, metric in report.metrics.items()
        if name in with_question and (metric.sites or with_question[name].capability or with_question[name].headline)
    }
    listed = report.metrics if every or not few or len(report.metrics) <= _SCREEN else few
    previous = ""
    for name, metric in sorted(listed.items(), key=lambda item: (item[1].sites == 0, item[1].why or "")):
        text, style = metric.why or _keys(metric), "" if metric.sites else "dim"
        table.add_row(Text(name, style), Text(str(metric.sites), style), Text("″" if text == previous else text, style))
        previous = text
    console.print(table)
    if len(listed) < len(report.metrics):
        able = sum(metric.sites > 0 for metric in report.metrics.values())
        console.print(f"In all, {able} of {len(report.metrics)} metrics can be measured; --all lists them.")


def _keys(metric: Eligibility) -> str:
    pairs = "→" in metric.keys[0]
    keys = ", ".join(metric.keys) if len(metric.keys) <= 3 else f"{len(metric.keys)} {'pairs' if pairs else 'tasks'}"
    return keys + (", each with an expert" if metric.expert else "")
