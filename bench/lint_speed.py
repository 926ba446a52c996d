"""How long lint takes: 10⁵ instructions against all metrics, and how its cost grows with the blocks.

Run as `python bench/lint_speed.py`; the issue asks for under 2 s each, and near-linear growth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from perdure.metrics.declare import METRICS
from perdure.scenario.lint import lint

TASKS = tuple(f"task{number}" for number in range(5))


def instructions(blocks: int, tasks: tuple[str, ...] = TASKS) -> Iterator[str]:
    """A life that learns each task in turn, and evaluates them all after each, until it has `blocks` blocks."""
    made, phase = 0, 0
    while made < blocks:
        phase += 1
        yield f'{{"$phase": "{phase}.train"}}'
        yield f'{{"$repeat": {{"$episode": "{tasks[phase % len(tasks)]}", "size": 5}}, "count": 100}}'
        yield f'{{"$phase": "{phase}.test"}}'
        for task in tasks:
            yield f'{{"$repeat": {{"$episode": "{task}", "size": 5}}, "count": 10}}'
        made += 1 + len(tasks)


def seconds(lines: list[str]) -> tuple[float, int, int]:
    """How long one lint takes; how many blocks it found, and how many sites over all metrics."""
    text = '{"instructions": [\n' + ",\n".join(lines) + "\n]}"
    metrics = list(METRICS)
    start = time.perf_counter()
    report = lint(text, metrics=metrics)
    took = time.perf_counter() - start
    return took, len(report.syllabus.scenario.blocks), sum(found.sites for found in report.metrics.values())


def main() -> None:
    """Print the table."""
    seconds(list(instructions(10)))
    print(f"{'instructions':>12} {'blocks':>8} {'sites':>9} {'seconds':>8}")
    for blocks in (1_000, 2_500, 5_000, 10_000, 75_000):
        lines = list(instructions(blocks))
        took, found, sites = seconds(lines)
        print(f"{len(lines):>12,} {found:>8,} {sites:>9,} {took:>8.2f}")
    lines = ['{"$phase": "1.train"}', *['{"$repeat": {"$episode": "pong", "width": 0.1}, "count": 10}'] * 100_000]
    took, found, sites = seconds(lines)
    print(f"{len(lines):>12,} {found:>8,} {sites:>9,} {took:>8.2f}")


if __name__ == "__main__":
    main()
