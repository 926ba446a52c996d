"""Options that verbs share, those of settings included, and the steps that use them."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeVar, get_args, get_type_hints

import typer

from perdure.cli.terminal import echo
from perdure.settings import OPTIONS, Option, Settings

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.stats.gate import GateResult

Log = Annotated[
    Path, typer.Argument(help="A log: a folder, a table, or a bare name under $L2DATA/logs.", show_default=False)
]
LOG_HELP = "Logs, folders of logs, tables, scores or accuracy matrices."
Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help=LOG_HELP, show_default=False)]
Experts = Annotated[
    list[Path] | None,
    typer.Option("--experts", metavar="PATH...", help="Logs of experts, or taskinfo/info.json."),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE|-", help="Also write JSON ('-': only JSON, to stdout)."),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="Ray cluster: ray://HOST:10001, HOST:6379 or auto (default: RAY_ADDRESS, else one started here).",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results.")]

ForSpreadsheets = Annotated[
    bool, typer.Option("--for-spreadsheets", help="Escape text that a spreadsheet would run as a formula.")
]

FailIf = Annotated[
    str | None,
    typer.Option("--fail-if", metavar="VERDICT", help="End with status 1 if this is the verdict.", show_default=False),
]
Unless = Annotated[
    str | None,
    typer.Option("--unless", metavar="VERDICT", help="End with status 1 unless this is shown.", show_default=False),
]
IfUndecided = Annotated[
    Literal["pass", "fail"], typer.Option("--if-undecided", help="Outcome of --fail-if and --unless without a verdict.")
]

Verb = TypeVar("Verb", bound=Callable[..., None])

_COMMON = ("preset", "measure", "metrics", "lower_is_better", "group", "level")
"""The settings that `--help` shows in verbs that take all of them. `--help-all` shows the rest."""


def with_settings(
    of: str | None = None, *, only: Collection[str] = (), advanced: Collection[str] = ()
) -> Callable[[Verb], Verb]:
    """Give a verb one option per setting, in place of its parameter `settings`, which receives the settings.

    Parameters
    ----------
    of
        The parameter that holds the logs. Settings are also read from files beside them.
    only
        The settings that the verb uses. By default all.
    advanced
        Parameters of the verb that only `--help-all` shows.
    """
    declared = {name: option for name, option in OPTIONS.items() if name in (only or OPTIONS)}
    hidden = () if only else set(OPTIONS).difference(_COMMON)
    options = _parameters(declared, hidden)

    def decorated(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def called(**arguments: Any) -> None:
            arguments.pop("help_all", None)
            values = _read(declared, {name: arguments.pop(name) for name in options})
            logs = (arguments.get(of) or ()) if of else ()
            logs = (logs,) if isinstance(logs, Path) else logs
            verb(**arguments, settings=_settings(logs, values, quiet=bool(arguments.get("quiet"))))

        hints = get_type_hints(verb, include_extras=True, localns={"Settings": Settings})
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(verb).parameters.items():
            if name == "settings":
                parameters += options.values()
            else:
                hint = _as_advanced(hints[name]) if name in advanced else hints[name]
                parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
        if not only:
            parameters.append(_parameter("help_all", bool, _HELP_ALL))
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called  # type: ignore[return-value]

    return decorated


def _print_full_help(context: typer.Context, requested: bool) -> None:
    if requested:
        for parameter in context.command.params:
            if getattr(parameter, "rich_help_panel", None):
                parameter.hidden = False  # type: ignore[attr-defined]
        echo(context.get_help())
        raise typer.Exit


_HELP_ALL = typer.Option("--help-all", callback=_print_full_help, is_eager=True, help="Show all options and exit.")


def _as_advanced(hint: Any) -> Any:
    """Return the annotation of a parameter whose option only `--help-all` shows."""
    kind, option = get_args(hint)
    option = copy.copy(option)  # verbs share it
    option.hidden, option.rich_help_panel = True, "Further options"
    return Annotated[kind, option]


def _parameters(declared: Mapping[str, Option], hidden: Collection[str]) -> dict[str, inspect.Parameter]:
    """Return the parameters that become Typer's options. Help never lists the further flags of a setting."""
    parameters: dict[str, inspect.Parameter] = {}
    for name, option in declared.items():
        typer_option = typer.Option(
            option.flag,
            metavar=option.placeholder,
            help=option.help,
            hidden=name in hidden,
            rich_help_panel=option.panel if name in hidden else None,
            show_default=False,
            autocompletion=_COMPLETIONS.get(name),
        )
        parameters[name] = _parameter(name, option.word_type, typer_option)
        for flag in option.further_flags:
            also = typer.Option(flag, help=option.help, hidden=True)
            parameters[_name(flag)] = _parameter(_name(flag), bool, also)
    return parameters


def _parameter(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _complete_presets(prefix: str) -> list[str]:
    from perdure.metrics.presets import PRESETS

    return [name for name in PRESETS.names() if name.startswith(prefix)]


def _complete_metrics(prefix: str) -> list[str]:
    from perdure.metrics import METRICS

    return [name for name in METRICS.names() if name.startswith(prefix)]


_COMPLETIONS: Mapping[str, Callable[[str], list[str]]] = {"preset": _complete_presets, "metrics": _complete_metrics}


def _read(declared: Mapping[str, Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings on the command line, by name."""
    settings: dict[str, Any] = {}
    for name, option in declared.items():
        value = values[name]
        for flag, stands_for in option.further_flags.items():
            if values[_name(flag)]:
                if value not in (None, stands_for):
                    raise typer.BadParameter(f"{flag} and {option.flag} contradict each other; leave one out")
                value = stands_for
        if value is None or value == []:
            continue
        if not option.is_repeatable:
            settings[name] = _read_word(option, value)
            continue
        parts = [_read_word(option, word) for word in value]
        settings[name] = dict(ChainMap(*reversed(parts))) if isinstance(parts[0], dict) else sum(parts, ())
    return settings


def _read_word(option: Option, word: Any) -> Any:
    try:
        return option.read_text(word)
    except ValueError:
        meant = f" (did you mean {word / 100:g}?)" if _is_percent(option, word) else ""
        raise typer.BadParameter(f"{option.flag} {word!r}: expected {option.expected}{meant}") from None


def _is_percent(option: Option, word: Any) -> bool:
    """Return whether a number that is too large would be valid as a percentage."""
    share: Any = word / 100 if isinstance(word, float) and word > 1 else None
    try:
        return share is not None and option.read_text(share) is not None
    except ValueError:
        return False


def _settings(logs: Sequence[Path], options: Mapping[str, Any], *, quiet: bool) -> Settings:
    """Return the settings, with those of files beside the logs, which are reported because nobody typed them."""
    if not logs:
        return Settings(**options, origins=dict.fromkeys(options, "command line"))
    from perdure.metrics.settings import settings_for

    settings = settings_for(logs, options, source="command line")
    from_files = {name: source for name, source in settings.origins.items() if source != "command line"}
    if from_files and not quiet:
        values = {name: getattr(settings, name) for name in from_files} | settings.given
        listed = ", ".join(f"{name} = {values[name]} ({source})" for name, source in from_files.items())
        echo(f"settings: {listed}", err=True)
    return settings


def emit_json(facts: Any, target: str) -> None:
    """Write `facts` to a file, or to stdout if `target` is '-'. They hold no NaN."""
    import json

    # In pieces, because json.dumps holds all snippets of a long text at once.
    snippets = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2).iterencode(facts)
    pieces = iter(lambda: "".join(islice(snippets, 10_000)), "")
    if target == "-":
        for piece in pieces:
            echo(piece, end="")
        echo()
        return
    from perdure import files

    with files.writing(target):
        files.deliver(Path(target), b"".join(piece.encode() for piece in (*pieces, "\n")))


def end_with_gate(result: GateResult, status: int, quiet: bool) -> NoReturn:
    """Print the reason of a gate and end with its status, or with that of the verb."""
    if result.reason and not (quiet and result.passed):
        echo(result.reason, err=True)
    raise SystemExit(status if result.passed else 1)


def survey_logs(
    logs: Sequence[Path], experts: Sequence[Path] | None, settings: Settings, quiet: bool, **how: Any
) -> Survey:
    """Score every lifetime at or below `logs`, with a progress bar; `how` is passed to `perdure.survey`."""
    from perdure.gather.survey import survey

    with progress_bar(quiet) as progress:
        scored = survey(logs, experts or (), settings, progress=progress, **how)
    for note in () if quiet else scored.notes:
        echo(f"note: {note}", err=True)
    return scored


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a `progress(done, total)` callback that draws a bar on stderr, or None if stderr is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    from perdure.cli.console import Console

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=None, visible=False)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=total > 1)

        yield update


def settings_facts(survey: Survey, settings: Settings) -> dict[str, Any]:
    """Return the settings and their sources as every JSON has them, with the metrics that were requested."""
    return {
        "settings": {**survey.settings, "metrics": list(settings.metrics)},
        "settings_from": settings.sources(),
    }


def left_out_facts(left_out: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the left out lifetimes as every JSON has them."""
    return [{"path": path, "why": why} for path, why in left_out]
