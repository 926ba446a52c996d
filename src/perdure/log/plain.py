"""Records of a journal read by NumPy alone: numbers and values row by row, and what repeats once for many rows.

A log says the same in most cells of most rows. Rows whose words and parameters are those of the row before are told
by comparing bytes, eight at a time, and only the first of them is taken apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perdure.frozen import frozen
from perdure.log.decimals import BEYOND, NotDecimal, Places, Text, decimals, whole_numbers
from perdure.log.rules import BEYOND as BEYOND_NUMBERS
from perdure.log.rules import OPTIONAL_COLUMNS, RULES
from perdure.scenario.model import Subtype

__all__ = ["BEYOND", "NeedsRows", "Records", "Run", "records"]

_TAB, _NEWLINE, _RETURN, _QUOTE, _ASCII = 9, 10, 13, 34, 128
_WORD = 8
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
_OWN = frozenset({"exp_num", "timestamp"})  # what each row has for itself, beside its values
_BLANK = frozenset(name for name, rule in RULES.items() if rule.blank is not None)
_WORDS = {
    name: frozenset({*rule.words, ""} if name in _BLANK else rule.words) for name, rule in RULES.items() if rule.words
}
_FEW = 1000  # runs that are taken apart, however short they are


class NeedsRows(Exception):
    """The rows of this log say more than one value each in order, or not in so many words."""


class Run(NamedTuple):
    """Rows one behind the other that differ in number, time and values alone."""

    start: int
    end: int
    block_num: int
    block_type: str
    block_subtype: Subtype
    task_name: str
    task_params: str | None
    counts: bool
    """Whether they tell of experiences that came to their end."""
    times: tuple[str | None, str | None]
    """Of its first and its last row."""

    @property
    def block(self) -> tuple[int, str, str, str]:
        """What makes rows those of one block."""
        return self.block_num, self.block_type, self.block_subtype, self.task_name


@frozen(eq=False)
class Records:
    """Rows in the order of their blocks and experiences."""

    columns: Sequence[str]
    runs: Sequence[Run]
    values: Mapping[str, npt.NDArray[np.float64]]
    height: int
    first: int
    """The number of the first experience."""
    last: int


def records(body: memoryview, header: Sequence[str], measures: Sequence[str]) -> Records:
    """The records in a text, behind which are `BEYOND` further bytes; NeedsRows where it takes more to read it."""
    needed = (RULES.keys() | set(measures)) - OPTIONAL_COLUMNS
    if len(set(header)) < len(header) or not needed <= set(header):
        raise NeedsRows  # a column is missing, or there twice
    lines = _Lines.of(body, header)
    try:
        numbers = whole_numbers(lines.text, *lines.column("exp_num"))
        values = {name: decimals(lines.text, *lines.column(name)) for name in measures}
    except NotDecimal as problem:
        raise NeedsRows from problem
    if int(numbers.max()) >= BEYOND_NUMBERS or not all(np.isfinite(one).all() for one in values.values()):
        raise NeedsRows
    repeating = [name for name in header if name in RULES and name not in _OWN]
    runs = list(lines.runs(lines.differing(repeating), repeating))
    risen = {later.start for earlier, later in pairwise(runs) if later.block_num > earlier.block_num}
    if any(later.block_num < earlier.block_num for earlier, later in pairwise(runs)):
        raise NeedsRows
    if not risen.issuperset((np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1).tolist()):
        raise NeedsRows  # rows of one experience are averaged, and others sorted
    return Records(header, runs, values, len(numbers), int(numbers[0]), int(numbers[-1]))


@frozen(eq=False)
class _Lines:
    """A text of as many cells in each line."""

    text: Text
    header: Sequence[str]
    cuts: Places
    """A row for each line: where each of its cells ends."""
    begins: Places
    """Where each line begins."""

    @classmethod
    def of(cls, body: memoryview, header: Sequence[str]) -> _Lines:
        text = Text(body)
        cuts = np.flatnonzero(text.codes <= _NEWLINE)
        if not cuts.size or cuts.size % len(header):
            raise NeedsRows
        table = cuts.reshape(-1, len(header))
        if (text.codes[table] != [_TAB] * (len(header) - 1) + [_NEWLINE]).any():
            raise NeedsRows
        ends = table[:, -1]
        if ends[-1] + 1 < text.codes.size or (text.codes == _RETURN).any():
            raise NeedsRows  # a line that has no end here; or cells, of which a table has no return at the end
        if text.codes.max() >= _ASCII:
            try:
                str(body[:-BEYOND], "utf-8")
            except UnicodeDecodeError as problem:
                raise NeedsRows from problem
        return cls(text, header, table, np.append(0, ends[:-1] + 1))

    def column(self, first: str, last: str | None = None) -> tuple[Places, Places]:
        """Where the cells of a column, or of neighbouring ones, begin, and how long they are."""
        at = self.header.index(first)
        begins = self.cuts[:, at - 1] + 1 if at else self.begins
        return begins, self.cuts[:, self.header.index(last or first)] - begins

    def differing(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """The lines that differ from the one before in some of these columns, the first among them."""
        height = len(self.begins)
        differs = np.zeros(height, np.bool_)
        differs[0] = True
        for first, last in _neighbours(self.header, names):
            begins, lengths = self.column(first, last)
            edges = np.flatnonzero(lengths[1:] != lengths[:-1]) + 1
            _refuse_many(len(edges), height)
            differs[edges] = True
            for start, end in pairwise([0, *edges.tolist(), height]):  # each as long as its own cells: one may be huge
                self._mark(differs[start + 1 : end], begins[start:end], int(lengths[start]))
        return np.flatnonzero(differs)

    def _mark(self, differs: npt.NDArray[np.bool_], begins: Places, length: int) -> None:
        """Mark the cells of this length that differ from the one before; the first has none."""
        filled, rest = divmod(length, _WORD)
        if filled:
            words = self.text.groups(begins, filled)
            differs[np.flatnonzero(words[1:] != words[:-1]) // filled] = True
        if rest:  # a word that is not filled ends with what is no part of the cell
            words = self.text.words[begins + filled * _WORD] & _MASKS[rest]
            differs |= words[1:] != words[:-1]

    def runs(self, starts: npt.NDArray[np.int64], names: Sequence[str]) -> Iterator[Run]:
        """The lines from each of these on, up to the next, which say the same in `names`."""
        height, quotes, content = len(self.begins), 0, self.text.content
        _refuse_many(len(starts), height)
        words = tuple(name for name in names if name != "block_num")
        places = [self.header.index(name) for name in words]
        block, time = self.header.index("block_num"), self.header.index("timestamp")
        ends = np.append(starts[1:], height)
        begins, lasts = self.begins[starts].tolist(), self.begins[ends - 1].tolist()
        firsts, finals = self.cuts[starts].tolist(), self.cuts[ends - 1].tolist()
        for start, end, begin, last, cuts, final in zip(
            starts.tolist(), ends.tolist(), begins, lasts, firsts, finals, strict=True
        ):
            line, closing = (bytes(one).split(b"\t") for one in (content[begin : cuts[-1]], content[last : final[-1]]))
            said, quoted = _said(words, tuple([line[at] for at in places]))
            number = line[block]
            quotes += (end - start) * (quoted + number.count(b'"'))
            yield _run(start, end, _plain(number), said, (line[time], closing[time]))
        if np.count_nonzero(self.text.codes == _QUOTE) != quotes:
            raise NeedsRows  # what a quote opens elsewhere may close anywhere


def _refuse_many(runs: int, height: int) -> None:
    if runs > _FEW and runs * _WORD > height:
        raise NeedsRows  # nothing repeats


def _neighbours(header: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The first and the last of those that stand side by side."""
    first = None
    for name, following in pairwise([*header, ""]):
        first = first or name if name in names else None
        if first and following not in names:
            yield first, name


def _plain(cell: bytes) -> str:
    """What a cell says; NeedsRows where its quotes are not all there, or hold nothing."""
    said = cell.decode()
    if '"' not in said:
        return said
    inner = said[1:-1].replace('""', '"')
    if not inner or said != f'"{inner.replace(chr(34), chr(34) * 2)}"':
        raise NeedsRows
    return inner


@lru_cache(maxsize=1024)
def _said(names: tuple[str, ...], cells: tuple[bytes, ...]) -> tuple[Mapping[str, str], int]:
    """What these cells say, once they are seen to say it by the rules, and how many quotes it takes.

    Many blocks say the same but for their number.
    """
    said = {name: _plain(cell) for name, cell in zip(names, cells, strict=True)}
    if not all(cell in _WORDS[name] if name in _WORDS else cell or name in _BLANK for name, cell in said.items()):
        raise NeedsRows  # what is wrong with it is found line by line
    return {**said, "task_name": said["task_name"].lower()}, sum(cell.count(b'"') for cell in cells)


def _run(start: int, end: int, number: str, said: Mapping[str, str], times: tuple[bytes, bytes]) -> Run:
    number = number.lstrip("0") or number[:1]  # Python refuses thousands of digits, noughts among them
    if not RULES["block_num"].sound(number):
        raise NeedsRows
    first, last = (one.decode() or None for one in times)
    return Run(
        start,
        end,
        int(number),
        said["block_type"],
        "sleep" if said.get("block_subtype") == "sleep" else "wake",
        said["task_name"],
        said["task_params"] or None,
        said["exp_status"] == "complete",
        (first, last),
    )
