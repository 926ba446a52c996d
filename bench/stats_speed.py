"""How long statistics take beside the scoring they follow: 1 000 lifetimes × 30 metrics, bootstrap included.

Run as `python bench/stats_speed.py`; the issue asks that they take no longer than scoring does.
"""

from __future__ import annotations

import time

import numpy as np

from perdure.curves.model import Prep
from perdure.frozen import replace
from perdure.gather.model import Life, Survey
from perdure.log.model import Identity
from perdure.metrics.engine.measure import Measured
from perdure.metrics.engine.metric import Bar
from perdure.metrics.engine.score import Score
from perdure.metrics.engine.scorer import Scorer
from perdure.metrics.engine.settings import Settings
from perdure.scenario.model import Block, Scenario
from perdure.simulate import IdealLearner, lifetime
from perdure.stats import robust
from perdure.stats.compare import compare_lives
from perdure.stats.correlate import correlate
from perdure.stats.groups import groups

LIFETIMES, METRICS, SAMPLE = 1000, 30, 100


def scenario() -> Scenario:
    """Three tasks, each learned once, all evaluated before, between and after."""
    evaluation = [Block("evaluate", task, 10) for task in "abc"]
    return Scenario.of(
        "condensed", [*evaluation, *(b for task in "abc" for b in (Block("learn", task, 200), *evaluation))]
    )


def scoring_seconds() -> float:
    """What scoring 1 000 lifetimes takes in one process, from a sample held in memory (reading logs comes on top)."""
    learner = IdealLearner(forgetting=0.2, forward=0.1, noise=0.05, spread=0.2)
    lives = [lifetime(learner, scenario(), seed) for seed in range(SAMPLE)]
    scorer = Scorer(Settings(prep=Prep()))
    scorer.score(lives[0])
    start = time.perf_counter()
    for one in lives:
        scorer.score(one)
    return (time.perf_counter() - start) * LIFETIMES / SAMPLE


def pool(seed: int) -> Survey:
    """Made-up scores with a few values missing."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 1.0, (LIFETIMES, METRICS))
    missing = rng.random(values.shape) < 0.01
    names = [f"metric_{number}" for number in range(METRICS)]
    lives = tuple(
        Score(
            Identity(f"life-{at:04d}", seed=at),
            {
                name: Measured(None if gone else float(value))
                for name, value, gone in zip(names, row, gaps, strict=True)
            },
        )
        for at, (row, gaps) in enumerate(zip(values, missing, strict=True))
    )
    return Survey(tuple(map(Life, lives)), (), {}, "standard", {}, written=dict.fromkeys(names, Bar(0.0)))


def main() -> None:
    """Print the table."""
    scoring = scoring_seconds()
    ours, theirs = pool(1), pool(2)
    groups(replace(ours, lives=ours.lives[:20]))  # SciPy is imported before the clock starts
    correlate(ours.scores[:20], list(ours.bars)[:2])
    print(f"{LIFETIMES} lifetimes × {METRICS} metrics; scoring them takes {scoring:.2f} s in one process\n")
    print(f"{'what':<46} {'seconds':>8} {'of scoring':>11}")
    for what, work in (
        (f"groups: everything, {robust.RESAMPLES} resamples", lambda: groups(ours)),
        ("compare, unpaired", lambda: compare_lives(ours.scores, theirs.scores, ours.bars, paired="no")),
        ("compare, paired, 9 999 sign flips", lambda: compare_lives(ours.scores, theirs.scores, ours.bars)),
        ("correlate, 435 pairs", lambda: correlate(ours.scores, list(ours.bars))),
    ):
        start = time.perf_counter()
        work()
        took = time.perf_counter() - start
        print(f"{what:<46} {took:>8.2f} {took / scoring:>10.0%}")


if __name__ == "__main__":
    main()
