"""What reaches a terminal: text, and colours of our own; never a control sequence from a name, a message or a path.

Everything that is printed passes one of these streams. Text is cleaned of all control characters. What rich makes
for the command's help may have colours, and nothing else. Our own `Console` cleans each piece before it styles it.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from contextlib import suppress
from typing import Any, TextIO

# Control characters but for newline and tab, those that turn the direction of what follows, and bytes that are no text.
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_STYLES = {"bold": 1, "red": 31, "green": 32, "yellow": 33, "grey": 90}  # as terminals number them
_AS_JSON = "perdure-json"  # what Python is to call our way to write out signs
_UNKNOWN = 80  # columns
_COLOURS = r"(\x1b\[[0-9;]*m)"


def clean(text: str) -> str:
    """`text` with each control character written out, as JSON writes it: a terminal shows it, and does not obey."""
    if text.replace("\n", "").isprintable():
        return text  # as nearly all is
    return re.sub(_CONTROLS, lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(problem: UnicodeError) -> tuple[str, int]:
    """Signs that an encoding lacks, as JSON writes them, so that what is JSON stays it."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    pairs = problem.object[problem.start : problem.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pairs[at : at + 2].hex()}" for at in range(0, len(pairs), 2)), problem.end


def guard() -> None:
    """From here on, what is printed is cleaned, and no sign ends the command because a terminal has none like it."""
    codecs.register_error(_AS_JSON, _written_out)
    for name in ("stdout", "stderr"):
        # Whoever closed it wants nothing of it; others that find it missing would print to the one that is there.
        stream = getattr(sys, name) or os.fdopen(_nowhere(), "w", encoding="utf-8", closefd=False)
        if not isinstance(stream, _Clean):
            if isinstance(stream, io.TextIOWrapper):
                # A file or a pipe is read by programs, which expect UTF-8, whatever Windows would make of it.
                asked = stream.isatty() or "PYTHONIOENCODING" in os.environ
                stream.reconfigure(encoding=stream.encoding if asked else "utf-8", errors=_AS_JSON)
            setattr(sys, name, _Clean(stream))


def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


def unguarded(*, stderr: bool = False) -> TextIO | None:
    """The stream below, for what was cleaned piece by piece and then styled; None where nothing is guarded."""
    stream = sys.stderr if stderr else sys.stdout
    return stream.below if isinstance(stream, _Clean) else None


def echo(text: str = "", *, err: bool = False, end: str = "\n") -> None:
    """Print a text at once."""
    print(text, end=end, file=sys.stderr if err else sys.stdout, flush=True)


def say_last(text: str = "") -> None:
    """Say on stderr why the command ends; from then on, a stream that takes no more is left in peace.

    Python would try again when it ends, complain, and have a status of its own.
    """
    with suppress(OSError):
        echo(text, err=True) if text else None
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(_nowhere(), stream.fileno())


def show(text: str) -> None:
    """Print what was cleaned piece by piece, and then styled."""
    print(text, file=unguarded(), flush=True)


def styled(text: str, style: str) -> str:
    """A text as it is to be shown, where somebody sees colours: not in a file, not in a pipe."""
    seen = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.name != "nt"  # whose old console shows codes
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and seen and text.strip() else text


def width() -> int:
    """How many signs a line has room for: as the shell says, else the terminal; 80 where there is none."""
    said = 0
    with suppress(KeyError, ValueError):  # not set, no number
        said = int(os.environ["COLUMNS"])
    with suppress(ValueError, OSError):  # closed, no terminal
        return said if said > 0 else os.get_terminal_size(sys.stdout.fileno()).columns or _UNKNOWN
    return _UNKNOWN


class _Clean:
    """A stream that cleans what is written to it; rich, which looks for it, finds one that lets colours pass."""

    def __init__(self, below: TextIO, *, colours: bool = False) -> None:
        self.below = below
        self._colours = colours
        if not colours:
            self.rich_proxied_file = _Clean(below, colours=True)

    def write(self, text: str) -> int:
        if self._colours:
            parts = re.split(_COLOURS, text)
            parts[::2] = map(clean, parts[::2])
            self.below.write("".join(parts))
        else:
            self.below.write(clean(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)
