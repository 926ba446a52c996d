"""The standard preset against the definitions said a second time, as plainly as possible.

Nothing of Perdure but the scenario's blocks and the raw values is used here: smoothing, ranges,
sites and formulas are written again with loops, sentence by sentence from the definitions. What is
compared with experts stands in `test_independent_model` and `test_against_definitions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from statistics import fmean, median

import numpy as np
import pytest

from perdure.gather.survey import score
from perdure.log.model import Lifetime
from perdure.metrics.contract import lifetime_of, random_blocks
from perdure.scenario.model import Block


def smoothed(values: list[float]) -> list[float]:
    width = min(len(values) // 5, 100)
    if width < 3:
        return values

    def mirrored(at: int) -> float:
        return values[-at if at < 0 else 2 * (len(values) - 1) - at if at >= len(values) else at]

    if width % 2:
        reach = width // 2
        return [fmean(mirrored(at + step) for step in range(-reach, reach + 1)) for at in range(len(values))]
    half = width // 2
    left = [fmean(mirrored(at + step) for step in range(-half, half)) for at in range(len(values))]
    right = [fmean(mirrored(at + step) for step in range(-half + 1, half + 1)) for at in range(len(values))]
    return [(one + other) / 2 for one, other in zip(left, right, strict=True)]


@dataclass
class Plain:
    """A life as lists."""

    blocks: list[Block]
    values: list[list[float]]
    raw: list[list[float]]
    experts: dict[str, list[list[float]]]
    constant: set[str]

    @classmethod
    def of(cls, life: Lifetime, experts: list[Lifetime]) -> Plain:
        def cut(one: Lifetime) -> tuple[list[Block], list[list[float]]]:
            found = one.passage()
            spans = zip(found.starts[:-1], found.starts[1:], strict=True)
            return list(found.scenario.blocks), [found.values[a:b].tolist() for a, b in spans]

        blocks, raw = cut(life)
        ready = [smoothed(one) if block.mode == "learn" else one for block, one in zip(blocks, raw, strict=True)]
        curves: dict[str, list[list[float]]] = {}
        for expert in experts:
            theirs, measured = cut(expert)
            curves.setdefault(theirs[0].task, []).append([value for one in measured for value in smoothed(one)])
        pooled: dict[str, list[float]] = {}
        for block, one in zip(blocks, ready, strict=True):
            pooled.setdefault(block.task, []).extend(one)
        for task in pooled:
            pooled[task] += [value for curve in curves.get(task, []) for value in curve]
        low, high = ({task: choose(one) for task, one in pooled.items()} for choose in (min, max))
        constant = {task for task in pooled if high[task] - low[task] <= 1e-12 * max(abs(high[task]), abs(low[task]))}

        def scale(task: str, one: list[float]) -> list[float]:
            if task in constant:
                return [1.0] * len(one)
            return [100 * (value - low[task]) / (high[task] - low[task]) + 1 for value in one]

        return cls(
            blocks,
            [scale(block.task, one) for block, one in zip(blocks, ready, strict=True)],
            [scale(block.task, one) for block, one in zip(blocks, raw, strict=True)],
            {task: [scale(task, curve) for curve in found] for task, found in curves.items() if task in pooled},
            constant,
        )

    def seen(self) -> list[int]:
        evaluations = [at for at, block in enumerate(self.blocks) if block.mode == "evaluate"]
        asleep = [at for at in evaluations if self.blocks[at].subtype == "sleep"]
        return asleep or evaluations

    def learning(self, task: str | None = None, awake: bool = False) -> list[int]:
        return [
            at
            for at, block in enumerate(self.blocks)
            if block.mode == "learn" and task in (None, block.task) and not (awake and block.subtype == "sleep")
        ]

    def tasks(self) -> list[str]:
        return list(dict.fromkeys(block.task for block in self.blocks))

    def terminal(self, at: int) -> float:
        return fmean(self.values[at][9 * len(self.values[at]) // 10 :])


def maintenance(life: Plain) -> Iterator[tuple[str, float]]:
    for at in life.seen():
        task = life.blocks[at].task
        before = [block for block in life.learning(task) if block < at]
        if before:
            reference = min(one for one in life.seen() if life.blocks[one].task == task and one > before[-1])
            if reference != at:
                yield task, fmean(life.values[at]) - fmean(life.values[reference])


def maintenance_terminal(life: Plain) -> Iterator[tuple[str, float]]:
    for at in life.seen():
        task = life.blocks[at].task
        before = [block for block in life.learning(task) if block < at]
        if before and min(one for one in life.seen() if life.blocks[one].task == task and one > before[-1]) != at:
            yield task, fmean(life.values[at]) - life.terminal(before[-1])


def transfers(life: Plain, already: bool) -> Iterator[tuple[str, float]]:
    for after in life.seen():
        task = life.blocks[after].task
        earlier = [one for one in life.seen() if one < after and life.blocks[one].task == task]
        if not earlier:
            continue
        before = earlier[-1]
        sources = {life.blocks[one].task for one in life.learning() if before < one < after}
        learned = any(one < after for one in life.learning(task))
        if len(sources) == 1 and task not in sources and learned == already:
            top, bottom = fmean(life.values[after]), fmean(life.values[before])
            yield f"{sources.pop()}→{task}", top / bottom


def first_reach(curve: list[float], target: float) -> int | None:
    reached = [at for at, value in enumerate(curve) if value >= target - 1e-9 * max(1, abs(target))]
    return reached[0] if reached else None


def recoveries(life: Plain) -> Iterator[tuple[str, int, int, int | None]]:
    for task in life.tasks():
        blocks = life.learning(task, awake=True)
        for previous, later in pairwise(blocks):
            yield task, previous, later, first_reach(life.values[later], life.terminal(previous))


def recovery_times(life: Plain) -> Iterator[tuple[str, float]]:
    for task, _, later, time in recoveries(life):
        yield task, len(life.values[later]) + 1 if time is None else time


def droops(life: Plain) -> Iterator[tuple[str, float]]:
    for task, previous, later, _ in recoveries(life):
        yield task, life.terminal(previous) - fmean(life.raw[later][: max(1, len(life.raw[later]) // 10)])


def recovery_slopes(life: Plain) -> Iterator[tuple[str, float]]:
    by_task: dict[str, list[float]] = {}
    for task, time in recovery_times(life):
        by_task.setdefault(task, []).append(time)
    for task, times in by_task.items():
        if len(times) > 1:
            pairs = [(a, b) for a in range(len(times)) for b in range(a + 1, len(times))]
            yield task, -median((times[b] - times[a]) / (b - a) for a, b in pairs)


def gains(life: Plain) -> Iterator[tuple[str, float]]:
    stats = pytest.importorskip("scipy.stats")
    for at in life.learning():
        values = life.raw[at]
        if len(values) >= 3:
            fit = stats.linregress(range(len(values)), values) if max(values) > min(values) else None
            task = life.blocks[at].task
            yield task, 0.0 if fit is None or fit.pvalue >= 0.05 else float(np.sign(fit.slope))


def learning_means(life: Plain) -> Iterator[tuple[str, float]]:
    yield from ((life.blocks[at].task, fmean(life.values[at])) for at in life.learning())


def evaluation_means(life: Plain) -> Iterator[tuple[str, float]]:
    yield from ((life.blocks[at].task, fmean(life.values[at])) for at in life.seen())


def over_tasks(by: dict[str, list[float]]) -> float:
    return fmean(fmean(values) for values in by.values())


def geometric(by: dict[str, list[float]]) -> float:
    return exp(fmean(log(values[0]) for values in by.values()))


def flat(by: dict[str, list[float]]) -> float:
    return fmean(value for values in by.values() for value in values)


SAID_AGAIN = {
    "performance_maintenance": (maintenance, over_tasks),
    "performance_maintenance_terminal": (maintenance_terminal, over_tasks),
    "forward_transfer": (lambda life: transfers(life, already=False), geometric),
    "backward_transfer": (lambda life: transfers(life, already=True), geometric),
    "recovery_time": (recovery_times, over_tasks),
    "performance_recovery": (recovery_slopes, over_tasks),
    "droop": (droops, over_tasks),
    "cumulative_gain": (gains, flat),
    "mean_learning_performance": (learning_means, over_tasks),
    "mean_evaluation_performance": (evaluation_means, over_tasks),
}


@pytest.mark.parametrize("seed", range(60))
def test_the_standard_preset_is_the_definitions_said_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    life = lifetime_of(random_blocks(rng), rng)
    experts = [
        lifetime_of(
            [Block("learn", task.label, int(rng.integers(2, 60)), group=g) for g in range(2)], rng, name=f"e{number}"
        )
        for number, task in enumerate(life.scenario.tasks)
        for _ in range(rng.integers(0, 3))
    ]
    made, plain = score(life, experts), Plain.of(life, experts)
    for name, (values_of, combine) in SAID_AGAIN.items():
        by: dict[str, list[float]] = {}
        for key, value in values_of(plain):
            by.setdefault(key, []).append(value)
        found = made.metrics[name]
        assert {key: values for key, values in found.by.items() if values}.keys() == by.keys(), name
        for key, values in by.items():
            assert found.by[key] == pytest.approx(values, rel=1e-9, abs=1e-9), (name, key)
        counted = {key: values for key, values in by.items() if key.rpartition("→")[2] not in plain.constant}
        expected = combine(counted) if counted else None
        assert found.value == (pytest.approx(expected, rel=1e-9, abs=1e-9) if expected is not None else None), name
