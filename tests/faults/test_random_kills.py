"""Drivers and workers that die repeatedly at random moments; the records equal those of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.command import run_learner
from tests.faults.ill import Run, children_of, records, write_protocol

from perdure.runner.folder import RunFolder
from perdure.runner.plan import RunPlan
from perdure.runner.protocol import read_protocol

DRIVER = (
    "import sys; from perdure.stopping import stop_on_signals; stop_on_signals()\n"
    "from perdure import run; run(sys.argv[1], sys.argv[2], workers=2, score=False)"
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_random_deaths_lose_no_record(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = write_protocol(tmp_path, "Slow", "pause = 0.002", lifetimes=3, experts=1, learn=10)
    run_learner(file, tmp_path / "whole", workers=0)
    plan, folder = RunPlan(read_protocol(file)), RunFolder(tmp_path / "run")
    while any(not folder.is_finished(job) for job in plan.jobs):
        run_disturbed(file, tmp_path / "run", chance)
    found, expected = records(tmp_path / "run"), records(tmp_path / "whole")
    assert found.keys() == expected.keys()
    assert all(found[key].equals(expected[key]) for key in found)


def run_disturbed(file: Path, into: Path, chance: random.Random) -> None:
    """Start the run once while one or two faults happen to it."""
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


KILLS = 5
LEARNERS = """
[[learners]]
use = "ill_toys:Slow"
params = { pause = 0.004 }
name = "one"

[[learners]]
use = "ill_toys:Slow"
params = { pause = 0.006 }
name = "other"
"""


@pytest.mark.slow
def test_several_learners_killed_repeatedly_leave_the_records_of_an_undisturbed_run(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, lifetimes=2, experts=1, learn=10)
    text = file.read_text()
    begin, end = text.index("[learner]"), text.index("[[scenarios]]")
    file.write_text(text[:begin] + LEARNERS + text[end:])
    whole, into = tmp_path / "whole", tmp_path / "run"
    assert Run(file, into=whole).end()[0] == 0
    # Moments are counted in records, so that they fall into the work of both learners on any machine.
    moments = sorted(random.Random(3).sample(range(2, sum(count_lines(whole).values()) - 10), KILLS))
    for moment in moments:
        run = Run(file, into=into)
        while sum(count_lines(into).values()) < moment:
            assert run.process.poll() is None, run.end()
            time.sleep(0.01)
        run.process.kill()
        assert "Traceback" not in run.end()[2]
    status, _, complained = Run(file, into=into).end()
    assert status == 0, complained
    assert count_lines(into) == count_lines(whole)
    for learner in ("one", "other"):
        found, expected = records(into / learner), records(whole / learner)
        assert found.keys() == expected.keys() != set()
        assert all(found[key].equals(expected[key]) for key in found)


def count_lines(folder: Path) -> dict[str, int]:
    """Return the current number of lines of each log below the folder."""
    results = {}
    with suppress(FileNotFoundError):  # of a lifetime that is just starting again
        for log in folder.glob("*/*/*/*/*/data-log.tsv"):
            results[str(log.relative_to(folder))] = log.read_bytes().count(b"\n")
    return results
