"""Exceptions that Perdure raises on purpose.

    PerdureError
    ├── UnknownNameError     a name is not registered; offers the nearest one
    ├── MissingExtraError    an optional package is not installed; gives the command that installs it
    ├── ScenarioError        a scenario or syllabus is invalid
    ├── TaskError            a task cannot be made, or breaks its contract
    ├── LearnerError         a learner cannot be made, or breaks its contract
    │   └── OutOfTimeError   a lifetime reached the time limit of its protocol
    ├── ProtocolError        a protocol cannot be run
    ├── MetricError          a metric is declared or called wrongly
    └── LogError             a log cannot be read or written
        ├── NotALogError     no reader recognises the file or folder
        ├── EmptyLogError    a log has no record; it may have just begun
        ├── UnverifiedError  a log differs from the checksums that its journal recorded
        ├── RecordError      a record breaks the rules and was not written (also a RuntimeError)
        └── WriteError       the disk refused a record; lists the records that are safe (also an OSError)

An error holds the problem (`what`), the remedy (`fix`) and its place: `file` and `line`, and `where` for places that
are not files, such as a lifetime, a block, a task or an option. Its text is composed of these. A caller that knows
more about the place raises `problem.with_place(file=…, where=…)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, Self


class PerdureError(Exception):
    """Base class of all exceptions that Perdure raises on purpose.

    Parameters
    ----------
    what
        The problem.
    fix
        What to do about it.
    file
        File of the problem.
    line
        Line in the file.
    where
        Place in the file, such as the name of a lifetime.
    """

    def __init__(
        self, what: str = "", fix: str = "", *, file: object = None, line: int | None = None, where: object = None
    ) -> None:
        self.what, self.fix, self.line = what, fix, line
        self.file = None if file is None else str(file)
        self.where = None if where is None else str(where)
        super().__init__(self._text())

    @property
    def detail(self) -> str:
        """The problem after its place, without the file."""
        return self.what if self.where is None else f"{self.where}: {self.what}"

    def with_place(self, *, file: object = None, line: int | None = None, where: object = None) -> Self:
        """Return a copy of the error in a wider place. If `file` is another file, the text names both."""
        error = copy(self)
        is_same_file = file is None or self.file in (None, str(file))
        inner = (self.where,) if is_same_file else (self._place, self.where)
        error.where = ": ".join(str(place) for place in (where, *inner) if place) or None
        if file is not None:
            error.file, error.line = str(file), line if self.file != str(file) or self.line is None else self.line
        error.args = (error._text(),)
        return error

    @classmethod
    def from_error(cls, problem: PerdureError) -> Self:
        """Return an error of this class with the facts of another."""
        return cls(problem.what, problem.fix, file=problem.file, line=problem.line, where=problem.where)

    @property
    def without_fix(self) -> str:
        """The text of the error without the fix, for use in a longer message."""
        return ": ".join(filter(None, (self._place, self.detail)))

    @property
    def _place(self) -> str | None:
        return self.file if self.file is None or self.line is None else f"{self.file}:{self.line}"

    def _text(self) -> str:
        return f"{self.without_fix}; {self.fix}" if self.fix else self.without_fix

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls the class with the text, which subclasses with other parameters do not accept.
        return _restore, (type(self), self.args, vars(self))


def _restore(kind: type[PerdureError], args: tuple[Any, ...], facts: dict[str, Any]) -> PerdureError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(facts)
    return error


class UnknownNameError(PerdureError):
    """A name is not registered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        super().__init__(f"unknown {kind} {name!r}", nearest(name, names))
        self.kind = kind
        self.name = name


class MissingExtraError(PerdureError):
    """An optional package is missing."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        packages = " ".join(f"'{requirement}'" for requirement in requirements_of(extra))
        super().__init__(f"{purpose} needs {package}", f"install it with: pip install {packages or package}")


def requirements_of(extra: str) -> list[str]:
    """Return the requirements of an extra, which pip can install even if Perdure itself is not on an index."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("perdure") or []
    except PackageNotFoundError:
        return []
    return [line.partition(";")[0].strip() for line in lines if line.endswith(f"extra == '{extra}'")]


class ScenarioError(PerdureError):
    """A scenario or syllabus is invalid."""


class TaskError(PerdureError):
    """A task cannot be made, receives parameters that it does not take, or breaks its contract."""


class LearnerError(PerdureError):
    """A learner cannot be made, or breaks its contract; the message names the block."""


class OutOfTimeError(LearnerError):
    """A lifetime took longer than the protocol's limit."""


class ProtocolError(PerdureError):
    """A protocol cannot be run, or a folder holds another one."""


class MetricError(PerdureError):
    """A metric is declared or called wrongly."""


class LogError(PerdureError):
    """A log cannot be read or written."""


class NotALogError(LogError):
    """No reader recognises the file or folder."""


class EmptyLogError(LogError):
    """A log has no record; it may have just begun."""


class UnverifiedError(LogError):
    """A log differs from the checksums that its journal recorded; the message names the file and the reason."""


class RecordError(LogError, RuntimeError):
    """A record breaks the rules and was not written.

    It is also a RuntimeError, because scripts for l2logger catch that.
    """


class WriteError(LogError, OSError):
    """The disk refused a record; the message lists the records that are safe."""


_MAX_LENGTH = 2000  # characters of a foreign message, which may be repeated for each lifetime


def message_of(problem: BaseException) -> str:
    """Return the message of any exception, with bounded length and only characters that UTF-8 can encode.

    File names in other encodings contain lone surrogates, which neither JSON nor a terminal accepts.
    """
    try:
        text = str(problem)
    except Exception as another:
        return f"(its message cannot be made: {type(another).__name__})"
    start = text[:_MAX_LENGTH].encode("utf-8", "backslashreplace").decode()
    return start if len(text) <= _MAX_LENGTH else f"{start} … ({len(text):,} characters)"


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that the user may have meant, or None if none is similar."""
    from difflib import get_close_matches  # imported late: every command imports this module, few need difflib

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), None)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a phrase that offers the nearest known name, or lists the known names."""
    names = list(known)
    if close := closest(name, names):
        return f"did you mean {close!r}?"
    if not names:
        return "nothing is registered"
    listed = ", ".join(names[:5]) + (f", … ({len(names)} in all)" if len(names) > 5 else "")
    return f"known: {listed}"
