"""How do time and memory grow with rows, blocks, lifetimes and tasks?

Each point is a fresh `perdure score` (of tasks, `perdure report` too), in turn with what it stands beside: the least of
three tries (one, where it works for more than 10 s), of clock, processors and memory each. Beside it the work alone:
the processor time of the same survey and its statistics in a process that has imported all and scored a small life
before. The exponent is the slope of that work's logarithm over all decades, and over the last. Processor time, because
it says more than the clock where a machine is shared; one process, because a second one's start is no work.

    python bench/size.py --only rows blocks --largest 7

`--largest` is the power of ten up to which rows go (8 takes 1.2 GB of disk as Parquet, and 7 GB as text).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
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
SCAN_ALL = "import polars as pl, sys; pl.read_parquet(sys.argv[1])"
WORK = (
    "import sys, time, perdure, polars, scipy.special; from perdure.stats.groups import groups; "
    "groups(perdure.survey(sys.argv[1], jobs=1)); "
    "t = time.process_time(); groups(perdure.survey(sys.argv[2], jobs=1)); print(time.process_time() - t)"
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

    def beside(self, other: Spent) -> str:
        """How many times as much as another."""
        times = self.processor / other.processor, self.seconds / other.seconds
        return f"{other}; {times[0]:.1f} × its processor time, {times[1]:.1f} × by the clock"


def spent(*commands: Sequence[str], tries: int, path: Path) -> list[Spent]:
    """What each of several commands takes at the least, of tries in turn: what else a machine does only adds to it.

    Copies that reading left at `path` are removed before each.
    """
    tried = [[_once(command, path) for command in commands] for _ in range(tries)]
    least = ([min(numbers) for numbers in zip(*map(astuple, each), strict=True)] for each in zip(*tried, strict=True))
    return [Spent(*numbers) for numbers in least]


def _once(command: Sequence[str], path: Path) -> Spent:
    forget(path)
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=True)
    *numbers, code = done.stdout.split()
    if int(code):
        raise SystemExit(f"{' '.join(command[:4])} … failed ({code}): {done.stderr}")
    return Spent(*map(float, numbers))


def forget(path: Path) -> None:
    """Remove the copies that reading left beside text."""
    for kept in path.rglob(".perdure/*") if path.is_dir() else ():
        kept.unlink()


def command(verb: str, path: Path, *options: str) -> list[str]:
    """`perdure` with a verb."""
    return [sys.executable, "-m", "perdure", verb, str(path), "--quiet", *options]


def work(path: Path, small: Path, tries: int = 2) -> float:
    """The seconds of a processor that a survey and its statistics take, start-up and imports apart."""

    def once() -> float:
        forget(path)
        both = [sys.executable, "-c", WORK, str(small), str(path)]
        return float(subprocess.run(both, capture_output=True, text=True, check=True).stdout)

    return min(once() for _ in range(tries))


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


@dataclass(frozen=True)
class Point:
    """Something of a size, to be scored in turn with others' code that gets its path."""

    count: int
    path: Path
    others: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[], str] = lambda: ""
    """What else there is to say of it, measured when it is asked for."""


def rows(root: Path, largest: int) -> Iterator[Point]:
    """Rows in one Parquet file of lives of a hundred thousand at most, beside Polars' means and columns."""
    for power in range(4, largest + 1):
        length, each = min(10**power, 100_000), 50
        blocks = [Block("learn" if at % 2 else "evaluate", f"task{at // 2 % 4}", length // each) for at in range(each)]
        path = root / f"rows{power}.parquet"
        pieces = (np.random.default_rng(at).normal(0.5, 0.2, (1, length)) for at in range(10**power // length))
        perdure.write_lives(path, values=pieces, scenario=Scenario.of("size", blocks), learner="size")
        others = {"Polars reads all columns": SCAN_ALL, "Polars' means of blocks": SCAN}
        yield Point(10**power, path, others if power > 5 else {})


def text(root: Path, largest: int) -> Iterator[Point]:
    """Rows of one life as text."""
    for power in range(4, min(largest, 8) + 1):
        life = write_life(root / f"text{power}", in_turn(100), 10**power // 100)
        yield Point(10**power, life, {"Polars' means of blocks": SCAN_TEXT} if power > 5 else {})


def blocks(root: Path, _largest: int) -> Iterator[Point]:
    """Blocks of ten experiences in one life of four tasks."""
    for power in range(1, 6):
        yield Point(10**power, write_life(root / f"blocks{power}", in_turn(10**power), 10))


def one_task(root: Path, _largest: int) -> Iterator[Point]:
    """Blocks of ten experiences in one life of one task, so that every second block is a recovery."""
    for power in range(1, 6):
        yield Point(10**power, write_life(root / f"one{power}", in_turn(10**power, 1), 10))


def lives(root: Path, _largest: int) -> Iterator[Point]:
    """Lifetimes of 15 blocks and 300 experiences in a folder; the command takes both cores."""
    for power in range(5):
        folder = root / f"lives{power}"
        for at in range(10**power):
            write_life(folder / f"life{at:05}", in_turn(15), 20, at)
        yield Point(10**power, folder)


def tasks(root: Path, _largest: int) -> Iterator[Point]:
    """Blocks, with a task for every fourth of them; and the report of that life."""
    for count in (2, 20, 200, 2000):
        life, page = write_life(root / f"tasks{count}", once_each(count), 10), root / f"tasks{count}.html"

        def more(life: Path = life, page: Path = page, count: int = count) -> str:
            (report,) = spent(command("report", life, "--to", str(page)), tries=1, path=life)
            return f"{count} tasks; its report {report}, {page.stat().st_size / 1e6:.1f} MB"

        yield Point(4 * count, life, more=more)


PARTS: dict[str, Callable[[Path, int], Iterator[Point]]] = {
    "rows": rows,
    "text": text,
    "blocks": blocks,
    "one-task": one_task,
    "lives": lives,
    "tasks": tasks,
}


def main() -> None:
    """Measure what is asked for, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--largest", type=int, default=7)
    parser.add_argument("--folder", help="where to write; a temporary folder otherwise")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        root = Path(folder)
        small = write_life(root / "small", in_turn(10), 10)
        (start,) = spent(command("score", small), tries=3, path=small)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; start-up {start}\n")
        print("| what | how many | score | work | |\n|---|---|---|---|---|", flush=True)
        for name in asked.only:
            points: list[tuple[int, float]] = []
            for point in PARTS[name](root, asked.largest):
                took = work(point.path, small)
                others = ([sys.executable, "-c", code, str(point.path)] for code in point.others.values())
                tries = 1 if took > 10 else 3
                ours, *theirs = spent(command("score", point.path), *others, tries=tries, path=point.path)
                points.append((point.count, took))
                said = [f"{what}: {ours.beside(one)}" for what, one in zip(point.others, theirs, strict=True)]
                told = ". ".join(filter(None, [*said, point.more()]))
                print(f"| {name} | {point.count:,} | {ours} | {took:.3f} s | {told} |", flush=True)
                subprocess.run(["rm", "-r", str(point.path)], check=True)
            sizes, times = np.log10([count for count, _ in points]), np.log10([took for _, took in points])
            whole, last = np.polyfit(sizes, times, 1)[0], np.polyfit(sizes[-2:], times[-2:], 1)[0]
            over = f"exponent over {sizes[-1] - sizes[0]:.1f} decades (the last)"
            print(f"| {name} | {over} | | {whole:.2f} ({last:.2f}) | |", flush=True)


if __name__ == "__main__":
    main()
