"""What it costs to verify a log against its ledger, and to prove a copy, against doing neither."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import perdure

BLOCKS = 120


def main() -> None:
    """Measure, and print one line per claim."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=15, help="repetitions")
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
    for what, action in (("read", perdure.read), ("score", scored)):
        both = [(seconds(action, with_ledger), seconds(action, without)) for _ in range(rounds)]
        target = " (target ≤ 1.15)" if what == "score" else ""
        say(f"{what} {rows:,} rows from text, verified, s", min(one.wall for one, _ in both))
        say(f"  verified / not verified, fastest{target}", least(both, "wall"))
        say(f"  the same in processor time, median{target}", middle(both, "processor"))


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
    return perdure.score(perdure.read(place))


@dataclass(frozen=True)
class Taken:
    """Seconds on the clock, which other work on the machine lengthens, and of the processors, which it hardly does."""

    wall: float
    processor: float


def seconds(action: Callable[[Path], object], place: Path) -> Taken:
    """How long `action` takes."""
    wall, processor = time.perf_counter(), time.process_time()
    action(place)
    return Taken(time.perf_counter() - wall, time.process_time() - processor)


def least(both: Sequence[tuple[Taken, Taken]], clock: str) -> float:
    """The ratio of the fastest rounds."""
    return float(min(getattr(one, clock) for one, _ in both) / min(getattr(other, clock) for _, other in both))


def middle(both: Sequence[tuple[Taken, Taken]], clock: str) -> float:
    """The median of the rounds' ratios."""
    return float(statistics.median(getattr(one, clock) / getattr(other, clock) for one, other in both))


def say(what: str, figure: float) -> None:
    """One line of the table."""
    print(f"{what:<52} {figure:>10,.3f}")


if __name__ == "__main__":
    main()
