"""Runs that a tool kept, one lifetime each: a function that gives their rows, or tagged scalars, makes a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from perdure.errors import LogError, NotALogError
from perdure.lazy import pl
from perdure.log.formats.column_names import IDENTITY, table_shape
from perdure.log.formats.table import rows_lifetimes
from perdure.log.formats.tagged import WHAT_TO_LOG
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options

Row = Mapping[str, Any]
_STEP = "step"
_MOST_TAGS = 10_000


class Scalar(msgspec.Struct, frozen=True):
    """One number under a tag."""

    tag: str
    step: int
    value: float
    moment: float | None = None


class RunReader(msgspec.Struct, eq=False):  # not frozen, since the protocol of a reader has plain attributes
    """The runs of one tool: how one is recognised, and its rows or its scalars in the order of their writing.

    Rows have columns as tables have them: `task_name`, `block_type` and a measure, or one per tag.
    """

    name: str
    summary: str
    holds: Callable[[Path], bool]
    scalars: Callable[[Path, list[str]], Iterable[Scalar]] | None = None
    rows: Callable[[Path, list[str]], Iterable[Row]] | None = None
    facts: Callable[[Path], Mapping[str, Any]] = lambda _place: {}
    """Of a run as a whole: `learner` and `seed`, where its settings name them; `run`, what it is called."""

    def recognises(self, path: Path) -> bool:
        """By the names of its files."""
        return self.holds(path)

    def read(self, path: Path, options: Options) -> Lifetime:
        """The run at `path`, by the rules of tables: long or wide where its rows are, else by its tags."""
        if not self.holds(path):
            raise NotALogError(f"no run of {self.name}", f"expected {self.summary}", file=path)
        notes: list[str] = []
        if self.rows is not None:
            rows = list(self.rows(path, notes))
        else:
            assert self.scalars is not None
            rows = list(in_rows(self.scalars(path, notes)))
        found = list(run_lifetimes(rows, path, options, as_text(path.name)))
        if len(found) != 1:
            raise LogError(f"{len(found)} lifetimes in one run", "log every run by itself", file=path)
        facts = self.facts(path)
        return replace(
            found[0],
            learner=found[0].learner or facts.get("learner"),
            seed=found[0].seed if found[0].seed is not None else facts.get("seed"),
            notes=(*notes, *found[0].notes),
        )


def run_lifetimes(rows: list[Row], path: Path, options: Options, name: str) -> Iterator[Lifetime]:
    """Yield the lifetimes in the rows of a run, by the rules of tables; columns that make no table are tags."""
    frame = _frame(rows, path)
    if table_shape(frame.columns, options) is None:
        options = replace(options, shape="tagged")
    return rows_lifetimes(frame, path, options, name=name)


def in_rows(scalars: Iterable[Scalar]) -> Iterator[Row]:
    """Scalars of one step that were written one after the other, together; a tag that comes again begins a new row."""
    row: dict[str, Any] = {}
    for one in scalars:
        if row and (one.step != row[_STEP] or one.tag in row):
            yield row
            row = {}
        row[_STEP] = one.step
        if one.tag != _STEP:
            row[one.tag] = one.value
    if row:
        yield row


def learner_and_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`learner` and `seed`, as far as settings of these names say them."""
    found: dict[str, Any] = {}
    folded = {name.lower(): value for name, value in settings.items()}
    learner = next((folded[name] for name in IDENTITY["learner"] if isinstance(folded.get(name), str)), None)
    if learner and learner.strip():
        found["learner"] = learner.strip()
    seed = folded.get("seed")
    text = str(seed) if isinstance(seed, int | str) and not isinstance(seed, bool) else ""
    if text.isdecimal() and text.isascii() and len(text) < 19:
        found["seed"] = int(text)
    return found


def _frame(rows: list[Row], path: Path) -> pl.DataFrame:
    """Rows as columns: numbers where all that stands there is one, else text; what holds neither is left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    if not rows or not names.keys() - {_STEP}:
        raise LogError("not a single scalar", WHAT_TO_LOG, file=path)
    if len(names) > _MOST_TAGS:
        raise LogError(f"{len(names)} tags", f"a run may have {_MOST_TAGS}: log fewer, or export some", file=path)
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    return pl.DataFrame({name: column for name, column in columns.items() if column is not None})


def _column(values: list[Any]) -> pl.Series | None:
    written = [value for value in values if value is not None]
    try:
        if written and all(isinstance(value, int | float) for value in written):
            return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)
    except OverflowError:
        return None
    if all(isinstance(value, str | int | float) for value in written):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    return None  # media, histograms, lists
