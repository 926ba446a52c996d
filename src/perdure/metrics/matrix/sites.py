"""Where the accuracy-matrix metrics are read: places in the matrix, and the cells a formula names there.

Rows and columns count from 0, as in `perdure.metrics.matrix.cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from perdure.metrics.matrix.cells import RELEARNED, SINCE, Cell, Evaluations, evaluations_of
from perdure.scenario.model import Scenario
from perdure.scenario.sites import LIFETIME, Key, Site


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
        places: Callable[[int], Iterable[Cell | int | None]],
        cells: Callable[[int, Any], Iterable[Cell]],
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


def _all_but_last(count: int) -> range:
    return range(count - 1)


def _all_but_first(count: int) -> range:
    return range(1, count)


def _whole(_count: int) -> Iterable[None]:
    return (None,)


def _pairs_since_learning(count: int) -> Iterable[Cell]:
    return ((row, column) for row in range(count) for column in range(row, count))


def _pairs_after_learning(count: int) -> Iterable[Cell]:
    return ((row, column) for row in range(count) for column in range(row + 1, count))


def _pairs_before_learning(count: int) -> Iterable[Cell]:
    return ((row, column) for row in range(count) for column in range(row))


def _learned(_count: int, row: int) -> Iterable[Cell]:
    return ((row, row),)


def _since_learning(count: int, row: int) -> Iterable[Cell]:
    return ((row, column) for column in range(row, count))


def _seen(_count: int, column: int) -> Iterable[Cell]:
    return ((row, column) for row in range(column + 1))


def _now(_count: int, pair: Cell) -> Iterable[Cell]:
    return (pair,)


def _now_and_previous(_count: int, pair: Cell) -> Iterable[Cell]:
    row, column = pair
    return (row, column - 1), pair


_HISTORY = "two learned tasks, all but the last evaluated after each task that is learned, their own on"
_ALL_SEEN = "every task learned so far evaluated after each task that is learned"

at_the_end = AccuracySites(
    "every learned task evaluated after the last is learned", range, lambda count, row: ((row, count - 1),)
)
once_learned = AccuracySites("every learned task evaluated once it is learned, before the next is", range, _learned)
old_tasks = AccuracySites(
    "two learned tasks, all but the last evaluated once learned and after the last is learned",
    _all_but_last,
    lambda count, row: ((row, row), (row, count - 1)),
    least=2,
)
new_tasks = AccuracySites(
    "two learned tasks, all but the first evaluated once learned, before the next is",
    _all_but_first,
    _learned,
    least=2,
)
histories = AccuracySites(_HISTORY, _all_but_last, _since_learning, least=2)
whole_lives = AccuracySites(_ALL_SEEN, range, _since_learning)
stages = AccuracySites(_ALL_SEEN, range, _seen)
later_stages = AccuracySites(f"two learned tasks, and {_ALL_SEEN}, the second on", _all_but_first, _seen, least=2)
ahead_of_learning = AccuracySites(
    "two learned tasks, all but the first evaluated just before they are learned",
    _all_but_first,
    lambda _count, row: ((row, row - 1),),
    least=2,
)
first_task = AccuracySites(
    "two learned tasks, the first evaluated after each of the others is learned",
    _all_but_first,
    lambda _count, column: ((0, column),),
    least=2,
)
seen_pairs = AccuracySites(_ALL_SEEN, _pairs_since_learning, _now)
old_pairs = AccuracySites(_HISTORY, _pairs_after_learning, lambda _count, pair: ((pair[0], pair[0]), pair), least=2)
changes_of_old = AccuracySites(_HISTORY, _pairs_after_learning, _now_and_previous, least=2)
whole_history = AccuracySites(
    _HISTORY,
    _whole,
    lambda count, _: (cell for row in range(count - 1) for cell in _since_learning(count, row)),
    least=2,
)
unseen_pairs = AccuracySites(
    "two learned tasks, all but the first evaluated after each task that is learned before them",
    _pairs_before_learning,
    _now,
    least=2,
)
changes_of_unseen = AccuracySites(
    "two learned tasks, all but the first evaluated before any learning and after each task learned before them",
    _pairs_before_learning,
    _now_and_previous,
    least=2,
)
remembered = AccuracySites(
    "two learned tasks, all but the last evaluated after they are learned",
    _all_but_last,
    lambda _count, row: ((row, SINCE),),
    least=2,
)
remembered_and_last = AccuracySites(
    "two learned tasks, each evaluated after it is learned",
    _whole,
    lambda count, _: (*((row, SINCE) for row in range(count - 1)), (count - 1, count - 1)),
    least=2,
)
