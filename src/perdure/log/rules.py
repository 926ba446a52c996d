"""Declare L2Logger's rules, one per field, for writers, readers, `check` and the reference page.

A rule applies to a cell of text. Writers test single cells with `Rule.sound`, and `check` tests whole columns with
`Rule.broken`, so a record that was written is never refused later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from perdure.lazy import pl
from perdure.log.problem import Level, Problem
from perdure.scenario.model import LONGEST_NAME, UNSAFE_PATH, Mode

BLOCK_TYPES = ("train", "test", "probe")
TYPES: Mapping[Mode, str] = {"learn": "train", "evaluate": "test", "probe": "probe"}
"""The block type of each mode. L2Logger has no probes."""
BLOCK_SUBTYPES = ("wake", "sleep")
EXPERIENCE_STATUSES = ("complete", "incomplete")
COST_COLUMNS = ("act_seconds", "learn_seconds", "env_seconds", "memory_mb")
"""Columns in which `perdure run` logs what the learner and its environment cost since the record before.

Like timestamps, they differ between two runs of the same lifetime.
"""
MEMORY_COLUMNS = ("memory_mb", "peak_memory_mb")
BEYOND = 2**63  # numbers of 64 bits, as every reader takes them
CONTROL = r"[\x00-\x1f\x7f\ud800-\udfff]"  # a file cannot hold half a surrogate pair

# Written so that Python and Polars take the same texts: ASCII alone, and the whole of it.
_WORKER = r"[0-9A-Za-z_-][0-9A-Za-z_.-]{0,199}"  # the name of a folder that is not hidden
_TIME = r"[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9](\.[0-9]+)?"
_NUMBER = r" *[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[nN][aA][nN]|[iI][nN][fF]([iI][nN][iI][tT][yY])?)"


class Rule(msgspec.Struct, frozen=True):
    """The rule of one field of a record."""

    field: str
    type: str
    """Its type in Polars, by name because a writer of records does not load Polars."""
    sound: Callable[[str], bool]
    """Return whether a text that is not blank keeps the rule."""
    expected: str
    holds: Callable[[pl.Expr], pl.Expr] | None = None
    """The same for a column of text; if None, `sound` is called for each distinct text."""
    blank: str | None = None
    """The meaning of a blank cell; None if blank is not allowed."""
    optional: bool = False
    """Whether the column may be absent, as in L2Logger 1.0."""
    words: tuple[str, ...] = ()
    """The allowed words, if there are few."""

    @property
    def kind(self) -> pl.DataType:
        """Return its type."""
        data_type: pl.DataType = getattr(pl, self.type)(*((self.words,) if self.words else ()))
        return data_type

    def broken(self, texts: pl.Series) -> pl.Series:
        """Return whether each cell of a column of text breaks this rule."""
        texts = texts.fill_null("")
        if self.holds is not None:
            fine = pl.select(self.holds(pl.lit(texts))).to_series()
        else:
            fine = texts.is_in([text for text in texts.unique().to_list() if text and self.sound(text)])
        return ~fine & (texts != "") if self.blank is not None else ~fine | (texts == "")


def _pattern(field: str, kind: str, pattern: str, expected: str, blank: str | None = None) -> Rule:
    anchored = f"^(?:{pattern})$"
    return Rule(
        field,
        kind,
        lambda text: bool(re.fullmatch(pattern, text)),
        expected,
        lambda text: text.str.contains(anchored),
        blank,
    )


def _number(field: str) -> Rule:
    return Rule(
        field,
        "Int64",
        lambda text: text.isascii() and text.isdigit() and len(text.lstrip("0")) < 20 and int(text) < BEYOND,
        "a whole number that is not negative, below 2⁶³",
        lambda text: text.str.contains("^[0-9]+$") & text.cast(pl.Int64, strict=False).is_not_null(),
    )


def _choice(field: str, words: tuple[str, ...], *, optional: bool = False) -> Rule:
    return Rule(
        field,
        "Enum",
        words.__contains__,
        " or ".join(map(repr, words)),
        lambda text: text.is_in(words),
        blank=words[0] if optional else None,  # L2Logger 1.0 files that were merged into 1.1 ones
        optional=optional,
        words=words,
    )


def is_object(text: str) -> bool:
    """Return whether `text` is a JSON object."""
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # Python's own json, which L2Logger writes with, also has NaN and Infinity
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _is_task_name(text: str) -> bool:
    if len(text) > LONGEST_NAME or not text.strip():
        return False
    return not re.search(CONTROL, text) and not re.search(UNSAFE_PATH, text)


# L2Logger 1.1, in its order. Names that repeat in every row are kept once; `timestamp` stays text, as recorded.
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        rule.field: rule
        for rule in (
            _number("block_num"),
            _number("exp_num"),
            _pattern(
                "worker_id",
                "Categorical",
                _WORKER,
                "at most 200 letters, digits, '_', '-' and '.', the first no '.'",
            ),
            _choice("block_type", BLOCK_TYPES),
            _choice("block_subtype", BLOCK_SUBTYPES, optional=True),
            Rule(
                "task_name",
                "Categorical",
                _is_task_name,
                f"one line of text without '../' or control characters, of at most {LONGEST_NAME} characters",
            ),
            Rule("task_params", "String", is_object, "a JSON object", blank="{}"),
            _choice("exp_status", EXPERIENCE_STATUSES),
            _pattern("timestamp", "String", _TIME, "a time like 20240102T030405.000000", blank="no time"),
        )
    }
)
MEASURE = _pattern("a measure", "Float64", _NUMBER, "a number", blank="no value")


class _Kinds(Mapping[str, "pl.DataType"]):
    """The type of each field."""

    def __getitem__(self, field: str) -> pl.DataType:
        return RULES[field].kind

    def __iter__(self) -> Iterator[str]:
        return iter(RULES)

    def __len__(self) -> int:
        return len(RULES)

    def __contains__(self, field: object) -> bool:
        return field in RULES


STANDARD_COLUMNS: Mapping[str, pl.DataType] = _Kinds()
"""Every reader delivers these columns in these types, then the measures as Float64, then whatever else was logged."""
OPTIONAL_COLUMNS = frozenset(field for field, rule in RULES.items() if rule.optional)
FILLED_COLUMNS = tuple(field for field, rule in RULES.items() if rule.blank is None or rule.optional)
"""Never null in the rows of a reader."""


_FILE = "\x00file"  # a name that no column of a log can have


def within(tables: Sequence[tuple[str, pl.DataFrame]], measures: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for every cell that breaks the rule of its column, file by file and line by line.

    Files with the same columns are tested together, because each query takes as long as testing a small file.
    """
    groups: dict[tuple[str, ...], list[tuple[str, pl.DataFrame]]] = {}
    for file, table in tables:
        groups.setdefault(tuple(table.columns), []).append((file, table))
    order = {file: index for index, (file, _) in enumerate(tables)}
    problems = [problem for group in groups.values() for problem in _within(_together(group), measures)]
    yield from sorted(problems, key=lambda problem: (order[problem.file], problem.line or 0))


def _together(tables: Sequence[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    return pl.concat([table.with_columns(pl.lit(file).alias(_FILE)) for file, table in tables])


def _within(table: pl.DataFrame, measures: Sequence[str]) -> Iterator[Problem]:
    applied = [rule for field, rule in RULES.items() if field in table.columns]
    applied += [replace(MEASURE, field=name) for name in measures]
    for rule in applied:
        blank = "" if rule.blank is None else ", or a blank"
        yield from _lines(table, rule.field, rule.broken(table[rule.field]), f"expected {rule.expected}{blank}")
    for name in measures:
        value = table[name].str.strip_chars().cast(pl.Float64, strict=False)
        dropped = "a value that is not finite does not count; it is dropped and counted"
        yield from _lines(table, name, value.is_nan() | value.is_infinite(), dropped, "warning")


def across(tables: Sequence[tuple[str, pl.DataFrame]]) -> Iterator[Problem]:
    """Yield the problems that only a comparison of all files shows."""
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
        table.select(*numbers, *words).with_columns(file=pl.lit(index, pl.Int32))
        for index, (_, table) in enumerate(tables)
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
