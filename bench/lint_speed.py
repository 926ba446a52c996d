"""How long lint takes: 10⁵ instructions against all metrics, and how its cost grows with the blocks.

Run as `python bench/lint_speed.py`; under 2 s each, and near-linear growth, are asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from perdure.metrics.engine.declare import METRICS
from perdure.metrics.engine.metric import Metric
from perdure.scenario.lint import LintReport, lint

TASKS = tuple(f"task{number}" for number in range(5))


def life(blocks: int) -> Iterator[str]:
    """A life that learns each task in turn, and evaluates them all after each, until it has `blocks` blocks."""
    for phase in range(1, 1 + blocks // (1 + len(TASKS))):
        yield f'{{"$phase": "{phase}.train"}}'
        yield f'{{"$repeat": {{"$episode": "{TASKS[phase % len(TASKS)]}", "size": 5}}, "count": 100}}'
        yield f'{{"$phase": "{phase}.test"}}'
        for task in TASKS:
            yield f'{{"$repeat": {{"$episode": "{task}", "size": 5}}, "count": 10}}'


def one_block(instructions: int) -> Iterator[str]:
    """The same episode again and again, which is one block."""
    yield '{"$phase": "1.train"}'
    yield from ['{"$repeat": {"$episode": "pong", "width": 0.1}, "count": 10}'] * (instructions - 1)


def timed(text: str, metrics: list[Metric]) -> tuple[float, LintReport]:
    """The best of three runs, and what was found."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        report = lint(text, metrics=metrics)
        times.append(time.perf_counter() - start)
    return min(times), report


def main() -> None:
    """Print the table."""
    metrics = list(METRICS)
    print(f"{len(metrics)} metrics")
    print(f"{'instructions':>12} {'blocks':>8} {'sites':>9} {'reading, s':>11} {'in all, s':>10}")
    lives = [list(life(blocks)) for blocks in (1_000, 2_500, 5_000, 10_000, 75_000)]
    for lines in (*lives, list(one_block(100_000))):
        text = '{"instructions": [\n' + ",\n".join(lines) + "\n]}"
        reading, _ = timed(text, [])
        whole, report = timed(text, metrics)
        sites = sum(found.sites for found in report.metrics.values())
        blocks = len(report.syllabus.scenario.blocks)
        print(f"{len(lines):>12,} {blocks:>8,} {sites:>9,} {reading:>11.2f} {whole:>10.2f}")


if __name__ == "__main__":
    main()
