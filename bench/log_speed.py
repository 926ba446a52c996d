"""How fast a journal writes and a log is read, against l2logger and against Polars alone, in one run."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import perdure

PEER = """
import sys, time
from l2logger.l2logger import DataLogger
folder, count = sys.argv[1], int(sys.argv[2])
logger = DataLogger(folder, "peer", {"metrics_columns": ["reward"]}, {})
started = time.perf_counter()
for number in range(count):
    logger.log_record({"block_num": 0, "exp_num": number, "block_type": "train", "task_name": "pong_wide",
                       "task_params": {"width": 0.15}, "reward": number / 7})
print(count / (time.perf_counter() - started))
"""

READER = """
import sys, perdure, polars, perdure.log
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
before = peak()
lifetime = perdure.read(sys.argv[1])
print(peak(), before, lifetime.experiences.estimated_size("mb"), lifetime.experiences.height)
"""


def main() -> None:
    """Measure, and print one line per claim."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peer", help="the Python of an environment with l2logger 1.8.2")
    arguments.add_argument("--rounds", type=int, default=5, help="repetitions; the median counts")
    arguments.add_argument("--large", action="store_true", help="also read a log of 10⁷ rows")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        writing(Path(folder), given.peer, given.rounds)
        reading(Path(folder), 10**6, 120, given.rounds)
        if given.large:
            reading(Path(folder), 10**7, 120, 1)


def writing(folder: Path, peer: str | None, rounds: int) -> None:
    """Records per second: one by one, and a block at a time; each round asks everyone in turn."""
    theirs, single, many = [], [], []
    for number in range(rounds):
        if peer:
            done = subprocess.run([peer, "-c", PEER, str(folder), "50000"], capture_output=True, text=True, check=True)
            theirs.append(float(done.stdout))
        single.append(rate_of_log(folder, f"single-{number}", 200_000))
        many.append(rate_of_log_many(folder, f"many-{number}", 10, 100_000))
    say("log(), records/s", statistics.median(single))
    say("log_many(), records/s, blocks of 10⁵", statistics.median(many))
    if peer:
        say("l2logger 1.8.2, records/s", statistics.median(theirs))
        ratios = [one / other for one, other in zip(single, theirs, strict=True)]
        say("log() / l2logger (target ≥ 3)", statistics.median(ratios))
        ratios = [one / other for one, other in zip(many, theirs, strict=True)]
        say("log_many() / l2logger (target ≥ 50)", statistics.median(ratios))


def rate_of_log(folder: Path, name: str, count: int) -> float:
    """Records per second through `log`."""
    with perdure.Journal(folder, name) as journal:
        started = time.perf_counter()
        for number in range(count):
            journal.log(
                block_num=0,
                exp_num=number,
                block_type="train",
                task_name="pong_wide",
                task_params={"width": 0.15},
                reward=number / 7,
            )
        return count / (time.perf_counter() - started)


def rate_of_log_many(folder: Path, name: str, blocks: int, length: int) -> float:
    """Records per second through `log_many`, a block per call."""
    values = np.random.default_rng(0).normal(size=length)
    with perdure.Journal(folder, name) as journal:
        started = time.perf_counter()
        for block in range(blocks):
            journal.log_many(
                block_num=block,
                exp_num=np.arange(block * length, (block + 1) * length),
                block_type="train",
                task_name="pong_wide",
                task_params={"width": 0.15},
                reward=values,
            )
        return blocks * length / (time.perf_counter() - started)


def reading(folder: Path, rows: int, blocks: int, rounds: int) -> None:
    """Seconds to read: Polars on the same files, Perdure from TSV, Perdure from its copy; and memory."""
    life = folder / f"read-{rows}"
    length = rows // blocks
    values = np.random.default_rng(1).normal(size=length)
    with perdure.Journal(folder, life.name) as journal:
        for block in range(blocks):
            journal.log_many(
                block_num=block,
                exp_num=np.arange(block * length, (block + 1) * length),
                block_type="train" if block % 2 else "test",
                task_name=f"task{block % 5}_1",
                task_params={"width": 0.15, "level": 3},
                reward=values,
            )
    files = sorted(life.rglob("data-log.tsv"))
    polars, ours = [], []
    for _ in range(rounds):
        polars.append(seconds(lambda: pl.scan_csv(files, separator="\t").collect()))
        ours.append(seconds(lambda: perdure.read(life)))
    memory, before, table, height = map(
        float,
        subprocess.run(
            [sys.executable, "-c", READER, str(life)], capture_output=True, text=True, check=True
        ).stdout.split(),
    )
    say(f"{height:.0f} rows in {blocks} blocks, TSV, MB", sum(file.stat().st_size for file in files) / 1e6)
    say("  Polars reads the files, s", statistics.median(polars))
    say("  perdure.read, s", statistics.median(ours))
    ratios = [one / other for one, other in zip(ours, polars, strict=True)]
    say("  perdure.read / Polars (target ≤ 2)", statistics.median(ratios))
    say("  peak memory / table (target ≤ 3)", (memory - before) / table)
    say("  table, MB", table)


def seconds(action: Callable[[], object]) -> float:
    """How long `action` takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def say(what: str, figure: float) -> None:
    """One line of the table."""
    print(f"{what:<46} {figure:>14,.3f}" if figure < 1000 else f"{what:<46} {figure:>14,.0f}")


if __name__ == "__main__":
    main()
