"""How do time and memory grow with rows, blocks, lifetimes and tasks?

Each point is a fresh `perdure score` (of tasks, `perdure report` too), with what it used of processors and memory. The
exponent is the slope of the logarithm of processor time, less that of a life of ten blocks, over the decades in which
it is at least as large as that start: processor time, because it says more than the clock where a machine is shared.

    python bench/size.py --only rows blocks --largest 7

`--largest` is the power of ten up to which rows go (8 takes 3 GB of disk as Parquet, and 7 GB as text).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import perdure
from perdure.scenario.model import Block, Scenario

HEADER = (
    "block_num\texp_num\tworker_id\tblock_type\tblock_subtype\ttask_name\ttask_params\texp_status\ttimestamp\treward\n"
)
MEASURED = (
    "import resource, subprocess, sys, time; t = time.perf_counter(); "
    "r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE); "
    "u = resource.getrusage(resource.RUSAGE_CHILDREN); "
    "print(time.perf_counter() - t, u.ru_utime + u.ru_stime, u.ru_maxrss / 1024, r.returncode); "
    "sys.stderr.write(r.stderr.decode()[-600:])"
)
SCAN = (
    "import polars as pl, sys; "
    "pl.scan_parquet(sys.argv[1]).group_by('lifetime', 'block_num').agg(pl.col('reward').mean())"
    ".collect(engine='streaming')"
)
SCAN_TEXT = (
    "import polars as pl, sys, glob; "
    "pl.scan_csv(sorted(glob.glob(sys.argv[1] + '/*/*/data-log.tsv')), separator='\\t')"
    ".group_by('block_num').agg(pl.col('reward').mean()).collect(engine='streaming')"
)


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    seconds: float
    processor: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.processor:.1f} s of processors, {self.megabytes:.0f} MB"


def spent(*command: str, tries: int = 2) -> Spent:
    """The best of several fresh processes."""
    return min((_once(command) for _ in range(tries)), key=lambda one: one.seconds)


def _once(command: Sequence[str]) -> Spent:
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=True)
    *numbers, code = done.stdout.split()
    if int(code):
        raise SystemExit(f"{' '.join(command[:4])} … failed ({code}): {done.stderr}")
    return Spent(*map(float, numbers))


def score(path: Path, *options: str, tries: int = 2) -> Spent:
    """`perdure score`, from the text each time."""
    for kept in path.rglob(".perdure/*") if path.is_dir() else ():
        kept.unlink()
    return spent(sys.executable, "-m", "perdure", "score", str(path), "--quiet", *options, tries=tries)


# --- what is measured -----------------------------------------------------------------------------


def write_life(folder: Path, blocks: Sequence[tuple[str, Sequence[str]]], length: int, seed: int = 0) -> Path:
    """A lifetime in L2Logger form: each block of a kind and one or more tasks, `length` experiences of each."""
    rng = np.random.default_rng(seed)
    (folder / "w0").mkdir(parents=True)
    (folder / "logger_info.json").write_text(json.dumps({"metrics_columns": ["reward"], "log_format_version": "1.1"}))
    (folder / "scenario_info.json").write_text("{}")
    experience = 0
    for number, (kind, tasks) in enumerate(blocks):
        place = folder / "w0" / f"{number}-{kind}"
        place.mkdir()
        with (place / "data-log.tsv").open("w") as file:
            file.write(HEADER)
            for task in tasks:
                fixed = f"w0\t{kind}\twake\t{task}\t{{}}\tcomplete\t20240101T000000.000000"
                rewards = rng.normal(0.5, 0.2, length).round(6).tolist()
                file.writelines(
                    f"{number}\t{at}\t{fixed}\t{reward}\n" for at, reward in enumerate(rewards, start=experience)
                )
                experience += length
    return folder


def in_turn(blocks: int, tasks: int = 4) -> list[tuple[str, Sequence[str]]]:
    """Every task evaluated, then one learned, and so on: about so many blocks."""
    names = [f"task{at}" for at in range(tasks)]
    rounds = max(1, blocks // (tasks + 1))
    return [one for at in range(rounds) for one in (("test", names), ("train", names[at % tasks : at % tasks + 1]))]


def once_each(tasks: int) -> list[tuple[str, Sequence[str]]]:
    """Each task evaluated, learned and evaluated, and all of them at the end."""
    names = [f"task{at}" for at in range(tasks)]
    steps = [one for name in names for one in (("test", [name]), ("train", [name]), ("test", [name]))]
    return [*steps, ("test", names)]


def rows(root: Path, largest: int) -> Iterator[tuple[int, Spent, str]]:
    """Rows in one Parquet file of lives of a hundred thousand, beside Polars scanning it for each block's mean."""
    length, each = 100_000, 50
    blocks = [Block("learn" if at % 2 else "evaluate", f"task{at // 2 % 4}", length // each) for at in range(each)]
    scenario = Scenario.of("size", blocks)
    for power in range(5, largest + 1):
        path = root / f"rows{power}.parquet"
        lives = 10**power // length
        pieces = (np.random.default_rng(at).normal(0.5, 0.2, (1, length)) for at in range(lives))
        perdure.write_lives(path, values=pieces, scenario=scenario, learner="size")
        tries = 2 if power < 8 else 1
        scan = spent(sys.executable, "-c", SCAN, str(path), tries=tries)
        ours = score(path, tries=tries)
        yield 10**power, ours, f"Polars' scan {scan}; {ours.seconds / scan.seconds:.1f} ×"
        path.unlink()


def text(root: Path, largest: int) -> Iterator[tuple[int, Spent, str]]:
    """Rows of one life as text."""
    for power in range(5, min(largest, 8) + 1):
        life = write_life(root / f"text{power}", in_turn(100), 10**power // 100)
        scan = spent(sys.executable, "-c", SCAN_TEXT, str(life), tries=1)
        ours = score(life, tries=2 if power < 7 else 1)
        yield 10**power, ours, f"Polars' scan {scan}; {ours.seconds / scan.seconds:.1f} ×"
        subprocess.run(["rm", "-r", str(life)], check=True)


def blocks(root: Path, _largest: int) -> Iterator[tuple[int, Spent, str]]:
    """Blocks of ten experiences in one life of four tasks."""
    for count in (1000, 10_000, 100_000):
        yield count, score(write_life(root / f"blocks{count}", in_turn(count), 10)), ""


def one_task(root: Path, _largest: int) -> Iterator[tuple[int, Spent, str]]:
    """Blocks of ten experiences in one life of one task, so that every second block is a recovery."""
    for count in (1000, 10_000, 100_000):
        yield count, score(write_life(root / f"one{count}", in_turn(count, 1), 10)), ""


def lives(root: Path, _largest: int) -> Iterator[tuple[int, Spent, str]]:
    """Lifetimes of 15 blocks and 300 experiences in a folder."""
    for count in (100, 1000, 10_000):
        folder = root / f"lives{count}"
        for at in range(count):
            write_life(folder / f"life{at:05}", in_turn(15), 20, at)
        yield count, score(folder, tries=1), "two cores"


def tasks(root: Path, _largest: int) -> Iterator[tuple[int, Spent, str]]:
    """Blocks, with a task for every fourth of them; and the report of that life."""
    for count in (20, 200, 2000):
        life = write_life(root / f"tasks{count}", once_each(count), 10)
        page = root / f"tasks{count}.html"
        report = spent(sys.executable, "-m", "perdure", "report", str(life), "--to", str(page), "--quiet", tries=1)
        yield 4 * count, score(life), f"{count} tasks; its report {report}, {page.stat().st_size / 1e6:.1f} MB"


PARTS: dict[str, Callable[[Path, int], Iterator[tuple[int, Spent, str]]]] = {
    "rows": rows,
    "text": text,
    "blocks": blocks,
    "one-task": one_task,
    "lives": lives,
    "tasks": tasks,
}


def exponent(points: Sequence[tuple[int, Spent]], start: float) -> float | None:
    """How processor time grows, start-up apart; None where no decade is larger than the start-up."""
    above = [(math.log(count), math.log(one.processor - start)) for count, one in points if one.processor > 2 * start]
    if len(above) < 2:
        return None
    sizes, times = zip(*above, strict=True)
    return float(np.polyfit(sizes, times, 1)[0])


def main() -> None:
    """Measure what is asked for, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--largest", type=int, default=7)
    parser.add_argument("--folder", help="where to write; a temporary folder otherwise")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        root = Path(folder)
        start = score(write_life(root / "start", in_turn(10), 10), tries=3)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; start-up {start}\n")
        print("| what | how many | score | |\n|---|---|---|---|", flush=True)
        for name in asked.only:
            points: list[tuple[int, Spent]] = []
            for count, one, more in PARTS[name](root, asked.largest):
                points.append((count, one))
                print(f"| {name} | {count:,} | {one} | {more} |", flush=True)
            found = exponent(points, start.processor)
            print(
                f"| {name} | exponent | {'start-up is most of it' if found is None else f'{found:.2f}'} | |", flush=True
            )


if __name__ == "__main__":
    main()
