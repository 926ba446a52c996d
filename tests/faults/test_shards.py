"""Several runs that share one folder: each runs its shard, and together they run every lifetime once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import run_learner
from tests.faults.ill import Run, records, wait_until, write_protocol

from perdure.errors import ProtocolError
from perdure.runner.folder import RunFolder
from perdure.runner.plan import RunPlan, Shard
from perdure.runner.protocol import read_protocol


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_shards_take_every_job_once(tmp_path: Path, count: int) -> None:
    plan = RunPlan(read_protocol(write_protocol(tmp_path, lifetimes=9, experts=2)))
    parts = [Shard(number, count).part_of(plan, plan.jobs) for number in range(1, count + 1)]
    ids = [job.id for part in parts for job in part]
    assert sorted(ids) == sorted(job.id for job in plan.jobs)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/2/3", "1/" + "9" * 50])
def test_an_invalid_shard_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="expected a part and a count, from 1/16 to 16/16"):
        Shard.of(text)


def test_shards_in_turn_and_a_finishing_run_give_the_records_of_one_run(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "Slow", "pause = 0.0", lifetimes=4, experts=1)
    run_learner(file, tmp_path / "whole", workers=0)
    first = run_learner(file, tmp_path / "run", workers=0, shard=Shard.of("1/3"))
    assert len(first.lived) == 2
    again = run_learner(file, tmp_path / "run", workers=0, shard=Shard.of("1/3"))
    assert again.lived == ()
    run_learner(file, tmp_path / "run", workers=0, shard=Shard.of("3/3"))
    last = run_learner(file, tmp_path / "run", workers=0)
    assert len(last.lived) == 2
    assert last.missing == ()
    found, expected = records(tmp_path / "run"), records(tmp_path / "whole")
    assert found.keys() == expected.keys()
    assert all(found[key].equals(expected[key]) for key in found)


@pytest.mark.slow
def test_killed_parallel_shards_resume_to_the_records_of_one_run(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "Slow", "pause = 0.003", lifetimes=4, experts=1, learn=6)
    run_learner(file, tmp_path / "whole", workers=0)
    runs = [Run(file, "--shard", f"{number}/3", into=tmp_path / "run", workers=1) for number in (1, 2, 3)]
    wait_until(lambda: runs[0].records() > 20)
    runs[1].process.kill()
    runs[1].end()
    again = Run(file, "--shard", "2/3", into=tmp_path / "run", workers=1)
    for run in (runs[0], runs[2], again):
        status, _, complained = run.end(100)
        assert status == 0, complained
    assert not (tmp_path / "run" / "report.html").exists()
    finished = run_learner(file, tmp_path / "run", workers=0)
    assert finished.lived == finished.missing == ()
    found, expected = records(tmp_path / "run"), records(tmp_path / "whole")
    assert found.keys() == expected.keys()
    assert all(found[key].equals(expected[key]) for key in found)


def test_a_second_run_of_the_same_lifetimes_at_the_same_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.runner.folder._PATIENCE_S", 0.1)
    file, into = write_protocol(tmp_path, lifetimes=4), tmp_path / "run"
    folder = RunFolder(into)

    def claim(alone: bool) -> None:
        folder.claim(read_protocol(file), alone=alone)

    with folder.locked(Shard(1, 4), claim):
        with pytest.raises(ProtocolError, match=r"active here \(process \d+ on .*, the first of 4 shards\)"):
            run_learner(file, into, workers=0)
        with pytest.raises(ProtocolError, match=r"another perdure run is active here \(process"):
            run_learner(file, into, workers=0, shard=Shard(1, 4))
        with pytest.raises(ProtocolError, match=r"a run in 4 shards is active here .* and this is one of 3"):
            run_learner(file, into, workers=0, shard=Shard(2, 3))
        other = write_protocol(tmp_path, lifetimes=5)
        with pytest.raises(ProtocolError, match="with another protocol, which differs in lifetimes"):
            run_learner(other, into, workers=0, shard=Shard(2, 4))
        file = write_protocol(tmp_path, lifetimes=4)
        assert run_learner(file, into, workers=0, shard=Shard(2, 4)).lived == ("life-001",)
    with folder.locked(), pytest.raises(ProtocolError, match="another perdure run is active here"):
        run_learner(file, into, workers=0, shard=Shard(3, 4))


def test_pre_deployment_runs_alone_before_the_shards(tmp_path: Path) -> None:
    more = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
    file = write_protocol(tmp_path, "Slow", "pause = 0.0", lifetimes=2, more=more)
    with pytest.raises(ProtocolError, match="run it once, with --only pre-deployment, and then the shards"):
        run_learner(file, tmp_path / "run", workers=0, shard=Shard(1, 2))
    first = run_learner(file, tmp_path / "run", workers=0, only=["pre-deployment"])
    assert (first.lived, first.failed) == ((), {})
    assert run_learner(file, tmp_path / "run", workers=0, shard=Shard(1, 2)).lived == ("life-000",)


def test_a_drive_without_locks_is_still_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    def unknown(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("perdure.runner.folder.fcntl.flock", unknown)
    assert run_learner(write_protocol(tmp_path), tmp_path / "run", workers=0, shard=Shard(1, 1)).lived == ("life-000",)
