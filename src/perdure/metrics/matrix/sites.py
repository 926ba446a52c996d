"""Where the accuracy-matrix metrics are read: places in the matrix, and the cells a formula names there.

Rows and columns count from 0, as in `perdure.metrics.matrix.cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from perdure.metrics.matrix.cells import RELEARNED, SINCE, Cell, Evaluations, evaluations_of
from perdure.scenario.model import Scenario
from perdure.scenario.sites import LIFETIME, Key, Site

__all__ = [
    "AccuracySites",
    "ahead_of_learning",
    "at_the_end",
    "changes_of_old",
    "changes_of_unseen",
    "first_task",
    "histories",
    "later_stages",
    "new_tasks",
    "old_pairs",
    "old_tasks",
    "once_learned",
    "remembered",
    "remembered_and_last",
    "seen_pairs",
    "stages",
    "unseen_pairs",
    "whole_history",
    "whole_lives",
]


class AccuracySites:
    """Where an accuracy-matrix metric is read: its places, and the cells that its formula names at each.

    A mean over some of its cells would be another metric; so there are sites only where every cell
    is there, and `missing` names the first that is not.
    """

    scaled = False
    """Formulas read evaluations as measured: a task whose values never change counts like any other."""

    def __init__(
        self,
        needs: str,
        places: Callable[[int], Iterator[Cell | int | None]],
        cells: Callable[[int, Any], Iterator[Cell]],
        least: int = 1,
    ) -> None:
        """`places` and `cells` take the number of tasks; `least` is how many must be learned."""
        self.__doc__ = needs
        self._places = places
        self._cells = cells
        self._least = least

    def __call__(self, scenario: Scenario) -> Iterator[Site]:
        found = evaluations_of(scenario)
        if self._absent(found) is not None:
            return
        count = len(found.tasks)
        flags = (RELEARNED,) if found.relearned else ()
        for place in self._places(count):
            cells = self._cells(count, place)
            blocks = dict.fromkeys(block for cell in cells for block in found.blocks(cell))
            yield Site(_key(found.tasks, place), {"at": tuple(blocks)}, flags)

    def missing(self, scenario: Scenario) -> str | None:
        """Why there is no site, with the cell that is missing; None where there are sites."""
        return self._absent(evaluations_of(scenario))

    def _absent(self, found: Evaluations) -> str | None:
        count = len(found.tasks)
        if count < self._least:
            wanted = "two learned tasks" if self._least == 2 else "a learned task"
            return f"needs {wanted} (found {count})"
        for place in self._places(count):
            for cell in self._cells(count, place):
                if not found.blocks(cell):
                    return found.name(cell)
        return None


def _key(tasks: tuple[str, ...], place: Cell | int | None) -> Key:
    """A row's or column's task; for a cell the pair of what was learned and what was evaluated."""
    if place is None:
        return LIFETIME
    if isinstance(place, int):
        return tasks[place]
    row, column = place
    return tasks[column], tasks[row]


def _every(count: int) -> Iterator[int]:
    yield from range(count)


def _but_last(count: int) -> Iterator[int]:
    yield from range(count - 1)


def _but_first(count: int) -> Iterator[int]:
    yield from range(1, count)


def _whole(_count: int) -> Iterator[None]:
    yield None


def _pairs_from_learning(count: int) -> Iterator[Cell]:
    yield from ((row, column) for row in range(count) for column in range(row, count))


def _pairs_after(count: int) -> Iterator[Cell]:
    yield from ((row, column) for row in range(count) for column in range(row + 1, count))


def _pairs_before(count: int) -> Iterator[Cell]:
    yield from ((row, column) for row in range(count) for column in range(row))


def _final(count: int, row: int) -> Iterator[Cell]:
    yield row, count - 1


def _learned(_count: int, row: int) -> Iterator[Cell]:
    yield row, row


def _learned_and_final(count: int, row: int) -> Iterator[Cell]:
    yield row, row
    yield row, count - 1


def _just_before(_count: int, row: int) -> Iterator[Cell]:
    yield row, row - 1


def _since(count: int, row: int) -> Iterator[Cell]:
    yield from ((row, column) for column in range(row, count))


def _seen(_count: int, column: int) -> Iterator[Cell]:
    yield from ((row, column) for row in range(column + 1))


def _first_task(_count: int, column: int) -> Iterator[Cell]:
    yield 0, column


def _now(_count: int, pair: Cell) -> Iterator[Cell]:
    yield pair


def _now_and_learned(_count: int, pair: Cell) -> Iterator[Cell]:
    yield pair[0], pair[0]
    yield pair


def _now_and_previous(_count: int, pair: Cell) -> Iterator[Cell]:
    yield pair[0], pair[1] - 1
    yield pair


def _all_since(count: int, _place: None) -> Iterator[Cell]:
    yield from (cell for row in range(count - 1) for cell in _since(count, row))


def _any_since(_count: int, row: int) -> Iterator[Cell]:
    yield row, SINCE


def _any_since_and_last(count: int, _place: None) -> Iterator[Cell]:
    yield from ((row, SINCE) for row in range(count - 1))
    yield count - 1, count - 1


_AT_THE_END = "every learned task evaluated after the last is learned"
_ONCE_LEARNED = "every learned task evaluated once it is learned, before the next is"
_OLD_TASKS = "two learned tasks, all but the last evaluated once learned and after the last is learned"
_NEW_TASKS = "two learned tasks, all but the first evaluated once learned, before the next is"
_HISTORY = "two learned tasks, all but the last evaluated after each task that is learned, their own on"
_ALL_SEEN = "every task learned so far evaluated after each task that is learned"

at_the_end = AccuracySites(_AT_THE_END, _every, _final)
once_learned = AccuracySites(_ONCE_LEARNED, _every, _learned)
old_tasks = AccuracySites(_OLD_TASKS, _but_last, _learned_and_final, least=2)
new_tasks = AccuracySites(_NEW_TASKS, _but_first, _learned, least=2)
histories = AccuracySites(_HISTORY, _but_last, _since, least=2)
whole_lives = AccuracySites(_ALL_SEEN, _every, _since)
stages = AccuracySites(_ALL_SEEN, _every, _seen)
later_stages = AccuracySites(f"two learned tasks, and {_ALL_SEEN}, the second on", _but_first, _seen, least=2)
ahead_of_learning = AccuracySites(
    "two learned tasks, all but the first evaluated just before they are learned", _but_first, _just_before, least=2
)
first_task = AccuracySites(
    "two learned tasks, the first evaluated after each of the others is learned", _but_first, _first_task, least=2
)
seen_pairs = AccuracySites(_ALL_SEEN, _pairs_from_learning, _now)
old_pairs = AccuracySites(_HISTORY, _pairs_after, _now_and_learned, least=2)
changes_of_old = AccuracySites(_HISTORY, _pairs_after, _now_and_previous, least=2)
whole_history = AccuracySites(_HISTORY, _whole, _all_since, least=2)
unseen_pairs = AccuracySites(
    "two learned tasks, all but the first evaluated after each task that is learned before them",
    _pairs_before,
    _now,
    least=2,
)
changes_of_unseen = AccuracySites(
    "two learned tasks, all but the first evaluated before any learning and after each task learned before them",
    _pairs_before,
    _now_and_previous,
    least=2,
)
remembered = AccuracySites(
    "two learned tasks, all but the last evaluated after they are learned", _but_last, _any_since, least=2
)
remembered_and_last = AccuracySites(
    "two learned tasks, each evaluated after it is learned", _whole, _any_since_and_last, least=2
)
