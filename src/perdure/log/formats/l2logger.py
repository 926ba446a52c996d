"""L2Logger 1.0 and 1.1 folders, which are also what Perdure's own journal writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import cast

from perdure.errors import EmptyLogError, LogError, nearest
from perdure.lazy import pl
from perdure.log.blocks import in_order, is_complete
from perdure.log.cells import folded, typed
from perdure.log.manifest import manifest_in, measures_of, object_in, role_of
from perdure.log.model import STANDARD_COLUMNS, Direction, Lifetime
from perdure.log.places import BLOCKS_FILE, LOGGER_INFO, MANIFEST, SCENARIO_INFO, Source, as_text, sources
from perdure.log.problem import Note, Problem
from perdure.log.read import Options
from perdure.log.rows import Checksums, UnparsedError, examine, parse, pieces
from perdure.log.rules import FILLED_COLUMNS, MEASURE, OPTIONAL_COLUMNS, RULES, repeated
from perdure.log.verify import (
    Ledger,
    Seen,
    as_it_stands,
    compared,
    description_problems,
    ended,
    errors_in,
    ledger_of,
    notes_on,
    refusal,
    verify,
)
from perdure.scenario.model import LONGEST_NAME
from perdure.text import some

__all__ = [
    "BLOCKS_FILE",
    "L2LOGGER",
    "L2Logger",
    "ended",
    "schema_of",
]

_SUBTYPE = RULES["block_subtype"]
_BLOCK_FOLDER = re.compile(r"\d+-(train|test)")


class L2Logger:
    """What reads such a folder."""

    name = "l2logger"
    summary = "a folder with logger_info.json and <worker>/<n>-<train|test>/data-log.tsv"

    def recognises(self, path: Path) -> bool:
        """By its logger_info.json; or, where that was lost, by its block folders."""
        if not path.is_dir():
            return False
        try:
            if (path / LOGGER_INFO).is_file():
                return True
            return any(_BLOCK_FOLDER.fullmatch(one.parent.name) for one in path.glob("*/*-t*/data-log.tsv"))
        except OSError:
            return False

    def read(self, path: Path, options: Options) -> Lifetime:
        """The lifetime in this folder; every row is kept, and notes say what was torn."""
        manifest = manifest_in(path)
        info = object_in(path / SCENARIO_INFO) if (path / SCENARIO_INFO).exists() else {}
        measures = options.measures or measures_of(path, manifest)
        ledger, found, notes = self._verified(path, measures, options)
        return Lifetime(
            id=str(manifest.get("id") or as_text(path.resolve().name)),
            experiences=found,
            measures=measures,
            learner=manifest.get("learner"),
            seed=manifest.get("seed"),
            role=role_of(manifest.get("role"), path / MANIFEST),
            complete=bool(ledger and ledger.ended) if manifest else None,
            path=path,
            info=info,
            manifest=manifest,
            notes=tuple(notes),
        )

    def _verified(
        self, path: Path, measures: Mapping[str, Direction], options: Options, attempts: int = 3
    ) -> tuple[Ledger | None, pl.DataFrame, list[str]]:
        """Return the ledger, the records, and notes on them."""
        ledger = ledger_of(path)  # before the files, which only grow
        found = sources(path)
        notes: list[str] = []
        closed = ledger.closed if ledger else {}
        checksums = Checksums({file: block.bytes for file, block in closed.items()})
        rows = self._rows(path, found, measures, notes, checksums)
        problems: Sequence[Problem] = ()
        if ledger is not None:
            seen = {source.relative: Seen(source.size, checksums.found.get(source.relative)) for source in found}
            problems = errors_in((*description_problems(ledger, path), *compared(ledger, seen)))
            whole = seen.keys() == closed.keys()
            if not problems and whole and rows.height != sum(block.rows for block in closed.values()):
                problems = verify(path)  # which counts the records of each file
        if problems and attempts > 1 and ledger_of(path) != ledger:
            return self._verified(path, measures, options, attempts - 1)  # a journal is writing: read again
        if problems and options.verified:
            raise refusal(path, problems)
        notes += _repeated(found, rows)
        return ledger, rows, [*notes, *as_it_stands(problems), *notes_on(ledger, found)]

    def _rows(
        self,
        path: Path,
        found: Sequence[Source],
        measures: Mapping[str, Direction],
        notes: list[str],
        checksums: Checksums,
    ) -> pl.DataFrame:
        if not found:
            raise EmptyLogError("no data-log.tsv in any folder below", "nothing was logged here", file=path)
        try:
            frames = [
                parse(piece, schema_of(piece.header, piece.path, measures), null_values="")[0]
                for piece in pieces(found, notes, checksums)
            ]
        except UnparsedError as problem:
            raise _first_error(path, str(problem)) from problem
        if not frames:
            what = f"no record in any of {len(found)} files ({'; '.join(notes) or 'headers only'})"
            raise EmptyLogError(what, "leave it out", file=path)
        rows = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")
        return in_order(self._columns(path, rows, measures))

    def _columns(self, path: Path, rows: pl.DataFrame, measures: Mapping[str, Direction]) -> pl.DataFrame:
        """The rows as parsed, in the columns and types of a lifetime."""
        if "block_subtype" not in rows.columns:  # L2Logger 1.0
            rows = rows.with_columns(pl.lit(_SUBTYPE.blank, _SUBTYPE.kind).alias(_SUBTYPE.field))
        # Column by column, and only where there is something to do: each expression costs as much as a short log.
        columns = {name: rows.get_column(name) for name in (*STANDARD_COLUMNS, *measures)}
        if columns["block_subtype"].null_count():
            columns["block_subtype"] = columns["block_subtype"].fill_null(_SUBTYPE.blank)
        if not _sound(columns):
            raise _first_error(path, "a required field is blank or negative, or a name is too long")
        columns["task_name"] = folded(columns["task_name"])
        columns |= {name: typed(rows.get_column(name)) for name in rows.columns if name not in columns}
        return pl.DataFrame(list(columns.values()))


def schema_of(header: tuple[str, ...], file: Path, measures: Mapping[str, Direction]) -> Mapping[str, pl.DataType]:
    """The types of a file's columns by its header; LogError where it lacks one that every file needs."""
    names = Counter(header)
    if len(names) != len(header):
        twice = sorted(name for name, count in names.items() if count > 1)
        raise LogError(
            f"the header names {', '.join(map(repr, twice))} more than once", "name each column once", file=file, line=1
        )
    missing = [name for name in STANDARD_COLUMNS if name not in names and name not in OPTIONAL_COLUMNS]
    if missing:
        raise LogError(
            f"the header has no {', '.join(missing)} (found: {some(header)})",
            "every L2Logger file needs these columns",
            file=file,
            line=1,
        )
    for name in measures:
        if name not in names:
            others = [one for one in header if one not in STANDARD_COLUMNS]
            raise LogError(f"no column for the measure {name!r}", nearest(name, others), file=file, line=1)
    return {name: STANDARD_COLUMNS.get(name, MEASURE.kind if name in measures else pl.String()) for name in header}


def _repeated(found: Sequence[Source], rows: pl.DataFrame) -> list[Note]:
    """Return a note on the first line that completes an experience again, if there is one."""
    complete = is_complete(rows)
    block, number = (rows.get_column(name).to_numpy()[complete] for name in ("block_num", "exp_num"))
    again = (block[1:] == block[:-1]) & (number[1:] == number[:-1])
    if not again.any():
        return []
    examined = ((source.relative, examine(source.relative, source.path.read_bytes()).table) for source in found)
    problems = repeated([(file, table) for file, table in examined if table is not None])
    return [Note(problem) for problem in islice(problems, 1)]


def _sound(columns: Mapping[str, pl.Series]) -> bool:
    """Whether no line was cut short or mangled in a way that still parses."""
    if any(columns[name].null_count() for name in FILLED_COLUMNS):
        return False
    if any(len(name) > LONGEST_NAME for name in columns["task_name"].unique().to_list()):
        return False
    return all(cast("int", columns[name].min() or 0) >= 0 for name in ("block_num", "exp_num"))


def _first_error(path: Path, otherwise: str) -> LogError:
    """What is wrong, and on which line: the table as a whole did not parse, so look line by line."""
    from perdure.log.check import check_lines

    problems = check_lines(path).problems
    errors = [one for one in problems if one.level == "error" and not one.tolerated]
    if not errors:
        return LogError(f"cannot be read as a table: {otherwise}", "restore it from a copy", file=path)
    first = errors[0]
    more = f" ({len(errors) - 1} more: perdure check {path})" if len(errors) > 1 else ""
    return LogError(first.what, f"{first.fix}{more}", file=path / first.file, line=first.line)


L2LOGGER = L2Logger()
