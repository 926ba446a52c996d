"""Transfer of a lifetime may stop at any change: the receiver has a lifetime that resumes to the same records."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import polars as pl
import pytest
from tests.command import run_learner

from perdure.errors import LogError, PerdureError
from perdure.runner.engines.shipping import Inbox, Outbox, check_arrived, files_to_continue, write_files
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan
from perdure.runner.protocol import read_protocol

WriteProtocol = Callable[..., Path]
AllRecords = Callable[[Path], dict[str, pl.DataFrame]]


def broken(tmp_path: Path, write_protocol: WriteProtocol) -> tuple[Path, RunFolder, Job]:
    """Return a lifetime that stopped in its fifth block in another folder, and its protocol."""
    file = write_protocol("toys:Counts")
    toys = tmp_path / "toys.py"
    toys.write_text(
        toys.read_text()
        + "\n\nclass Counts(Counts):\n    def block_started(self, situation):\n"
        + f"        if situation.block == 4 and not os.path.exists({str(tmp_path / 'mended')!r}):\n"
        + "            raise ZeroDivisionError('toy trouble')\n"
    )
    assert run_learner(file, tmp_path / "far", workers=1).failed
    (tmp_path / "mended").touch()
    folder = RunFolder(tmp_path / "far")
    return file, folder, RunPlan(read_protocol(file)).lives[0]


def make_home(tmp_path: Path, name: str) -> RunFolder:
    """Return a run folder without any lifetime."""
    (tmp_path / name).mkdir()
    shutil.copy(tmp_path / "far" / "protocol.json", tmp_path / name)
    return RunFolder(tmp_path / name)


def make_outbox(folder: RunFolder, job: Job) -> Outbox:
    """Return the outbox for a receiver that has no files yet."""
    result = Outbox(folder, job)
    result._sent.clear()
    result._ledger = None
    return result


def test_a_lifetime_resumes_from_any_point_of_an_interrupted_transfer(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords
) -> None:
    file, far, job = broken(tmp_path, write_protocol)
    run_learner(file, tmp_path / "whole", workers=1)
    expected = all_records(tmp_path / "whole")
    changes = list(make_outbox(far, job).changes(over=False))
    went_on = 0
    for count in (*range(0, len(changes), 4), len(changes)):
        here = make_home(tmp_path, f"home-{count}")
        Inbox(here, job).take(islice(changes, count))
        went_on += here.states(job).latest() is not None
        assert run_learner(file, here.path, workers=0).failed == {}
        records = all_records(here.path)
        assert records.keys() == expected.keys()
        assert all(records[key].equals(expected[key]) for key in records)
    assert went_on >= 1


def test_unchanged_files_are_sent_once_and_deleted_files_are_removed(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    file, far, job = broken(tmp_path, write_protocol)
    here, sent = make_home(tmp_path, "home"), make_outbox(far, job)
    assert sent.has_news()
    Inbox(here, job).take(sent.changes(over=True))
    assert (here.place(job) / "traceback.txt").exists()
    assert list(sent.changes(over=True)) == []
    assert not sent.has_news()
    run_learner(file, far.path, workers=0)
    assert sent.has_news()
    Inbox(here, job).take(sent.changes(over=True))
    check_arrived(here, job)
    assert here.states(job).latest() is None
    assert not (here.place(job) / "traceback.txt").exists()


def test_the_initial_files_are_those_from_which_a_lifetime_resumes(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    _, far, job = broken(tmp_path, write_protocol)
    here = make_home(tmp_path, "home")
    write_files(files_to_continue(far, job), here.path)
    state = here.states(job).latest()
    assert state is not None
    assert state[0].blocks == 4
    shutil.rmtree(far.states(job).folder)
    assert files_to_continue(far, job) == {}
    assert not far.place(job).exists()  # the lifetime will run again


def test_an_incomplete_lifetime_is_not_accepted(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol()
    run_learner(file, tmp_path / "far", workers=0)
    far, job = RunFolder(tmp_path / "far"), RunPlan(read_protocol(file)).lives[0]
    here = make_home(tmp_path, "home")
    changes = list(make_outbox(far, job).changes(over=True))
    Inbox(here, job).take(change for change in changes if "blocks.jsonl" not in change[0])
    with pytest.raises(LogError, match="is reported as finished"):
        check_arrived(here, job)
    Inbox(here, job).take(changes)
    check_arrived(here, job)
    records = next(here.place(job).glob("*/*/data-log.tsv"))
    records.write_bytes(records.read_bytes().replace(b"complete", b"incomplet", 1))
    with pytest.raises(LogError, match="altered after it was written"):
        check_arrived(here, job)


@pytest.mark.parametrize(
    "path", ["../outside", "lives/life-001/x", "/etc/passwd", "protocol.json", ".run/lock", "lives/life-000/../x"]
)
def test_files_outside_the_lifetime_are_not_accepted(tmp_path: Path, write_protocol: WriteProtocol, path: str) -> None:
    file = write_protocol()
    run_learner(file, tmp_path / "far", workers=0)
    here, job = make_home(tmp_path, "home"), RunPlan(read_protocol(file)).lives[0]
    with pytest.raises(PerdureError, match="not part of its lifetime, and was rejected"):
        Inbox(here, job).take([(path, b"x")])
