"""Which lines of a log break which rule of L2Logger's: cell by cell, and across its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from perdure.lazy import pl
from perdure.log.problem import Level, Problem
from perdure.log.rules import BLOCK_TYPES, MEASURE, RULES

_FILE = "\x00file"  # a name that no column of a log can have


def within(tables: Sequence[tuple[str, pl.DataFrame]], measures: Sequence[str]) -> Iterator[Problem]:
    """Every cell that breaks a rule of its own column, file by file and line by line.

    Files are asked together, each rule once: ten thousand small ones take no longer than a large one.
    """
    groups: dict[tuple[str, ...], list[tuple[str, pl.DataFrame]]] = {}
    for file, table in tables:
        groups.setdefault(tuple(table.columns), []).append((file, table))
    order = {file: at for at, (file, _) in enumerate(tables)}
    found = [one for group in groups.values() for one in _within(_together(group), measures)]
    yield from sorted(found, key=lambda one: (order[one.file], one.line or 0))


def _together(tables: Sequence[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    return pl.concat([table.with_columns(pl.lit(file).alias(_FILE)) for file, table in tables])


def _within(table: pl.DataFrame, measures: Sequence[str]) -> Iterator[Problem]:
    asked = [rule for field, rule in RULES.items() if field in table.columns]
    asked += [replace(MEASURE, field=name) for name in measures]
    for rule in asked:
        blank = "" if rule.blank is None else ", or a blank"
        yield from _lines(table, rule.field, rule.broken(table[rule.field]), f"expected {rule.expected}{blank}")
    for name in measures:
        value = table[name].str.strip_chars().cast(pl.Float64, strict=False)
        dropped = "a value that is not finite does not count; it is dropped and counted"
        yield from _lines(table, name, value.is_nan() | value.is_infinite(), dropped, "warning")


def across(tables: Sequence[tuple[str, pl.DataFrame]]) -> Iterator[Problem]:
    """What only shows when all files are laid side by side."""
    if not tables:
        return
    names, every = _numbered(tables)
    modes = every.filter(pl.col("block_type").is_in(BLOCK_TYPES)).unique(["block_num", "block_type"], keep="first")
    for number, file, line in (
        modes.sort("block_num", "file", "line")
        .filter(pl.col("block_num").is_duplicated())
        .unique("block_num", keep="last", maintain_order=True)
        .select("block_num", "file", "line")
        .iter_rows()
    ):
        fix = "give the evaluation a block_num of its own"
        yield Problem("error", names[file], line, f"block {number} is both train and test", fix, tolerated=True)

    # By block and first experience, each worker's files stand in the order they were written.
    begin = pl.col("exp_num").first().over("file")
    every = every.with_columns(begin=begin).sort(
        "worker_id", pl.col("block_num").first().over("file"), "begin", "file", maintain_order=True
    )
    before = [pl.col(name).shift().over("worker_id") for name in ("block_num", "exp_num")]
    previous = every.with_columns(before_block=before[0], before_experience=before[1])
    for name, earlier in (("block_num", "before_block"), ("exp_num", "before_experience")):
        falls = previous.filter(pl.col(name) < pl.col(earlier))
        for file, line, now, then in falls.select("file", "line", name, earlier).iter_rows():
            what = f"{name} falls from {then} to {now}"
            fix = "numbers never decrease within a worker; l2metrics refuses such a log"
            yield Problem("error", names[file], line, what, fix, tolerated=True)


def repeated(tables: Sequence[tuple[str, pl.DataFrame]]) -> Iterator[Problem]:
    """Yield a warning for every line that completes an experience again."""
    if not tables:
        return
    names, every = _numbered(tables)
    complete = every.filter(pl.col("exp_status") == "complete")
    twice = complete.filter(~pl.struct("block_num", "exp_num").is_first_distinct())
    for file, line, number, block in twice.select("file", "line", "exp_num", "block_num").iter_rows():
        what = f"experience {number} of block {block} is completed by an earlier line already"
        fix = "lines that complete one experience are averaged; number experiences across all workers"
        yield Problem("warning", names[file], line, what, fix)


def _numbered(tables: Sequence[tuple[str, pl.DataFrame]]) -> tuple[list[str], pl.DataFrame]:
    """Return the files, and the numbers and words of all lines with the index of their file."""
    numbers = [pl.col(name).cast(pl.Int64, strict=False) for name in ("block_num", "exp_num")]
    words = [pl.col(name) for name in ("worker_id", "block_type", "exp_status", "line")]
    frames = [
        table.select(*numbers, *words).with_columns(file=pl.lit(at, pl.Int32)) for at, (_, table) in enumerate(tables)
    ]
    return [file for file, _ in tables], pl.concat(frames).drop_nulls(["block_num", "exp_num"])


def _lines(table: pl.DataFrame, name: str, wrong: pl.Series, fix: str, level: Level = "error") -> Iterator[Problem]:
    if not wrong.any():  # a filter of all columns for each of them would be quadratic
        return
    for file, line, value in table.select(_FILE, "line", name).filter(wrong).iter_rows():
        yield Problem(level, file, line, f"{name} is {_shown(value)}", fix)


def _shown(value: str | None) -> str:
    if not value:
        return "blank"
    return repr(value if len(value) <= 60 else value[:57] + "…")
