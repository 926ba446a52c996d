"""One data file taken apart line by line, for finding out what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.errors import nearest
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log.problem import Problem
from perdure.log.rules import OPTIONAL_COLUMNS, STANDARD_COLUMNS
from perdure.log.text import header_names, parsed, records

__all__ = ["Lines", "split"]

_FEW = 100


@frozen(eq=False)
class Lines:
    """The header, the records as text with their line numbers, and what was wrong with the bytes."""

    header: tuple[str, ...]
    table: pl.DataFrame | None
    """Every column as text, and `line`; None where there is no record to look at."""
    problems: tuple[Problem, ...]

    def header_problems(self, measures: Sequence[str]) -> list[tuple[str, str]]:
        """What the header lacks or says twice, and what to do."""
        if not self.header:
            return []
        twice = sorted({name for name in self.header if self.header.count(name) > 1})
        missing = [name for name in STANDARD_COLUMNS if name not in self.header and name not in OPTIONAL_COLUMNS]
        found = [(f"the header names {name!r} twice", "rename or remove one of the columns") for name in twice]
        found += [(f"no column {name!r}", "every L2Logger file needs it") for name in missing]
        own = [name for name in self.header if name not in STANDARD_COLUMNS]
        found += [
            (f"no column for the measure {name!r}", nearest(name, own)) for name in measures if name not in self.header
        ]
        return found


def split(file: str, content: bytes) -> Lines:
    """What stands in a data file, as lines; nothing is assumed about it."""
    if not content:
        nothing = Problem("warning", file, None, "an empty file, no record in it", "remove it; harmless", True)
        return Lines((), None, (nothing,))
    problems: list[Problem] = []
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        shown = content[whole : whole + 60].decode("utf-8", "replace")
        what = f"the last line is torn: no newline after its {len(content) - whole} bytes ({shown!r}…)"
        fix = "cut the file after its last newline"
        problems.append(Problem("error", file, content.count(b"\n") + 1, what, fix, True))
        content = content[:whole]
    nul = content.find(b"\x00")
    if nul >= 0:
        what = f"NUL bytes, {content.count(bytes(1))} in this file"
        problems.append(Problem("error", file, content.count(b"\n", 0, nul) + 1, what, "restore this part from a copy"))
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as problem:
        what = f"byte 0x{content[problem.start]:02x} is not UTF-8 text"
        line = content.count(b"\n", 0, problem.start) + 1
        problems.append(Problem("error", file, line, what, "write the file as UTF-8"))
        content = content.decode("utf-8", "replace").encode()
    if b"\r\n" in content:
        line = content.count(b"\n", 0, content.find(b"\r\n")) + 1
        problems.append(Problem("warning", file, line, "lines end with CR LF", "harmless; L2Logger writes LF", True))
    if not content:
        return Lines((), None, tuple(problems))
    first = content.find(b"\n")
    header = header_names(content[:first])
    body = content[first + 1 :]
    if not body:
        problems.append(Problem("warning", file, 1, "a header only, no record", "remove the file; harmless", True))
        return Lines(header, None, tuple(problems))
    table, ragged = _records(body, len(header))
    problems.extend(_ragged(file, line, fields, len(header), text) for line, fields, text in ragged)
    if table is None or len(set(header)) != len(header):
        return Lines(header, None, tuple(problems))
    table.columns = ["line", *header]
    return Lines(header, table, tuple(problems))


def _records(body: bytes, width: int) -> tuple[pl.DataFrame | None, list[tuple[int, int, str]]]:
    """The records with as many fields as the header, and line, fields and text of each that has not."""
    if b'"' in body:
        return _quoted_records(body, width)
    if body.count(b"\n") <= _FEW:
        return _few_records(body, width)
    lines = pl.Series("text", body.decode().split("\n")[:-1], dtype=pl.String)
    counts = lines.str.count_matches("\t", literal=True) + 1
    numbered = pl.DataFrame({"line": pl.int_range(2, lines.len() + 2, eager=True), "text": lines, "fields": counts})
    bad = numbered.filter(pl.col("fields") != width)
    ragged = [(line, fields, text) for line, text, fields in bad.iter_rows()]
    good = numbered.filter(pl.col("fields") == width)
    if not good.height:
        return None, ragged
    parts = good["text"].str.strip_chars_end("\r").str.split_exact("\t", width - 1).struct.unnest()
    fields = parts.rename({old: f"field_{at}" for at, old in enumerate(parts.columns)})
    return fields.insert_column(0, good["line"]), ragged


def _few_records(body: bytes, width: int) -> tuple[pl.DataFrame | None, list[tuple[int, int, str]]]:
    """The same for a short file: a log may have ten thousand, and each expression costs as much as the whole file."""
    numbered = list(enumerate(body.decode().split("\n")[:-1], 2))
    split = [(line, text.rstrip("\r").split("\t")) for line, text in numbered]
    ragged = [(line, text.count("\t") + 1, text) for line, text in numbered if text.count("\t") + 1 != width]
    good = [(line, fields) for line, fields in split if len(fields) == width]
    if not good:
        return None, ragged
    columns = zip(*(fields for _, fields in good), strict=True)
    texts = [pl.Series(f"field_{at}", column, dtype=pl.String) for at, column in enumerate(columns)]
    return pl.DataFrame([pl.Series("line", [line for line, _ in good], dtype=pl.Int64), *texts]), ragged


def _quoted_records(body: bytes, width: int) -> tuple[pl.DataFrame | None, list[tuple[int, int, str]]]:
    """The same where fields are quoted: Polars if every line is sound, else record by record."""
    schema = {f"field_{at}": pl.String() for at in range(width)}
    try:
        table = parsed(body, schema)
        # One record per line, and none cut short (a missing field reads as a null, never as "").
        if table.height == body.count(b"\n") and not table.select(pl.last().is_null().any()).item():
            return table.insert_column(0, pl.int_range(2, table.height + 2, eager=True).alias("line")), []
    except pl.exceptions.PolarsError:
        pass
    found = records(body.decode("utf-8", "replace").replace("\x00", ""), "\t")
    rows = [(line + 1, *fields) for line, fields in found if len(fields) == width]
    ragged = [(line + 1, len(fields), "\t".join(fields)) for line, fields in found if len(fields) != width]
    return (pl.DataFrame(rows, schema={"line": pl.Int64(), **schema}, orient="row") if rows else None), ragged


def _ragged(file: str, line: int, fields: int, width: int, text: str) -> Problem:
    shown = text[:60] + ("…" if len(text) > 60 else "")
    what = f"{fields} fields where the header has {width} ({shown!r})"
    return Problem("error", file, line, what, "the line is torn or two were run together; restore or remove it")
