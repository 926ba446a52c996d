"""What the verbs share: options derived from the declarations of settings, and one way to print JSON."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from perdure.cli.terminal import echo
from perdure.settings import OPTIONS, Option, Settings

__all__ = ["Address", "ForSpreadsheets", "Json", "Log", "Quiet", "emit_json", "with_settings"]

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
    """Give a verb one option per setting, in place of its parameter `settings`, which then holds them settled.

    `of` is the parameter with the logs that files of settings lie beside. `only` names the settings that
    concern the verb, where not all do.
    """
    declared = {name: OPTIONS[name] for name in OPTIONS if name in set(only)}
    options = _parameters(declared)

    def decorated(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def called(**arguments: Any) -> None:
            given = {name: arguments.pop(name) for name in options}
            logs = (arguments.get(of) or ()) if of else ()
            several = (logs,) if isinstance(logs, Path) else logs
            settings = _settled(several, _read(given, declared), quiet=bool(arguments.get("quiet")))
            verb(**arguments, settings=settings)

        own = inspect.signature(verb).parameters
        hints = get_type_hints(verb, include_extras=True, localns={"Settings": Settings})
        parameters: list[inspect.Parameter] = []
        for name, one in own.items():
            if name == "settings":
                parameters += options.values()
            else:
                parameters.append(one.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called  # type: ignore[return-value]

    return decorated


def _parameters(declared: Mapping[str, Option]) -> dict[str, inspect.Parameter]:
    """Return the parameters that Typer makes options of, by name; help does not list the further flags of a setting."""
    found: dict[str, inspect.Parameter] = {}
    for name, one in declared.items():
        shown = typer.Option(
            one.flag,
            metavar=one.kind.metavar,
            help=one.help,
            rich_help_panel=one.panel,
            show_default=False,
            autocompletion=_COMPLETED.get(name),
        )
        found[name] = _parameter(name, _type(one), shown)
        for flag in one.also:
            found[_name(flag)] = _parameter(_name(flag), bool, typer.Option(flag, help=one.help, hidden=True))
    return found


def _parameter(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _type(one: Option) -> Any:
    if one.kind.choices:
        return Literal[one.kind.choices]
    return list[str] if one.kind.several else one.kind.takes


def _presets(begun: str) -> list[str]:
    from perdure.metrics.engine.presets import PRESETS

    return [name for name in PRESETS.names() if name.startswith(begun)]


def _metrics(begun: str) -> list[str]:
    from perdure.metrics import METRICS

    return [name for name in METRICS.names() if name.startswith(begun)]


_COMPLETED: Mapping[str, Callable[[str], list[str]]] = {"preset": _presets, "metrics": _metrics}
"""What a shell completes the value of a setting with, where its choices are not declared."""


def _name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _read(given: Mapping[str, Any], declared: Mapping[str, Option]) -> dict[str, Any]:
    """The settings that stand on the command line, by name."""
    found: dict[str, Any] = {}
    for name, one in declared.items():
        words = given[name]
        for flag, stands_for in one.also.items():
            if given[_name(flag)]:
                if words not in (None, stands_for):
                    raise typer.BadParameter(f"{flag} and {one.flag} contradict each other; leave one out")
                words = stands_for
        if words is None or words == []:
            continue
        try:
            found[name] = one.kind.of_text(words)
        except ValueError:
            said = next((word for word in words if _wrong(one, word)), words) if one.kind.several else words
            raise typer.BadParameter(f"{one.flag} {said!r}: expected {one.kind.what}") from None
    return found


def _wrong(one: Option, word: str) -> bool:
    try:
        one.kind.of_text([word])
    except ValueError:
        return True
    return False


def _settled(logs: Sequence[Path], given: Mapping[str, Any], *, quiet: bool) -> Settings:
    """The settings with what files beside the logs say; that, nobody typed, so it is told on stderr."""
    if not logs:
        return Settings(**given, origins=dict.fromkeys(given, "command line"))
    from perdure.metrics.engine.settings import settings_for

    settings = settings_for(logs, given, source="command line")
    from_files = {name: source for name, source in settings.origins.items() if source != "command line"}
    if from_files and not quiet:
        values = {name: getattr(settings, name) for name in from_files} | settings.given
        said = ", ".join(f"{name} = {values[name]} ({source})" for name, source in from_files.items())
        echo(f"settings: {said}", err=True)
    return settings


def emit_json(facts: Any, target: str) -> None:
    """Write `facts` to a file, or to stdout where `target` is '-'. NaN cannot occur in it."""
    import json

    # In pieces: of ten thousand lifetimes the text is long, and json.dumps holds it in snippets before it is one.
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
