"""Records of a journal read by NumPy alone: numbers and values row by row, and what repeats once for many rows.

A log says the same in most cells of most rows. Rows whose words and parameters are those of the row before are told
by comparing bytes, eight at a time, and only the first of them is taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
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
_GUESSES = 16  # lengths of a field in one text; more of them are found faster by a search
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
    try:
        return _records(_Lines.guessed(body, header), measures)
    except NeedsRows:
        return _records(_Lines.searched(body, header), measures)


def _records(lines: _Lines, measures: Sequence[str]) -> Records:
    try:
        numbers = whole_numbers(lines.text, *lines.field("exp_num"))
        values = {name: decimals(lines.text, *lines.field(name)) for name in measures}
    except NotDecimal as problem:
        raise NeedsRows from problem
    if int(numbers.max()) >= BEYOND_NUMBERS or not all(np.isfinite(one).all() for one in values.values()):
        raise NeedsRows
    runs = list(lines.runs(lines.differing()))
    risen = {later.start for earlier, later in pairwise(runs) if later.block_num > earlier.block_num}
    if any(later.block_num < earlier.block_num for earlier, later in pairwise(runs)):
        raise NeedsRows
    if not risen.issuperset((np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1).tolist()):
        raise NeedsRows  # rows of one experience are averaged, and others sorted
    return Records(lines.header, runs, values, len(numbers), int(numbers[0]), int(numbers[-1]))


@frozen(eq=False)
class _Lines:
    """A text of as many cells in each line, which are told apart where they have to be.

    A field is a cell, or neighbouring ones that repeat: those are compared as one, and taken apart where they differ.
    """

    text: Text
    header: Sequence[str]
    begins: Places
    """Where each line begins."""
    ends: Mapping[str, Places]
    """The last column of each field, in their order → where it ends in each line."""

    @classmethod
    def searched(cls, body: memoryview, header: Sequence[str]) -> _Lines:
        """By the end of every cell."""
        text = _sound(body)
        cuts = np.flatnonzero(text.codes <= _RETURN)
        if not cuts.size or cuts.size % len(header):
            raise NeedsRows
        table = cuts.reshape(-1, len(header))
        if (text.codes[table] != [_TAB] * (len(header) - 1) + [_NEWLINE]).any() or table[-1, -1] + 1 < text.codes.size:
            raise NeedsRows  # other cells, no end, or returns, of which a table leaves out the last
        ends = {header[last]: table[:, last] for last in _lasts(header)}
        return cls(text, header, np.append(0, table[:-1, -1] + 1), ends)

    @classmethod
    def guessed(cls, body: memoryview, header: Sequence[str]) -> _Lines:
        """By the ends of the lines alone, since a field is mostly as long as in some line before it.

        Every guess ends with a tab, and there are no more tabs than it takes. What is left to see is that fields of
        several cells have as many: in the line where they differ from the one before, when it is taken apart.
        """
        text = _sound(body)
        newlines = np.flatnonzero(text.codes == _NEWLINE)
        if not newlines.size or newlines[-1] + 1 < text.codes.size:
            raise NeedsRows
        if np.count_nonzero(text.codes <= _RETURN) != newlines.size * len(header):
            raise NeedsRows
        begins = np.append(0, newlines[:-1] + 1)
        found, field = {}, begins
        for last in _lasts(header)[:-1]:

            def length(line: int, last: int = last, field: Places = field) -> int:
                cells = _cells(text, begins[line], newlines[line], len(header))
                found = int(_cell_ends(cells, begins[line])[last] - field[line])
                if found < 0:
                    raise NeedsRows  # the field before was guessed too long
                return found

            found[header[last]] = ends = _field_ends(text, field, newlines, length)
            field = ends + 1
        return cls(text, header, begins, {**found, header[-1]: newlines})

    def field(self, last: str) -> tuple[Places, Places]:
        """Where each of the fields that end with a column begins, and how long it is."""
        before = list(self.ends)
        at = before.index(last)
        begins = self.ends[before[at - 1]] + 1 if at else self.begins
        return begins, self.ends[last] - begins

    def differing(self) -> npt.NDArray[np.int64]:
        """The lines that differ from the one before in what repeats, the first among them."""
        height = len(self.begins)
        differs = np.zeros(height, np.bool_)
        differs[0] = True
        for name in filter(_repeats, self.ends):
            begins, lengths = self.field(name)
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

    def runs(self, starts: npt.NDArray[np.int64]) -> Iterator[Run]:
        """The lines from each of these on, up to the next, which say the same in what repeats."""
        height, quotes = len(self.begins), 0
        _refuse_many(len(starts), height)
        words = tuple(name for name in self.header if _repeats(name) and name != "block_num")
        places = [self.header.index(name) for name in words]
        block, time = self.header.index("block_num"), self.header.index("timestamp")
        fields, lasts = list(self.ends.values()), _lasts(self.header)
        stops = np.append(starts[1:], height)
        opening, closing = (
            np.stack([one[at] for one in (self.begins, *fields)]).T.tolist() for at in (starts, stops - 1)
        )
        for start, end, (begin, *ends), (final, *_, after) in zip(
            starts.tolist(), stops.tolist(), opening, closing, strict=True
        ):
            line, closed = (_cells(self.text, *one, len(self.header)) for one in ((begin, ends[-1]), (final, after)))
            found = _cell_ends(line, begin)
            if [found[last] for last in lasts] != ends:
                raise NeedsRows  # a wrong guess
            said, quoted = _said(words, tuple([line[at] for at in places]))
            number = line[block]
            quotes += (end - start) * (quoted + number.count(b'"'))
            yield _run(start, end, _plain(number), said, (line[time], closed[time]))
        if np.count_nonzero(self.text.codes == _QUOTE) != quotes:
            raise NeedsRows  # what a quote opens elsewhere may close anywhere


def _refuse_many(runs: int, height: int) -> None:
    if runs > _FEW and runs * _WORD > height:
        raise NeedsRows  # nothing repeats


def _sound(body: memoryview) -> Text:
    """A text of whole signs."""
    text = Text(body)
    if text.codes.size and text.codes.max() >= _ASCII:
        try:
            str(body[:-BEYOND], "utf-8")
        except UnicodeDecodeError as problem:
            raise NeedsRows from problem
    return text


def _repeats(name: str) -> bool:
    """Whether a column mostly says what it said in the line before."""
    return name in RULES and name not in _OWN


def _lasts(header: Sequence[str]) -> list[int]:
    """The places of columns with which fields end."""
    return [at for at, (one, other) in enumerate(pairwise([*header, ""])) if not (_repeats(one) and _repeats(other))]


def _field_ends(text: Text, begins: Places, newlines: Places, length: Callable[[int], int]) -> Places:
    """Where a field ends in each line, as long as in some other; `length` tells it of one."""
    ends = np.minimum(begins + length(0), newlines)
    unknown = np.flatnonzero(text.codes[ends] != _TAB)
    for _ in range(_GUESSES):
        if not unknown.size:
            return ends
        guessed = np.minimum(begins[unknown] + length(unknown[0]), newlines[unknown])
        ends[unknown] = guessed
        unknown = unknown[text.codes[guessed] != _TAB]
    raise NeedsRows


def _cells(text: Text, begin: int, end: int, count: int) -> list[bytes]:
    """Of one line, which has so many."""
    cells = bytes(text.content[begin:end]).split(b"\t")
    if len(cells) != count:
        raise NeedsRows
    return cells


def _cell_ends(cells: Sequence[bytes], begin: int) -> list[int]:
    """Where the cells of a line end that begins there."""
    return [end - 1 for end in accumulate((len(cell) + 1 for cell in cells), initial=begin)][1:]


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
