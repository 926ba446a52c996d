"""Sites: the places in a scenario where a metric can be read.

Each function yields the sites of one kind. The first line of its docstring completes "the scenario needs …":
`perdure lint` and `perdure score` print it if there is no site.

If any evaluation block is a sleep block, only sleep evaluations count. Recovery and the comparison with experts
read wake learning blocks only.
"""

# ruff: noqa: D403 - the docstrings complete a sentence

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from perdure.scenario.model import Block, Scenario, apply_variants

Key = str | tuple[str, str]

LIFETIME = "whole lifetime"
"""The key of a site that is not about one task. No task label contains a space."""
NEW_TASKS = 4
"""The number of newly learned tasks that a trend over them needs."""


class Site(Struct, frozen=True):
    """A place where a metric is measured: a task or an ordered pair of tasks, and the blocks of each role.

    Attributes
    ----------
    key
        The task, the pair of tasks, or the lifetime.
    blocks
        Role → the indices of its blocks.
    flags
        Remarks about the value.
    """

    key: Key
    blocks: Mapping[str, tuple[int, ...]]
    flags: tuple[str, ...] = ()

    @property
    def task(self) -> str | None:
        """The task that is measured here (the second of a pair); None for the whole lifetime."""
        if isinstance(self.key, tuple):
            return self.key[1]
        return None if self.key == LIFETIME else self.key


@lru_cache(maxsize=1 << 14)  # thousands of lifetimes then share one text per key
def key_text(key: Key) -> str:
    """Return a task's label, or `a→b` for an ordered pair."""
    return key if isinstance(key, str) else "→".join(key)


def _visible(scenario: Scenario) -> Iterator[tuple[int, Block]]:
    """Yield each learning block and each evaluation that metrics read, with its index."""
    asleep = any(block.mode == "evaluate" and block.subtype == "sleep" for block in scenario.blocks)
    for index, block in enumerate(scenario.blocks):
        if block.mode != "probe" and (not asleep or block.mode == "learn" or block.subtype == "sleep"):
            yield index, block


def visible_evaluations(scenario: Scenario) -> tuple[int, ...]:
    """Return the evaluation blocks that metrics read: the sleep ones if there are any, else all."""
    return tuple(index for index, block in _visible(scenario) if block.mode == "evaluate")


# --- learning ------------------------------------------------------------------------------------


def each_learning_block(scenario: Scenario) -> Iterator[Site]:
    """a learning block"""
    for index in scenario.where("learn"):
        yield Site(scenario.blocks[index].task, {"learned": (index,)})


def learning_three_values(scenario: Scenario) -> Iterator[Site]:
    """a learning block of three or more experiences"""
    for index in scenario.where("learn"):
        block = scenario.blocks[index]
        if block.length is None or block.length >= 3:
            yield Site(block.task, {"learned": (index,)})


def timed_learning(scenario: Scenario) -> Iterator[Site]:
    """a learning block of two or more experiences"""
    learned = scenario.where("learn")
    if any((scenario.blocks[index].length or 2) >= 2 for index in learned):
        yield Site(LIFETIME, {"learned": learned})


def evaluation(scenario: Scenario) -> Iterator[Site]:
    """an evaluation"""
    if any(block.mode != "learn" for block in scenario.blocks):
        yield Site(LIFETIME, {})


def stream(scenario: Scenario) -> Iterator[Site]:
    """learning without evaluations, as in a stream that is scored row by row before it is learned"""
    learned = scenario.where("learn")
    if learned and not visible_evaluations(scenario):
        yield Site(LIFETIME, {"learned": learned})


def stream_changes(scenario: Scenario) -> Iterator[Site]:
    """learning without evaluations in two blocks or more"""
    for site in stream(scenario):
        for before, after in pairwise(site.blocks["learned"]):
            yield Site(scenario.blocks[after].task, {"before": (before,), "after": (after,)})


def after_a_change(scenario: Scenario) -> Iterator[Site]:
    """a learning block that follows one of another task, variant or parameter set"""
    learned = scenario.where("learn")
    content = [(block.task, block.variant, block.params) for block in (scenario.blocks[index] for index in learned)]
    changed = tuple(learned[n] for n in range(1, len(learned)) if content[n] != content[n - 1])
    if changed:
        yield Site(LIFETIME, {"changed": changed, "learned": learned})


def each_task_learned(scenario: Scenario) -> Iterator[Site]:
    """a task learned while awake"""
    by_task: dict[str, list[int]] = {}
    for index in scenario.where("learn"):
        block = scenario.blocks[index]
        if block.subtype != "sleep":
            by_task.setdefault(block.task, []).append(index)
    for task, blocks in by_task.items():
        yield Site(task, {"learned": tuple(blocks)})


def first_learning_of_each(scenario: Scenario) -> Iterator[Site]:
    """four tasks newly learned while awake"""
    first = tuple(site.blocks["learned"][0] for site in each_task_learned(scenario))
    if len(first) >= NEW_TASKS:
        yield Site(LIFETIME, {"first": first})


def learning_again_and_again(scenario: Scenario) -> Iterator[Site]:
    """a task learned at least three times while awake"""
    return (site for site in each_task_learned(scenario) if len(site.blocks["learned"]) >= 3)


def between_learning_blocks(scenario: Scenario, names: Mapping[str, str] | None = None) -> Iterator[Site]:
    """a task learned at least twice while awake

    Tasks with the same name in `names` count as one.
    """
    previous: dict[str, int] = {}
    for index in scenario.where("learn"):
        block = scenario.blocks[index]
        if block.subtype == "sleep":
            continue
        name = names[block.task] if names else block.task
        if name in previous:
            yield Site(block.task, {"previous": (previous[name],), "later": (index,)})
        previous[name] = index


def _suggest_agnostic(sites: Callable[[Scenario], Iterator[Site]]) -> Callable[[Scenario], str | None]:
    """Return a function that suggests `--variants agnostic` if that would give sites."""

    def missing(scenario: Scenario) -> str | None:
        keys = dict.fromkeys(key_text(site.key) for site in sites(apply_variants(scenario, "agnostic")))
        if not keys:
            return None
        tasks = ", ".join(keys)
        needs = (sites.__doc__ or "").partition("\n")[0]
        return f"needs {needs}; only the variants of {tasks} differ: --variants agnostic takes them for one task"

    return missing


vars(between_learning_blocks)["missing"] = _suggest_agnostic(between_learning_blocks)
vars(learning_again_and_again)["missing"] = _suggest_agnostic(learning_again_and_again)


# --- maintenance ---------------------------------------------------------------------------------


def since_learning(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated at least twice between two of its learning blocks, or after the last

    The first evaluation after a learning block is the reference of the later ones, and not a site itself.
    """
    learned: dict[str, int] = {}  # task → its most recent learning block
    reference: dict[str, int] = {}  # task → the first evaluation since then
    changes = 0  # how often the task being learned has changed so far
    changes_at: dict[str, int] = {}  # task → `changes` when it was last learned
    flags: dict[str, tuple[str, ...]] = {}
    current: str | None = None
    for index, block in _visible(scenario):
        task = block.task
        if block.mode == "learn":
            changes += task != current
            current = task
            learned[task] = index
            changes_at[task] = changes
            reference.pop(task, None)
        elif task in reference:
            blocks = {"evaluation": (index,), "reference": (reference[task],), "learning": (learned[task],)}
            yield Site(task, blocks, flags[task])
        elif task in learned:
            reference[task] = index
            between = changes != changes_at[task]
            flags[task] = ("another task was learned before the reference evaluation",) if between else ()


def since_learning_ended(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated at least twice between two of its learning blocks, or after the last

    The same places, compared with the end of the learning block: no other task is learned before that.
    """
    return (Site(site.key, site.blocks) for site in since_learning(scenario))


def worst_evaluations(scenario: Scenario) -> Iterator[Site]:
    """every learned task evaluated after it was last learned

    The evaluations of a task since then, probes of other tasks' learning included.
    """
    learning = {block.task: index for index, block in enumerate(scenario.blocks) if block.mode == "learn"}
    since: dict[str, list[int]] = {}
    current = ""
    visible = set(visible_evaluations(scenario)) if not _never_evaluated_again(scenario) else set()
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn":
            current = block.task
        elif index < learning.get(block.task, index):
            continue
        elif index in visible or (visible and block.mode == "probe" and block.task != current):
            since.setdefault(block.task, []).append(index)
    return (Site(task, {"evaluations": tuple(since[task])}) for task in learning if task in since)


def worst_evaluations_of_earlier(scenario: Scenario) -> Iterator[Site]:
    """every learned task evaluated after it was last learned, and two of them

    The same of all tasks but the one that is learned last.
    """
    learning = scenario.where("learn")
    last = scenario.blocks[learning[-1]].task if learning else None
    return (site for site in worst_evaluations(scenario) if site.key != last)


def across_a_switch(scenario: Scenario) -> Iterator[Site]:
    """a learned task evaluated before another is learned, and again inside that block (--evaluate-every)

    The first probe of each such block.
    """
    before: dict[str, int] = {}  # task → its last evaluation since it was learned
    learned: set[str] = set()
    waiting: set[str] = set()  # tasks whose next probe is the first of its block
    visible = set(visible_evaluations(scenario))
    for index, block in enumerate(scenario.blocks):
        if block.mode == "learn":
            learned.add(block.task)
            before.pop(block.task, None)
            waiting = set(before)
        elif block.mode == "probe" and block.task in waiting:
            waiting.remove(block.task)
            yield Site(block.task, {"before": (before[block.task],), "probe": (index,)})
        elif index in visible and block.task in learned:
            before[block.task] = index


# --- transfer ------------------------------------------------------------------------------------


class _Gap(NamedTuple):
    """Two consecutive evaluations of a task with learning between them."""

    task: str
    before: int
    after: int
    source: str | None
    """The task that was learned between them; None if there were several."""
    learned_before: bool
    """Whether the evaluated task itself was learned before the second evaluation."""


def _gaps(scenario: Scenario) -> Iterator[_Gap]:
    """Yield the gaps in the order of their second evaluation."""
    tasks: list[str] = []  # the task of each learning block
    changes: list[int] = []  # how often the learned task changed up to each learning block
    previous: dict[str, tuple[int, int]] = {}  # task → its last evaluation, the number of learning blocks before it
    learned: set[str] = set()
    for index, block in _visible(scenario):
        task = block.task
        if block.mode == "learn":
            changes.append(changes[-1] + (tasks[-1] != task) if tasks else 0)
            tasks.append(task)
            learned.add(task)
            continue
        before, count = previous.get(task, (-1, len(tasks)))
        previous[task] = index, len(tasks)
        if count < len(tasks):
            source = tasks[-1] if changes[count] == changes[-1] else None
            yield _Gap(task, before, index, source, task in learned)


def _transfers(scenario: Scenario, *, learned_before: bool) -> Iterator[Site]:
    for gap in _gaps(scenario):
        if gap.source is not None and gap.source != gap.task and gap.learned_before == learned_before:
            yield Site((gap.source, gap.task), {"before": (gap.before,), "after": (gap.after,)})


def around_learning_another(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated just before and just after one other task is learned, before it is learned itself"""
    return _transfers(scenario, learned_before=False)


def around_later_learning(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated just before and just after one other task is learned, once it has been learned itself"""
    return _transfers(scenario, learned_before=True)


class Confounded(Struct, frozen=True):
    """Two evaluations of a task between which several tasks were learned: no transfer can be attributed."""

    task: str
    before: int
    after: int
    learned: tuple[int, ...]
    """The learning blocks between them."""


def confounded(scenario: Scenario) -> Iterator[Confounded]:
    """Yield the places where transfer cannot be attributed because several tasks were learned in between."""
    learning = scenario.where("learn")
    for gap in _gaps(scenario):
        if gap.source is None:
            between = learning[bisect(learning, gap.before) : bisect(learning, gap.after)]
            yield Confounded(gap.task, gap.before, gap.after, between)


# --- evaluation ----------------------------------------------------------------------------------


def each_evaluation_block(scenario: Scenario) -> Iterator[Site]:
    """an evaluation block"""
    for index in visible_evaluations(scenario):
        yield Site(scenario.blocks[index].task, {"evaluation": (index,)})


def evaluations_of_learned(scenario: Scenario) -> Iterator[Site]:
    """a task evaluated once it has been learned"""
    learned: set[str] = set()
    for index, block in _visible(scenario):
        if block.mode == "learn":
            learned.add(block.task)
        elif block.task in learned:
            yield Site(block.task, {"evaluation": (index,)})


def last_evaluations(scenario: Scenario) -> Iterator[Site]:
    """a task that is evaluated"""
    last = {scenario.blocks[index].task: index for index in visible_evaluations(scenario)}
    for task in dict.fromkeys((*_learned(scenario), *last)):
        if task in last:
            yield Site(task, {"last": (last[task],)})


def final_evaluations(scenario: Scenario) -> Iterator[Site]:
    """every learned task evaluated after it was last learned"""
    if not _never_evaluated_again(scenario):
        last = {site.key: site for site in last_evaluations(scenario)}
        yield from (last[task] for task in _learned(scenario))


def _never_evaluated_again(scenario: Scenario) -> tuple[str, ...]:
    """Return the learned tasks without an evaluation after their last learning block."""
    learned = {block.task: index for index, block in enumerate(scenario.blocks) if block.mode == "learn"}
    last = {scenario.blocks[index].task: index for index in visible_evaluations(scenario)}
    return tuple(task for task, index in learned.items() if last.get(task, -1) < index)


def _name_unevaluated(scenario: Scenario) -> str | None:
    tasks = _never_evaluated_again(scenario)
    return f"needs an evaluation of {', '.join(tasks)} after the last learning" if tasks else None


vars(final_evaluations)["missing"] = _name_unevaluated
vars(worst_evaluations)["missing"] = _name_unevaluated
vars(worst_evaluations_of_earlier)["missing"] = _name_unevaluated


def last_evaluations_of_seen(scenario: Scenario) -> Iterator[Site]:
    """a task that is learned and evaluated"""
    learned = _learned(scenario)
    return (site for site in last_evaluations(scenario) if site.key in learned)


def last_evaluations_of_unseen(scenario: Scenario) -> Iterator[Site]:
    """a task that is evaluated and never learned"""
    learned = _learned(scenario)
    return (site for site in last_evaluations(scenario) if site.key not in learned)


def general_abilities(scenario: Scenario) -> Iterator[Site]:
    """a task never learned, evaluated before any learning and after the last"""
    learned = _learned(scenario)
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    learning = scenario.where("learn")
    for index in visible_evaluations(scenario) if learning else ():
        task = scenario.blocks[index].task
        if index < learning[0]:
            before[task] = index
        elif index > learning[-1]:
            after.setdefault(task, index)
    for task, first in before.items():
        if task in after and task not in learned:
            yield Site(task, {"first": (first,), "last": (after[task],)})


def _learned(scenario: Scenario) -> dict[Key, None]:
    """Return the learned tasks in the order of their first learning block."""
    return dict.fromkeys(block.task for block in scenario.blocks if block.mode == "learn")
