"""What the verbs that score share: their logs and experts, and the one place where they are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.gather.surveyor import Look
    from perdure.settings import Settings

__all__ = [
    "LOG_HELP",
    "Experts",
    "Logs",
    "Variadic",
    "leave",
    "progress_bar",
    "settings_facts",
    "surveyed",
]

LOG_HELP = "Logs, folders of logs, run folders, tables of lifetimes or of scores, or accuracy matrices."

Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help=LOG_HELP, show_default=False)]
Experts = Annotated[
    list[Path] | None,
    typer.Option("--experts", metavar="PATH...", help="Logs of experts, folders of logs, or taskinfo/info.json."),
]


class Variadic(TyperCommand):
    """A command whose `--experts` and the like take several values in a row, once its LOG, if any, was given."""

    greedy: tuple[str, ...] = ("--experts", "--metrics", "--pilot", "--detect")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`LOG --experts A B` as `LOG --experts A --experts B`."""
        return super().parse_args(ctx, self._spelt_out(args))

    def _spelt_out(self, args: Sequence[str]) -> list[str]:
        takes_value = {
            name
            for parameter in self.params
            for name in (*parameter.opts, *parameter.secondary_opts)
            if parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False)
        }
        spelt: list[str] = []
        current: str | None = None  # the greedy option whose values are being read
        value_of: str | None = None  # an option whose single value comes next
        # Where the command takes no LOG, no word can be meant as one.
        seen_log = all(parameter.param_type_name == "option" for parameter in self.params)
        for at, word in enumerate(args):
            if value_of is not None:
                spelt.append(word)
                current = value_of if value_of in self.greedy and seen_log else None
                value_of = None
            elif word == "--":
                return [*spelt, *args[at:]]
            elif word.startswith("-") and word != "-":
                spelt.append(word)
                name = word.partition("=")[0]
                current = name if "=" in word and name in self.greedy and seen_log else None
                value_of = word if word in takes_value else None
            elif current is not None:
                spelt += [current, word]
            else:
                seen_log = True
                spelt.append(word)
        return spelt


def surveyed(
    logs: Sequence[Path],
    experts: Sequence[Path] | None,
    settings: Settings,
    quiet: bool,
    *,
    look: Look | None = None,
    jobs: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
) -> Survey:
    """Every lifetime at or below `logs`, scored; a bar on stderr tells how far that is."""
    from perdure.gather.survey import survey

    with progress_bar(quiet) as progress:
        how: dict[str, Any] = {"jobs": jobs, "engine": engine, "address": address, "progress": progress}
        found = survey(logs, experts or (), settings, look=look, **how)
    for note in () if quiet else found.notes:
        typer.echo(f"note: {note}", err=True)
    return found


def settings_facts(found: Survey, settings: Settings) -> dict[str, Any]:
    """What decided the scores and where it came from, as every JSON carries it, metrics as they were asked for."""
    return {
        "settings": {**found.settings, "metrics": list(settings.metrics)},
        "settings_from": settings.sources(),
    }


def leave(left_out: Sequence[tuple[str, str]]) -> NoReturn:
    """End with the status that says whether something was left out, and with what that was, on stderr."""
    for name, why in left_out:
        typer.echo(f"left out: {name}: {why}", err=True)
    raise typer.Exit(1 if left_out else 0)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What is to be told how many of how many are done; a bar on stderr where a person may be looking."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    from perdure.cli.console import Console

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=None, visible=False)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=total > 1)

        yield told
