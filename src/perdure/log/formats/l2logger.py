"""Read folders of L2Logger 1.0 and 1.1, which Perdure's own journal also writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import cast

from perdure.errors import EmptyLogError, LogError, nearest
from perdure.lazy import pl
from perdure.log.blocks import in_order, is_complete
from perdure.log.cells import folded, typed
from perdure.log.manifest import manifest_in, measures_of, object_in, role_of
from perdure.log.model import Direction, Lifetime
from perdure.log.places import LOGGER_INFO, MANIFEST, SCENARIO_INFO, Source, as_text, sources
from perdure.log.problem import Note, Problem
from perdure.log.read import Options
from perdure.log.rows import Checksums, UnparsedError, examine, parse, pieces
from perdure.log.rules import FILLED_COLUMNS, MEASURE, OPTIONAL_COLUMNS, RULES, STANDARD_COLUMNS, repeated
from perdure.log.verify import (
    Ledger,
    Seen,
    as_it_stands,
    compared,
    description_problems,
    errors_in,
    ledger_of,
    notes_on,
    refusal,
    verify,
)
from perdure.scenario.model import LONGEST_NAME
from perdure.text import join_names

_SUBTYPE = RULES["block_subtype"]
_BLOCK_FOLDER = re.compile(r"\d+-(train|test)")


class L2Logger:
    """The reader of such folders."""

    name = "l2logger"
    summary = "a folder with logger_info.json and <worker>/<n>-<train|test>/data-log.tsv"

    def recognises(self, path: Path) -> bool:
        """Return whether the folder has a logger_info.json or, if that was lost, block folders."""
        if not path.is_dir():
            return False
        try:
            if (path / LOGGER_INFO).is_file():
                return True
            return any(_BLOCK_FOLDER.fullmatch(file.parent.name) for file in path.glob("*/*-t*/data-log.tsv"))
        except OSError:
            return False

    def read(self, path: Path, options: Options) -> Lifetime:
        """Return the lifetime in a folder: every row, and notes on torn lines."""
        manifest = manifest_in(path)
        info = object_in(path / SCENARIO_INFO) if (path / SCENARIO_INFO).exists() else {}
        measures = options.measures or measures_of(path, manifest)
        ledger, experiences, notes = self._verify(path, measures, options)
        return Lifetime(
            id=str(manifest.get("id") or as_text(path.resolve().name)),
            experiences=experiences,
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

    def _verify(
        self, path: Path, measures: Mapping[str, Direction], options: Options, attempts: int = 3
    ) -> tuple[Ledger | None, pl.DataFrame, list[str]]:
        """Return the ledger, the records, and notes on them."""
        ledger = ledger_of(path)  # before the files, which only grow
        data_files = sources(path)
        notes: list[str] = []
        closed = ledger.closed if ledger else {}
        checksums = Checksums({file: block.bytes for file, block in closed.items()})
        rows = self._rows(path, data_files, measures, notes, checksums)
        problems: Sequence[Problem] = ()
        if ledger is not None:
            files_seen = {
                source.relative: Seen(source.size, checksums.found.get(source.relative)) for source in data_files
            }
            problems = errors_in((*description_problems(ledger, path), *compared(ledger, files_seen)))
            complete = files_seen.keys() == closed.keys()
            if not problems and complete and rows.height != sum(block.rows for block in closed.values()):
                problems = verify(path)  # which counts the records of each file
        if problems and attempts > 1 and ledger_of(path) != ledger:
            return self._verify(path, measures, options, attempts - 1)  # a journal is writing: read again
        if problems and options.verified:
            raise refusal(path, problems)
        notes += _note_repeats(data_files, rows)
        return ledger, rows, [*notes, *as_it_stands(problems), *notes_on(ledger, data_files)]

    def _rows(
        self,
        path: Path,
        data_files: Sequence[Source],
        measures: Mapping[str, Direction],
        notes: list[str],
        checksums: Checksums,
    ) -> pl.DataFrame:
        if not data_files:
            raise EmptyLogError("no data-log.tsv in any folder below", "nothing was logged here", file=path)
        try:
            frames = [
                parse(piece, schema_of(piece.header, piece.path, measures), null_values="")[0]
                for piece in pieces(data_files, notes, checksums)
            ]
        except UnparsedError as problem:
            raise _first_error(path, str(problem)) from problem
        if not frames:
            what = f"no record in any of {len(data_files)} files ({'; '.join(notes) or 'headers only'})"
            raise EmptyLogError(what, "leave it out", file=path)
        rows = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")
        return in_order(self._columns(path, rows, measures))

    def _columns(self, path: Path, rows: pl.DataFrame, measures: Mapping[str, Direction]) -> pl.DataFrame:
        """Return parsed rows in the columns and types of a lifetime."""
        if "block_subtype" not in rows.columns:  # L2Logger 1.0
            rows = rows.with_columns(pl.lit(_SUBTYPE.blank, _SUBTYPE.kind).alias(_SUBTYPE.field))
        # Single columns, because a query takes as long as reading a short log.
        columns = {name: rows.get_column(name) for name in (*STANDARD_COLUMNS, *measures)}
        if columns["block_subtype"].null_count():
            columns["block_subtype"] = columns["block_subtype"].fill_null(_SUBTYPE.blank)
        if not _sound(columns):
            raise _first_error(path, "a required field is blank or negative, or a name is too long")
        columns["task_name"] = folded(columns["task_name"])
        columns |= {name: typed(rows.get_column(name)) for name in rows.columns if name not in columns}
        return pl.DataFrame(list(columns.values()))


def header_problems(header: Sequence[str], measures: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the problems of the columns of a file, with fixes."""
    repeated = [repr(name) for name, count in sorted(Counter(header).items()) if count > 1]
    if repeated:
        yield f"the header names {', '.join(repeated)} more than once", "name each column once"
    missing = [name for name in STANDARD_COLUMNS if name not in header and name not in OPTIONAL_COLUMNS]
    if missing:
        what = f"the header has no {', '.join(missing)} (found: {join_names(header)})"
        yield what, "every L2Logger file needs these columns"
    for name in measures:
        if name not in header:
            others = [column for column in header if column not in STANDARD_COLUMNS]
            yield f"no column for the measure {name!r}", nearest(name, others)


def schema_of(header: tuple[str, ...], file: Path, measures: Mapping[str, Direction]) -> Mapping[str, pl.DataType]:
    """Return the types of a file's columns; raise LogError if the header is unsound."""
    for what, fix in header_problems(header, measures):
        raise LogError(what, fix, file=file, line=1)
    return {name: STANDARD_COLUMNS.get(name, MEASURE.kind if name in measures else pl.String()) for name in header}


def _note_repeats(data_files: Sequence[Source], rows: pl.DataFrame) -> list[Note]:
    """Return a note on the first line that completes an experience again, if there is one."""
    complete = is_complete(rows)
    block, number = (rows.get_column(name).to_numpy()[complete] for name in ("block_num", "exp_num"))
    same_number = (block[1:] == block[:-1]) & (number[1:] == number[:-1])
    if not same_number.any():
        return []
    examined = ((source.relative, examine(source.relative, source.path.read_bytes()).table) for source in data_files)
    problems = repeated([(file, table) for file, table in examined if table is not None])
    return [Note(problem) for problem in islice(problems, 1)]


def _sound(columns: Mapping[str, pl.Series]) -> bool:
    """Return whether no line was cut short or altered in a way that still parses."""
    if any(columns[name].null_count() for name in FILLED_COLUMNS):
        return False
    if any(len(name) > LONGEST_NAME for name in columns["task_name"].unique().to_list()):
        return False
    return all(cast("int", columns[name].min() or 0) >= 0 for name in ("block_num", "exp_num"))


def _first_error(path: Path, otherwise: str) -> LogError:
    """Return an error for the first line that is wrong, because the table as a whole did not parse."""
    from perdure.log.check import check_lines

    problems = check_lines(path).problems
    errors = [problem for problem in problems if problem.level == "error" and not problem.tolerated]
    if not errors:
        return LogError(f"cannot be read as a table: {otherwise}", "restore it from a copy", file=path)
    first = errors[0]
    more = f" ({len(errors) - 1} more: perdure check {path})" if len(errors) > 1 else ""
    return LogError(first.what, f"{first.fix}{more}", file=path / first.file, line=first.line)


L2LOGGER = L2Logger()
