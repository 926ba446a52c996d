"""Task, Block, Scenario: what a learner goes through, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from perdure.errors import ScenarioError
from perdure.results import Shown
from perdure.text import plural

# A task's name may become a folder's; it must not lead anywhere.
LONGEST_NAME = 1000
"""Characters of a task name, which messages and tables repeat."""
UNSAFE_PATH = r"(?:^|[\\/])\.\.(?:[\\/]|$)"

Mode = Literal["learn", "evaluate"]
Subtype = Literal["wake", "sleep"]


class Task(Struct, frozen=True):
    """A capability to be learned, in one variant; `label` is how a log writes it."""

    name: str
    variant: str = ""
    env: str | None = None
    params: Mapping[str, Any] = {}
    bounds: tuple[float, float] | None = None

    def __hash__(self) -> int:
        return hash((self.name, self.variant, self.env, self.bounds))  # parameters are a dict

    @property
    def label(self) -> str:
        """`pong_wide`; a task without variants is its bare name."""
        return f"{self.name}_{self.variant}" if self.variant else self.name

    @classmethod
    def parse(cls, label: str) -> Task:
        """The task that a log calls `label`: the variant is what follows the last underscore, if anything does."""
        name, _, variant = label.rpartition("_")
        return cls(name, variant) if name and variant else cls(label)


class Block(Struct, frozen=True):
    """Consecutive experiences of one mode and one task variant.

    `length` counts experiences, and is None where a block's length is given in steps.
    `group` is L2Logger's `block_num`, which may gather several blocks into one evaluation.
    `variant` is the label of what was lived where that is not the task, because variants are taken for one.
    """

    mode: Mode
    task: str
    length: int | None
    params: Mapping[str, Any] = {}
    subtype: Subtype = "wake"
    group: int = 0
    variant: str = ""

    def __hash__(self) -> int:
        return hash((self.mode, self.task, self.length, self.subtype, self.group, self.variant))


class Scenario(Shown, Struct, frozen=True):
    """The sequence of blocks of one life, and the tasks that occur in it.

    Task names fold case when a scenario is made; `tasks` stand in the order of their first
    learning block, then never-learned tasks by their first evaluation.
    """

    name: str
    tasks: tuple[Task, ...]
    blocks: tuple[Block, ...]
    info: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        return hash((self.name, self.tasks, self.blocks))

    def __repr__(self) -> str:
        return f"Scenario({self.name!r}, {self.counted})"

    @property
    def counted(self) -> str:
        """How many tasks and blocks it has, in words."""
        learned = len(self.where("learn"))
        evaluated = plural(len(self.blocks) - learned, "evaluation block")
        return f"{plural(len(self.tasks), 'task')}, {plural(learned, 'learning block')}, {evaluated}"

    @classmethod
    def of(
        cls,
        name: str,
        blocks: Iterable[Block],
        tasks: Iterable[Task] = (),
        info: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """A scenario from its blocks; what `tasks` does not describe is read off the labels."""
        folded = tuple(_folded(block) for block in blocks)
        described: dict[str, Task] = {}
        for task in tasks:
            label = task.label.lower()
            if label in described:
                raise ScenarioError(f"task {label!r} is described twice", "give one of them another variant")
            described[label] = Task(task.name.lower(), task.variant.lower(), task.env, task.params, task.bounds)
        order = dict.fromkeys(block.task for block in folded if block.mode == "learn")
        order.update(dict.fromkeys(block.task for block in folded))
        return cls(
            name,
            tuple(described.get(label) or Task.parse(label) for label in order),
            folded,
            dict(info or {}),
        )

    def where(self, mode: Mode | None = None, task: str | None = None) -> tuple[int, ...]:
        """The indices of the blocks of this mode and this task, in order."""
        return tuple(
            index
            for index, block in enumerate(self.blocks)
            if (mode is None or block.mode == mode) and (task is None or block.task == task)
        )

    @property
    def learning_experiences(self) -> int:
        """How many experiences are learned from (blocks counted in steps add none)."""
        return sum(block.length or 0 for block in self.blocks if block.mode == "learn")

    @property
    def evaluation_experiences(self) -> int:
        """How many experiences are evaluations (blocks counted in steps add none)."""
        return sum(block.length or 0 for block in self.blocks if block.mode == "evaluate")


def _folded(block: Block) -> Block:
    label = block.task.lower()
    if label == block.task:
        return block
    return Block(block.mode, label, block.length, block.params, block.subtype, block.group, block.variant)
