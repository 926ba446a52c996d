"""A log without its rows: its values in order and what each block says of itself, which is all that metrics read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.frozen import frozen
from perdure.log.facts import Facts, scenario_of
from perdure.log.model import Passage
from perdure.log.plain import BEYOND, NeedsRows, Records, Run, records
from perdure.log.rules import RULES
from perdure.log.tsv import Checksums, Source, bodies

if TYPE_CHECKING:
    from perdure.lazy import pl
    from perdure.log.model import Lifetime
    from perdure.log.variants import Settled
    from perdure.scenario.variants import Mode

__all__ = ["Lean", "read_lean"]

_AT_ONCE = 1 << 21  # bytes of text; what is made of them stays near the processor
_WORTH_SHARING = 1 << 24  # bytes in all; of less, two threads spend more on each other than they save
_LONG = 1 << 16  # bytes a file, for the same reason
_NEWLINE = 10
_FLOATS = "<f8"


@frozen(eq=False)
class Lean:
    """The values of a log, block by block."""

    facts: Facts
    times: Sequence[tuple[str | None, str | None]]
    """Of each block, when its first and its last experience were recorded."""
    lengths: npt.NDArray[np.int64]
    """Of the blocks."""
    values: Mapping[str, npt.NDArray[np.float64]]
    """Measure → one value for each experience."""
    columns: Sequence[str]
    """What is recorded in each row."""
    height: int
    """How many rows there were, with those that do not count."""
    rows: Callable[[], pl.DataFrame]
    """Reads the log again, for those who want its rows after all."""

    def passage(
        self, lifetime: Lifetime, measure: str | Mapping[str, str], variants: Mode, settled: Settled | None
    ) -> Passage:
        """What the rows give."""
        if not isinstance(measure, str) or variants != "name":
            return lifetime.with_rows().passage(measure, variants, settled)
        starts = np.append(0, self.lengths.cumsum())
        return Passage(
            scenario=scenario_of(lifetime, self.facts, self.lengths, {}, {}, as_one=False),
            measure=measure,
            values=self.values[measure],
            starts=starts,
            rows=cast("pl.DataFrame", cache(lambda: lifetime.with_rows().passage(measure, variants, settled).rows)),
            row_starts=starts,
            dropped={"incomplete": self.height - int(starts[-1]), "missing": 0, "not finite": 0},
            lean=self,
        )

    def parts(self) -> tuple[list[memoryview], bytes]:
        """All of it, to be kept: the values of each measure, and what is said of them."""
        said = _Said(self.facts, list(self.times), self.lengths.tolist(), list(self.values), list(self.columns))
        values = (one.astype(_FLOATS, copy=False).data.cast("B") for one in self.values.values())
        return list(values), msgspec.json.encode(said)

    @classmethod
    def of_parts(
        cls, values: Sequence[bytes | memoryview], said: bytes, height: int, rows: Callable[[], pl.DataFrame]
    ) -> Lean:
        """What was kept by `parts`."""
        found = msgspec.json.decode(said, type=_Said)
        arrays = (np.frombuffer(one, _FLOATS) for one in values)
        named = dict(zip(found.measures, arrays, strict=True))
        lengths = np.array(found.lengths, np.int64)
        return cls(found.facts, found.times, lengths, named, found.columns, height, rows)


class _Said(msgspec.Struct):
    """What a lean log says beside its values."""

    facts: Facts
    times: list[tuple[str | None, str | None]]
    lengths: list[int]
    measures: list[str]
    columns: list[str]


def read_lean(
    found: Sequence[Source],
    measures: Sequence[str],
    notes: list[str],
    checksums: Checksums,
    rows: Callable[[], pl.DataFrame],
) -> Lean:
    """The values in these files; NeedsRows where something else stands there, or they say more than that."""
    size = sum(one.size for one in found)
    halves = _halves(found) if size > max(_WORTH_SHARING, _LONG * len(found)) else [found]
    said: list[list[str]] = [[] for _ in halves]

    def part(at: int) -> Iterator[Records]:
        for header, _, body in bodies(halves[at], said[at], checksums, _AT_ONCE, BEYOND):
            for piece in _divided(body):
                yield records(piece, header, measures)

    pieces = [piece for some in _at_once(part, len(halves)) for piece in some]
    for some in said:
        notes += some
    return _joined(pieces, measures, rows)


def _divided(body: memoryview) -> Iterator[memoryview]:
    """A long text in pieces of whole lines, each with something behind it."""
    start, size = 0, len(body) - BEYOND
    while size - start > 2 * _AT_ONCE:
        codes = np.frombuffer(body[start + _AT_ONCE : size], np.uint8)
        end = start + _AT_ONCE + int((codes[:_AT_ONCE] == _NEWLINE).argmax()) + 1
        yield body[start : end + BEYOND]
        start = end
    if size > start:
        yield body[start:]


def _at_once(part: Callable[[int], Iterator[Records]], count: int) -> list[list[Records]]:
    """All parts, each in a thread of its own but the first: NumPy and the disk let others work meanwhile."""
    made: list[list[Records]] = [[] for _ in range(count)]
    raised: dict[int, BaseException] = {}

    def make(at: int) -> None:
        try:
            for one in part(at):
                # What is raised is what comes first in the files, whichever thread is faster; a signal comes to the
                # first part, and who asked to stop waits for no other.
                if any(other < at or isinstance(problem, NeedsRows) for other, problem in tuple(raised.items())):
                    return
                made[at].append(one)
        except BaseException as problem:
            raised[at] = problem

    others = [threading.Thread(target=make, args=(at,), name="perdure-read", daemon=True) for at in range(1, count)]
    for one in others:
        one.start()
    make(0)
    for one in others:
        one.join()
    for at in sorted(raised):
        raise raised[at]
    return made


def _halves(found: Sequence[Source]) -> list[Sequence[Source]]:
    """The files in two parts of about as many bytes, in order."""
    sizes = np.cumsum([one.size for one in found])
    middle = int(np.searchsorted(sizes, sizes[-1] / 2)) + 1
    return [part for part in (found[:middle], found[middle:]) if part]


def _joined(pieces: Sequence[Records], measures: Sequence[str], rows: Callable[[], pl.DataFrame]) -> Lean:
    """Records one behind the other, cut into blocks."""
    blocks: list[list[Run]] = []
    values: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in measures}
    height, last = 0, (-1, -1)
    for piece in pieces:
        if (piece.runs[0].block_num, piece.first) <= last:
            raise NeedsRows  # their order is another than that of the files
        last = piece.runs[-1].block_num, piece.last
        height += piece.height
        for run in piece.runs:
            if not run.counts:
                continue
            for name in measures:
                values[name].append(piece.values[name][run.start : run.end])
            if blocks and blocks[-1][-1].block == run.block:
                blocks[-1].append(run)
            else:
                blocks.append([run])
    if not blocks:
        raise NeedsRows  # why none of them counts, they tell
    facts = Facts(
        kinds=[one[0].block_type for one in blocks],
        tasks=[one[0].task_name for one in blocks],
        subtypes=[one[0].block_subtype for one in blocks],
        numbers=[one[0].block_num for one in blocks],
        first=[one[0].task_params for one in blocks],
        last=[one[-1].task_params for one in blocks],
        labels=[one[0].task_name for one in blocks],
    )
    if not facts.plain:
        raise NeedsRows  # which parameters are noise, all rows tell
    times = [(one[0].times[0], one[-1].times[1]) for one in blocks]
    lengths = np.array([sum(run.end - run.start for run in one) for one in blocks], dtype=np.int64)
    columns = list(dict.fromkeys(name for piece in pieces for name in (*RULES, *piece.columns)))
    joined = {name: np.concatenate(some) for name, some in values.items()}
    return Lean(facts, times, lengths, joined, columns, height, rows)
