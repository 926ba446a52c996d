"""`perdure lint`: is this syllabus, or each of a protocol, sound, and what can it answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.terminal import echo, show

if TYPE_CHECKING:
    from perdure.cli.console import Console
    from perdure.evaluation import ProtocolLint
    from perdure.scenario.document import Level
    from perdure.scenario.lint import Eligibility, LintReport
    from perdure.settings import Settings


EXAMPLE = "perdure compose condensed --task pong breakout --learn 100 --evaluate 10 | perdure lint -"

# The ending of each level's name, for other numbers than one, and for one.
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
    found = api.lint_protocol(file, settings, kind=type_) if of_protocol else api.lint(file, settings, kind=type_)
    if json:
        emit_json(found.as_json(), json)
    if json != "-":
        _show_all(found, settings, quiet, every or bool(settings.metrics))
    raise SystemExit(0 if found.ok else 1)


def _show_all(found: LintReport | ProtocolLint, settings: Settings, quiet: bool, every: bool) -> None:
    from perdure.api import shows_2019
    from perdure.evaluation import ProtocolLint

    for report in found if isinstance(found, ProtocolLint) else (found,):
        _show(report, quiet, shows_2019(settings, report.kind), every)
    if isinstance(found, ProtocolLint) and found.few_experts:
        echo(f"experts: {found.few_experts}")


def _show(report: LintReport, quiet: bool, of_2019: bool, every: bool) -> None:
    from perdure.cli.console import Console
    from perdure.scenario.draw import lifetime_legend, lifetime_line

    console = Console(highlight=False)
    scenario = report.syllabus.scenario
    with console.capture() as drawn:
        if not quiet:
            console.print(_heading(report), markup=False)
        if scenario.blocks and not quiet:
            console.print(lifetime_line(scenario, min(console.width, 100)))
            console.print(lifetime_legend(scenario))
        _show_problems(report, console)
        if of_2019 and not quiet:
            console.print(
                "Metrics of the 2019 framework that it can measure (for the current metrics: --preset standard):"
            )
        _show_metrics(report, console, every)
        if not quiet:
            console.print(_verdict(report))
    # Tables are padded to their width; what is copied or compared should not be.
    show("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def _verdict(report: LintReport) -> str:
    levels = [problem.level for problem in report.problems]
    counts = (f"{levels.count(level)} {level}{endings[levels.count(level) == 1]}" for level, endings in PLURALS.items())
    return f"{'ok' if report.ok else 'not ok'}: {', '.join(counts)}"


def _heading(report: LintReport) -> str:
    facts = report.facts
    counts = f"{facts['blocks']:,} blocks"
    if facts["experiences"] is not None:
        counts += (
            f", {facts['experiences']:,} experiences "
            f"({facts['learning_experiences']:,} learning, {facts['evaluation_experiences']:,} evaluation)"
        )
    phases = " ".join(facts["phases"][:8]) + (f" … {facts['phases'][-1]}" if len(facts["phases"]) > 8 else "")
    return f"{facts['name']}{f' as {report.kind}' if report.kind else ''}: {counts}\n{phases}".rstrip()


def _show_problems(report: LintReport, console: Console, most: int = 20) -> None:
    from rich.text import Text

    colours = {"error": "red", "warning": "yellow", "advice": "cyan"}
    for problem in report.problems[:most]:
        place = problem.where
        line = Text().append(f"{problem.level}  ", f"bold {colours[problem.level]}").append(place, "bold")
        console.print(line.append(f": {problem.what}", "").append(f"  → {problem.fix}", "dim"))
    if len(report.problems) > most:
        console.print(f"… and {len(report.problems) - most:,} more; --json FILE lists them all")


def _show_metrics(report: LintReport, console: Console, every: bool) -> None:
    """What each metric would be measured for; of too many for a screen, those that answer a question."""
    from rich.table import Table
    from rich.text import Text

    from perdure.metrics import METRICS

    if not report.metrics or not report.syllabus.scenario.blocks:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("values", justify="right", no_wrap=True)
    table.add_column("measured for, or what is missing")
    asked = {one.name for one in METRICS if one.question}
    few = {name: one for name, one in report.metrics.items() if name in asked}
    shown = report.metrics if every or not few or len(report.metrics) <= _SCREEN else few
    previous = ""
    for name, found in sorted(shown.items(), key=lambda item: (item[1].sites == 0, item[1].why or "")):
        text, style = found.why or _keys(found), "" if found.sites else "dim"
        table.add_row(Text(name, style), Text(str(found.sites), style), Text("″" if text == previous else text, style))
        previous = text
    console.print(table)
    if len(shown) < len(report.metrics):
        able = sum(one.sites > 0 for one in report.metrics.values())
        console.print(f"In all, {able} of {len(report.metrics)} metrics can be measured; --all lists them.")


def _keys(found: Eligibility) -> str:
    pairs = "→" in found.keys[0]
    keys = ", ".join(found.keys) if len(found.keys) <= 3 else f"{len(found.keys)} {'pairs' if pairs else 'tasks'}"
    return keys + (", each with an expert" if found.expert else "")
