"""The `perdure` command. Each verb has a module."""

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
_LIVING = ("demo", "run")  # run learners, which may need NumPy's threads


def main() -> None:
    """Run the command. Report errors in one line, without a traceback."""
    from perdure.cli.terminal import guard, say_last
    from perdure.errors import PerdureError
    from perdure.stopping import Stopped

    guard()
    # Most objects live until the command ends; by default, Python would search for garbage after every 700.
    gc.set_threshold(100_000)
    verb = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    if verb not in _LIVING:
        # NumPy starts one thread per core, which spins while it waits; the products here are too small for threads.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from perdure.cli.app import application

        application((verb,) if verb in VERBS else VERBS)()
    except PerdureError as problem:
        _end(str(problem))
    except Stopped:
        say_last("perdure: stopped")
        raise
    except OSError as problem:
        # Errors of our own files are handled where they are opened. This is stdout, or a file that was removed.
        place = f"{problem.filename}: " if problem.filename else ""
        _end(f"{place}{problem.strerror or problem}", problem)
    except Exception as problem:
        _end(
            f"internal error: {type(problem).__name__}: {problem}\n"
            "This is a bug in Perdure. Set PERDURE_TRACEBACK=1 to see where, and please report it.",
            problem,
        )
    finally:
        # Without this, Python would search all objects for cycles before the process ends.
        gc.freeze()


def _end(message: str, unexpected: Exception | None = None) -> NoReturn:
    from perdure.cli.terminal import say_last

    if unexpected and os.environ.get("PERDURE_TRACEBACK"):
        raise unexpected
    say_last(f"perdure: {message}")
    sys.exit(2)
