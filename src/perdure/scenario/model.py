"""Task, Block and Scenario as plain data, and the variants that count as tasks when a lifetime is scored."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import ScenarioError, UnknownNameError
from perdure.results import Shown
from perdure.scenario.parameters import set_text
from perdure.text import plural

# A task's name may become a folder's; it must not lead anywhere.
LONGEST_NAME = 1000
"""Characters of a task name, which messages and tables repeat."""
UNSAFE_PATH = r"(?:^|[\\/])\.\.(?:[\\/]|$)"

Mode = Literal["learn", "evaluate", "probe"]
"""A probe is an evaluation inside a learning block."""
Subtype = Literal["wake", "sleep"]
Fact = Literal["task", "boundary", "mode"]
FACTS: tuple[Fact, ...] = ("task", "boundary", "mode")
"""Facts that a learner may know: the task, where blocks begin and end, and whether it is evaluated."""


class Task(Struct, frozen=True):
    """A capability to be learned, in one variant. `label` is its name in logs.

    Attributes
    ----------
    name
        Name without the variant.
    variant
        Name of the variant, if there is one.
    env
        Environment that runs it, as in the syllabus.
    params
        Parameters of the environment.
    bounds
        Lowest and highest value of the measure, if known beforehand.
    """

    name: str
    variant: str = ""
    env: str | None = None
    params: Mapping[str, Any] = {}
    bounds: tuple[float, float] | None = None

    def __hash__(self) -> int:
        return hash((self.name, self.variant, self.env, self.bounds))  # parameters are a dict

    @property
    def label(self) -> str:
        """Name in logs, such as `pong_wide`; without a variant, the name of the task."""
        return f"{self.name}_{self.variant}" if self.variant else self.name

    @classmethod
    def parse(cls, label: str) -> Task:
        """Return the task with this label: the variant is the text after the last underscore, if there is any."""
        name, _, variant = label.rpartition("_")
        return cls(name, variant) if name and variant else cls(label)


class Block(Struct, frozen=True):
    """Consecutive experiences of one mode and one task variant.

    Attributes
    ----------
    mode
        ``"learn"``, ``"evaluate"``, or ``"probe"`` for an evaluation inside a learning block.
    task
        Label of the task variant.
    length
        Number of experiences. None if the length is given in steps.
    params
        Parameters of the task in this block.
    subtype
        ``"wake"`` or ``"sleep"``.
    group
        L2Logger's `block_num`, which may combine several blocks into one evaluation.
    variant
        Label in the log, if variants count as one task.
    inside
        For a probe of a scored lifetime, the number of experiences of the learning block before it.
    """

    mode: Mode
    task: str
    length: int | None
    params: Mapping[str, Any] = {}
    subtype: Subtype = "wake"
    group: int = 0
    variant: str = ""
    inside: int = 0

    def __hash__(self) -> int:
        return hash((self.mode, self.task, self.length, self.subtype, self.group, self.variant))


class Scenario(Shown, Struct, frozen=True):
    """Blocks of one lifetime in order, and their tasks.

    Names of tasks are folded to lower case. `Scenario.of` makes a scenario from its blocks.

    Attributes
    ----------
    name
        Name of the scenario.
    tasks
        Tasks in the order of their first learning block, then tasks that are only evaluated.
    blocks
        Blocks in order.
    info
        Further facts, such as the scenario type.
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
        """The number of tasks and blocks, in words."""
        modes = Counter(self.blocks[group[0]].mode for group in self.joined_pieces())
        probes = f", {plural(modes['probe'], 'probe')}" if modes["probe"] else ""
        learned = f"{plural(len(self.tasks), 'task')}, {plural(modes['learn'], 'learning block')}"
        return f"{learned}, {plural(modes['evaluate'], 'evaluation block')}{probes}"

    @classmethod
    def of(
        cls,
        name: str,
        blocks: Iterable[Block],
        tasks: Iterable[Task] = (),
        info: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """Return a scenario from its blocks. Tasks that `tasks` does not describe are parsed from their labels."""
        folded = tuple(_fold(block) for block in blocks)
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
        """Return the indices of the blocks of this mode and this task, in order."""
        return tuple(
            index
            for index, block in enumerate(self.blocks)
            if (mode is None or block.mode == mode) and (task is None or block.task == task)
        )

    def joined_pieces(self) -> list[list[int]]:
        """Return the blocks of each block as it is scored; see the function of this name."""
        return joined_pieces([(block.mode, block.task, block.subtype) for block in self.blocks])

    def joined(self) -> Scenario:
        """Return the scenario as it is scored: the pieces of a learning block are one, and its probes follow it."""
        if not self.where("probe"):
            return self
        groups = [[self.blocks[index] for index in group] for group in self.joined_pieces()]
        return replace(self, blocks=tuple(replace(group[0], length=_total_length(group)) for group in groups))

    @property
    def learning_experiences(self) -> int:
        """Number of learning experiences; blocks measured in steps add none."""
        return sum(block.length or 0 for block in self.blocks if block.mode == "learn")

    @property
    def evaluation_experiences(self) -> int:
        """Number of evaluation experiences; blocks measured in steps add none."""
        return sum(block.length or 0 for block in self.blocks if block.mode != "learn")


def joined_pieces(kinds: Sequence[tuple[str, str, str]]) -> list[list[int]]:
    """Return the indices of each block as it is scored, from the mode, task and subtype of each block as run.

    Learning blocks of one task with only probes between them are pieces of one block. Its probes follow it, so that
    without them the lifetime is the one that was not probed.
    """
    groups: list[list[int]] = []
    probes: list[list[int]] = []
    for index, kind in enumerate(kinds):
        if kind[0] == "probe":
            probes.append([index])
        elif probes and probes[-1] == [index - 1] and groups and kinds[groups[-1][0]] == kind and kind[0] == "learn":
            groups[-1].append(index)
        else:
            groups += [*probes, [index]]
            probes = []
    return groups + probes


def _total_length(blocks: Sequence[Block]) -> int | None:
    lengths = [block.length for block in blocks]
    return None if None in lengths else sum(length or 0 for length in lengths)


def _fold(block: Block) -> Block:
    label = block.task.lower()
    return block if label == block.task else replace(block, task=label)


# --- variants ------------------------------------------------------------------------------------


VariantMode = Literal["name", "params", "agnostic"]
"""What is a task: the label as logged, the label with its parameter set, or the task without its variant."""
Variants = Literal["name", "params", "agnostic", "aware"]
"""The values of the option; `aware` is a synonym of `name`."""


def variant_mode(word: str) -> VariantMode:
    """Return the mode that an option's value means."""
    if word not in get_args(Variants):
        raise UnknownNameError("variants", word, get_args(Variants))
    return "name" if word == "aware" else cast("VariantMode", word)


def numbered_labels(label: str, taken: Collection[str]) -> Iterator[str]:
    """Yield `label_v1`, `label_v2`, … without the names that are taken."""
    return (name for number in itertools.count(1) if (name := f"{label}_v{number}") not in taken)


def apply_variants(scenario: Scenario, variants: Variants) -> Scenario:
    """Return the scenario as it is scored if variants count in this way.

    Blocks that become one task become one block only if a log would give them one number.
    """
    match variant_mode(variants):
        case "params":
            return _by_params(scenario)
        case "agnostic":
            return _agnostic(scenario)
    return scenario


def _by_params(scenario: Scenario) -> Scenario:
    sets: dict[str, dict[str, Block]] = {}
    for block in scenario.blocks:
        sets.setdefault(block.task, {}).setdefault(set_text(block.params), block)
    several = {label: by_text for label, by_text in sets.items() if len(by_text) > 1}
    if not several:
        return scenario
    unchanged = sets.keys() - several.keys()
    names = {
        label: dict(zip(by_text, numbered_labels(label, unchanged), strict=False)) for label, by_text in several.items()
    }
    tasks = [task for task in scenario.tasks if task.label in unchanged]
    for label, by_text in several.items():
        env = next(task.env for task in scenario.tasks if task.label == label)
        tasks += [
            Task(label, names[label][text][len(label) + 1 :], env, block.params) for text, block in by_text.items()
        ]
    blocks = [
        replace(block, task=names[block.task][set_text(block.params)]) if block.task in several else block
        for block in scenario.blocks
    ]
    return Scenario.of(scenario.name, blocks, tasks, scenario.info)


def _agnostic(scenario: Scenario) -> Scenario:
    names = {task.label: task.name for task in scenario.tasks}
    blocks: list[Block] = []
    for block in scenario.blocks:
        name = names[block.task]
        bare = replace(block, task=name, variant=block.task if block.task != name else "")
        last = blocks[-1] if blocks else None
        if last and _block_number(last) == _block_number(bare):
            both = None if last.length is None or bare.length is None else last.length + bare.length
            params = last.params if last.params == bare.params else {}
            blocks[-1] = replace(last, length=both, params=params, variant=last.variant)
        else:
            blocks.append(bare)
    tasks = {task.name: Task(task.name, env=task.env) for task in reversed(scenario.tasks)}
    return Scenario.of(scenario.name, blocks, tasks.values(), scenario.info)


def _block_number(block: Block) -> tuple[object, ...]:
    return block.group, block.mode, block.subtype, block.task
