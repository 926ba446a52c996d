"""The cells of `bench/null.py`: lifetimes of a learner that neither forgets nor transfers, and its experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from perdure.scenario.compose import compose
from perdure.scenario.model import Scenario
from perdure.simulate.learner import NULL, IdealLearner, performance
from perdure.simulate.lifetimes import expert_scenario, learned_lengths

__all__ = ["CELLS", "Cell", "Drawn", "drawn"]

Array = npt.NDArray[np.float64]
TASKS: Mapping[str, tuple[str, ...]] = {
    "continual": ("a:x", "a:y", "a:z"),
    "ant-c": ("a:x", "a:y", "b:x", "b:y"),
}
LEARN = 90


class Cell(Struct, frozen=True, dict=True):
    """One null condition: groups of `lives` lifetimes, each with a different task order, and shared experts."""

    name: str
    layout: str = "condensed"
    learner: IdealLearner = NULL
    evaluate: int = 30
    bounds: tuple[float, float] | None = (0.0, 1.0)
    experts: tuple[int, ...] = (5,)
    """Experts per task; the tasks take the numbers in turn."""
    lengths: tuple[float, ...] = (1.0,)
    """Their length as a share of the lifetime's learning of the task; the experts take the shares in turn."""
    beside: IdealLearner | None = None
    """Learner of the experts. By default `learner`."""
    lives: int = 11

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Scenario of each lifetime of a group."""
        tasks = TASKS.get(self.layout, ("a", "b", "c"))
        return tuple(
            compose(self.layout, tasks, learn=LEARN, evaluate=self.evaluate, seed=number).scenario
            for number in range(self.lives)
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """Labels of the tasks."""
        return tuple(sorted(task.label for task in self.scenarios[0].tasks))


class Drawn(Struct, frozen=True):
    """Groups of a cell: `lives[i]` is lifetime i of every group, `experts[task][e]` expert e of every group."""

    cell: Cell
    lives: Sequence[Array]
    experts: Mapping[str, Sequence[Array]] = {}

    @property
    def groups(self) -> int:
        return len(self.lives[0])


def drawn(cell: Cell, groups: int, seed: int, part: int = 0) -> Drawn:
    """Draw `groups` groups. Cells that differ only in traits get the same random numbers."""
    rng = np.random.default_rng([seed, part, crc32(cell.layout.encode())])
    lives = [performance(cell.learner, scenario, groups, rng) for scenario in cell.scenarios]
    lengths = learned_lengths(cell.scenarios[0])
    experts = {
        task: [
            performance(
                cell.beside or cell.learner,
                expert_scenario(task, max(1, round(lengths[task] * cell.lengths[number % len(cell.lengths)]))),
                groups,
                rng,
            )
            for number in range(cell.experts[index % len(cell.experts)])
        ]
        for index, task in enumerate(cell.tasks)
    }
    return Drawn(cell, lives, experts)


def _cells() -> dict[str, Cell]:
    binary = NULL.but(noise=0.0, rewards="binary")
    kinds = {"normal": NULL, "binary": binary}
    cells: list[Cell] = []
    for layout in ("condensed", "dispersed"):
        for kind, learner in kinds.items():
            cells += [
                Cell(f"{layout}/{kind}/evaluate-{evaluate}", layout, learner, evaluate) for evaluate in (5, 10, 30, 100)
            ]
            plain = Cell("", layout, learner)
            for name, changed in {
                "bounds-none": replace(plain, bounds=None),
                "bounds-under": replace(plain, bounds=(0.15, 1.0)),
                "experts-1": replace(plain, experts=(1,)),
                "experts-2": replace(plain, experts=(2,)),
                "experts-3": replace(plain, experts=(3,)),
                "experts-10": replace(plain, experts=(10,)),
                "experts-3-5-10": replace(plain, experts=(3, 5, 10)),
                "experts-shorter": replace(plain, lengths=(0.5,)),
                "experts-longer": replace(plain, lengths=(2.0,)),
                "experts-mixed": replace(plain, lengths=(0.5, 1.0, 2.0)),
                "flat": replace(plain, learner=learner.but(saturation=learner.start)),
                "high-start": replace(plain, learner=learner.but(start=0.7)),
                "lives-5": replace(plain, lives=5),
                "lives-30": replace(plain, lives=30),
                "spread-by-life": replace(plain, learner=learner.but(by_task=False)),
                "spread-half": replace(plain, learner=learner.but(spread=0.5)),
                "failed-lives": replace(plain, learner=learner.but(failing=0.2, by_task=False)),
                "failing": replace(plain, learner=learner.but(failing=0.2)),
                "failing-experts-3": replace(plain, learner=learner.but(failing=0.2), experts=(3,)),
                "failing-experts-10": replace(plain, learner=learner.but(failing=0.2), experts=(10,)),
                "failing-lives-30": replace(plain, learner=learner.but(failing=0.2), lives=30),
            }.items():
                cells.append(replace(changed, name=f"{layout}/{kind}/{name}"))
    for layout in ("alternating", "permuted", "continual", "ant-a", "ant-b", "ant-c"):
        cells.extend(Cell(f"{layout}/{kind}", layout, learner) for kind, learner in kinds.items())
    return {cell.name: cell for cell in cells}


CELLS: Mapping[str, Cell] = _cells()
"""Return every cell by name: layout/rewards/difference."""
