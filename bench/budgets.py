"""Measure the seconds and memory of everyday commands on this machine, and compare them with their budgets.

    python bench/budgets.py                          all but 10⁸ rows; about ten minutes on two cores
    python bench/budgets.py --only score-1e6 report  some of them
    python bench/budgets.py --largest                10⁸ rows too (8 GB of disk)

Each command runs in a fresh process, start-up included; the fastest of `--tries` counts. Memory is that of its largest
process. The table goes into bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import perdure
from perdure.scenario.model import Block, Scenario

ROOT = Path(__file__).parents[1]
TASKS = ("pong", "breakout", "freeway", "chess")
READ = (
    "import glob, sys; import polars as pl; "
    "[pl.read_csv(file, separator='\\t') for file in glob.glob(sys.argv[1] + '/*/*/data-log.tsv')]"
)


class Budget(NamedTuple):
    """A command with its limits of time and memory."""

    name: str
    job: str
    seconds: float
    megabytes: float | None
    command: list[str]
    peer: tuple[str, ...] = ()
    """A command that does the unavoidable part of the work; `times` limits the ratio of the two."""
    times: float | None = None
    page: Path | None = None
    """A file that the command writes and whose size counts."""


class Measured(NamedTuple):
    """Time and memory of a command."""

    seconds: float
    megabytes: float


def measure(command: Sequence[str], tries: int) -> Measured:
    """Return the fastest of several runs, and the memory of its largest process."""
    runs = []
    for _ in range(tries):
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        problem = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"{' '.join(command)} failed: {problem.decode()[-400:]}")
        runs.append(Measured(time.perf_counter() - started, used.ru_maxrss / 1024))
    return min(runs)


def write_lifetime(folder: Path, blocks: list[tuple[str, str]], length: int, seed: int = 0) -> Path:
    """Write a log of blocks of (mode, task), each of `length` experiences, in L2Logger's layout."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    (folder / "logger_info.json").write_text(json.dumps({"metrics_columns": ["reward"], "log_format_version": "1.1"}))
    (folder / "scenario_info.json").write_text("{}")
    for number, (mode, task) in enumerate(blocks):
        place = folder / "w0" / f"{number}-{mode}"
        place.mkdir(parents=True)
        first = number * length
        rows = pl.DataFrame(
            {
                "block_num": number,
                "exp_num": np.arange(first, first + length),
                "worker_id": "w0",
                "block_type": mode,
                "block_subtype": "wake",
                "task_name": task,
                "task_params": "{}",
                "exp_status": "complete",
                "timestamp": "20240101T000000.000000",
                "reward": rng.normal(0.5, 0.2, length).round(6),
            }
        )
        rows.write_csv(place / "data-log.tsv", separator="\t")
    return folder


def alternating(count: int) -> list[tuple[str, str]]:
    """Return about `count` blocks: every task is evaluated, then one is learned, and so on."""
    rounds = max(1, count // (len(TASKS) + 1))
    return [
        block
        for index in range(rounds)
        for block in (*(("test", task) for task in TASKS), ("train", TASKS[index % len(TASKS)]))
    ]


def score(path: Path, *options: str) -> list[str]:
    """Return the command that scores `path`."""
    return [sys.executable, "-m", "perdure", "score", str(path), "--quiet", *options]


def budgets(root: Path) -> Iterator[tuple[str, Callable[[], Budget]]]:
    """Yield every budget by name; its input is written when it is asked for."""

    def readme() -> Budget:
        code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        assert code
        subprocess.run([sys.executable, "-c", code[1]], cwd=root, check=True, capture_output=True)
        return Budget("readme", "`perdure score`, README log", 0.6, None, score(root / "logs"))

    def rows(power: int, seconds: float, megabytes: float) -> Budget:
        log = write_lifetime(root / f"rows{power}", alternating(100), 10**power // 100)
        peer = (sys.executable, "-c", READ, str(log)) if power == 6 else ()
        job = f"`perdure score`, 10^{power} rows of text"
        return Budget(f"score-1e{power}", job, seconds, megabytes, score(log), peer, 3.0 if peer else None)

    def thousand() -> Budget:
        for index in range(1000):
            write_lifetime(root / "thousand" / f"life-{index:03d}", alternating(15), 2000, index)
        return Budget("thousand", "1,000 lifetimes of 30,000 rows", 20, None, score(root / "thousand"))

    def folder() -> Budget:
        for index in range(10_000):
            write_lifetime(root / "folder" / f"life-{index:04d}", alternating(15), 20, index)
        return Budget("folder", "10,000 lifetimes of 300 rows in a folder", 60, 600, score(root / "folder"))

    def bulk() -> Budget:
        modes = {"train": "learn", "test": "evaluate"}
        blocks = [Block(modes[mode], task, 50) for mode, task in alternating(20)]  # type: ignore[arg-type]
        values = (np.random.default_rng(seed).normal(0.5, 0.2, (100, 50 * len(blocks))) for seed in range(100))
        file = root / "bulk.parquet"
        perdure.write_lifetimes(file, values=values, scenario=Scenario.of("bulk", blocks), learner="bulk")
        return Budget("bulk", "10,000 lifetimes of 1,000 rows in one file", 30, 600, score(file))

    def blocks() -> Budget:
        log = write_lifetime(root / "blocks", alternating(100_000), 10)
        return Budget("blocks", "100,000 blocks in one lifetime", 15, 700, score(log))

    def report() -> Budget:
        for index in range(30):
            write_lifetime(root / "run" / f"life-{index:02d}", alternating(20), 5000, index)
        page = root / "report.html"
        command = [sys.executable, "-m", "perdure", "report", str(root / "run"), "--to", str(page), "--quiet"]
        return Budget("report", "`perdure report`, 30 lifetimes of 10^5 rows", 5, None, command, page=page)

    yield "help", lambda: Budget("help", "`perdure --help`", 0.3, None, [sys.executable, "-m", "perdure", "--help"])
    yield "readme", readme
    yield "score-1e6", lambda: rows(6, 1.0, 300)
    yield "score-1e7", lambda: rows(7, 6, 1000)
    yield "score-1e8", lambda: rows(8, 75, 4000)
    yield "thousand", thousand
    yield "folder", folder
    yield "bulk", bulk
    yield "blocks", blocks
    yield "report", report


def line(budget: Budget, tries: int) -> str:
    """Measure a budget and return its row of the table."""
    tries = tries if budget.seconds <= 6 else 1
    cost = measure(budget.command, tries)
    allowed = f"{budget.seconds:g} s" + (f", {budget.megabytes:.0f} MB" if budget.megabytes else "")
    summary = f"{cost.seconds:.2f} s, {cost.megabytes:.0f} MB"
    exceeded = cost.seconds > budget.seconds or (budget.megabytes is not None and cost.megabytes > budget.megabytes)
    if budget.peer:
        times = cost.seconds / measure(budget.peer, tries).seconds
        allowed += f", {budget.times:g} × Polars reading the file"
        summary += f", {times:.1f} ×"
        exceeded = exceeded or times > (budget.times or 0)
    if budget.page:
        size = budget.page.stat().st_size / 1e6
        allowed += ", page of 6 MB"
        summary += f", page of {size:.1f} MB"
        exceeded = exceeded or size > 6
    return f"| {budget.job} | {allowed} | {'**' * exceeded}{summary}{'**' * exceeded} |"


def main() -> None:
    """Measure the budgets asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="NAME", default=[])
    parser.add_argument("--largest", action="store_true", help="10⁸ rows too")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--folder", help="where inputs are written; a temporary folder otherwise")
    options = parser.parse_args()
    print("| job | budget | measured |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, prepare in budgets(Path(folder)):
            if name in options.only or (not options.only and (options.largest or name != "score-1e8")):
                print(line(prepare(), options.tries), flush=True)
                for place in Path(folder).iterdir():
                    shutil.rmtree(place) if place.is_dir() else place.unlink()


if __name__ == "__main__":
    main()
