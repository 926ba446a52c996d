"""How long does a report take beside scoring, and how large is it?

    python bench/report_speed.py --lifetimes 50 --experiences 100000

Each time is a fresh process, start-up included: scoring all, then writing the report, on the same
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


SCORE = "import sys; from perdure.gather.survey import survey; survey(sys.argv[1:])"
REPORT = "import sys; from perdure.report import write_report; write_report(sys.argv[1], sys.argv[2])"


def timed(code: str, *arguments: object) -> float:
    """Seconds that a process takes, from its start."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True)
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
            score = timed(SCORE, run)
            if what == "first":
                for copy in run.rglob(".perdure"):
                    shutil.rmtree(copy)
            report = timed(REPORT, run, target)
            print(f"{what}: score {score:.2f} s, report {report:.2f} s, {report / score:.2f} ×")
        print(f"report.html: {target.stat().st_size / 1e6:.2f} MB")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"largest process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
