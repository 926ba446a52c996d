"""Layouts: ways to arrange tasks into a lifetime.

Each layout is a function from a request to phases. A phase is the learning between two evaluations, and the evaluation
after it. `continual` and `ant-*` have no evaluation before the first learning, as in the 2019 framework.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure.errors import ScenarioError
from perdure.scenario.model import Task

if TYPE_CHECKING:
    import numpy as np


class Request(Struct, frozen=True):
    """The arguments of a layout. Lengths are experiences per task variant."""

    tasks: tuple[Task, ...]
    learn: int
    evaluate: int
    superblocks: int
    seed: int
    rng: np.random.Generator


class Phase(Struct, frozen=True):
    """The tasks learned between two evaluations with their lengths, and the tasks evaluated after them."""

    learned: tuple[tuple[Task, int], ...]
    evaluated: tuple[Task, ...]


class Layout(Struct, frozen=True):
    """A named way to arrange tasks into a lifetime. `phases` start with the evaluation before learning, if any."""

    name: str
    learned: str
    """The learned tasks and their order, in words."""
    evaluated: str
    """The evaluated tasks and the times of evaluation, in words."""
    phases: Callable[[Request], Iterator[Phase]]
    scenario_type: str
    """The `scenario_type` of its syllabi and logs."""
    in_rounds: bool
    """Whether it uses `superblocks`."""

    @property
    def summary(self) -> str:
        """A description in one line."""
        return f"{self.learned[0].upper()}{self.learned[1:]}. Evaluated: {self.evaluated}."


LAYOUTS: dict[str, Layout] = {}
"""Every layout by name, in the order in which help and pages list them."""

_AROUND = "all, before, between and after"


def layout(
    name: str, learned: str, evaluated: str, *, scenario_type: str | None = None, in_rounds: bool = False
) -> Callable[[Callable[[Request], Iterator[Phase]]], Callable[[Request], Iterator[Phase]]]:
    """Declare the decorated function as a layout. Help, pages, schemas and lint derive from the declaration."""

    def declared(phases: Callable[[Request], Iterator[Phase]]) -> Callable[[Request], Iterator[Phase]]:
        LAYOUTS[name] = Layout(name, learned, evaluated, phases, scenario_type or name, in_rounds)
        return phases

    return declared


@layout("condensed", "every variant once, in one random order", _AROUND)
def _condensed(request: Request) -> Iterator[Phase]:
    yield Phase((), request.tasks)
    for task in _shuffled(request.tasks, request.rng):
        yield Phase(((task, request.learn),), request.tasks)


@layout(
    "dispersed", "superblocks, each a fresh order of all variants and a share of their lengths", _AROUND, in_rounds=True
)
def _dispersed(request: Request) -> Iterator[Phase]:
    yield Phase((), request.tasks)
    seen: set[tuple[Task, ...]] = set()
    for length in _shares(request):
        order = _shuffled(request.tasks, request.rng)
        while order in seen and len(seen) < math.factorial(len(order)):
            order = _shuffled(request.tasks, request.rng)
        seen.add(order)
        for task in order:
            yield Phase(((task, length),), request.tasks)


@layout("alternating", "one random order, gone through once per superblock", _AROUND, in_rounds=True)
def _alternating(request: Request) -> Iterator[Phase]:
    yield Phase((), request.tasks)
    order = _shuffled(request.tasks, request.rng)
    for length in _shares(request):
        for task in order:
            yield Phase(((task, length),), request.tasks)


@layout(
    "permuted", "as condensed, in the order whose number is the seed: n! seeds in a row cover every order once", _AROUND
)
def _permuted(request: Request) -> Iterator[Phase]:
    yield Phase((), request.tasks)
    for task in _nth_order(request.tasks, request.seed):
        yield Phase(((task, request.learn),), request.tasks)


@layout("continual", "the variants of one task, one after the other", "all, after each", scenario_type="CL")
def _continual(request: Request) -> Iterator[Phase]:
    names = _names(request.tasks)
    if len(names) != 1 or len(request.tasks) < 2:
        raise ScenarioError(
            f"continual learning needs one task in two or more variants (found: {_join_labels(request.tasks)})",
            "name them as in pong:narrow and pong:wide",
        )
    for task in _shuffled(request.tasks, request.rng):
        yield Phase(((task, request.learn),), request.tasks)


@layout("ant-a", "several tasks", "those learned so far, after each", scenario_type="ANT-A")
def _ant_a(request: Request) -> Iterator[Phase]:
    _check_adapting(request, "ant-a")
    order = _shuffled(request.tasks, request.rng)
    for position, task in enumerate(order):
        yield Phase(((task, request.learn),), order[: position + 1])


@layout("ant-b", "several tasks", "all, after each", scenario_type="ANT-B")
def _ant_b(request: Request) -> Iterator[Phase]:
    _check_adapting(request, "ant-b")
    for task in _shuffled(request.tasks, request.rng):
        yield Phase(((task, request.learn),), request.tasks)


@layout("ant-c", "several tasks, the variants of each together", "all, after each task", scenario_type="ANT-C")
def _ant_c(request: Request) -> Iterator[Phase]:
    if request.evaluate < 1:
        raise ScenarioError("ant-c needs evaluations", "set evaluate to 1 or more")
    names = _names(request.tasks)
    variants = {name: tuple(task for task in request.tasks if task.name == name) for name in names}
    if len(names) < 2 or any(len(group) < 2 for group in variants.values()):
        raise ScenarioError(
            f"ant-c needs two or more tasks, each in two or more variants (found: {_join_labels(request.tasks)})",
            "name them as in pong:narrow and pong:wide",
        )
    for position in request.rng.permutation(len(names)):
        group = _shuffled(variants[names[position]], request.rng)
        yield Phase(tuple((task, request.learn) for task in group), request.tasks)


@layout("single", "one variant alone, as an expert learns it", "it, before and after", scenario_type="ste")
def _single(request: Request) -> Iterator[Phase]:
    if len(request.tasks) != 1:
        raise ScenarioError(
            f"an expert learns one task variant, not {len(request.tasks)} ({_join_labels(request.tasks)})", "name one"
        )
    yield Phase((), request.tasks)
    yield Phase(((request.tasks[0], request.learn),), request.tasks)


def _shuffled(tasks: tuple[Task, ...], rng: np.random.Generator) -> tuple[Task, ...]:
    return tuple(tasks[position] for position in rng.permutation(len(tasks)))


def _nth_order(tasks: tuple[Task, ...], number: int) -> tuple[Task, ...]:
    """Return the `number`-th of all orders, in lexicographic order; numbers beyond the last start over."""
    rest, order = list(tasks), []
    number %= math.factorial(len(tasks))
    while rest:
        position, number = divmod(number, math.factorial(len(rest) - 1))
        order.append(rest.pop(position))
    return tuple(order)


def _shares(request: Request) -> tuple[int, ...]:
    """Return a variant's length in each superblock. The first ones get the remainder."""
    if request.learn < request.superblocks:
        raise ScenarioError(
            f"learn {request.learn} cannot be divided among {request.superblocks} superblocks",
            "raise it, or ask for fewer superblocks",
        )
    share, remainder = divmod(request.learn, request.superblocks)
    return tuple(share + (position < remainder) for position in range(request.superblocks))


def _check_adapting(request: Request, layout: str) -> None:
    if len(request.tasks) < 2 or len(_names(request.tasks)) != len(request.tasks):
        raise ScenarioError(
            f"{layout} needs two or more different tasks in one variant each (found: {_join_labels(request.tasks)})",
            "name them as in pong and breakout",
        )
    if request.evaluate < 1:
        raise ScenarioError(f"{layout} needs evaluations", "set evaluate to 1 or more")


def _names(tasks: Iterable[Task]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task.name for task in tasks))


def _join_labels(tasks: Iterable[Task]) -> str:
    return ", ".join(task.label for task in tasks) or "none"
