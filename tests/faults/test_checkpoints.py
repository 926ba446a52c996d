"""Resuming a lifetime: from the learner's last valid state, else from the one before, else from its seed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command import run_learner
from tests.faults.ill import Run, records, wait_until, write_protocol

import perdure
from perdure.errors import PerdureError, ProtocolError
from perdure.runner.engines import Event
from perdure.runner.resume import States
from perdure.runner.runner import RunResult

Damage = Callable[[Path], object]


def begin_run(folder: Path, how: str = "", workers: int = 0) -> Callable[[], RunResult]:
    """Stop a lifetime in `run` after five blocks, and complete another in `whole`; return a function that resumes
    `run`.
    """
    mended = folder / "mended"
    file = write_protocol(folder, "Fickle", f'at = 5, pause = 0.0, mended = "{mended}", how = "{how}"')
    stopped = run_learner(file, folder / "run", workers=workers)
    assert "stopped" in stopped.failed["life-000"]
    mended.touch()
    run_learner(file, folder / "whole", workers=0)
    return lambda: run_learner(file, folder / "run", workers=workers)


def same(folder: Path) -> bool:
    found, expected = records(folder / "run"), records(folder / "whole")
    return found.keys() == expected.keys() and all(found[key].equals(expected[key]) for key in found)


def states(folder: Path) -> Path:
    return folder / "run" / ".run" / "states" / "life-000"


def flip_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def replace_by(place: Path, make: Callable[[Path], object]) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    make(place)


def replace_text(file: Path, what: str, instead: str) -> None:
    assert what in file.read_text()
    file.write_text(file.read_text().replace(what, instead))


DAMAGES: dict[str, Damage] = {
    "altered": lambda at: flip_bit(at / "after-5-blocks" / "count.txt"),
    "emptied": lambda at: os.truncate(at / "after-5-blocks" / "count.txt", 0),
    "removed": lambda at: (at / "after-5-blocks" / "count.txt").unlink(),
    "folder removed": lambda at: shutil.rmtree(at / "after-5-blocks"),
    "a file added": lambda at: (at / "after-5-blocks" / "more").touch(),
    "pointer cut short": lambda at: os.truncate(at / "after-5-blocks.json", 40),
    "pointer emptied": lambda at: os.truncate(at / "after-5-blocks.json", 0),
    "pointer removed": lambda at: (at / "after-5-blocks.json").unlink(),
    "pointer is not JSON": lambda at: (at / "after-5-blocks.json").write_bytes(b"\xff\x00[[["),
    "pointer nested deep": lambda at: (at / "after-5-blocks.json").write_bytes(b'{"x":' + b"[" * 100_000),
    "pointer is a folder": lambda at: replace_by(at / "after-5-blocks.json", Path.mkdir),
    "pointer is a pipe": lambda at: replace_by(at / "after-5-blocks.json", os.mkfifo),
    "pointer says other seeds": lambda at: replace_text(at / "after-5-blocks.json", '"learner"', '"lerner"'),
    "pointer says more blocks": lambda at: replace_text(at / "after-5-blocks.json", '"blocks": 5', '"blocks": 500'),
    "pointer counts differently": lambda at: replace_text(
        at / "after-5-blocks.json", '"experiences": ', '"experiences": 1'
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_falls_back_to_the_state_before(tmp_path: Path, damage: str) -> None:
    complete = begin_run(tmp_path)
    DAMAGES[damage](states(tmp_path))
    result = complete()
    assert result.lived == ("life-000",)
    assert same(tmp_path)
    if damage != "pointer removed":
        (note,) = result.notes
        which = "after-5-blocks.json, which was damaged" if "pointer" in damage else "its state after 5 blocks: "
        assert note.startswith(f"life-000 did not go on from {which}")
    assert not any("seed" in note for note in result.notes)


LOGS: dict[str, Damage] = {
    "its ledger removed": lambda at: (at / "blocks.jsonl").unlink(),
    "its ledger cut short": lambda at: (at / "blocks.jsonl").write_bytes(
        b"".join((at / "blocks.jsonl").read_bytes().splitlines(True)[:2])
    ),
    "its manifest removed": lambda at: (at / "manifest.json").unlink(),
    "a file in its place": lambda at: replace_by(at, Path.touch),
}


@pytest.mark.parametrize("damage", LOGS)
def test_a_log_that_could_not_be_verified_at_its_end_is_not_continued(tmp_path: Path, damage: str) -> None:
    complete = begin_run(tmp_path)
    LOGS[damage](tmp_path / "run" / "lives" / "life-000")
    result = complete()
    assert result.lived == ("life-000",)
    assert result.notes[-1] == "life-000 was run again from its seed"
    assert not perdure.check(result.finished_lives[0]).problems
    assert same(tmp_path)


@pytest.mark.parametrize("make", [lambda mark: mark.write_bytes(b"\xff"), Path.mkdir, os.mkfifo])
def test_a_damaged_restore_mark_blocks_no_lifetime(tmp_path: Path, make: Damage) -> None:
    complete = begin_run(tmp_path)
    make(states(tmp_path) / "restoring")
    result = complete()
    assert (result.lived, result.notes) == (("life-000",), ())
    assert same(tmp_path)


@pytest.mark.parametrize("damage", ["both altered", "all removed"])
def test_without_a_valid_state_a_lifetime_starts_again_from_its_seed(tmp_path: Path, damage: str) -> None:
    complete = begin_run(tmp_path)
    if damage == "both altered":
        for file in states(tmp_path).glob("*/count.txt"):
            flip_bit(file)
    else:
        shutil.rmtree(states(tmp_path))
    result = complete()
    assert result.lived == ("life-000",)
    assert same(tmp_path)
    if damage == "both altered":
        assert len(result.notes) == 3
        assert result.notes[-1] == "life-000 was run again from its seed"


@pytest.mark.parametrize(
    ("how", "notes"),
    [
        ("raises once", ["ValueError: cannot be read"]),
        ("raises", ["cannot be read", "cannot be read", "from its seed"]),
        ("differs", ["came back from restore with another fingerprint"]),
        ("exits", ["SystemExit: 3"]),
        ("ends", ["GeneratorExit"]),
        ("cannot say why", ["its message cannot be made"]),
        ("says half a character", ["ValueError: \\udcff"]),
    ],
)
def test_any_failure_to_restore_falls_back_with_a_note(tmp_path: Path, how: str, notes: list[str]) -> None:
    result = begin_run(tmp_path, how)()
    assert result.lived == ("life-000",)
    assert len(result.notes) == len(notes)
    assert all(words in note for words, note in zip(notes, result.notes, strict=True))
    assert same(tmp_path)


def test_a_state_that_kills_the_process_is_not_tried_again(tmp_path: Path) -> None:
    result = begin_run(tmp_path, "crashes", workers=1)()
    assert result.lived == ("life-000",)
    assert "the process died while its learner was restored" in result.notes[0]
    assert same(tmp_path)


def test_a_record_altered_after_the_earlier_state_costs_one_block(tmp_path: Path) -> None:
    complete = begin_run(tmp_path)
    flip_bit(next((tmp_path / "run" / "lives" / "life-000").glob("*/4-t*/data-log.tsv")))
    result = complete()
    assert len(result.notes) == 1
    assert "altered after it was written" in result.notes[0]
    assert same(tmp_path)


def test_a_damaged_pre_deployed_learner_is_trained_again(tmp_path: Path) -> None:
    more = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
    file = write_protocol(tmp_path, "Slow", "pause = 0.0", more=more)
    for folder in ("run", "whole"):
        run_learner(file, tmp_path / folder, workers=0)
    flip_bit(next((tmp_path / "run" / ".run" / "pre-deployment-state").glob("*/count.txt")))
    shutil.rmtree(tmp_path / "run" / "lives")
    result = run_learner(file, tmp_path / "run", workers=0)
    assert result.lived == ("life-000",)
    assert "pre-deployment was run again" in result.notes[0]
    assert same(tmp_path)


# -- the disk --------------------------------------------------------------------------------------


def test_a_disk_that_fills_while_a_state_is_saved_costs_no_saved_state(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "Big", "pause = 0.0")
    result = run_learner(file, tmp_path / "run", workers=0)
    why = result.failed["life-000"]
    assert "state could not be saved after 3 blocks (No space left on device); make room, and run again" in why
    assert "the lifetime then goes on after block 1" in why
    assert not (states(tmp_path) / "after-3-blocks").exists()
    (tmp_path / "mark").touch()
    assert run_learner(file, tmp_path / "run", workers=0).notes == ()
    run_learner(file, tmp_path / "whole", workers=0)
    assert same(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["run", "run/lives/life-000", "run/.run/states"])
def test_a_folder_removed_during_a_run_is_reported_and_not_recreated(tmp_path: Path, what: str) -> None:
    file = write_protocol(tmp_path, "Slow", "pause = 0.01", learn=8)
    run = Run(file, into=tmp_path / "run", workers=1)
    wait_until(lambda: run.records() > 8)
    remove_folder(tmp_path / what)
    status, output, stderr = run.end()
    assert "Traceback" not in stderr
    if what != "run/.run/states":
        assert status == 1
        assert "removed" in output
        assert "that nothing removes it" in output
        assert "are intact" not in output
    assert run_learner(file, tmp_path / "run", workers=0).missing == ()
    run_learner(file, tmp_path / "whole", workers=0)
    assert same(tmp_path)


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ('"*/0-test"', "worker-default/0-test/data-log.tsv"),
        ('"*/0-test", "blocks.jsonl"', "lines of blocks.jsonl"),
        ('"manifest.json"', "manifest.json"),
    ],
)
def test_a_lifetime_that_lost_a_file_during_its_run_is_not_reported_as_finished(
    tmp_path: Path, parts: str, named: str
) -> None:
    file = write_protocol(tmp_path, "Removes", f"pause = 0.0, parts = [{parts}]")
    why = run_learner(file, tmp_path / "run", workers=0).failed["life-000"]
    assert f"while it ran, something removed or altered {named}" in why
    assert "make sure that nothing removes it, and run again" in why
    (tmp_path / "mark").touch()
    assert run_learner(file, tmp_path / "run", workers=0).lived == ("life-000",)
    run_learner(file, tmp_path / "whole", workers=0)
    assert same(tmp_path)


def test_workers_report_a_missing_run_folder(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "ExitsAtOnce", "at = 3")
    result = run_learner(file, tmp_path / "run", tell=lambda event: move_folder(event, tmp_path), workers=1)
    assert "was removed during a run" in result.failed["life-000"]


def move_folder(event: Event, folder: Path) -> None:
    if event.kind == "begun" and (folder / "run").exists():
        (folder / "run").rename(folder / "moved")


def remove_folder(folder: Path) -> None:
    """Remove a folder while another process writes to it."""
    end = time.monotonic() + 10
    while folder.exists() and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(ProtocolError, match="Permission denied; make it writable, or choose another folder"):
        run_learner(write_protocol(tmp_path), tmp_path / "run", workers=0)


def test_a_read_only_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refused(path: Any, flags: int, *more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(30, "Read-only file system", str(path))
        return real(path, flags, *more)

    file = write_protocol(tmp_path)
    run_learner(file, tmp_path / "run", workers=0)
    monkeypatch.setattr("perdure.files.os.open", refused)
    with pytest.raises(ProtocolError, match="Read-only file system; it can only be read: choose another folder"):
        run_learner(write_protocol(tmp_path, lifetimes=2), tmp_path / "run", workers=0)


@pytest.mark.parametrize("step", [-86_400, 86_400])
def test_a_clock_change_during_a_lifetime_changes_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    file = write_protocol(tmp_path, "Slow", "pause = 0.0", more="[limits]\nseconds_per_life = 1000")
    run_learner(file, tmp_path / "whole", workers=0)
    true_ns, true_s, read = time.time_ns, time.time, [0]

    def stepped() -> int:
        read[0] += 1
        return step * (read[0] > 9)

    monkeypatch.setattr("time.time_ns", lambda: true_ns() + stepped() * 10**9)
    monkeypatch.setattr("time.time", lambda: true_s() + stepped())
    result = run_learner(file, tmp_path / "run", workers=0)
    assert result.lived == ("life-000",)
    assert read[0] > 9
    assert same(tmp_path)
    assert not [problem for problem in perdure.check(result.finished_lives[0]).problems if problem.level == "error"]


def test_lifetimes_reported_as_intact_were_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = perdure.Journal(tmp_path, "life")
    for number in range(3):
        journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", reward=1.0)
    journal.end_blocks()
    first = next((tmp_path / "life").glob("*/0-train/data-log.tsv"))
    os.truncate(first, 10)
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if b"\t4\t" in bytes(data):
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    journal.log(block_num=1, exp_num=3, block_type="train", task_name="a", reward=1.0)
    monkeypatch.setattr("perdure.log.write.stream.os.write", full)
    with pytest.raises(PerdureError) as problem:
        journal.log(block_num=1, exp_num=4, block_type="train", task_name="a", reward=1.0)
    assert "are intact" not in str(problem.value)
    assert "cut short: worker-default/0-train/data-log.tsv" in str(problem.value)
    monkeypatch.undo()
    journal.close()


def test_a_folder_without_states_has_no_states(tmp_path: Path) -> None:
    states = States(tmp_path / "none")
    assert states.latest() is None
    assert not states.is_sound()
    assert not states.drop_latest()
