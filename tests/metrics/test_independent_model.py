"""A second model of the default preset, in plain loops, written from the definitions and not from the code.

The two must agree on random lifetimes of every shape: that is the law the numbers are held to.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, log
from statistics import mean, median
from typing import Any

import polars as pl
import pytest

from perdure.gather.survey import score
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS

TINY = 1e-9


@dataclass
class Part:
    """A block as the model sees it."""

    kind: str
    subtype: str
    task: str
    rows: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    unsmoothed: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def terminal(self) -> float:
        return mean(self.values[9 * len(self.values) // 10 :])


def parts_of(rows: list[dict[str, Any]]) -> list[Part]:
    """Rows that count, cut into blocks, one value per experience, learning blocks smoothed."""
    found: list[Part] = []
    before: tuple[Any, ...] | None = None
    for row in sorted(rows, key=lambda one: (one["block_num"], one["exp_num"], one["worker_id"])):
        if row["exp_status"] != "complete" or row["reward"] is None:
            continue
        key = (row["block_num"], row["block_type"], row["block_subtype"], row["task_name"])
        if key != before:
            found.append(Part(row["block_type"], row["block_subtype"], row["task_name"]))
            before = key
        found[-1].rows[row["exp_num"]].append(row["reward"])
    for part in found:
        part.unsmoothed = [mean(values) for _, values in sorted(part.rows.items())]
        part.values = smoothed(part.unsmoothed) if part.kind == "train" else list(part.unsmoothed)
    return found


def smoothed(values: list[float]) -> list[float]:
    """Definitions §2.1: a centred flat window of a fifth of the block, edges by reflection."""
    count = len(values)
    width = min(count // 5, 100)
    if width < 3:
        return list(values)

    def at(index: int) -> float:
        return values[-index if index < 0 else index if index < count else 2 * (count - 1) - index]

    half = width // 2
    if width % 2:
        return [sum(at(here + shift) for shift in range(-half, half + 1)) / width for here in range(count)]
    return [
        (sum(at(here + shift) for shift in range(1 - half, half)) + at(here - half) / 2 + at(here + half) / 2) / width
        for here in range(count)
    ]


class Model:
    """One lifetime and its experts, scaled per task; each method is a row of the definitions' table."""

    def __init__(self, rows: list[dict[str, Any]], experts: list[list[dict[str, Any]]]) -> None:
        self.parts = parts_of(rows)
        self.experts: dict[str, list[list[Part]]] = defaultdict(list)
        for one in experts:
            learned = [part for part in parts_of(one) if part.kind == "train"]
            self.experts[learned[0].task].append(learned)
        first_learned = [part.task for part in self.parts if part.kind == "train"]
        self.tasks = list(dict.fromkeys(first_learned + [part.task for part in self.parts]))
        self.constant = set()
        self.span: dict[str, tuple[float, float]] = {}
        for task in self.tasks:
            own = [part for part in self.parts if part.task == task]
            theirs = [part for expert in self.experts[task] for part in expert]
            pooled = [value for part in own + theirs for value in part.values]
            self.span[task] = low, high = min(pooled), max(pooled)
            if high == low:
                self.constant.add(task)
            for part in own + theirs:
                part.measured = part.unsmoothed
                part.values, part.unsmoothed = self.scaled(task, part.values), self.scaled(task, part.unsmoothed)
        sleeps = any(part.kind == "test" and part.subtype == "sleep" for part in self.parts)
        self.seen = [
            index
            for index, part in enumerate(self.parts)
            if part.kind == "test" and (not sleeps or part.subtype == "sleep")
        ]

    def scaled(self, task: str, values: list[float]) -> list[float]:
        low, high = self.span[task]
        return [100 * (one - low) / (high - low) + 1 if high > low else 1.0 for one in values]

    def evaluations(self, task: str) -> list[int]:
        return [index for index in self.seen if self.parts[index].task == task]

    def learnings(self, task: str, *, wake: bool = False) -> list[int]:
        return [
            index
            for index, part in enumerate(self.parts)
            if part.kind == "train" and part.task == task and not (wake and part.subtype == "sleep")
        ]

    def worth(self, index: int) -> float:
        return mean(self.parts[index].values)

    def over_tasks(self, values: dict[str, list[float]]) -> float | None:
        counted = [mean(some) for task, some in values.items() if some and task not in self.constant]
        return mean(counted) if counted else None

    def maintenance(self, *, terminal: bool) -> float | None:
        found: dict[str, list[float]] = defaultdict(list)
        for task in self.tasks:
            for here in self.evaluations(task):
                learned = [index for index in self.learnings(task) if index < here]
                if not learned:
                    continue
                reference = next(index for index in self.evaluations(task) if index > learned[-1])
                if reference != here:
                    base = self.parts[learned[-1]].terminal() if terminal else self.worth(reference)
                    found[task].append(self.worth(here) - base)
        return self.over_tasks(found)

    def transfer(self, *, backward: bool, contrast: bool) -> float | None:
        pairs: dict[tuple[str, str], float] = {}
        for task in self.tasks:
            if task in self.constant:
                continue
            evaluations = self.evaluations(task)
            for before, after in pairwise(evaluations):
                between = [index for index in range(before, after) if self.parts[index].kind == "train"]
                sources = {self.parts[index].task for index in between}
                if len(sources) != 1 or task in sources:
                    continue
                if any(index < between[0] for index in self.learnings(task)) != backward:
                    continue
                then, now = self.worth(before), self.worth(after)
                pairs.setdefault((sources.pop(), task), (now - then) / (now + then) if contrast else log(now / then))
        if not pairs:
            return None
        return mean(pairs.values()) if contrast else exp(mean(pairs.values()))

    def beside_experts(self) -> tuple[float | None, float | None]:
        """RP and SE: joined as measured, cut to the shorter, then smoothed once, then scaled."""
        performance: dict[str, list[float]] = defaultdict(list)
        efficiency: dict[str, list[float]] = defaultdict(list)
        for task in self.tasks:
            own = [one for index in self.learnings(task, wake=True) for one in self.parts[index].measured]
            pairs = []
            for expert in self.experts[task]:
                theirs = [one for part in expert if part.subtype == "wake" for one in part.measured]
                cut = min(len(own), len(theirs))
                if cut:
                    pairs.append([self.scaled(task, smoothed(some[:cut])) for some in (own, theirs)])
            if not pairs:
                continue
            target = 0.0
            for part, weight in ((first_tenth, 0.1), (last_tenth, 0.9)):
                learner = mean(part(mine) for mine, _ in pairs)
                target += weight * mean([learner, *(part(other) for _, other in pairs)])
            for mine, other in pairs:
                performance[task].append(log(max(1, mean(mine)) / max(1, mean(other))))
                height = max(1, last_tenth(mine)) / max(1, last_tenth(other))
                efficiency[task].append(log(height * reached(other, target) / reached(mine, target)))
        return self.geometric(performance), self.geometric(efficiency)

    def geometric(self, values: dict[str, list[float]]) -> float | None:
        found = self.over_tasks(values)
        return None if found is None else exp(found)

    def recoveries(self) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        times: dict[str, list[float]] = defaultdict(list)
        droops: dict[str, list[float]] = defaultdict(list)
        for task in self.tasks:
            learned = self.learnings(task, wake=True)
            for before, later in pairwise(learned):
                target, values = self.parts[before].terminal(), self.parts[later].values
                reached = [at for at, one in enumerate(values) if one >= target - TINY * max(1, abs(target))]
                times[task].append(reached[0] if reached else len(values) + 1)
                start = self.parts[later].unsmoothed[: max(1, len(values) // 10)]
                droops[task].append(target - mean(start))
        return times, droops

    def recovery(self) -> float | None:
        times, _ = self.recoveries()
        slopes = {
            task: [-median((b - a) / (j - i) for i, a in enumerate(some) for j, b in enumerate(some) if j > i)]
            for task, some in times.items()
            if len(some) > 1
        }
        return self.over_tasks(slopes)

    def all(self) -> dict[str, float | None]:
        times, droops = self.recoveries()
        performance, efficiency = self.beside_experts()
        return {
            "performance_maintenance": self.maintenance(terminal=False),
            "performance_maintenance_terminal": self.maintenance(terminal=True),
            "forward_transfer": self.transfer(backward=False, contrast=False),
            "forward_transfer_contrast": self.transfer(backward=False, contrast=True),
            "backward_transfer": self.transfer(backward=True, contrast=False),
            "backward_transfer_contrast": self.transfer(backward=True, contrast=True),
            "relative_performance": performance,
            "sample_efficiency": efficiency,
            "recovery_time": self.over_tasks(times),
            "droop": self.over_tasks(droops),
            "performance_recovery": self.recovery(),
        }


def first_tenth(values: list[float]) -> float:
    return mean(values[: max(1, len(values) // 10)])


def last_tenth(values: list[float]) -> float:
    return mean(values[9 * len(values) // 10 :])


def reached(values: list[float], target: float) -> int:
    """The experience, counted from 1, at which the target is first reached; one more than there are if never."""
    there = (at for at, one in enumerate(values, 1) if one >= target - TINY * max(1, abs(target)))
    return next(there, len(values) + 1)


def random_rows(rng: random.Random, tasks: list[str], blocks: int, kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    number = 0
    for block in range(blocks):
        kind, subtype = rng.choice(kinds), rng.choice(["wake"] * 9 + ["sleep"])
        for task in rng.sample(tasks, 1 if kind == "train" else rng.randint(1, len(tasks))):
            level, climb = rng.random(), rng.uniform(-0.01, 0.03)
            for step in range(rng.choice([1, 2, 7, 16, 40, 61])):
                for worker in rng.choice([["w"]] * 8 + [["v", "w"]]):
                    value = level + climb * step + rng.gauss(0, 0.1)
                    rows.append(
                        {
                            "block_num": block,
                            "exp_num": number,
                            "worker_id": worker,
                            "block_type": kind,
                            "block_subtype": subtype,
                            "task_name": task,
                            "task_params": "{}",
                            "exp_status": rng.choice(["complete"] * 19 + ["incomplete"]),
                            "timestamp": None,
                            "reward": None if rng.random() < 0.02 else round(value, 3),
                        }
                    )
                number += 1
    return rows


def lifetime(name: str, rows: list[dict[str, Any]]) -> Lifetime:
    schema = {**STANDARD_COLUMNS, "reward": pl.Float64()}
    frame = pl.DataFrame(rows, schema=schema).sort("block_num", "exp_num", "worker_id", maintain_order=True)
    return Lifetime(name, frame, {"reward": "higher"})


@pytest.mark.parametrize("seed", range(150))
def test_the_engine_agrees_with_a_model_written_from_the_definitions(seed: int) -> None:
    rng = random.Random(seed)
    tasks = ["a_1", "a_2", "b_1", "c"][: rng.randint(1, 4)]
    rows = random_rows(rng, tasks, rng.randint(2, 14), ("train", "test"))
    experts = [
        random_rows(rng, [task], rng.randint(1, 3), ("train",)) for task in tasks for _ in range(rng.randint(0, 2))
    ]
    experts = [one for one in experts if parts_of(one)]
    if not parts_of(rows):
        pytest.skip("nothing of this life counts")
    found = score(lifetime("life", rows), [lifetime(f"expert-{at}", one) for at, one in enumerate(experts)])
    for name, expected in Model(rows, experts).all().items():
        value = found[name]
        assert (value is None) == (expected is None), (name, value, expected, found.metrics[name].why)
        if value is not None:
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-9), name
