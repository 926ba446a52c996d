"""Sites where a learner learns: its learning blocks, alone or beside each other. `sites` has them with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from perdure.scenario.model import Block, Scenario
from perdure.scenario.variants import under
from perdure.scenario.walks import LIFETIME, Site, Walk, key_text, walked

__all__ = [
    "NEW_TASKS",
    "after_a_change",
    "between_learning_blocks",
    "each_learning_block",
    "each_task_learned",
    "first_learning_of_each",
    "learning_again_and_again",
    "learning_three_values",
    "timed_learning",
]

NEW_TASKS = 4
"""How many tasks have to be learned anew before a trend over them says anything."""


class _EachTaskLearned(Walk):
    """a task learned while awake"""

    def __init__(self) -> None:
        self.by_task: dict[str, list[int]] = {}

    def step(self, index: int, block: Block) -> Iterable[Site]:
        if block.mode == "learn" and block.subtype != "sleep":
            self.by_task.setdefault(block.task, []).append(index)
        return ()

    def end(self) -> Iterable[Site]:
        return (Site(task, {"learned": tuple(blocks)}) for task, blocks in self.by_task.items())


class _LearningAgainAndAgain(_EachTaskLearned):
    """a task learned at least three times while awake"""

    def end(self) -> Iterable[Site]:
        return (one for one in super().end() if len(one.blocks["learned"]) >= 3)


class _FirstLearningOfEach(_EachTaskLearned):
    """four tasks newly learned while awake"""

    def end(self) -> Iterable[Site]:
        first = tuple(blocks[0] for blocks in self.by_task.values())
        return (Site(LIFETIME, {"first": first}),) if len(first) >= NEW_TASKS else ()


class _BetweenLearningBlocks(Walk):
    """a task learned at least twice while awake"""

    def __init__(self) -> None:
        self.previous: dict[str, int] = {}

    def step(self, index: int, block: Block) -> Iterable[Site]:
        if block.mode != "learn" or block.subtype == "sleep":
            return ()
        previous = self.previous.get(block.task)
        self.previous[block.task] = index
        return () if previous is None else (Site(block.task, {"previous": (previous,), "later": (index,)}),)


each_task_learned = walked(_EachTaskLearned)
learning_again_and_again = walked(_LearningAgainAndAgain)
first_learning_of_each = walked(_FirstLearningOfEach)
between_learning_blocks = walked(_BetweenLearningBlocks)


def _only_variants_differ(sites: Callable[[Scenario], Iterator[Site]]) -> Callable[[Scenario], str | None]:
    """What is said where `sites` has none only because each variant is a task: which switch would give some."""

    def missing(scenario: Scenario) -> str | None:
        found = dict.fromkeys(key_text(site.key) for site in sites(under(scenario, "agnostic")))
        if not found:
            return None
        needs = (sites.__doc__ or "").partition("\n")[0]
        tasks = ", ".join(found)
        return f"needs {needs}; only the variants of {tasks} differ: --variants agnostic takes them for one task"

    return missing


vars(between_learning_blocks)["missing"] = _only_variants_differ(between_learning_blocks)
vars(learning_again_and_again)["missing"] = _only_variants_differ(learning_again_and_again)


class _EachLearningBlock(Walk):
    """a learning block"""

    def step(self, index: int, block: Block) -> Iterable[Site]:
        return (Site(block.task, {"learned": (index,)}),) if block.mode == "learn" else ()


class _LearningThreeValues(_EachLearningBlock):
    """a learning block of three or more experiences"""

    def step(self, index: int, block: Block) -> Iterable[Site]:
        return super().step(index, block) if block.length is None or block.length >= 3 else ()


class _Learning(Walk):
    """Every learning block."""

    def __init__(self) -> None:
        self.learned: list[int] = []

    def step(self, index: int, block: Block) -> Iterable[Site]:
        if block.mode == "learn":
            self.learned.append(index)
        return ()


class _AfterAChange(_Learning):
    """a learning block that follows one of another task, variant or parameter set"""

    def __init__(self) -> None:
        super().__init__()
        self.changed: list[int] = []
        self.last: Block | None = None

    def step(self, index: int, block: Block) -> Iterable[Site]:
        if block.mode == "learn":
            if self.last is not None and _lived(self.last) != _lived(block):
                self.changed.append(index)
            self.last = block
        return super().step(index, block)

    def end(self) -> Iterable[Site]:
        blocks = {"changed": tuple(self.changed), "learned": tuple(self.learned)}
        return (Site(LIFETIME, blocks),) if self.changed else ()


def _lived(block: Block) -> tuple[object, ...]:
    return block.task, block.variant, block.params


class _TimedLearning(_Learning):
    """a learning block of two or more experiences"""

    def __init__(self) -> None:
        super().__init__()
        self.timed = False

    def step(self, index: int, block: Block) -> Iterable[Site]:
        self.timed = self.timed or (block.mode == "learn" and (block.length or 2) >= 2)
        return super().step(index, block)

    def end(self) -> Iterable[Site]:
        return (Site(LIFETIME, {"learned": tuple(self.learned)}),) if self.timed else ()


each_learning_block = walked(_EachLearningBlock)
learning_three_values = walked(_LearningThreeValues)
after_a_change = walked(_AfterAChange)
timed_learning = walked(_TimedLearning)
