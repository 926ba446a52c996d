"""How long does a report take beside scoring, and how large is it?

    python bench/report_speed.py --lifetimes 50 --experiences 100000

Each time is a fresh process, start-up included: `perdure score`, then `perdure report`, on the same
lifetimes, first without and then with the copies that reading leaves behind.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from score_speed import write_lifetime  # type: ignore[import-not-found]

TASKS = ("pong", "breakout", "freeway", "chess")


def timed(*arguments: object) -> float:
    """Seconds that a command takes, from its start."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "perdure", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Write lifetimes, time both verbs, print one table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--lifetimes", type=int, default=50)
    asked.add_argument("--experiences", type=int, default=100_000)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        for seed in range(given.lifetimes):
            write_lifetime(run / "lives" / f"life-{seed:03d}", given.experiences, 12, seed, TASKS)
        for at, task in enumerate(TASKS):
            write_lifetime(run / "experts" / task, given.experiences // 4, 3, 900 + at, [task], expert=True)
        target = run / "report.html"
        print(f"{given.lifetimes} lifetimes of {given.experiences} learning experiences")
        for what in ("first", "again"):
            score = timed("score", run)
            if what == "first":
                for copy in run.rglob(".perdure"):
                    shutil.rmtree(copy)
            report = timed("report", run, "--to", target)
            print(f"{what}: score {score:.2f} s, report {report:.2f} s, {report / score:.2f} ×")
        print(f"report.html: {target.stat().st_size / 1e6:.2f} MB")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"largest process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
