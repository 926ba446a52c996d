"""Running many lifetimes: any number of workers gives the same records, runs resume, and failures stay separate."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.command import run_learner

import perdure
from perdure.errors import PerdureError, ProtocolError
from perdure.runner.engines import Event
from perdure.runner.folder import RunFolder
from perdure.runner.plan import RunPlan
from perdure.runner.protocol import read_protocol

WriteProtocol = Callable[..., Path]
AllRecords = Callable[[Path], dict[str, pl.DataFrame]]


def same(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    return one.keys() == other.keys() and all(one[key].equals(other[key]) for key in one)


def test_the_records_are_the_same_for_none_one_and_two_workers(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords
) -> None:
    file = write_protocol(lifetimes=2, experts=1)
    results = []
    for workers in (0, 1, 2):
        result = run_learner(file, tmp_path / f"w{workers}", workers=workers)
        assert result.failed == {}
        assert result.lived == ("life-000", "life-001", *(job.id for job in result.plan.experts))
        assert result.missing == ()
        results.append(all_records(tmp_path / f"w{workers}"))
    assert len(results[0]) == 4
    assert same(results[0], results[1])
    assert same(results[0], results[2])


def test_a_finished_folder_runs_nothing(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol(lifetimes=1, experts=1)
    run_learner(file, tmp_path / "run", workers=0)
    events: list[Event] = []
    again = run_learner(file, tmp_path / "run", workers=2, tell=events.append)
    assert again.lived == ()
    assert events == []


def test_a_lifetime_run_alone_is_the_same_lifetime(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords
) -> None:
    file = write_protocol(lifetimes=3)
    run_learner(file, tmp_path / "all", workers=0)
    alone = run_learner(file, tmp_path / "alone", workers=0, only=["life-002"])
    assert alone.lived == ("life-002",)
    assert alone.missing == ("life-000", "life-001")
    key = "lives/life-002"
    assert all_records(tmp_path / "alone")[key].equals(all_records(tmp_path / "all")[key])


def test_more_lifetimes_complete_the_same_folder(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    run_learner(write_protocol(lifetimes=1), tmp_path / "run", workers=0)
    more = run_learner(write_protocol(lifetimes=2), tmp_path / "run", workers=0)
    assert more.lived == ("life-001",)


def test_another_protocols_folder_is_refused(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    run_learner(write_protocol(), tmp_path / "run", workers=0)
    with pytest.raises(ProtocolError, match=r"lifetimes of another protocol, 'small', which differs in learner"):
        run_learner(write_protocol("q-learning-per-task"), tmp_path / "run", workers=0)
    shutil.copytree(tmp_path / "run" / "lives", tmp_path / "found" / "lives")
    with pytest.raises(ProtocolError, match=r"holds lifetimes, but no protocol\.json says of which protocol"):
        run_learner(write_protocol(), tmp_path / "found", workers=0)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_learner_that_raises_leaves_its_traceback_and_the_rest_continues(
    tmp_path: Path, write_protocol: WriteProtocol, workers: int
) -> None:
    mended = tmp_path / "mended"
    file = write_protocol("toys:Raises", params=f'{{ unless = "{mended}" }}', lifetimes=2, experts=1)
    result = run_learner(file, tmp_path / "run", workers=workers)
    assert set(result.failed) == {"life-000", "life-001"}
    assert result.failed["life-000"].startswith("ZeroDivisionError: toy trouble (toys.py:")
    assert set(result.lived) == {job.id for job in result.plan.experts}
    text = (tmp_path / "run" / "lives" / "life-000" / "traceback.txt").read_text()
    assert "block_started" in text
    assert "ZeroDivisionError: toy trouble" in text
    assert perdure.read(tmp_path / "run" / "lives" / "life-000").complete is False
    if workers:
        assert "about to fall over" in (tmp_path / "run" / ".run" / "output" / "life-000.txt").read_text()
    mended.touch()
    again = run_learner(file, tmp_path / "run", workers=workers)
    assert again.lived == ("life-000", "life-001")
    assert not (tmp_path / "run" / "lives" / "life-000" / "traceback.txt").exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_learner_that_exits_has_failed(tmp_path: Path, write_protocol: WriteProtocol, workers: int) -> None:
    result = run_learner(write_protocol("toys:Exits"), tmp_path / "run", workers=workers)
    assert result.failed["life-000"].startswith("SystemExit: bye (toys.py:")


def test_a_lifetime_whose_worker_dies_is_given_to_another(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords
) -> None:
    file = write_protocol("toys:Dies", params=f'{{ mark = "{tmp_path}/mark" }}', lifetimes=2)
    result = run_learner(file, tmp_path / "run", workers=2)
    assert result.failed == {}
    assert len(list(tmp_path.glob("mark-*"))) == 2
    assert all(perdure.read(place).complete for place in result.finished_lives)
    assert len(all_records(tmp_path / "run")) == 2


def test_a_lifetime_that_kills_every_worker_fails_alone(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol("toys:Dies", params=f'{{ mark = "{tmp_path}/mark", always = true }}', experts=1)
    result = run_learner(file, tmp_path / "run", workers=2)
    assert set(result.failed) == {"life-000"}
    assert "its process died twice (signal SIGKILL" in result.failed["life-000"]
    assert len(result.lived) == 2


def interrupted_run(file: Path, folder: Path, number: int, least: int) -> subprocess.CompletedProcess[str]:
    """Start `perdure run` in a process, send it a signal once some records exist, and wait for its end."""
    code = (
        "import sys; from perdure import run\n"
        "try:\n    run(sys.argv[1], sys.argv[2], workers=2, score=False)\n"
        "except KeyboardInterrupt:\n    print('stopped')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while sum(path.read_bytes().count(b"\n") for path in folder.glob("lives/*/*/*/data-log.tsv")) < least:
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    output, stderr = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, output, stderr)


def wait_until_settled(folder: Path) -> None:
    """Wait until the workers of a killed run have noticed, because they write a moment longer than the run."""

    def written() -> int:
        return sum(path.stat().st_size for path in folder.rglob("data-log.tsv"))

    before, end = -1, time.monotonic() + 60
    while (now := written()) != before:
        assert time.monotonic() < end
        before = now
        time.sleep(1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
@pytest.mark.parametrize("use", ["toys:Counts", "toys:Still"], ids=["saves", "does not save"])
def test_an_interrupted_run_completes_to_the_same_records(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords, number: signal.Signals, use: str
) -> None:
    params = "{ slow = 0.004 }" if use == "toys:Counts" else "{}"
    file = write_protocol(use, params=params, lifetimes=2, learn=8 if use == "toys:Counts" else 4000)
    whole = run_learner(file, tmp_path / "whole", workers=2)
    done = interrupted_run(file, tmp_path / "broken", number, 14)
    if number == signal.SIGINT:
        assert done.stdout == "stopped\n", done.stderr
    folder = RunFolder(tmp_path / "broken")
    wait_until_settled(folder.path)
    left = [job.id for job in whole.plan.jobs if not folder.is_finished(job)]
    assert left
    again = run_learner(file, tmp_path / "broken", workers=2)
    assert again.failed == {}
    assert list(again.lived) == left
    assert all(folder.is_finished(job) for job in whole.plan.jobs)
    assert same(all_records(tmp_path / "broken"), all_records(tmp_path / "whole"))
    for place in again.finished_lives:
        assert not [problem for problem in perdure.check(place).problems if problem.level == "error"]


def test_two_simultaneous_runs_in_one_folder_are_refused(
    tmp_path: Path, write_protocol: WriteProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.runner.folder._PATIENCE_S", 0.1)
    folder = RunFolder(tmp_path / "run")
    with folder.locked(), pytest.raises(ProtocolError, match="another perdure run is active here"):
        run_learner(write_protocol(), tmp_path / "run", workers=0)


def test_pre_deployment_runs_once_and_is_cloned_into_every_lifetime_and_expert(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    more = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
    file = write_protocol("toys:Counts", lifetimes=2, experts=1, more=more)
    result = run_learner(file, tmp_path / "run", workers=2)
    assert result.failed == {}
    state = result.folder.pre_deployed.latest()
    assert state is not None
    learned = int(state[0].fingerprint or 0)
    assert learned > 0
    # The first action of a fresh lifetime shows its origin: its first evaluation differs from that of an untaught
    # learner.
    assert len(result.finished_lives) == 2
    assert run_learner(file, tmp_path / "run", workers=2).lived == ()
    shutil.rmtree(tmp_path / "run" / "lives" / "life-001")
    assert run_learner(file, tmp_path / "run", workers=0).lived == ("life-001",)


def test_no_two_clones_of_a_pre_deployed_learner_draw_the_same_random_numbers(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    more = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
    drawn = tmp_path / "drawn.txt"
    file = write_protocol("toys:Draws", params=f'{{ drawn = "{drawn}" }}', lifetimes=3, experts=1, more=more)
    result = run_learner(file, tmp_path / "run", workers=0)
    assert result.failed == {}
    _before_deployment, *first_draws = drawn.read_text().splitlines()
    assert len(first_draws) == len(result.lived) == 5
    assert len(set(first_draws)) == len(first_draws)


def test_a_clone_that_differs_from_the_saved_learner_is_refused(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    more = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
    file = write_protocol("toys:Counts", params="{ honest = false }", more=more)
    result = run_learner(file, tmp_path / "run", workers=0)
    assert "came back from restore with another fingerprint" in result.failed["life-000"]


def test_pre_deployment_without_save_is_refused(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    more = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
    with pytest.raises(PerdureError, match=r"pre-deployment needs a learner with save\(folder\) and restore\(folder\)"):
        run_learner(write_protocol("toys:Still", more=more), tmp_path / "run", workers=0)


def test_a_lifetime_over_its_time_limit_is_stopped_and_reported(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    more = "[limits]\nseconds_per_life = 0.000001"
    result = run_learner(write_protocol("toys:Still", more=more), tmp_path / "run", workers=0)
    assert "life-000: took longer than seconds_per_life = 1e-06" in result.failed["life-000"]


@pytest.mark.parametrize(
    ("use", "params", "message"),
    [
        ("toys:Stil", "{}", r"toys:Stil: toys has no 'Stil'; did you mean 'Still'"),
        ("nowhere:Me", "{}", r"there is no module 'nowhere'; put it beside the protocol"),
        ("q-learnin", "{}", r"unknown learner 'q-learnin'; did you mean 'q-learning'"),
        ("q-learning", "{ rat = 1 }", r"takes no parameter 'rat'; did you mean 'rate'"),
        ("toys:TOYS_NONE", "{}", r"toys has no 'TOYS_NONE'"),
        ("raising_toys:Me", "{}", r"RuntimeError: not today \(raising_toys\.py:1\)"),
        ("exiting_toys:Me", "{}", r"SystemExit: bye"),
    ],
)
def test_a_learner_that_cannot_be_found_is_refused_before_anything_is_written(
    tmp_path: Path, write_protocol: WriteProtocol, use: str, params: str, message: str
) -> None:
    (tmp_path / "raising_toys.py").write_text("raise RuntimeError('not today')")
    (tmp_path / "exiting_toys.py").write_text("raise SystemExit('bye')")
    with pytest.raises(ProtocolError, match=f"protocol.toml: nothing was run: .*{message}"):
        run_learner(write_protocol(use, params=params), tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()


def test_all_problems_of_learner_and_tasks_are_reported_together(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol("q-learner")
    text = file.read_text().replace("bot/paddle", "bot/padle").replace('"pong:narrow"]', '"cart"]')
    file.write_text(text.replace("[tasks.pong]", '[tasks.cart]\nenv = "NoSuchEnv-v0"\n[tasks.pong]'))
    with pytest.raises(ProtocolError) as refused:
        run_learner(file, tmp_path / "run", workers=2)
    for part in ("unknown learner 'q-learner'", "takes no parameter 'bot/padle/width'", "'NoSuchEnv-v0'"):
        assert part in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_lifetimes_is_taken_over(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    result = run_learner(write_protocol("collections:OrderedDict", lifetimes=2), tmp_path / "run", workers=0)
    assert "has neither act(observation) nor live(life)" in result.failed["life-000"]
    assert (tmp_path / "run" / "lives" / "life-001" / "traceback.txt").exists()
    mended = run_learner(write_protocol("toys:Still"), tmp_path / "run", workers=0)
    assert mended.lived == ("life-000",)
    assert not (tmp_path / "run" / "lives" / "life-001").exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_task_whose_episodes_are_all_cut_is_noted_once(
    tmp_path: Path, write_protocol: WriteProtocol, workers: int
) -> None:
    file = write_protocol("toys:Still", lifetimes=2, more="[limits]\nsteps_per_episode = 3")
    result = run_learner(file, tmp_path / "run", workers=workers)
    assert len(result.notes) == 2
    assert all("every one was cut at steps_per_episode = 3" in note for note in result.notes)
    assert run_learner(write_protocol("toys:Still"), tmp_path / "free", workers=workers).notes == ()


@pytest.mark.parametrize(("workers", "limit"), [(0, 100), (0, 1500), (2, 1500)])
def test_a_full_disk_is_named(tmp_path: Path, write_protocol: WriteProtocol, workers: int, limit: int) -> None:
    code = (
        "import resource, sys\n"
        "from perdure.errors import ProtocolError\n"
        "from perdure import run\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        f"try:\n    print(run(sys.argv[1], sys.argv[2], workers={workers}, score=False).failed)\n"
        "except ProtocolError as problem:\n    print(problem)"
    )
    file = write_protocol("toys:Still", lifetimes=2)
    command = [sys.executable, "-c", code, str(file), str(tmp_path / "run")]
    uncompiled = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # Python would trust truncated byte code
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=uncompiled)
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout
    assert "died" not in done.stdout
    assert ("this run cannot be written to disk" in done.stdout) == (limit == 100)


def test_a_worker_that_cannot_write_its_output_reports_it_and_continues(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    for name in ("life-000.txt", "worker-0.txt"):
        (tmp_path / "run" / ".run" / "output" / name).mkdir(parents=True)
    result = run_learner(write_protocol("toys:Still", lifetimes=2), tmp_path / "run", workers=1)
    assert "life-000.txt: cannot be written: a folder, where a regular file is expected" in result.failed["life-000"]
    assert result.lived == ("life-001",)


def test_a_failure_that_cannot_be_written_is_still_reported(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol("toys:Still")
    RunFolder(tmp_path / "run").path.joinpath(".run").mkdir(parents=True)
    RunFolder(tmp_path / "run").claim(read_protocol(file))
    (tmp_path / "run" / "lives").write_text("in the way")
    result = run_learner(file, tmp_path / "run", workers=0)
    assert "Not a directory" in result.failed["life-000"]


def test_a_place_that_is_not_a_folder_is_refused(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProtocolError, match="this run cannot be written to disk: Not a directory"):
        run_learner(write_protocol(), tmp_path / "file" / "run", workers=0)


def test_a_full_disk_fails_the_lifetime_and_reports_the_intact_ones(
    tmp_path: Path, write_protocol: WriteProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    file = write_protocol("toys:Still")
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if b"\ttest\t" in bytes(data)[:80]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr("perdure.log.write.stream.os.write", full)
    result = run_learner(file, tmp_path / "run", workers=0)
    monkeypatch.undo()
    assert "could not be written (No space left on device)" in result.failed["life-000"]
    assert run_learner(file, tmp_path / "run", workers=0).lived == ("life-000",)


def test_ray_runs_the_same_lifetimes(tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords) -> None:
    ray = pytest.importorskip("ray")
    file = write_protocol(lifetimes=2, experts=1)
    run_learner(file, tmp_path / "local", workers=0)
    os.environ["HOME"], home = str(tmp_path), os.environ.get("HOME", "")
    try:
        result = run_learner(file, tmp_path / "cluster", engine="ray")
    finally:
        ray.shutdown()
        os.environ["HOME"] = home
    assert result.failed == {}
    assert same(all_records(tmp_path / "local"), all_records(tmp_path / "cluster"))


def test_a_missing_ray_is_reported_with_the_command_that_installs_it(
    tmp_path: Path, write_protocol: WriteProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PerdureError, match=r"pip install 'ray\[client\]>="):
        run_learner(write_protocol(), tmp_path / "run", engine="ray")


def test_the_plan_of_a_run_folder_can_be_read_from_it(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol(lifetimes=2)
    run_learner(file, tmp_path / "run", workers=0)
    assert RunPlan(RunFolder(tmp_path / "run").protocol()).lives == RunPlan(read_protocol(file)).lives
    with pytest.raises(ProtocolError, match="not a run folder"):
        RunFolder(tmp_path).protocol()


def test_a_run_into_a_url_is_refused_with_an_alternative(write_protocol: WriteProtocol) -> None:
    with pytest.raises(ProtocolError, match=r"s3://bucket/run: a run cannot be written to a URL; .*aws s3 sync"):
        run_learner(read_protocol(write_protocol()), "s3://bucket/run")


def test_a_module_of_the_same_name_in_another_folder_is_not_used_as_the_learner(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    run_ids: list[tuple[str, ...]] = []
    for reply in ("raise RuntimeError('never')", "return 0"):
        folder = tmp_path / str(len(run_ids))
        folder.mkdir()
        code = f"class Mine:\n    def __init__(self, seed): pass\n    def act(self, observation): {reply}\n"
        (folder / "same_name.py").write_text(code)
        shutil.copy(write_protocol("same_name:Mine"), folder / "protocol.toml")
        run_ids.append(run_learner(folder / "protocol.toml", folder / "run", workers=0).lived)
    assert run_ids == [(), ("life-000",)]


def test_code_imported_by_a_learners_module_is_part_of_its_digest(
    tmp_path: Path, write_protocol: WriteProtocol
) -> None:
    digests = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        code = f"class Learner:\n    def __init__(self, seed): pass\n    def act(self, observation): return {number}\n"
        (folder / "implementation.py").write_text(code)
        (folder / "factory.py").write_text(
            "import implementation\n\n\ndef make(seed): return implementation.Learner(seed)\n"
        )
        shutil.copy(write_protocol("factory:make"), folder / "protocol.toml")
        run_learner(folder / "protocol.toml", folder / "run", workers=0)
        manifest = json.loads((folder / "run" / "lives" / "life-000" / "manifest.json").read_text())
        digests.append(manifest["protocol"]["learner_digest"])
    assert digests[0] != digests[1]
    assert all(digest.startswith("factory@") and "implementation@" in digest for digest in digests)
