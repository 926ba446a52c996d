"""What the verbs that score share: their logs and experts, and the one place where they are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from perdure.cli.terminal import echo

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.gather.worker import CurveHook
    from perdure.settings import Settings


LOG_HELP = "Logs, folders of logs, run folders, tables of lifetimes or of scores, or accuracy matrices."

Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help=LOG_HELP, show_default=False)]
Experts = Annotated[
    list[Path] | None,
    typer.Option("--experts", metavar="PATH...", help="Logs of experts, folders of logs, or taskinfo/info.json."),
]


def surveyed(
    logs: Sequence[Path],
    experts: Sequence[Path] | None,
    settings: Settings,
    quiet: bool,
    *,
    look: CurveHook | None = None,
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
        echo(f"note: {note}", err=True)
    return found


def settings_facts(found: Survey, settings: Settings) -> dict[str, Any]:
    """What decided the scores and where it came from, as every JSON carries it, metrics as they were asked for."""
    return {
        "settings": {**found.settings, "metrics": list(settings.metrics)},
        "settings_from": settings.sources(),
    }


def leave(left_out: Sequence[tuple[str, str]], faults: Sequence[tuple[str, str]] = ()) -> NoReturn:
    """Report everything left out and every faulty log on stderr; exit with 1 if there is any."""
    for name, why in faults:
        echo(f"error in {name}: {why}", err=True)
    for name, why in left_out:
        echo(f"left out: {name}: {why}", err=True)
    raise SystemExit(1 if left_out or faults else 0)


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
