"""The reference pages, made from the declarations when the documentation is built; none is kept in the repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mkdocs.structure.files import File, Files

__all__ = ["on_files", "pages"]


def on_files(files: Files, config: Any) -> Files:
    """MkDocs' hook: add the generated pages to those on disk."""
    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def pages() -> dict[str, str]:
    """Every generated page by name."""
    return {
        "commands": commands(),
        "settings": settings(),
        "metrics": metrics(),
        "tasks": tasks(),
        "log-columns": log_columns(),
        "readers": readers(),
        "errors": errors(),
    }


def commands() -> str:
    """Each verb with its help, as the command line prints it."""
    from typer.testing import CliRunner

    from perdure.cli import VERBS, application

    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    parts = [
        "# Commands\n\nResults go to stdout, progress to stderr; `--json FILE|-` gives the same facts to a machine. "
    ]
    parts.append("Exit status 0: all was answered; 1: something was left out or is wrong; 2: nothing could be done.\n")
    for verb in VERBS:
        said = runner.invoke(application(), [verb, "--help"]).output.strip("\n")
        parts.append(f"\n## perdure {verb}\n\n```text\n{said}\n```\n")
    return "".join(parts)


def settings() -> str:
    """Every setting: its key, its options, what it takes and where it comes from otherwise; and what presets fix."""
    from perdure.metrics.presets import PRESETS
    from perdure.settings import OPTIONS

    parts = ["# Settings\n\nEach is one declaration: an option of every verb that scores, a key of `perdure.toml` and "]
    parts.append(
        "of a protocol's `[score]`, and an entry of `settings` in every JSON, whose `settings_from` says where "
    )
    parts.append("it came from. First wins: the command line, `perdure.toml` beside the data, `[score]`, the log, ")
    parts.append("the preset.\n")
    for panel in dict.fromkeys(one.panel for one in OPTIONS.values()):
        rows = [
            (
                f"`{key}`",
                ", ".join(f"`{flag}`" for flag in (one.flag, *one.also)),
                one.help,
                one.kind.what,
                one.otherwise,
            )
            for key, one in OPTIONS.items()
            if one.panel == panel
        ]
        heading = ("key", "option", "meaning", "takes", "else from")
        parts.append(f"\n## {panel or 'Everyday'}\n\n{_table(heading, rows)}")
    fixed = [(f"`{one.name}`", f"`{key}`", why) for one in PRESETS for key, why in one.fixes.items()]
    parts.append(f"\n## What presets fix\n\nIt is refused as an option.\n\n{_table(('preset', 'key', 'why'), fixed)}")
    return "".join(parts)


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (heading, ["---"] * len(heading), *([cell.replace("|", r"\|") for cell in row] for row in rows))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def metrics() -> str:
    """Every metric with what it means, needs and shows, from its declaration."""
    from perdure.metrics.declare import METRICS

    parts = ["# Metrics\n\nEach is one declaration; this page, lint, tables and verdicts derive from it.\n"]
    for metric in METRICS:
        facts = {
            "needs": metric.needs + (", and experts" if metric.expert else ""),
            "shows lifelong learning when": metric.bar,
            "condition": metric.condition,
            "unit": metric.unit,
            "source": metric.source,
        }
        rows = "".join(f"| {name} | {value} |\n" for name, value in facts.items() if value)
        parts.append(f"\n## {metric.name}\n\n{metric.summary}\n\n| | |\n|---|---|\n{rows}")
    return "".join(parts)


def tasks() -> str:
    """The tasks that are embedded, and their parameters, from their declarations."""
    from perdure.tasks.interface import TASKS
    from perdure.tasks.table import parameter_table, task_table

    parts = ["# Tasks\n\nBesides these, any Gymnasium environment by its id.\n\n", task_table()]
    parts.extend(f"\n\n## {name}\n\n{parameter_table(name)}" for name in TASKS.names())
    return "".join(parts) + "\n"


def log_columns() -> str:
    """The standard columns of a log and their types."""
    from perdure.log.model import STANDARD_COLUMNS

    rows = "".join(f"| `{name}` | `{dtype}` |\n" for name, dtype in STANDARD_COLUMNS.items())
    return (
        "# Columns of a log\n\nEvery reader delivers these columns in this order, then the measures as `Float64`, "
        f"then whatever else was logged.\n\n| column | type |\n|---|---|\n{rows}"
    )


def readers() -> str:
    """The kinds of log that are read."""
    from perdure.log import READERS

    rows = "".join(f"| `{reader.name}` | {reader.summary} |\n" for reader in READERS)
    return (
        "# Readers\n\n`perdure.read` takes the first that recognises what it sees; "
        f"`reader=` names one. A plug-in adds its own.\n\n| reader | what it reads |\n|---|---|\n{rows}"
    )


def errors() -> str:
    """The exception tree, as its module draws it."""
    import perdure.errors

    return f"# Errors\n\n```text\n{(perdure.errors.__doc__ or '').strip()}\n```\n"
