"""What travels may stop at any change: who receives it holds a lifetime that goes on to the same records."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import polars as pl
import pytest

from perdure.errors import LogError, PerdureError
from perdure.runner.engines.shipping import Inbox, Outbox, check_arrived, files_to_continue, write_files
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, RunPlan
from perdure.runner.protocol import read_protocol
from perdure.runner.runner import run_learner

WriteProtocol = Callable[..., Path]
AllRecords = Callable[[Path], dict[str, pl.DataFrame]]


def broken(tmp_path: Path, write_protocol: WriteProtocol) -> tuple[Path, RunFolder, Job]:
    """A lifetime that broke off in its fifth block, far away, and its protocol."""
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


def home(tmp_path: Path, name: str) -> RunFolder:
    """A run folder in which nothing was lived yet."""
    (tmp_path / name).mkdir()
    shutil.copy(tmp_path / "far" / "protocol.json", tmp_path / name)
    return RunFolder(tmp_path / name)


def outbox(folder: RunFolder, job: Job) -> Outbox:
    """What is sent to who has nothing of it."""
    result = Outbox(folder, job)
    result._sent.clear()
    result._ledger = None
    return result


def test_a_lifetime_goes_on_from_wherever_its_journey_ended(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords
) -> None:
    file, far, job = broken(tmp_path, write_protocol)
    run_learner(file, tmp_path / "whole", workers=1)
    expected = all_records(tmp_path / "whole")
    changes = list(outbox(far, job).changes(over=False))
    went_on = 0
    for count in (*range(0, len(changes), 4), len(changes)):
        here = home(tmp_path, f"home-{count}")
        Inbox(here, job).take(islice(changes, count))
        went_on += here.states(job).latest() is not None
        assert run_learner(file, here.path, workers=0).failed == {}
        records = all_records(here.path)
        assert records.keys() == expected.keys()
        assert all(records[key].equals(expected[key]) for key in records)
    assert went_on >= 1


def test_what_is_sent_twice_is_sent_once_and_what_is_gone_is_removed(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    file, far, job = broken(tmp_path, write_protocol)
    here, sent = home(tmp_path, "home"), outbox(far, job)
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


def test_luggage_is_what_a_lifetime_goes_on_with(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    _, far, job = broken(tmp_path, write_protocol)
    here = home(tmp_path, "home")
    write_files(files_to_continue(far, job), here.path)
    state = here.states(job).latest()
    assert state is not None
    assert state[0].blocks == 4
    shutil.rmtree(far.states(job).folder)
    assert files_to_continue(far, job) == {}
    assert not far.place(job).exists()  # it will be lived again


def test_a_lifetime_that_did_not_arrive_whole_is_not_accepted(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol()
    run_learner(file, tmp_path / "far", workers=0)
    far, job = RunFolder(tmp_path / "far"), RunPlan(read_protocol(file)).lives[0]
    here = home(tmp_path, "home")
    changes = list(outbox(far, job).changes(over=True))
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
def test_what_is_no_part_of_the_lifetime_is_not_taken(tmp_path: Path, write_protocol: WriteProtocol, path: str) -> None:
    file = write_protocol()
    run_learner(file, tmp_path / "far", workers=0)
    here, job = home(tmp_path, "home"), RunPlan(read_protocol(file)).lives[0]
    with pytest.raises(PerdureError, match="not part of its lifetime, and was rejected"):
        Inbox(here, job).take([(path, b"x")])
