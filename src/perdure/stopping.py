"""End this process cleanly after a signal, with the exit status that shells expect.

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
_REPEAT_S = 1.0  # `timeout` and process groups repeat a signal within this time; a later one is a new request

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
            signal.signal(number, _handle_signal)
    sys.unraisablehook = _ignore_stopped
    if os.name == "posix":
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        # Python writes the signal to the pipe at once, even while the main thread runs library code.
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=_exit_after_patience, args=(reader,), name="perdure-stop", daemon=True).start()


def pending_stop() -> Stopped | None:
    """Return the Stopped that a signal raised, or None. Some libraries convert the exception into another."""
    return None if _by is None else Stopped(128 + _by)


def _handle_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    global _first, _by
    now = time.monotonic()
    if _first is None:
        _first, _by = now, number
        raise Stopped(128 + number)
    if now - _first > _REPEAT_S:
        _exit(number)


def _exit_after_patience(reader: int) -> None:
    while number := os.read(reader, 1):
        if number[0] in _SIGNALS:
            time.sleep(_PATIENCE_S)
            _exit(number[0])


def _exit(number: int) -> None:
    if sys.__stderr__ is not None and sys.__stderr__.isatty():
        os.write(2, b"\x1b[?25h\r\n")  # a progress bar hides the cursor
    os._exit(128 + number)


def _ignore_stopped(unraisable: Any) -> None:
    # Python drops a Stopped raised in a weak reference's callback; the thread then ends the process.
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)
