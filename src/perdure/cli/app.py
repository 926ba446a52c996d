"""The Typer application. `_Command` adds options that take several values, which Typer lacks."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from perdure.cli import VERBS
from perdure.cli.terminal import echo

_OUTPUTS = frozenset(("--into", "--json", "--l2data", "--out", "--picture", "--to"))
"""Options that name a file or folder that a verb writes."""


def application(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """Return the application with these verbs. A call that names its verb loads only that one."""
    app = typer.Typer(
        name="perdure",
        help="Does your learner keep what it learns? Test and evaluation for lifelong learning.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for name in verbs:
        module = import_module(f"perdure.cli.{name}")
        verb, epilog = getattr(module, name), f"Example: [bold]{module.EXAMPLE}[/bold]"
        # Typer keeps line breaks, which fit one width only: join the lines of a sentence.
        text = re.sub(r"(?<=[^.\n])\n(?=\S)", " ", inspect.cleandoc(verb.__doc__ or ""))
        app.command(name, cls=_Command, help=text, epilog=epilog)(verb)
    return app


def _print_version(requested: bool) -> None:
    if requested:
        from perdure import __version__

        echo(f"perdure {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, _repeat_flags(args, self.params))
        except Exception as problem:  # Typer does not export NoSuchOption
            if hasattr(problem, "possibilities") and hasattr(problem, "option_name"):
                # Click compares spellings, by which --lower is nearer to --rows than to --lower-is-better.
                names = [name for option in self.params for name in option.opts]
                prefixed = [name for name in names if name.startswith(problem.option_name)]
                problem.possibilities = prefixed or problem.possibilities
            raise

    def invoke(self, ctx: Any) -> Any:
        _refuse_overwriting(ctx.params, self.params)
        return super().invoke(ctx)


def _refuse_overwriting(values: Mapping[str, Any], parameters: Sequence[Any]) -> None:
    """Raise PerdureError, before anything is done, if an output of a verb is one of its inputs or part of a log."""
    outputs = {parameter.name for parameter in parameters if _OUTPUTS.intersection(parameter.opts)}
    targets = [values[name] for name in outputs if values.get(name) not in (None, "-")]
    if not targets:
        return
    from perdure.log.read import refuse_overwriting

    inputs = [value for name, value in values.items() if name not in outputs]
    words = [word for value in inputs for word in (value if isinstance(value, list | tuple) else [value])]
    paths = [word for word in words if isinstance(word, str | Path) and os.path.exists(word)]
    for target in targets:
        refuse_overwriting(target, paths)


def _repeat_flags(words: Sequence[str], parameters: Sequence[Any]) -> list[str]:
    """Return `LOG --experts A B` as `LOG --experts A --experts B`, for options whose metavar ends in "...".

    If the verb takes arguments, a second word before the first argument is that argument.
    """
    options = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    with_value = {flag for option in options if not option.is_flag for flag in option.opts}
    with_values = {flag for option in options if str(option.metavar).endswith("...") for flag in option.opts}
    argument_seen = len(options) == len(parameters)
    repeated: list[str] = []
    waiting: str | None = None  # the flag whose first value comes next
    current: str | None = None  # the flag that further values belong to
    for index, word in enumerate(words):
        if waiting:
            repeated.append(word)
            current = waiting if waiting in with_values and argument_seen else None
            waiting = None
        elif word == "--":
            return [*repeated, *words[index:]]
        elif word.startswith("-") and word != "-":
            repeated.append(word)
            flag, equals, _ = word.partition("=")
            current = flag if equals and flag in with_values and argument_seen else None
            waiting = word if word in with_value else None
        elif current:
            repeated += [current, word]
        else:
            argument_seen = True
            repeated.append(word)
    return repeated
