"""Kill nodes of a Ray cluster fifty times at random, and compare the records with those of an undisturbed run.

python bench/kill_nodes.py [KILLS] [SEED]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.faults.ill import records, write_protocol
from tests.faults.nodes import cluster, run_while_killing

import perdure

_IN_ONE_RUN = 5  # with more kills, replacement nodes would die before they start a lifetime


def main(wanted: int) -> None:
    """Kill the given number of nodes, over as many runs as that takes."""
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns())
    killed = lost = runs = 0
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as nodes:
        file = write_protocol(Path(folder), "Slow", "pause = 0.01", lifetimes=4, experts=1, learn=12)
        perdure.run(file, Path(folder, "whole"), workers=0, score=False)
        expected, began = records(Path(folder, "whole")), time.monotonic()
        while killed < wanted:
            run = Path(folder, f"run-{runs}")
            kills = run_while_killing(nodes, file, run, min(_IN_ONE_RUN, wanted - killed), chance)
            written = records(run)
            assert written.keys() == expected.keys()
            assert all(written[key].equals(expected[key]) for key in written)
            killed, lost, runs = killed + kills[0], lost + kills[1], runs + 1
            passed = time.monotonic() - began
            print(f"{runs} runs, {killed} nodes killed, {lost} lives lost and taken up, {passed:.0f} s", flush=True)
    print(f"{runs * sum(len(lines) for lines in expected.values())} records, all as in a run here")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
