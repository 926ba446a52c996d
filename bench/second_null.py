"""Compare learners with themselves, drawn by a generator that shares no code with `perdure.simulate` or `null.py`.

Run as `python bench/second_null.py`. Lifetimes go through the bulk writer, `survey` and `compare_systems`. Curves are
power laws, tasks forget by shares, half of the variance of a lifetime's ability belongs to its seed, and the spread
between lifetimes has one of five shapes. `--marks` counts the marks of single lifetimes that do not change.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from scipy.special import ndtr, stdtrit  # type: ignore[import-untyped]

from perdure.gather.survey import survey
from perdure.log.write.bulk import write_lifetimes
from perdure.metrics.declare import METRICS
from perdure.metrics.score import Score
from perdure.scenario.compose import compose
from perdure.scenario.model import Scenario
from perdure.settings import Settings
from perdure.stats.compare import Comparison, compare_lives, compared_as
from perdure.stats.decide import decide
from perdure.stats.pairing import Want
from perdure.stats.systems import System, compare_systems, on_common_references, systems_of

Array = npt.NDArray[np.float64]
TASKS = ("a", "b", "c")
BOUNDS = dict.fromkeys(TASKS, (0.0, 100.0))
SHAPES = ("heavy tails", "skewed", "success or failure", "unequal noise", "one in ten collapses")
SIZES = (3, 5, 11, 30)
WANTED: tuple[Want, ...] = ("auto", "no")
MARKED = ("performance_maintenance", "forward_transfer", "backward_transfer")


def spread(shape: str, rng: np.random.Generator, count: int) -> Array:
    """Return what distinguishes lifetimes, in points."""
    values: Any = rng.normal(0, 8, count)
    if shape == "heavy tails":
        values = 4 * rng.standard_t(2, count)
    elif shape == "skewed":
        values = -8 * (rng.lognormal(0, 0.9, count) - 1.5)
    elif shape == "success or failure":
        values = 15.0 * rng.integers(-1, 2, count)
    return np.asarray(values, dtype=np.float64)


def logged(shape: str, levels: Array, scale: Array, rng: np.random.Generator) -> Array:
    """Return rewards around levels, a row per lifetime."""
    if shape == "heavy tails":
        return np.asarray(levels + 6 * rng.standard_t(2.5, levels.shape))
    if shape == "skewed":
        return levels + 8 * (rng.exponential(size=levels.shape) - 1)
    if shape == "success or failure":
        return np.asarray(100.0 * (rng.random(levels.shape) < levels / 100))
    return np.asarray(levels + 8 * scale * rng.normal(size=levels.shape))


def draw(scenario: Scenario, shape: str, seeds: Array, rng: np.random.Generator) -> Array:
    """Return lifetimes through the scenario, one for each effect of a seed."""
    count = len(seeds)
    ability = 65 + (seeds + spread(shape, rng, count)) / np.sqrt(2)
    scale = np.exp(rng.normal(0, 1, (count, 1))) if shape == "unequal noise" else np.ones((count, 1))
    collapses = rng.random(count) < (0.1 if shape == "one in ten collapses" else 0.0)
    tops = {task: np.clip(np.where(collapses, 12, ability + rng.normal(0, 4, count)), 2, 98) for task in TASKS}
    halves = {task: rng.lognormal(1.5, 0.4, count)[:, None] for task in TASKS}
    lost, lifted = rng.beta(2, 6, count), rng.normal(0, 0.05, count)
    levels = {task: np.full(count, 12.0) for task in TASKS}
    learned: set[str] = set()
    parts = []
    for block in scenario.blocks:
        task, length = block.task, block.length or 0
        if block.mode == "evaluate":
            parts.append(logged(shape, np.repeat(levels[task][:, None], length, axis=1), scale, rng))
            continue
        start, top = levels[task][:, None], tops[task][:, None]
        curve = start + (top - start) * (1 - (1 + np.arange(1, length + 1) / halves[task]) ** -1.5)
        parts.append(logged(shape, curve, scale, rng))
        for other in TASKS:
            moved = levels[other] - lost * (levels[other] - 12) if other in learned else levels[other] * (1 + lifted)
            levels[other] = np.clip(moved, 1, 99)
        levels[task] = curve[:, -1]
        learned.add(task)
    return np.concatenate(parts, axis=1)


def systems(
    scenario: Scenario, shape: str, count: int, rng: np.random.Generator, bounds: Any = BOUNDS
) -> tuple[System, System]:
    """Return one learner under two names, with the same seeds."""
    seeds = spread(shape, rng, count)
    with TemporaryDirectory() as folder:
        files = [
            write_lifetimes(Path(folder, f"{name}.parquet"), values=values, scenario=scenario, learner=name)
            for name, values in (("A", draw(scenario, shape, seeds, rng)), ("B", draw(scenario, shape, seeds, rng)))
        ]
        first, second = systems_of(survey(files, (), Settings(bounds=bounds), learning=True, jobs=1))
    return first, second


def differs(comparison: Comparison) -> bool:
    return any(found.verdict in ("better", "worse") for found in comparison.tested.values())


def wrong_at_margin(ours: Sequence[Score], theirs: Sequence[Score], systems: Sequence[System], paired: Want) -> bool:
    """Return whether any metric gets a favourable word if the first side is worse by the margin in all of them."""
    bars = {name: bar for system in systems for name, bar in system.bars.items()}
    both, bars, _ = on_common_references({"A": ours, "B": theirs}, bars)

    def worse(score: Score) -> Score:
        values = dict(score.metrics)
        for name, bar in bars.items():
            declared, measured = compared_as(name, bar), values.get(name)
            if declared.margin and measured is not None and measured.value is not None:
                moved = measured.value / declared.margin if bar.scale == "log" else measured.value - declared.margin
                values[name] = replace(measured, value=moved)
        return replace(score, metrics=values)

    comparison = compare_lives([worse(score) for score in both["A"]], both["B"], bars, paired=paired)
    return any(found.verdict in ("better", "no worse", "as good") for found in comparison.tested.values())


def unchanged(scenario: Scenario, kind: str, alike: float, count: int, rng: np.random.Generator) -> Array:
    """Return lifetimes that learn each task and never change otherwise; neighbouring evaluations are alike."""
    levels = dict.fromkeys(TASKS, 25.0)
    parts = []
    for block in scenario.blocks:
        length = block.length or 0
        if block.mode == "learn":
            parts.append(25 + 45 * (1 - np.exp(-np.arange(length) / 8)) + 5 * rng.normal(size=(count, length)))
            levels[block.task] = 70.0
            continue
        slow, again = rng.normal(size=(count, length)), rng.random((count, length)) < alike
        success = rng.random((count, length)) < levels[block.task] / 100
        for step in range(1, length):
            slow[:, step] = alike * slow[:, step - 1] + np.sqrt(1 - alike**2) * slow[:, step]
            success[:, step] = np.where(again[:, step], success[:, step - 1], success[:, step])
        uniform = ndtr(slow)
        rewards = {
            "normal": levels[block.task] + 10 * slow,
            "heavy tails": levels[block.task] + 8 * stdtrit(2.2, uniform),
            "success repeats": 100.0 * success,
            "success of a slow ability": 100.0 * (uniform < levels[block.task] / 100),
        }
        parts.append(rewards[kind])
    return np.concatenate(parts, axis=1)


def print_marks(count: int) -> None:
    """Print the per cent of lifetimes with a wrong mark of PM, FT and BT, by neighbours' correlation 0, .5, .7, .8."""
    rng = np.random.default_rng(7)
    for kind in ("normal", "heavy tails", "success repeats", "success of a slow ability"):
        for evaluations in (10, 30, 100):
            scenario = compose("condensed", list(TASKS), learn=30, evaluate=evaluations).scenario
            cells = []
            for alike in (0.0, 0.5, 0.7, 0.8):
                with TemporaryDirectory() as folder:
                    values = unchanged(scenario, kind, alike, count, rng)
                    file = write_lifetimes(Path(folder, "x.parquet"), values=values, scenario=scenario, learner="x")
                    scores = survey([file], (), Settings(bounds=BOUNDS), jobs=1).scores
                marked = [
                    [decide((score,), name, METRICS.get(name).criterion).verdict != "undecided" for name in MARKED]
                    for score in scores
                ]
                cells.append("/".join(f"{100 * share:.1f}" for share in np.mean(marked, axis=0)))
            print(" | ".join([kind, str(evaluations), *cells]), flush=True)


def print_pairs(count: int, shapes: Sequence[str], layout: str, *, pooled: bool) -> None:
    """Print the per cent of pairs that differ, and with a wrong word at the margin: per size, paired and not."""
    scenario = compose(layout, list(TASKS), learn=50, evaluate=10).scenario
    for number, shape in enumerate(shapes):
        rng = np.random.default_rng([33, number])
        cells = []
        for size in SIZES:
            pairs = count if size < 30 else count // 2
            found = []
            first, second = systems(scenario, shape, size * (1 if pooled else pairs), rng)
            for pair in range(pairs):
                if pooled:
                    first, second = systems(scenario, shape, size, rng, None)
                own = slice(0, size) if pooled else slice(pair * size, (pair + 1) * size)
                two = (replace(first, lives=first.lives[own]), replace(second, lives=second.lives[own]))
                for paired in WANTED:
                    (comparison,) = compare_systems(two, "B", paired=paired).comparisons
                    assert comparison.pairing.paired is (paired == "auto")
                    found.append((differs(comparison), wrong_at_margin(two[0].lives, two[1].lives, two, paired)))
            rates = 100 * np.array(found, dtype=float).reshape(pairs, 2, 2).mean(axis=0)
            cells += [f"{rate:.1f} / {wrong:.1f}" for rate, wrong in rates]
        print(" | ".join([shape, *cells]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--layout", default="condensed")
    parser.add_argument("--pooled", action="store_true", help="one range from the data of each pair, not bounds")
    parser.add_argument("--marks", action="store_true")
    options = parser.parse_args()
    if options.marks:
        print_marks(options.pairs)
    else:
        print_pairs(options.pairs, options.shapes, options.layout, pooled=options.pooled)


if __name__ == "__main__":
    main()
