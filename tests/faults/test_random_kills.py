"""Drivers and workers die at random moments, again and again; what is lived in the end is what would have been."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.faults.ill import children_of, records, write_protocol

from perdure.run.folder import RunFolder
from perdure.run.plan import Plan
from perdure.run.protocol import read_protocol
from perdure.run.runner import run_protocol

DRIVER = (
    "import sys; from perdure.stopping import stop_on_signals; stop_on_signals()\n"
    "from perdure.run.runner import run_protocol; run_protocol(sys.argv[1], sys.argv[2], workers=2)"
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_random_deaths_lose_no_record(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = write_protocol(tmp_path, "Slow", "pause = 0.002", lifetimes=3, experts=1, learn=10)
    run_protocol(file, tmp_path / "whole", workers=0)
    plan, folder = Plan(read_protocol(file)), RunFolder(tmp_path / "run")
    while any(not folder.is_finished(job) for job in plan.jobs):
        disturbed(file, tmp_path / "run", chance)
    found, expected = records(tmp_path / "run"), records(tmp_path / "whole")
    assert found.keys() == expected.keys()
    assert all(found[key].equals(expected[key]) for key in found)


def disturbed(file: Path, into: Path, chance: random.Random) -> None:
    """One start of the run, to which one or two bad things happen."""
    command = [sys.executable, "-c", DRIVER, str(file), str(into)]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    for _ in range(chance.randint(1, 2)):
        time.sleep(chance.uniform(0.7, 2.5))
        victim = chance.choice(["driver", "worker", "worker", "asked"])
        if driver.poll() is not None:
            break
        if victim == "worker" and (workers := children_of(driver.pid)):
            os.kill(chance.choice(workers), signal.SIGKILL)
        elif victim == "driver":
            driver.kill()
            break
        elif victim == "asked":
            driver.send_signal(chance.choice([signal.SIGINT, signal.SIGTERM]))
            break
    _, complained = driver.communicate(timeout=60)
    assert driver.returncode in (0, -9, 130, 143), complained
    assert b"Traceback" not in complained
