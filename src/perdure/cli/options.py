"""Options that verbs share, the options of settings among them, and the writer of JSON."""

from __future__ import annotations

import functools
import inspect
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from perdure.cli.terminal import echo
from perdure.settings import OPTIONS, Option, Settings

Log = Annotated[
    Path, typer.Argument(help="A log: a folder, a table, or a bare name under $L2DATA/logs.", show_default=False)
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE|-", help="Also write the results as JSON ('-': stdout, instead of text)."),
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

Verb = TypeVar("Verb", bound=Callable[..., None])


def with_settings(of: str | None = None, *, only: Iterable[str] = OPTIONS) -> Callable[[Verb], Verb]:
    """Give a verb one option per setting, in place of its parameter `settings`, which receives the settings.

    Parameters
    ----------
    of
        The parameter with the logs that files of settings lie beside.
    only
        The settings that concern the verb.
    """
    declared = {name: OPTIONS[name] for name in OPTIONS if name in set(only)}
    options = _parameters(declared)

    def decorated(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def called(**arguments: Any) -> None:
            given = _read(declared, {name: arguments.pop(name) for name in options})
            logs = (arguments.get(of) or ()) if of else ()
            logs = (logs,) if isinstance(logs, Path) else logs
            verb(**arguments, settings=_settings(logs, given, quiet=bool(arguments.get("quiet"))))

        hints = get_type_hints(verb, include_extras=True, localns={"Settings": Settings})
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(verb).parameters.items():
            if name == "settings":
                parameters += options.values()
            else:
                parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called  # type: ignore[return-value]

    return decorated


def _parameters(declared: Mapping[str, Option]) -> dict[str, inspect.Parameter]:
    """Return the parameters that become Typer's options. Help does not list the further flags of a setting."""
    parameters: dict[str, inspect.Parameter] = {}
    for name, option in declared.items():
        shown = typer.Option(
            option.flag,
            metavar=option.placeholder,
            help=option.help,
            rich_help_panel=option.panel,
            show_default=False,
            autocompletion=_COMPLETIONS.get(name),
        )
        parameters[name] = _parameter(name, option.word_type, shown)
        for flag in option.also:
            hidden = typer.Option(flag, help=option.help, hidden=True)
            parameters[_name(flag)] = _parameter(_name(flag), bool, hidden)
    return parameters


def _parameter(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _complete_presets(begun: str) -> list[str]:
    from perdure.metrics.presets import PRESETS

    return [name for name in PRESETS.names() if name.startswith(begun)]


def _complete_metrics(begun: str) -> list[str]:
    from perdure.metrics import METRICS

    return [name for name in METRICS.names() if name.startswith(begun)]


_COMPLETIONS: Mapping[str, Callable[[str], list[str]]] = {"preset": _complete_presets, "metrics": _complete_metrics}


def _read(declared: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings on the command line, by name."""
    settings: dict[str, Any] = {}
    for name, option in declared.items():
        value = given[name]
        for flag, stands_for in option.also.items():
            if given[_name(flag)]:
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
        raise typer.BadParameter(f"{option.flag} {word!r}: expected {option.expected}") from None


def _settings(logs: Sequence[Path], given: Mapping[str, Any], *, quiet: bool) -> Settings:
    """Return the settings, with those of files beside the logs, which are reported because nobody typed them."""
    if not logs:
        return Settings(**given, origins=dict.fromkeys(given, "command line"))
    from perdure.metrics.settings import settings_for

    settings = settings_for(logs, given, source="command line")
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
    from perdure.errors import PerdureError

    try:
        files.deliver(Path(target), b"".join(piece.encode() for piece in (*pieces, "\n")))
    except OSError as problem:
        raise PerdureError(
            f"cannot write JSON there: {problem.strerror}", "choose another place", file=target
        ) from problem
