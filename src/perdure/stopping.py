"""End this process in good order after a signal, with the exit status that shells expect.

Ctrl-C gives 130, SIGTERM (Slurm, `docker stop`) 143, a terminal that was closed 129.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

_SIGNALS = frozenset(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_PATIENCE_S = 4.0
_TWICE_S = 1.0  # `timeout` and process groups send one request twice; a later one is another request

_first: float | None = None
_by: int | None = None


class Stopped(SystemExit):
    """Raised by a signal; `code` is 128 plus its number. Unlike SystemExit, it never comes from a learner."""

    code: int


def stop_on_signals() -> None:
    """Raise Stopped on a signal; if that does not end the process within seconds, exit.

    An ignored signal, as with `nohup`, stays ignored. A second signal after a second exits at once.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _asked)
    sys.unraisablehook = _unraisable
    if os.name == "posix":
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        # The signal is written there at once, even while the main thread is inside a library.
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=_end_what_lingers, args=(reader,), name="perdure-stop", daemon=True).start()


def pending_stop() -> Stopped | None:
    """Return the Stopped that a signal raised, for callers of a library that converts it; None if there was none."""
    return None if _by is None else Stopped(128 + _by)


def _asked(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    global _first, _by
    now = time.monotonic()
    if _first is None:
        _first, _by = now, number
        raise Stopped(128 + number)
    if now - _first > _TWICE_S:
        _leave(number)


def _end_what_lingers(reader: int) -> None:
    while number := os.read(reader, 1):
        if number[0] in _SIGNALS:
            time.sleep(_PATIENCE_S)
            _leave(number[0])


def _leave(number: int) -> None:
    if sys.__stderr__ is not None and sys.__stderr__.isatty():
        os.write(2, b"\x1b[?25h\r\n")  # a progress bar hides the cursor
    os._exit(128 + number)


def _unraisable(what: Any) -> None:
    # Stopped is lost in a weak reference's callback; the thread then ends the process.
    if not isinstance(what.exc_value, Stopped):
        sys.__unraisablehook__(what)
