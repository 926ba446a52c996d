"""The `perdure` command: one file per verb, gathered here."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

__all__ = ["app", "main"]

VERBS = ("demo", "compose", "lint", "score", "check", "export", "info", "list")

app = typer.Typer(
    name="perdure",
    help="Does your learner keep what it learns? Test and evaluation for lifelong learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:
    if asked:
        from perdure import __version__

        typer.echo(f"perdure {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


for _verb in VERBS:
    _module = import_module(f"perdure.cli.{_verb}")
    app.command(_verb, cls=getattr(_module, "COMMAND", None), epilog=f"Example: [bold]{_module.EXAMPLE}[/bold]")(
        getattr(_module, _verb)
    )


def main() -> None:
    """Run the command; what goes wrong is said in a line, never as a traceback."""
    from perdure.errors import PerdureError

    try:
        app()
    except PerdureError as problem:
        typer.echo(f"perdure: {problem}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output left (`perdure … | head`); nothing is wrong with us.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as problem:
        if os.environ.get("PERDURE_TRACEBACK"):
            raise
        typer.echo(
            f"perdure: internal error: {type(problem).__name__}: {problem}\n"
            "This is a bug in Perdure. Set PERDURE_TRACEBACK=1 to see where, and please report it.",
            err=True,
        )
        sys.exit(2)
