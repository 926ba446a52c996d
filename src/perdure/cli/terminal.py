"""Print text, tables and colours, but never a control sequence from a name, a message or a path.

Everything printed passes through one of these streams, which write out control characters. Rich's help may have
colours. `Console` cleans each piece of text before Rich styles it.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from textwrap import wrap
from typing import Any, NoReturn, TextIO

# Control characters except newline and tab, characters that change the text direction, and undecodable bytes.
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
# Codes of terminals. Light ones hide yellow, and some dark ones hide grey (bright black).
_STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "magenta": 35}
_AS_JSON = "perdure-json"  # name of our error handler for characters that an encoding lacks
_UNKNOWN = 80  # columns
Pairs = Sequence[tuple[str, str]]
"""Path and reason."""
_COLOURS = r"(\x1b\[[0-9;]*m)"


def clean(text: str) -> str:
    """Return `text` with each control character written as JSON does, so that a terminal shows it."""
    if text.replace("\n", "").isprintable():
        return text
    return re.sub(_CONTROLS, lambda match: f"\\u{ord(match[0]):04x}", text)


def _written_out(problem: UnicodeError) -> tuple[str, int]:
    """Write characters that an encoding lacks as JSON does, so that JSON stays JSON."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    pairs = problem.object[problem.start : problem.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pairs[index : index + 2].hex()}" for index in range(0, len(pairs), 2)), problem.end


def guard() -> None:
    """Clean everything printed from now on, and write out characters that the terminal's encoding lacks."""
    codecs.register_error(_AS_JSON, _written_out)
    for name in ("stdout", "stderr"):
        # A closed stream gets a substitute, because libraries would print to the other one.
        stream = getattr(sys, name) or os.fdopen(_nowhere(), "w", encoding="utf-8", closefd=False)
        if not isinstance(stream, _Clean):
            if isinstance(stream, io.TextIOWrapper):
                # Programs read files and pipes and expect UTF-8, which is not the default on Windows.
                supported = stream.isatty() or "PYTHONIOENCODING" in os.environ
                stream.reconfigure(encoding=stream.encoding if supported else "utf-8", errors=_AS_JSON)
            setattr(sys, name, _Clean(stream))


def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


def unguarded(*, stderr: bool = False) -> TextIO | None:
    """Return the stream below the guard, for text that is cleaned already. None without a guard."""
    stream = sys.stderr if stderr else sys.stdout
    return stream.below if isinstance(stream, _Clean) else None


def echo(text: str = "", *, err: bool = False, end: str = "\n") -> None:
    """Print text and flush."""
    print(text, end=end, file=sys.stderr if err else sys.stdout, flush=True)


def say_last(text: str = "") -> None:
    """Print on stderr why the command ends, and silence streams that take no more text.

    Python would flush them again at exit, report the failure, and change the exit status.
    """
    with suppress(OSError):
        echo(text, err=True) if text else None
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(_nowhere(), stream.fileno())


def show(text: str) -> None:
    """Print text that is cleaned and styled already."""
    print(text, file=unguarded(), flush=True)


def styled(text: str, style: str) -> str:
    """Return `text` in a colour if stdout is a terminal."""
    # The old console of Windows prints the codes.
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.name != "nt"
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and coloured and text.strip() else text


def width() -> int:
    """Return the columns of a line: COLUMNS if it is set, else the terminal's, or 80 without a terminal."""
    columns = 0
    with suppress(KeyError, ValueError):  # not set, or not a number
        columns = int(os.environ["COLUMNS"])
    with suppress(ValueError, OSError):  # closed, or not a terminal
        return columns if columns > 0 else os.get_terminal_size(sys.stdout.fileno()).columns or _UNKNOWN
    return _UNKNOWN


def say(text: str, style: str = "", *, fold: bool = True, indent: str = "") -> None:
    """Print text in a colour, folded to the terminal's width."""
    lines = wrap(text, width(), initial_indent=indent, subsequent_indent=indent) or [""] if fold else [indent + text]
    for line in lines:
        show(styled(clean(line), style))


def left_out_text(path: str, why: str) -> str:
    """Return one line for a lifetime that was left out, with its path once."""
    return f"left out: {why if path in why else f'{path}: {why}'}"


def leave(left_out: Pairs, faults: Pairs = (), apart: str | None = None) -> NoReturn:
    """Report faulty logs, everything left out, and why nothing is grouped on stderr; exit with 1 if any, else 0."""
    for name, why in faults:
        echo(f"error in {name}: {why}", err=True)
    for path, why in left_out:
        echo(left_out_text(path, why), err=True)
    if apart:
        echo(f"not grouped: {apart}", err=True)
    raise SystemExit(1 if left_out or faults or apart else 0)


class _Clean:
    """A stream that cleans its text. Rich looks for `rich_proxied_file` and finds one that lets colours pass."""

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
