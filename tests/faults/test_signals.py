"""SIGTERM and Ctrl-C: at every stage they end the command with a message and the conventional status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command import run_learner
from tests.faults.ill import Run, has_ended, records, wait_until, write_protocol

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
SIGNALS = [pytest.param(signal.SIGINT, id="ctrl-c"), pytest.param(signal.SIGTERM, id="sigterm")]

# The signal comes this long after the first line of output, with which the command reports that it is ready.
TIMED = """
import os, sys, threading
import perdure.__main__ as command
ready = command.stop_on_signals
def and_then():
    ready()
    threading.Timer({delay}, os.kill, (os.getpid(), {number})).start()
command.stop_on_signals = and_then
sys.argv = {argv!r}
command.main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_run_with_learners_that_ignore_signals_ends_and_leaves_no_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    file = write_protocol(tmp_path, "HangsDeaf", lifetimes=2)
    run = Run(file, into=tmp_path / "run")
    mark = tmp_path / "mark"
    wait_until(lambda: mark.exists() and len(mark.read_text().split()) == 2)
    sent = time.monotonic()
    run.process.send_signal(number)
    status, _, complained = run.end(30)
    assert time.monotonic() - sent < 20
    assert status == STATUS[number]
    assert complained.startswith("perdure: stopped; 2 left to run in ")
    assert "run the same command again to continue" in complained
    assert complained.count("\n") == 1
    assert all(has_ended(int(process)) for process in mark.read_text().split())


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stopped_run_resumes_to_the_same_records(tmp_path: Path, number: signal.Signals, workers: int) -> None:
    file = write_protocol(tmp_path, "Slow", "pause = 0.005", learn=6)
    run = Run(file, into=tmp_path / "run", workers=workers)
    wait_until(lambda: run.records() > 5)
    run.process.send_signal(number)
    status, _, complained = run.end(30)
    assert status == STATUS[number], complained
    assert "Traceback" not in complained
    assert run_learner(file, tmp_path / "run", workers=0).lived == ("life-000",)
    run_learner(file, tmp_path / "whole", workers=0)
    found, expected = records(tmp_path / "run"), records(tmp_path / "whole")
    assert list(found) == ["lives/life-000"]
    assert found["lives/life-000"].equals(expected["lives/life-000"])


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("delay", [0, 0.02, 0.1, 0.2, 0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3, 4])
def test_at_every_stage_a_signal_ends_the_command_with_its_status_and_no_traceback(
    tmp_path: Path, number: signal.Signals, delay: float
) -> None:
    file = write_protocol(tmp_path, "Still", experts=1, learn=40)
    argv = ["perdure", "run", str(file), "--into", str(tmp_path / "run"), "--workers", "1"]
    code = TIMED.format(delay=delay, number=int(number), argv=argv)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, STATUS[number]), done.stderr
    assert "Traceback" not in done.stderr
    assert "ignored in" not in done.stderr
    if done.returncode:
        lines = [
            line for line in done.stderr.splitlines() if " finished, " not in line
        ]  # in addition to progress lines
        assert lines in ([], ["perdure: stopped"]) or (len(lines) == 1 and lines[0].startswith("perdure: stopped; "))
    assert run_learner(file, tmp_path / "run", workers=0).missing == ()


def test_a_signal_during_compiled_code_still_ends_the_command(tmp_path: Path) -> None:
    deep = "import ctypes, perdure.stopping as s; s.stop_on_signals(); s._PATIENCE_S = 0.3; print(flush=True)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", deep + "ctypes.CDLL(None).pause() or [ctypes.CDLL(None).sleep(60) for _ in range(9)]"],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    code = (
        "import os, signal, time, perdure.stopping as s; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "s.stop_on_signals(); os.kill(os.getpid(), signal.SIGHUP); time.sleep(0.1); print('here')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "here\n")
