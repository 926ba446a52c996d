"""The `perdure` command: one file per verb, gathered here."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

__all__ = ["VERBS", "main"]

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


def main() -> None:
    """Run the command; what goes wrong is said in a line, never as a traceback."""
    from perdure.cli.memory import hold_memory
    from perdure.cli.terminal import guard, say_last
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
        _carry_out(sys.argv[1:], asked)
    except PerdureError as problem:
        _end(str(problem))
    except Stopped:
        say_last("perdure: stopped")
        raise
    except BrokenPipeError:
        # The reader of our output left (`perdure … | head`); that is no error, and yet not all was done.
        say_last()
        sys.exit(1)
    except OSError as problem:
        # What is ours to open is looked after where it is opened; this is stdout, or a file that was taken away.
        where = f"{problem.filename}: " if problem.filename else ""
        _end(f"{where}{problem.strerror or problem}", problem)
    except Exception as problem:
        _end(
            f"internal error: {type(problem).__name__}: {problem}\n"
            "This is a bug in Perdure. Set PERDURE_TRACEBACK=1 to see where, and please report it.",
            problem,
        )
    finally:
        # The process ends here; without this, Python would search everything it holds for cycles first.
        gc.freeze()


def _end(said: str, unforeseen: Exception | None = None) -> NoReturn:
    from perdure.cli.terminal import say_last

    if unforeseen and os.environ.get("PERDURE_TRACEBACK"):
        raise unforeseen
    say_last(f"perdure: {said}")
    sys.exit(2)


def _carry_out(words: list[str], asked: str | None) -> None:
    """What a command line says; Typer, which takes a while to load, is asked where it is not in so many words."""
    from perdure.cli.parameters import Misused

    refused = None
    try:
        if _done_plainly(words):
            return
    except Misused as problem:
        refused = problem
    from perdure.cli.command import application

    application((asked,) if asked in VERBS else VERBS, refused)()


def _done_plainly(words: list[str]) -> bool:
    from perdure.cli.parameters import parameters_of
    from perdure.cli.plainly import read_plainly

    # A shell that completes asks by a variable; and Windows leaves patterns to the command, which Typer fills in.
    if not words or words[0] not in VERBS or "_PERDURE_COMPLETE" in os.environ or os.name == "nt":
        return False
    verb = getattr(import_module(f"perdure.cli.{words[0]}"), words[0])
    arguments = read_plainly(words[1:], tuple(parameters_of(verb)))
    if arguments is not None:
        verb(**arguments)
    return arguments is not None
