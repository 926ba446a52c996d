"""How fast are thousands of lifetimes written into one file, and scored from it, beside one by one in memory?

Lives of about a thousand experiences through three tasks in a condensed scenario, with an expert for each task. Each
worker is a process with one thread for Polars. Rates are of the wall, and of a second of processor time, which says
more where a machine is shared. The peer scores lives that share nothing with each other, one by one.

    python bench/bulk_speed.py --lives 10000
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from perdure.frozen import replace

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np

import perdure
from perdure.curves.experts import Experts
from perdure.log.read import Options, lifetimes, parts
from perdure.metrics.engine.presets import headline
from perdure.metrics.engine.scorer import Scorer
from perdure.metrics.engine.settings import Settings
from perdure.scenario.model import Block, Scenario
from perdure.simulate.learner import IdealLearner, performance
from perdure.simulate.lifetimes import MEASURE, experts

HEADLINE = headline()
TASKS = ("a", "b", "c")
LEARNER = IdealLearner("ideal", noise=0.08)


def scenario() -> Scenario:
    """Every task evaluated, then each learned once and all evaluated after it: 15 blocks of 1 000 experiences."""
    evaluations = [Block("evaluate", task, 20) for task in TASKS]
    blocks = [*evaluations, *(block for task in TASKS for block in (Block("learn", task, 253), *evaluations))]
    return Scenario.of("condensed", blocks, info={"scenario_type": "condensed"})


def scorer(metrics: Sequence[str]) -> Scorer:
    return Scorer(Settings(metrics=tuple(metrics)), Experts(experts(LEARNER, scenario())))


_scorer: list[Scorer] = []


def prepare(metrics: Sequence[str]) -> None:
    _scorer[:] = [scorer(metrics)]


def score_part(job: tuple[str, str]) -> tuple[int, float]:
    path, part = job
    start = time.process_time()
    scored = sum(1 for _ in _scorer[0].scored_together((one, None) for one in lifetimes(Path(path), Options(), part)))
    return scored, time.process_time() - start


def rate(path: Path, metrics: Sequence[str], processes: int) -> tuple[float, float]:
    """Lives per second, reading included, start of the processes not; of the wall and of a processor."""
    jobs = [(str(path), part) for part in parts(path, Options())]
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=prepare, initargs=(metrics,)) as pool:
        list(pool.map(score_part, jobs[:1] * processes))
        start = time.perf_counter()
        done = list(pool.map(score_part, jobs))
        spent = time.perf_counter() - start
    scored = sum(count for count, _ in done)
    return scored / spent, scored / sum(seconds for _, seconds in done)


def one_by_one(path: Path, metrics: Sequence[str], count: int) -> tuple[float, float]:
    """Lives per second in memory, none sharing anything with another."""
    lives = [replace(life, alike=None) for life, _ in zip(lifetimes(path, Options()), range(count), strict=False)]
    alone = scorer(metrics)
    alone.score(lives[0])
    start, began = time.perf_counter(), time.process_time()
    for life in lives:
        alone.score(life)
    return len(lives) / (time.perf_counter() - start), len(lives) / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--lives", type=int, default=10_000)
    parser.add_argument("--peer-lives", type=int, default=300)
    asked = parser.parse_args()
    lived = scenario()
    values = performance(LEARNER, lived, asked.lives, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lives.parquet"
        start = time.perf_counter()
        perdure.write_lives(path, values=values, scenario=lived, measures=MEASURE, learner=LEARNER.name)
        spent = time.perf_counter() - start
        size = path.stat().st_size / 1e6
        print(f"{asked.lives} lives of {values.shape[1]} experiences in {len(lived.blocks)} blocks")
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print(f"written in {spent:.2f} s, {size:.0f} MB")
        start = time.perf_counter()
        read = sum(1 for _ in lifetimes(path, Options()))
        print(f"read in {time.perf_counter() - start:.2f} s ({read} lives)")
        for name, metrics in (("headline metrics", HEADLINE), ("all metrics", ())):
            alone = one_by_one(path, metrics, min(asked.peer_lives, asked.lives))
            print(f"{name}, one by one: {alone[0]:.0f} lives/s, {alone[1]:.0f} per second of processor")
            for processes in (1, 2):
                wall, processor = rate(path, metrics, processes)
                print(
                    f"{name}, {processes} process(es): {wall:.0f} lives/s ({wall / alone[0]:.1f} × one by one), "
                    f"{processor:.0f} per second of processor ({processor / alone[1]:.1f} ×)"
                )


if __name__ == "__main__":
    main()
