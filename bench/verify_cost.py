"""What it costs to verify: scoring a log with its ledger against scoring it without, and a copy proven against one believed."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import perdure
from perdure.log import cache

BLOCKS = 120


def main() -> None:
    """Measure, and print one line per claim."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=15, help="repetitions; the median counts")
    arguments.add_argument("--large", action="store_true", help="also a log of 10⁷ rows")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured(Path(folder), 10**6, given.rounds)
        if given.large:
            measured(Path(folder), 10**7, max(3, given.rounds // 5))


def measured(folder: Path, rows: int, rounds: int) -> None:
    """The same records with a ledger and without, in turn, so that both meet the same machine."""
    with_ledger = written(folder, f"life-{rows}", rows)
    without = shutil.copytree(with_ledger, folder / f"bare-{rows}")
    (without / "blocks.jsonl").unlink()
    for what, action in (("read", lambda place: perdure.read(place, cache=False)), ("score", scored)):
        both = [(seconds(action, with_ledger), seconds(action, without)) for _ in range(rounds)]
        ratio = statistics.median(one / other for one, other in both)
        say(f"{what} {rows:,} rows from text, verified, s", statistics.median(one for one, _ in both))
        say(f"  verified / not verified{' (target ≤ 1.15)' if what == 'score' else ''}", ratio)
    perdure.read(with_ledger)
    cache.settle()
    copy = with_ledger / cache.FOLDER / "experiences.parquet"
    both = [(seconds(perdure.read, with_ledger), seconds(pl.read_parquet, copy)) for _ in range(rounds)]
    say(f"read {rows:,} rows from the copy, proven, s", statistics.median(one for one, _ in both))
    say("  proven / Polars believing it", statistics.median(one / other for one, other in both))


def written(folder: Path, name: str, rows: int) -> Path:
    """A life of two tasks, learned and evaluated in turn."""
    length = rows // BLOCKS
    rng = np.random.default_rng(1)
    with perdure.Journal(folder, name) as journal:
        for block in range(BLOCKS):
            journal.log_many(
                block_num=block,
                exp_num=np.arange(block * length, (block + 1) * length),
                block_type="train" if block % 3 == 1 else "test",
                task_name=f"task{block // 2 % 2}_1",
                task_params={"width": 0.15, "level": 3},
                reward=rng.normal(size=length),
            )
    return journal.path


def scored(place: Path) -> object:
    """As `perdure score` does where there is no copy yet."""
    return perdure.score(perdure.read(place, cache=False))


def seconds(action: Callable[[Path], object], place: Path) -> float:
    """How long `action` takes."""
    started = time.perf_counter()
    action(place)
    return time.perf_counter() - started


def say(what: str, figure: float) -> None:
    """One line of the table."""
    print(f"{what:<52} {figure:>10,.3f}")


if __name__ == "__main__":
    main()
