"""The `perdure` command: one file per verb, gathered here."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import typer

__all__ = ["VERBS", "application", "main"]

VERBS = (
    "demo",
    "compose",
    "lint",
    "run",
    "score",
    "compare",
    "correlate",
    "plan",
    "figure",
    "report",
    "watch",
    "check",
    "export",
    "info",
    "list",
    "new",
)
_LIVING = ("demo", "run")  # the verbs that learners live in, who may multiply as they like


def application(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """The command with these verbs; a call that names its verb needs only that one's options worked out."""
    app = typer.Typer(
        name="perdure",
        help="Does your learner keep what it learns? Test and evaluation for lifelong learning.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for verb in verbs:
        module = import_module(f"perdure.cli.{verb}")
        app.command(verb, cls=getattr(module, "COMMAND", None), epilog=f"Example: [bold]{module.EXAMPLE}[/bold]")(
            getattr(module, verb)
        )
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from perdure import __version__

        typer.echo(f"perdure {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def main() -> None:
    """Run the command; what goes wrong is said in a line, never as a traceback."""
    from perdure.cli.memory import hold_memory
    from perdure.cli.terminal import guard
    from perdure.errors import PerdureError
    from perdure.stopping import Stopped

    guard()
    # A command makes many objects that live to its end; Python's default looks for dead ones after every 700.
    gc.set_threshold(100_000)
    asked = next((one for one in sys.argv[1:] if not one.startswith("-")), None)
    if asked not in _LIVING:
        # NumPy starts a thread per core that waits by spinning, for products that are never long enough here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        hold_memory()
    try:
        application((asked,) if asked in VERBS else VERBS)()
    except PerdureError as problem:
        typer.echo(f"perdure: {problem}", err=True)
        sys.exit(2)
    except Stopped:
        typer.echo("perdure: stopped", err=True)
        raise
    except BrokenPipeError:
        # The reader of our output left (`perdure … | head`); nothing is wrong with us.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as problem:
        # What is ours to open is looked after where it is opened; this is stdout, or a file that was taken away.
        if os.environ.get("PERDURE_TRACEBACK"):
            raise
        where = f"{problem.filename}: " if problem.filename else ""
        typer.echo(f"perdure: {where}{problem.strerror or problem}", err=True)
        sys.exit(2)
    except Exception as problem:
        if os.environ.get("PERDURE_TRACEBACK"):
            raise
        typer.echo(
            f"perdure: internal error: {type(problem).__name__}: {problem}\n"
            "This is a bug in Perdure. Set PERDURE_TRACEBACK=1 to see where, and please report it.",
            err=True,
        )
        sys.exit(2)
    finally:
        # The process ends here; without this, Python would search everything it holds for cycles first.
        gc.freeze()
