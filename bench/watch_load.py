"""Measure the load of `perdure watch` while thirty lifetimes grow.

    python bench/watch_load.py --seconds 300 --lifetimes 30 --rate 12

A usual lifetime logs about one experience a second; here each logs `--rate`. The script requests the state once a
second, as a page does, and prints the server's share of a core and its memory over time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

import perdure
from perdure.scenario.model import Block, Scenario

TASKS = ("pong", "breakout", "freeway")
SERVER = (
    "import sys; from perdure.watch.monitor import Monitor; from perdure.watch.server import serve; "
    "serve(Monitor([sys.argv[1]]), started=lambda address: print(address, flush=True))"
)


def used(process: int) -> tuple[float, float]:
    """Return the processor seconds and megabytes that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Let lifetimes grow, request their state, and print the server's load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--lifetimes", type=int, default=30)
    parser.add_argument("--rate", type=int, default=12, help="experiences per second and lifetime")
    parser.add_argument("--block", type=int, default=360, help="experiences per learning block")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    plan = [kind for task in TASKS for kind in (("train", task), *(("test", other) for other in TASKS))] * 40
    blocks = [Block("learn" if kind == "train" else "evaluate", task, None) for kind, task in plan]
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        journals = [
            perdure.Journal(
                logs, f"life-{index:02d}", ["reward"], learner="toy", seed=index, scenario=Scenario.of("load", blocks)
            )
            for index in range(options.lifetimes)
        ]
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(logs)], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        experience, block, left = 0, 0, options.block
        started, version, scored = time.monotonic(), -1, 0
        last = used(server.pid)
        reported = started
        print("seconds   core   memory")
        try:
            while time.monotonic() - started < options.seconds:
                tick = time.monotonic()
                kind, task = plan[block]
                for journal in journals:
                    journal.log_many(
                        block_num=block,
                        exp_num=np.arange(experience, experience + options.rate),
                        block_type=kind,
                        task_name=task,
                        reward=rng.normal(0.5, 0.1, options.rate).round(4),
                    )
                experience += options.rate
                left -= options.rate
                if left <= 0:
                    block += 1
                    left = options.block if plan[block][0] == "train" else options.rate * 2
                facts = answer_of(f"{address}state?since={version}")
                version = facts["version"]
                if facts["scored"] != scored:
                    scored = facts["scored"]
                    answer_of(f"{address}report")
                if time.monotonic() - reported >= 30:
                    now = used(server.pid)
                    share = (now[0] - last[0]) / (time.monotonic() - reported)
                    print(f"{time.monotonic() - started:7.0f}  {share:5.1%}  {now[1]:5.0f} MB", flush=True)
                    last, reported = now, time.monotonic()
                time.sleep(max(0.0, 1 - (time.monotonic() - tick)))
        finally:
            server.terminate()
            server.wait(timeout=10)
            for journal in journals:
                journal.close()


def answer_of(address: str) -> dict[str, int]:
    """Return the server's answer."""
    import msgspec

    with urllib.request.urlopen(address, timeout=30) as answer:
        return msgspec.json.decode(answer.read(), type=dict)


if __name__ == "__main__":
    main()
