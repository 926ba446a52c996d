"""Sites: every place in a scenario where a metric can be read.

Each generator walks a scenario once. Its docstring completes "the scenario needs …", because
`perdure lint` and `perdure score` say exactly that where there is no site.

Wake and sleep: if any evaluation block is sleep, the metrics that read evaluations read only the
sleep ones. Recovery and the comparison with experts read wake learning blocks only.
"""

# ruff: noqa: D403 - the docstrings of sites complete "the scenario needs …"

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from perdure.scenario.model import Block, Scenario
from perdure.scenario.variants import under

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

Key = str | tuple[str, str]

LIFETIME = "whole lifetime"
"""The key of a site that is not about one task; no task label holds a space."""

NEW_TASKS = 4
"""How many tasks have to be learned anew before a trend over them says anything."""


@dataclass(frozen=True, slots=True)
class Site:
    """One place where a metric can be read: a task or an ordered pair, and the blocks by role."""

    key: Key
    blocks: Mapping[str, tuple[int, ...]] = field(hash=False)
    flags: tuple[str, ...] = ()
    """What a reader of the value should know about this place, in words."""

    @property
    def task(self) -> str | None:
        """The task that is measured here (the second of a pair); None for the whole lifetime."""
        if isinstance(self.key, tuple):
            return self.key[1]
        return None if self.key == LIFETIME else self.key


@dataclass(frozen=True)
class Confounded:
    """Two evaluations of a task between which several tasks were learned: no transfer can be attributed."""

    task: str
    before: int
    after: int
    learned: tuple[int, ...]
    """The learning blocks between them."""


@lru_cache(maxsize=1 << 14)  # the same text for the same key: many lives carry it
def key_text(key: Key) -> str:
    """A task's label, or `a→b` for an ordered pair."""
    return key if isinstance(key, str) else "→".join(key)


def visible_evaluations(scenario: Scenario) -> tuple[int, ...]:
    """The evaluation blocks that metrics read: the sleep ones where there are any, else all."""
    evaluations = scenario.where("evaluate")
    asleep = tuple(index for index in evaluations if scenario.blocks[index].subtype == "sleep")
    return asleep or evaluations


# --- maintenance ---------------------------------------------------------------------------------


def since_learning(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated at least twice between two of its learning blocks, or after the last

    The first evaluation after the learning block most recent to an evaluation is its reference,
    and no site itself.
    """
    visible = set(visible_evaluations(scenario))
    learned: dict[str, int] = {}  # task → its most recent learning block
    reference: dict[str, int] = {}  # task → the first evaluation since then
    changes = 0  # how often the task being learned has changed so far
    changes_at: dict[str, int] = {}  # task → `changes` when it was last learned
    stained: dict[str, bool] = {}
    last_learned: str | None = None
    for index, block in enumerate(scenario.blocks):
        task = block.task
        if block.mode == "learn":
            changes += task != last_learned
            last_learned = task
            learned[task] = index
            changes_at[task] = changes
            reference.pop(task, None)
        elif index in visible and task in learned:
            if task not in reference:
                reference[task] = index
                stained[task] = changes != changes_at[task]
                continue
            flags = ("another task was learned before the reference evaluation",) if stained[task] else ()
            yield Site(
                task, {"evaluation": (index,), "reference": (reference[task],), "learning": (learned[task],)}, flags
            )


def since_learning_ended(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated at least twice between two of its learning blocks, or after the last

    The same places, read against the end of the learning block, which no other task can stain.
    """
    return (Site(site.key, site.blocks) for site in since_learning(scenario))


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
    learned_before: bool


def _gaps(scenario: Scenario) -> Iterator[tuple[_Gap, list[int]]]:
    """Consecutive evaluations of one task with learning between them, in the order of the later one."""
    visible = set(visible_evaluations(scenario))
    learning: list[int] = []
    runs: list[int] = []  # runs[k]: how often the learned task changed up to the k-th learning block
    previous: dict[str, tuple[int, int]] = {}  # task → its last evaluation, learning blocks before it
    learned: set[str] = set()
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn":
            changed = bool(learning) and scenario.blocks[learning[-1]].task != block.task
            runs.append((runs[-1] if runs else 0) + changed)
            learning.append(index)
            learned.add(block.task)
        elif index in visible:
            if block.task in previous:
                before, count = previous[block.task]
                if count < len(learning):
                    yield (
                        _Gap(
                            block.task,
                            before,
                            index,
                            count,
                            len(learning),
                            runs[count] != runs[-1],
                            block.task in learned,
                        ),
                        learning,
                    )
            previous[block.task] = (index, len(learning))


def _transfers(scenario: Scenario, learned_before: bool) -> Iterator[Site]:
    for gap, learning in _gaps(scenario):
        source = scenario.blocks[learning[gap.first]].task
        if gap.several or source == gap.task or gap.learned_before != learned_before:
            continue
        yield Site((source, gap.task), {"before": (gap.before,), "after": (gap.after,)})


def around_learning_another(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated just before and just after one other task is learned, before it is learned itself"""
    return _transfers(scenario, learned_before=False)


def around_learning_another_later(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated just before and just after one other task is learned, once it has been learned itself"""
    return _transfers(scenario, learned_before=True)


def confounded(scenario: Scenario) -> Iterator[Confounded]:
    """The places where transfer cannot be attributed, because several tasks were learned in between."""
    for gap, learning in _gaps(scenario):
        if gap.several:
            yield Confounded(gap.task, gap.before, gap.after, tuple(learning[gap.first : gap.last]))


# --- learning ------------------------------------------------------------------------------------


def _learning_by_task(scenario: Scenario, *, wake_only: bool) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn" and not (wake_only and block.subtype == "sleep"):
            found.setdefault(block.task, []).append(index)
    return found


def each_task_learned(scenario: Scenario) -> Iterator[Site]:
    """a task learned while awake"""
    for task, blocks in _learning_by_task(scenario, wake_only=True).items():
        yield Site(task, {"learned": tuple(blocks)})


def between_learning_blocks(scenario: Scenario) -> Iterator[Site]:
    """a task learned at least twice while awake"""
    for task, blocks in _learning_by_task(scenario, wake_only=True).items():
        for previous, later in pairwise(blocks):
            yield Site(task, {"previous": (previous,), "later": (later,)})


def learning_again_and_again(scenario: Scenario) -> Iterator[Site]:
    """a task learned at least three times while awake"""
    for task, blocks in _learning_by_task(scenario, wake_only=True).items():
        if len(blocks) >= 3:
            yield Site(task, {"learned": tuple(blocks)})


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


def each_learning_block(scenario: Scenario) -> Iterator[Site]:
    """a learning block"""
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn":
            yield Site(block.task, {"learned": (index,)})


def learning_three_values(scenario: Scenario) -> Iterator[Site]:
    """a learning block of three or more experiences"""
    for site in each_learning_block(scenario):
        length = scenario.blocks[site.blocks["learned"][0]].length
        if length is None or length >= 3:
            yield site


def after_a_change(scenario: Scenario) -> Iterator[Site]:
    """a learning block that follows one of another task, variant or parameter set"""
    learning = scenario.where("learn")
    changed = tuple(
        later
        for earlier, later in pairwise(learning)
        if _lived(scenario.blocks[earlier]) != _lived(scenario.blocks[later])
    )
    if changed:
        yield Site(LIFETIME, {"changed": changed, "learned": learning})


def _lived(block: Block) -> tuple[object, ...]:
    return block.task, block.variant, block.params


def first_learning_of_each(scenario: Scenario) -> Iterator[Site]:
    """four tasks newly learned while awake"""
    first = tuple(blocks[0] for blocks in _learning_by_task(scenario, wake_only=True).values())
    if len(first) >= NEW_TASKS:
        yield Site(LIFETIME, {"first": first})


def timed_learning(scenario: Scenario) -> Iterator[Site]:
    """a learning block of two or more experiences"""
    learning = scenario.where("learn")
    if any((scenario.blocks[index].length or 2) >= 2 for index in learning):
        yield Site(LIFETIME, {"learned": learning})


# --- evaluation ----------------------------------------------------------------------------------


def each_evaluation_block(scenario: Scenario) -> Iterator[Site]:
    """an evaluation block"""
    for index in visible_evaluations(scenario):
        yield Site(scenario.blocks[index].task, {"evaluation": (index,)})


def evaluations_of_learned(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated once it has been learned"""
    visible = set(visible_evaluations(scenario))
    learned: set[str] = set()
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn":
            learned.add(block.task)
        elif index in visible and block.task in learned:
            yield Site(block.task, {"evaluation": (index,)})


def last_evaluations(scenario: Scenario) -> Iterator[Site]:
    """a task that is evaluated"""
    last = {scenario.blocks[index].task: index for index in visible_evaluations(scenario)}
    for task in scenario.tasks:
        if task.label in last:
            yield Site(task.label, {"last": (last[task.label],)})


def last_evaluations_of_seen(scenario: Scenario) -> Iterator[Site]:
    """a task that is learned and evaluated"""
    learned = {block.task for block in scenario.blocks if block.mode == "learn"}
    return (site for site in last_evaluations(scenario) if site.key in learned)


def last_evaluations_of_unseen(scenario: Scenario) -> Iterator[Site]:
    """a task that is evaluated and never learned"""
    learned = {block.task for block in scenario.blocks if block.mode == "learn"}
    return (site for site in last_evaluations(scenario) if site.key not in learned)


def general_abilities(scenario: Scenario) -> Iterator[Site]:
    """a task never learned, evaluated before any learning and after the last"""
    learning = [index for index, block in enumerate(scenario.blocks) if block.mode == "learn"]
    if not learning:
        return
    learned = {scenario.blocks[index].task for index in learning}
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for index in visible_evaluations(scenario):
        task = scenario.blocks[index].task
        if index < learning[0]:
            before[task] = index
        elif index > learning[-1]:
            after.setdefault(task, index)
    for task, first in before.items():
        if task in after and task not in learned:
            yield Site(task, {"first": (first,), "last": (after[task],)})
