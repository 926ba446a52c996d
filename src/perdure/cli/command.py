"""The command as Typer reads it: help, completion by a shell, and what is wrong with a command line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from perdure.cli import VERBS
from perdure.cli.parameters import Misused, Parameter, parameters_of, spelt_out
from perdure.cli.terminal import echo

__all__ = ["application"]


def application(verbs: Sequence[str] = VERBS, refused: Misused | None = None) -> typer.Typer:
    """The command with these verbs; a call that names its verb needs only that one's options worked out.

    What was refused is said, and nothing done.
    """
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
        verb = getattr(module, name)
        taken = tuple(parameters_of(verb))
        app.command(name, cls=_reading(taken), epilog=f"Example: [bold]{module.EXAMPLE}[/bold]")(
            _called(verb, taken, refused)
        )
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from perdure import __version__

        echo(f"perdure {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def _reading(taken: Sequence[Parameter]) -> type[TyperCommand]:
    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, spelt_out(args, taken))

    return Command


def _called(verb: Callable[..., None], taken: Sequence[Parameter], refused: Misused | None) -> Callable[..., None]:
    """The verb with a signature that Typer understands."""

    @functools.wraps(verb)
    def called(**arguments: Any) -> None:
        try:
            if refused:
                raise refused
            verb(**arguments)
        except Misused as problem:
            raise typer.BadParameter(str(problem)) from problem

    signature = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=one.default,
            annotation=Annotated[one.annotation, _as_typer_has_it(one)],
        )
        for one in taken
    ]
    called.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in signature}
    return called


def _as_typer_has_it(one: Parameter) -> Any:
    said = one.declared
    more: dict[str, Any] = {"help": said.help, "metavar": said.metavar, "show_default": said.show_default}
    more |= {"min": said.least, "max": said.most, "hidden": said.hidden, "rich_help_panel": said.panel}
    more |= {"autocompletion": said.completed}
    return typer.Option(*said.flags, **more) if said.flags else typer.Argument(**more)
