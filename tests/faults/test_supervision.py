"""Supervision of workers: no run waits forever, and a misbehaving learner affects only its own lifetime."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.command import run_learner
from tests.faults.ill import Run, children_of, has_ended, wait_until, write_protocol

import perdure
from perdure.errors import ProtocolError
from perdure.runner.engines import Event
from perdure.runner.folder import RunFolder


def read_process_ids(folder: Path) -> list[int]:
    """Return the process ids that learners wrote to the mark file."""
    return [int(line) for line in (folder / "mark").read_text().split()] if (folder / "mark").exists() else []


@pytest.mark.parametrize("use", ["Hangs", "HangsDeaf"])
def test_a_learner_that_hangs_is_ended_and_its_place_is_reported(tmp_path: Path, use: str) -> None:
    file = write_protocol(tmp_path, use, more="[limits]\nseconds_per_life = 0.5")
    result = run_learner(file, tmp_path / "run", workers=1)
    why = result.failed["life-000"]
    assert "took longer than seconds_per_life = 0.5" in why
    assert "it was at ill_toys.py:" in why
    assert "in ill" in why
    (process,) = read_process_ids(tmp_path)
    assert has_ended(process)


@pytest.mark.parametrize("use", ["Forks", "Joined"])
@pytest.mark.parametrize("deaf", ["false", "true"])
def test_a_child_process_left_by_a_learner_does_not_delay_the_run(tmp_path: Path, use: str, deaf: str) -> None:
    file = write_protocol(tmp_path, use, f"deaf = {deaf}", lifetimes=2)
    result = run_learner(file, tmp_path / "run", workers=1)
    assert result.lived == ("life-000", "life-001")
    try:
        if deaf == "false" or use == "Joined":
            wait_until(lambda: all(map(has_ended, read_process_ids(tmp_path))), 10)
        assert run_learner(file, tmp_path / "run", workers=1).lived == ()  # and holds no lock
    finally:
        for process in read_process_ids(tmp_path):
            if not has_ended(process):
                os.kill(process, signal.SIGKILL)


def test_a_forked_child_that_continues_as_the_learner_writes_nothing(tmp_path: Path) -> None:
    result = run_learner(write_protocol(tmp_path, "ForksAndReturns"), tmp_path / "run", workers=1)
    assert result.lived == ("life-000",)
    assert not perdure.check(result.finished_lives[0]).problems


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("Raises", "ZeroDivisionError: toy trouble (ill_toys.py:"),
        ("Exits", "SystemExit: bye (ill_toys.py:"),
        ("ExitsAtOnce", "its process died twice (exit status 0)"),
        ("Crashes", "its process died twice (signal SIGSEGV); it was at __init__.py:"),
        ("PrintsBinary", "ZeroDivisionError: "),
        ("NotANumber", "ill_toys"),
    ],
)
def test_a_learner_that_breaks_its_process_is_reported_and_loses_only_its_lifetime(
    tmp_path: Path, use: str, words: str
) -> None:
    # Experts have one block, so that only the lifetime reaches the block with the fault.
    result = run_learner(write_protocol(tmp_path, use, experts=1), tmp_path / "run", workers=2)
    if use == "NotANumber":
        assert all("nan" in why.lower() for why in result.failed.values())
        assert len(result.failed) == 3
        return
    assert set(result.failed) == {"life-000"}
    assert words in result.failed["life-000"]
    assert len(result.lived) == 2


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("use", ["Wanders", "Asks"])
def test_a_learner_that_changes_folder_or_reads_input_completes(
    tmp_path: Path, use: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if use == "Asks" and workers == 0:
        pytest.skip("in this process the input is the user's own")
    monkeypatch.chdir(tmp_path)
    params = f'mark = "{tmp_path / "away"}"' if use == "Wanders" else ""
    file = write_protocol(tmp_path, use, lifetimes=2)
    file.write_text(file.read_text().replace(f'mark = "{tmp_path / "mark"}"', params))
    result = run_learner(file, "run", workers=workers)
    assert result.failed == {}
    assert result.lived == ("life-000", "life-001")


@pytest.mark.parametrize("workers", [0, 1])
def test_any_error_of_a_learner_is_reported_at_a_readable_length(tmp_path: Path, workers: int) -> None:
    result = run_learner(write_protocol(tmp_path, "RaisesOddly", lifetimes=2), tmp_path / "run", workers=workers)
    assert set(result.failed) == {"life-000", "life-001"}
    for why in result.failed.values():
        assert why.startswith("Odd: \\udcffyyy")
        assert "… (1,000,001 characters) (ill_toys.py:" in why
        assert len(why) < 3000


def test_a_learner_does_not_inherit_the_process_of_a_failed_learner(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "Lowers", lifetimes=3)
    result = run_learner(file, tmp_path / "run", workers=1)
    assert len(result.failed) == 3
    for lifetime, why in result.failed.items():  # each fails by its own fault, in its fourth block
        assert f"{lifetime}/worker-default/" in why
        assert "3-t" in why


def test_a_learner_that_closes_its_output_ends_no_worker(tmp_path: Path) -> None:
    result = run_learner(write_protocol(tmp_path, "Closes", lifetimes=3), tmp_path / "run", workers=1)
    assert len(result.lived) == 3
    assert len(set(read_process_ids(tmp_path))) == 1


def test_an_action_too_large_for_a_machine_integer_is_not_in_its_space(tmp_path: Path) -> None:
    (why,) = run_learner(write_protocol(tmp_path, "Huge"), tmp_path / "run", workers=0).failed.values()
    assert "the learner's action … (int) is not in Discrete(3)" in why


def test_a_learner_that_leaks_is_ended_at_its_limit(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "Leaks", more="[limits]\ngigabytes_per_life = 0.6")
    result = run_learner(file, tmp_path / "run", workers=1)
    assert "more than gigabytes_per_life = 0.6" in result.failed["life-000"]


def test_an_environment_that_never_ends_is_cut_and_noted(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, more="[limits]\nsteps_per_episode = 3")
    file.write_text(file.read_text().replace("steps = 30", "steps = 1000000"))
    result = run_learner(file, tmp_path / "run", workers=1)
    assert result.failed == {}
    assert any("every one was cut at steps_per_episode = 3" in note for note in result.notes)


@pytest.mark.parametrize("workers", [0, 2])
def test_if_the_first_lifetimes_fail_the_same_way_the_rest_is_not_started(tmp_path: Path, workers: int) -> None:
    events: list[Event] = []
    file = write_protocol(tmp_path, "Raises", "at = 0", lifetimes=12, experts=1)
    result = run_learner(file, tmp_path / "run", workers=workers, tell=events.append)
    assert result.stopped is not None
    assert "all failed in the same way in their first block" in result.stopped
    assert "ZeroDivisionError: toy trouble" in result.stopped
    assert 3 <= len(result.failed) <= 4
    assert result.lived == ()
    assert len(result.missing) == 14
    assert sum(event.kind == "begun" for event in events) == len(result.failed)


def test_lifetimes_that_fail_later_or_differently_do_not_stop_the_rest(tmp_path: Path) -> None:
    result = run_learner(write_protocol(tmp_path, "Raises", lifetimes=5), tmp_path / "run", workers=0)
    assert result.stopped is None
    assert len(result.failed) == 5


def test_a_killed_worker_is_replaced_immediately(tmp_path: Path) -> None:
    killed: list[float] = []
    begun: list[float] = []

    def kill_worker_once(event: Event) -> None:
        if event.kind == "begun":
            begun.append(time.monotonic())
        elif event.kind == "progress" and not killed:
            (worker,) = set(children_of(os.getpid())) - before
            os.kill(worker, signal.SIGKILL)
            killed.append(time.monotonic())

    file = write_protocol(tmp_path, "Slow", "pause = 0.01")
    before = set(children_of(os.getpid()))  # processes that other tests may have left
    result = run_learner(file, tmp_path / "run", workers=1, tell=kill_worker_once)
    assert result.lived == ("life-000",)
    assert len(begun) == 2


def test_workers_end_and_free_the_folder_when_their_driver_is_killed(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "HangsDeaf", lifetimes=2)
    run = Run(file, into=tmp_path / "run")
    wait_until(lambda: len(read_process_ids(tmp_path)) == 2)
    run.process.kill()
    run.end()
    wait_until(lambda: all(map(has_ended, read_process_ids(tmp_path))), 30)
    with RunFolder(tmp_path / "run").locked():
        pass


def test_the_lock_names_its_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.runner.folder._PATIENCE_S", 0.1)
    folder = RunFolder(tmp_path / "run")
    with folder.locked(), pytest.raises(ProtocolError, match=rf"active here \(process {os.getpid()} on \S+, since 2"):
        run_learner(write_protocol(tmp_path), tmp_path / "run", workers=0)
    assert json.loads((tmp_path / "run" / ".run" / "lock").read_text())["pid"] == os.getpid()
