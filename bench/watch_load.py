"""What does `perdure watch` cost while thirty lifetimes grow?

    python bench/watch_load.py --seconds 300 --lifetimes 30 --rate 12

A usual lifetime logs about one experience a second; `--rate` is how many each logs here. A page that
asks once a second is imitated. Prints the server's share of a core and its memory as time passes.

    python bench/watch_load.py --blocks 100 1000 10000 --length 20

And what does one further block of a running life cost, against the number of blocks that it has? Processor time of a
poll, its reading and its scoring, and how they grow: with bounds given, with ranges from the data, and where each
block goes beyond all before, so that the range of its task changes every time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import perdure
from perdure.metrics.engine.settings import Settings
from perdure.scenario.model import Block, Scenario
from perdure.watch.follow import Follower

sys.path.insert(0, str(Path(__file__).parent))
from size import HEADER, in_turn, write_life  # type: ignore[import-not-found]

TASKS = ("pong", "breakout", "freeway")
SERVER = (
    "import sys; from perdure.watch.follow import Follower; from perdure.watch.serve import serve; "
    "serve(Follower([sys.argv[1]]), started=lambda address: print(address, flush=True))"
)


def used(process: int) -> tuple[float, float]:
    """Seconds of a core, and megabytes, that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def per_block(counts: Sequence[int], length: int, further: int = 24) -> None:
    """Print what a further block costs after so many."""
    kinds: dict[str, tuple[Settings, float]] = {
        "bounds given": (Settings(bounds={f"task{at}": (-10.0, 10.0) for at in range(4)}), 0.0),
        "ranges found": (Settings(), 0.0),
        "each a new extreme": (Settings(), 1.0),
    }
    print(f"| blocks of {length} | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}", flush=True)
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in kinds}
    for count in counts:
        for name, (settings, rise) in kinds.items():
            with tempfile.TemporaryDirectory() as folder:
                found[name].append(_further(Path(folder) / "life", count, length, settings, rise, further))
        cells = (", ".join(f"{1e3 * one:.1f}" for one in found[name][-1]) for name in kinds)
        print(f"| {count:,}: poll, of it reading, scoring, ms | {' | '.join(cells)} |", flush=True)
    if len(counts) > 1:
        logs = np.log(counts)
        slopes = [np.polyfit(logs, np.log(found[name]), 1)[0] for name in kinds]
        print(f"| exponents | {' | '.join(', '.join(f'{one:.2f}' for one in of) for of in slopes)} |")


def _further(
    life: Path, count: int, length: int, settings: Settings, rise: float, further: int
) -> tuple[float, float, float]:
    plan = [(kind, task) for kind, tasks in in_turn(count + further + 10) for task in tasks]
    write_life(life, [(kind, [task]) for kind, task in plan[:count]], length)
    (life / "manifest.json").write_text('{"id": "life", "measures": {"reward": "higher"}}')
    follower = Follower([life.parent], settings=settings)
    follower.settle()
    spent = {"reading": 0.0, "scoring": 0.0}

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            started = time.process_time()
            try:
                return work(*arguments)
            finally:
                spent[name] = time.process_time() - started

        return run

    (one,) = follower.lives.values()
    vars(one.growing)["read"] = timed("reading", one.growing.read)
    vars(follower)["_surveyor"] = timed("scoring", surveyor := follower._surveyor)
    vars(follower._surveyor)["options"] = surveyor.options
    told: list[tuple[float, float, float]] = []
    rng = np.random.default_rng(1)
    for number in range(count, count + further):
        place = life / "w0" / f"{number}-{plan[number][0]}"
        place.mkdir()
        values = rng.normal(0.5, 0.2, length) + rise * (number - count + 1)
        fixed = f"w0\t{plan[number][0]}\twake\t{plan[number][1]}\t{{}}\tcomplete\t20240101T000000.000000"
        lines = (f"{number}\t{number * length + at}\t{fixed}\t{value:.6f}\n" for at, value in enumerate(values))
        (place / "data-log.tsv").write_text(HEADER + "".join(lines))
        follower._score_from = 0.0
        scored, started = follower.scored, time.process_time()
        follower.poll()
        told.append((time.process_time() - started, spent["reading"], spent["scoring"]))
        assert follower.scored == scored + 1
    return tuple(np.median(told, axis=0).tolist())


def main() -> None:
    """Let lifetimes grow, ask as a page would, and print what the server uses."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=300)
    asked.add_argument("--lifetimes", type=int, default=30)
    asked.add_argument("--rate", type=int, default=12, help="experiences per second and lifetime")
    asked.add_argument("--block", type=int, default=360, help="experiences per learning block")
    asked.add_argument("--blocks", type=int, nargs="+", help="what a further block costs after so many")
    asked.add_argument("--length", type=int, default=20, help="experiences of each of these blocks")
    given = asked.parse_args()
    if given.blocks:
        per_block(given.blocks, given.length)
        return
    rng = np.random.default_rng(0)
    plan = [kind for task in TASKS for kind in (("train", task), *(("test", other) for other in TASKS))] * 40
    blocks = [Block("learn" if kind == "train" else "evaluate", task, None) for kind, task in plan]
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        journals = [
            perdure.Journal(
                logs, f"life-{at:02d}", ["reward"], learner="toy", seed=at, scenario=Scenario.of("load", blocks)
            )
            for at in range(given.lifetimes)
        ]
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(logs)], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        at, block, left = 0, 0, given.block
        started, version, scored = time.monotonic(), -1, 0
        last = used(server.pid)
        told = started
        print("seconds   core   memory")
        try:
            while time.monotonic() - started < given.seconds:
                tick = time.monotonic()
                kind, task = plan[block]
                for journal in journals:
                    journal.log_many(
                        block_num=block,
                        exp_num=np.arange(at, at + given.rate),
                        block_type=kind,
                        task_name=task,
                        reward=rng.normal(0.5, 0.1, given.rate).round(4),
                    )
                at += given.rate
                left -= given.rate
                if left <= 0:
                    block += 1
                    left = given.block if plan[block][0] == "train" else given.rate * 2
                facts = answer_of(f"{address}state?since={version}")
                version = facts["version"]
                if facts["scored"] != scored:
                    scored = facts["scored"]
                    answer_of(f"{address}report")
                if time.monotonic() - told >= 30:
                    now = used(server.pid)
                    share = (now[0] - last[0]) / (time.monotonic() - told)
                    print(f"{time.monotonic() - started:7.0f}  {share:5.1%}  {now[1]:5.0f} MB", flush=True)
                    last, told = now, time.monotonic()
                time.sleep(max(0.0, 1 - (time.monotonic() - tick)))
        finally:
            server.terminate()
            server.wait(timeout=10)
            for journal in journals:
                journal.close()


def answer_of(address: str) -> dict[str, int]:
    """What the server answers."""
    import msgspec

    with urllib.request.urlopen(address, timeout=30) as answer:
        return msgspec.json.decode(answer.read(), type=dict)


if __name__ == "__main__":
    main()
