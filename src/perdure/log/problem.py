"""Records of problems: Problem, Note and Check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import msgspec

from perdure.lazy import pl
from perdure.results import Tabular, to_plain
from perdure.text import plural

Level = Literal["error", "warning"]


class Problem(msgspec.Struct, frozen=True):
    """One problem of a log, with its place and a fix."""

    JSON: ClassVar = ("level", "file", "line", "what", "fix")

    level: Level
    file: str
    line: int | None
    what: str
    fix: str
    tolerated: bool = False
    """Whether readers work around it: they leave the line out, or order the rows themselves."""

    @property
    def place(self) -> str:
        """File and line, as an editor understands them."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Note(str):
    """A problem that a reader worked around, as text for the notes of a lifetime."""

    problem: Problem

    def __new__(cls, problem: Problem) -> Self:
        warning = super().__new__(cls, f"{problem.place}: {problem.what}")
        warning.problem = problem
        return warning

    def __reduce__(self) -> tuple[type[Note], tuple[Problem]]:
        return Note, (self.problem,)


class Caution(str):
    """A note that the output for several lifetimes has too, because values cannot be understood without it."""

    __slots__ = ()


class Check(Tabular, msgspec.Struct, frozen=True):
    """Result of checking a log.

    Attributes
    ----------
    rows
        Number of records.
    problems
        The problems, with file, line and fix.
    what
        Description of the log, if it does not consist of records.
    notes
        How the log was read, if there was a choice.
    """

    JSON: ClassVar = ("ok", "what", "rows", "notes", "problems")

    rows: int
    problems: tuple[Problem, ...]
    what: str = ""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        levels = [problem.level for problem in self.problems]
        counts = (plural(levels.count(level), level) for level in ("error", "warning"))
        return f"Check({plural(self.rows, 'record')}, {', '.join(counts)})"

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    @property
    def ok(self) -> bool:
        """Return whether there is no error; warnings do not count."""
        return not any(problem.level == "error" for problem in self.problems)

    def table(self) -> pl.DataFrame:
        """Return a data frame with a row per problem."""
        texts = dict.fromkeys(("level", "file", "what", "fix"), pl.String())
        return pl.DataFrame([to_plain(problem) for problem in self.problems], schema={**texts, "line": pl.Int64()})
