"""Sites: every place in a scenario where a metric can be read.

Each walks a scenario once, block by block. Its docstring completes "the scenario needs …", because
`perdure lint` and `perdure score` say exactly that where there is no site.

Wake and sleep: if any evaluation block is sleep, the metrics that read evaluations read only the
sleep ones. Recovery and the comparison with experts read wake learning blocks only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from perdure.scenario.learning_sites import (
    NEW_TASKS,
    after_a_change,
    between_learning_blocks,
    each_learning_block,
    each_task_learned,
    first_learning_of_each,
    learning_again_and_again,
    learning_three_values,
    timed_learning,
)
from perdure.scenario.model import Block, Scenario
from perdure.scenario.walks import LIFETIME, Key, Site, Walk, at_the_end, key_text, walked

__all__ = [
    "LIFETIME",
    "NEW_TASKS",
    "Confounded",
    "Key",
    "Site",
    "after_a_change",
    "around_learning_another",
    "around_learning_another_later",
    "between_learning_blocks",
    "confounded",
    "each_evaluation_block",
    "each_learning_block",
    "each_task_learned",
    "evaluations_of_learned",
    "first_learning_of_each",
    "key_text",
    "last_evaluations",
    "last_evaluations_of_seen",
    "last_evaluations_of_unseen",
    "learning_again_and_again",
    "learning_three_values",
    "since_learning",
    "since_learning_ended",
    "timed_learning",
    "visible_evaluations",
]


class Confounded(Struct, frozen=True):
    """Two evaluations of a task between which several tasks were learned: no transfer can be attributed."""

    task: str
    before: int
    after: int
    learned: tuple[int, ...]
    """The learning blocks between them."""


def visible_evaluations(scenario: Scenario) -> tuple[int, ...]:
    """The evaluation blocks that metrics read: the sleep ones where there are any, else all."""
    evaluations = scenario.where("evaluate")
    asleep = tuple(index for index in evaluations if scenario.blocks[index].subtype == "sleep")
    return asleep or evaluations


# --- maintenance ---------------------------------------------------------------------------------


class _SinceLearning(Walk):
    """a task evaluated at least twice between two of its learning blocks, or after the last

    The first evaluation after the learning block most recent to an evaluation is its reference,
    and no site itself.
    """

    stains = True
    """Whether another task learned before the reference is said."""

    def __init__(self) -> None:
        self.learned: dict[str, int] = {}  # task → its most recent learning block
        self.reference: dict[str, int] = {}  # task → the first evaluation since then
        self.changes = 0  # how often the task being learned has changed so far
        self.changes_at: dict[str, int] = {}  # task → `changes` when it was last learned
        self.stained: dict[str, bool] = {}
        self.last_learned: str | None = None

    def step(self, index: int, block: Block) -> Iterable[Site]:
        task = block.task
        if block.mode == "learn":
            self.changes += task != self.last_learned
            self.last_learned = task
            self.learned[task] = index
            self.changes_at[task] = self.changes
            self.reference.pop(task, None)
        elif task in self.learned:
            if task in self.reference:
                stained = self.stains and self.stained[task]
                flags = ("another task was learned before the reference evaluation",) if stained else ()
                learned, reference = self.learned[task], self.reference[task]
                blocks = {"evaluation": (index,), "reference": (reference,), "learning": (learned,)}
                return (Site(task, blocks, flags),)
            self.reference[task] = index
            self.stained[task] = self.changes != self.changes_at[task]
        return ()


class _SinceLearningEnded(_SinceLearning):
    """a task evaluated at least twice between two of its learning blocks, or after the last

    The same places, read against the end of the learning block, which no other task can stain.
    """

    stains = False


since_learning = walked(_SinceLearning)
since_learning_ended = walked(_SinceLearningEnded)


# --- transfer ------------------------------------------------------------------------------------


class _Gap(NamedTuple):
    """Two consecutive evaluations of a task and the learning blocks between them."""

    task: str
    before: int
    after: int
    first: int
    """Where the learning between them starts in `learning`."""
    last: int
    several: bool


class _Gaps(Walk):
    """Consecutive evaluations of one task with learning between them, in the order of the later one."""

    learned_before: bool | None = None
    """Whether the task has been learned itself; None where both count."""

    def __init__(self) -> None:
        self.learning: list[int] = []
        self.tasks: list[str] = []  # of these blocks
        self.runs: list[int] = []  # runs[k]: how often the learned task changed up to the k-th learning block
        self.previous: dict[str, tuple[int, int]] = {}  # task → its last evaluation, learning blocks before it
        self.learned: set[str] = set()

    def gap(self, index: int, block: Block) -> _Gap | None:
        if block.mode == "learn":
            changed = bool(self.tasks) and self.tasks[-1] != block.task
            self.runs.append((self.runs[-1] if self.runs else 0) + changed)
            self.learning.append(index)
            self.tasks.append(block.task)
            self.learned.add(block.task)
            return None
        task, learned = block.task, len(self.learning)
        before, count = self.previous.get(task, (-1, learned))
        self.previous[task] = (index, learned)
        if count == learned or self.learned_before not in (None, task in self.learned):
            return None
        return _Gap(task, before, index, count, learned, self.runs[count] != self.runs[-1])


class _Transfers(_Gaps):
    learned_before = False

    def step(self, index: int, block: Block) -> Iterable[Site]:
        gap = self.gap(index, block)
        if gap is None or gap.several:
            return ()
        source = self.tasks[gap.first]
        if source == gap.task:
            return ()
        return (Site((source, gap.task), {"before": (gap.before,), "after": (gap.after,)}),)


class _AroundLearningAnother(_Transfers):
    """a task evaluated just before and just after one other task is learned, before it is learned itself"""


class _AroundLearningAnotherLater(_Transfers):
    """a task evaluated just before and just after one other task is learned, once it has been learned itself"""

    learned_before = True


around_learning_another = walked(_AroundLearningAnother)
around_learning_another_later = walked(_AroundLearningAnotherLater)


class _Several(_Gaps):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Confounded] = []

    def step(self, index: int, block: Block) -> Iterable[Site]:
        gap = self.gap(index, block)
        if gap is not None and gap.several:
            between = tuple(self.learning[gap.first : gap.last])
            self.found.append(Confounded(gap.task, gap.before, gap.after, between))
        return ()


def confounded(scenario: Scenario) -> Iterator[Confounded]:
    """The places where transfer cannot be attributed, because several tasks were learned in between."""
    yield from at_the_end(_Several, scenario).found


# --- evaluation ----------------------------------------------------------------------------------


class _EachEvaluationBlock(Walk):
    """an evaluation block"""

    def step(self, index: int, block: Block) -> Iterable[Site]:
        return (Site(block.task, {"evaluation": (index,)}),) if block.mode == "evaluate" else ()


class _EvaluationsOfLearned(_EachEvaluationBlock):
    """a task evaluated once it has been learned"""

    def __init__(self) -> None:
        self.learned: set[str] = set()

    def step(self, index: int, block: Block) -> Iterable[Site]:
        if block.mode == "learn":
            self.learned.add(block.task)
        return super().step(index, block) if block.task in self.learned else ()


class _LastEvaluations(Walk):
    """a task that is evaluated"""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.learned: dict[str, None] = {}

    def step(self, index: int, block: Block) -> Iterable[Site]:
        if block.mode == "learn":
            self.learned[block.task] = None
        else:
            self.last[block.task] = index
        return ()

    def end(self) -> Iterable[Site]:
        ordered = dict.fromkeys((*self.learned, *self.last))
        return (Site(task, {"last": (self.last[task],)}) for task in ordered if task in self.last)


class _LastEvaluationsOfSeen(_LastEvaluations):
    """a task that is learned and evaluated"""

    def end(self) -> Iterable[Site]:
        return (site for site in super().end() if site.key in self.learned)


class _LastEvaluationsOfUnseen(_LastEvaluations):
    """a task that is evaluated and never learned"""

    def end(self) -> Iterable[Site]:
        return (site for site in super().end() if site.key not in self.learned)


class _GeneralAbilities(Walk):
    """a task never learned, evaluated before any learning and after the last"""

    def __init__(self) -> None:
        self.before: dict[str, int] = {}
        self.after: dict[str, int] = {}
        self.learned: set[str] = set()

    def step(self, index: int, block: Block) -> Iterable[Site]:
        if block.mode == "learn":
            self.learned.add(block.task)
            self.after.clear()
        elif self.learned:
            self.after.setdefault(block.task, index)
        else:
            self.before[block.task] = index
        return ()

    def end(self) -> Iterable[Site]:
        return (
            Site(task, {"first": (first,), "last": (self.after[task],)})
            for task, first in self.before.items()
            if task in self.after and task not in self.learned
        )


each_evaluation_block = walked(_EachEvaluationBlock)
evaluations_of_learned = walked(_EvaluationsOfLearned)
last_evaluations = walked(_LastEvaluations)
last_evaluations_of_seen = walked(_LastEvaluationsOfSeen)
last_evaluations_of_unseen = walked(_LastEvaluationsOfUnseen)
general_abilities = walked(_GeneralAbilities)
