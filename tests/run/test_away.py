"""A run folder at a URL is brought up to date as lives are lived, gone on with, and scored like one here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import perdure
from perdure.errors import PerdureError
from perdure.run.away import _fetched, home_of
from perdure.run.runner import run_learner

fsspec = pytest.importorskip("fsspec", reason="needs the extra perdure[remote]")

WriteProtocol = Callable[..., Path]
AllRecords = Callable[[Path], dict[str, pl.DataFrame]]


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Each time it is fetched anew, as by another process."""
    _fetched.cache_clear()
    yield
    _fetched.cache_clear()
    fsspec.filesystem("memory").store.clear()


def same(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    return one.keys() == other.keys() and all(one[key].equals(other[key]) for key in one)


def test_a_run_at_a_url_has_the_records_of_one_here(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords
) -> None:
    file = write_protocol(lifetimes=2, experts=1)
    run_learner(file, tmp_path / "here", workers=0)
    first = run_learner(file, "memory://runs/there", workers=0, only=["life-000"])
    assert (first.lived, first.failed) == (("life-000",), {})
    _fetched.cache_clear()
    second = run_learner(file, "memory://runs/there", workers=0)
    assert "life-000" not in second.lived
    _fetched.cache_clear()
    assert run_learner(file, "memory://runs/there", workers=0).lived == ()
    assert same(all_records(home_of("memory://runs/there")), all_records(tmp_path / "here"))
    assert len(perdure.survey("memory://runs/there").lives) == 2


def test_a_life_that_broke_off_goes_on_from_the_state_that_is_there(
    tmp_path: Path, write_protocol: WriteProtocol, all_records: AllRecords
) -> None:
    file = write_protocol("toys:Counts", lifetimes=1)
    run_learner(file, tmp_path / "whole", workers=0)
    breaks = write_protocol("toys:Counts")
    toys = tmp_path / "toys.py"
    toys.write_text(
        toys.read_text()
        + "\n\nclass Counts(Counts):\n    def block_started(self, situation):\n"
        + f"        if situation.block == 4 and not os.path.exists({str(tmp_path / 'mended')!r}):\n"
        + "            raise ZeroDivisionError('toy trouble')\n"
    )
    assert run_learner(breaks, "memory://runs/broken", workers=1).failed.keys() == {"life-000"}
    kept = [one for one in fsspec.filesystem("memory").find("/runs/broken") if "/.run/states/" in one]
    assert any(one.endswith("after-4-blocks.json") for one in kept)
    (tmp_path / "mended").touch()
    _fetched.cache_clear()
    assert run_learner(breaks, "memory://runs/broken", workers=1).failed == {}
    assert same(all_records(home_of("memory://runs/broken")), all_records(tmp_path / "whole"))
    left = [one for one in fsspec.filesystem("memory").find("/runs/broken") if "/.run/states/" in one]
    assert left == []


def test_a_place_that_takes_nothing_is_said_and_its_lives_count_as_failed(
    tmp_path: Path, write_protocol: WriteProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(fsspec.filesystem("memory"))
    real = kind.pipe_file

    def refused(self: Any, path: str, value: bytes, **more: object) -> None:
        if "data-log" in path:
            raise PermissionError("not yours")
        real(self, path, value, **more)

    monkeypatch.setattr(kind, "pipe_file", refused)
    result = run_learner(write_protocol(), "memory://runs/mine", workers=0)
    assert "memory://runs/mine: cannot be written to (not yours); check" in result.failed["life-000"]


def test_an_unknown_scheme_is_said(write_protocol: WriteProtocol) -> None:
    with pytest.raises(PerdureError, match="no file system for 'nosuch'"):
        run_learner(write_protocol(), "nosuch://a/b", workers=0)


def of_several(file: Path) -> Path:
    """The protocol with two learners in place of its one."""
    text = file.read_text()
    begin, end = text.index("[learner]"), text.index("[[scenarios]]")
    learners = "".join(f'[[learners]]\nuse = "forgetful-q"\nname = "{name}"\n' for name in ("one", "other"))
    file.write_text(text[:begin] + learners + text[end:])
    return file


def test_the_report_on_several_learners_is_brought_where_their_runs_are(write_protocol: WriteProtocol) -> None:
    file, there = of_several(write_protocol()), fsspec.filesystem("memory")
    found = perdure.run_protocol(file, "memory://runs/both/", workers=0)
    assert found.report == "memory://runs/both/report.html"
    assert len(there.cat_file("/runs/both/report.html")) > 10_000
    assert there.exists("/runs/both/other/lives/life-000/manifest.json")
    written = there.modified("/runs/both/report.html")
    _fetched.cache_clear()
    again = perdure.run_protocol(file, "memory://runs/both/", workers=0)
    assert again.lived == ()
    assert there.modified("/runs/both/report.html") == written
    there.rm_file("/runs/both/report.html")
    perdure.run_protocol(file, "memory://runs/both/", workers=0)
    assert there.exists("/runs/both/report.html")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server that speaks S3, on this machine."""
    pytest.importorskip("moto.server", reason="needs moto[server]")
    s3fs = pytest.importorskip("s3fs")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("perdure")
        yield "s3://perdure"
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # botocore's own
def test_records_go_to_s3_and_are_scored_there(bucket: str, tmp_path: Path, write_protocol: WriteProtocol) -> None:
    file = write_protocol(lifetimes=2, experts=1)

    def called(*arguments: str) -> dict[str, object]:
        command = [sys.executable, "-W", "ignore", "-m", "perdure", *arguments, "--json", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    lived = called("run", str(file), "--into", f"{bucket}/runs/mine", "--workers", "1")
    assert lived["failed"] == {}
    again = called("run", str(file), "--into", f"{bucket}/runs/mine", "--workers", "1")
    assert again["lived"] == []
    there, here = called("score", f"{bucket}/runs/mine"), tmp_path / "here"
    called("run", str(file), "--into", str(here), "--workers", "1")
    mine = called("score", str(here))

    def values(found: Any) -> list[tuple[object, ...]]:
        names = ("performance_maintenance", "forward_transfer", "relative_performance")
        return [tuple(one["metrics"][name]["value"] for name in names) for one in found["lifetimes"]]

    assert values(there) == values(mine)
    assert None not in values(there)[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # botocore's own
def test_several_learners_go_to_s3_with_the_report_on_all(bucket: str, write_protocol: WriteProtocol) -> None:
    file = of_several(write_protocol())
    command = [sys.executable, "-W", "ignore", "-m", "perdure", "run", str(file), "--into", f"{bucket}/runs/both"]
    done = subprocess.run([*command, "--workers", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"report: {bucket}/runs/both/report.html" in " ".join(done.stdout.split())
    there = pytest.importorskip("s3fs").S3FileSystem()
    assert there.size("perdure/runs/both/report.html") > 10_000
    assert there.exists("perdure/runs/both/one/lives/life-000/manifest.json")
