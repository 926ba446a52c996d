"""Exceptions that Perdure raises on purpose.

    PerdureError
    ├── UnknownNameError     no thing is registered under a name; offers the nearest
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
more of the place raises `problem.at(file=…, where=…)`.
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
        super().__init__(self._words())

    @property
    def said(self) -> str:
        """The problem, with its line in the file if it is in one."""
        return self.what if self.where is None else f"{self.where}: {self.what}"

    def at(self, *, file: object = None, line: int | None = None, where: object = None) -> Self:
        """Return the same error in a wider place. If the file differs from its own, both are named."""
        made = copy(self)
        own = file is None or self.file in (None, str(file))
        inner = (self.where,) if own else (self._place, self.where)
        made.where = ": ".join(str(one) for one in (where, *inner) if one) or None
        if file is not None:
            made.file, made.line = str(file), line if self.file != str(file) or self.line is None else self.line
        made.args = (made._words(),)
        return made

    @classmethod
    def of(cls, problem: PerdureError) -> Self:
        """Return an error of this class with the facts of another."""
        return cls(problem.what, problem.fix, file=problem.file, line=problem.line, where=problem.where)

    @property
    def placed(self) -> str:
        """Return the problem after its place, for use inside another message."""
        return ": ".join(filter(None, (self._place, self.said)))

    @property
    def _place(self) -> str | None:
        return self.file if self.file is None or self.line is None else f"{self.file}:{self.line}"

    def _words(self) -> str:
        return f"{self.placed}; {self.fix}" if self.fix else self.placed

    def __reduce__(self) -> tuple[Any, ...]:
        # By its facts, because not every kind is made from its text alone.
        return _remade, (type(self), self.args, vars(self))


def _remade(kind: type[PerdureError], args: tuple[Any, ...], facts: dict[str, Any]) -> PerdureError:
    made = kind.__new__(kind)
    made.args = args
    vars(made).update(facts)
    return made


class UnknownNameError(PerdureError):
    """A name that nothing is registered under."""

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
    """Return the requirements of an extra, which pip can install while Perdure itself is on no index."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("perdure") or []
    except PackageNotFoundError:
        return []
    return [line.partition(";")[0].strip() for line in lines if line.endswith(f"extra == '{extra}'")]


class ScenarioError(PerdureError):
    """A scenario or syllabus that makes no sense."""


class TaskError(PerdureError):
    """A task that cannot be created, has invalid parameters, or breaks its contract."""


class LearnerError(PerdureError):
    """A learner that breaks the rules; the message names the block."""


class OutOfTimeError(LearnerError):
    """A life that took longer than the protocol's limit."""


class ProtocolError(PerdureError):
    """A protocol that makes no sense, or a folder that holds another one."""


class MetricError(PerdureError):
    """A metric declared or called wrongly."""


class LogError(PerdureError):
    """A log that cannot be read or written."""


class NotALogError(LogError):
    """Nothing here that any reader knows."""


class EmptyLogError(LogError):
    """A log without a record, which may have just begun."""


class UnverifiedError(LogError):
    """A log that differs from its ledger; the message names the file and the reason."""


class RecordError(LogError, RuntimeError):
    """A record that breaks the rules; nothing of it was written.

    Also a RuntimeError, because that is what scripts written for l2logger catch.
    """


class WriteError(LogError, OSError):
    """The disk refused a record; the message lists the records that are safe."""


_LONGEST = 2000  # characters of a message that is not ours: somebody reads it, often once for each lifetime


def message_of(problem: BaseException) -> str:
    """Return the message of any exception, with bounded length and only characters that every encoding has.

    Names of files in other encodings come as half a character each, which neither JSON nor a terminal takes.
    """
    try:
        said = str(problem)
    except Exception as another:
        return f"(its message cannot be made: {type(another).__name__})"
    begun = said[:_LONGEST].encode("utf-8", "backslashreplace").decode()
    return begun if len(said) <= _LONGEST else f"{begun} … ({len(said):,} characters)"


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest known name, or None."""
    from difflib import get_close_matches  # on the way to every command, and seldom asked

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), None)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a phrase that offers the nearest known name, or lists all names."""
    names = list(known)
    if close := closest(name, names):
        return f"did you mean {close!r}?"
    if not names:
        return "nothing is registered"
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"known: {shown}"
