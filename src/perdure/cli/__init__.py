"""The `perdure` command: one file per verb, gathered here."""

from __future__ import annotations

import gc
import os
import sys
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
    try:
        from perdure.cli.app import application

        application((asked,) if asked in VERBS else VERBS)()
    except PerdureError as problem:
        _end(str(problem))
    except Stopped:
        say_last("perdure: stopped")
        raise
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
