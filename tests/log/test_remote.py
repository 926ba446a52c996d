"""Remote logs: a URL, in either spelling, is a local copy under its last name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import LogError, MissingExtraError, NotALogError
from perdure.log import read
from perdure.log.places import is_url
from perdure.log.read import Options, find, lifetimes, locate
from perdure.log.write.journal import Journal

TEXT = "task_name,block_type,reward\na,train,1\na,test,2\n"


@pytest.mark.parametrize(
    "url", ["s3://bucket/runs", "s3:/bucket/runs", "memory://x", "HTTPS://host/a.csv", "file:///a"]
)
def test_a_scheme_makes_a_url_in_either_spelling(url: str) -> None:
    assert is_url(url)


@pytest.mark.parametrize("path", ["runs", "a/b", "/a/b", "C:/runs", "c:\\runs", "a:b", "//host/x", "://x", "s3:"])
def test_a_path_is_not_a_url(path: str) -> None:
    assert not is_url(path)


def test_a_file_url_is_the_path_without_a_copy(tmp_path: Path) -> None:
    file = tmp_path / "my runs.csv"
    file.write_text(TEXT)
    for url in (file.as_uri(), f"file:{file}", f"file://{file}"):
        assert locate(url) == file
        assert locate(Path(url)) == file
    with pytest.raises(NotALogError, match="no such file or folder"):
        locate((tmp_path / "absent").as_uri())


def test_a_missing_library_gives_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fsspec>="):
        locate("s3://bucket/runs")


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra perdure[remote]")
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def write_journal(folder: Path) -> Path:
    with Journal(folder, "life", measures=["reward"]) as writing:
        for number in range(10):
            block = number // 5
            task = "ab"[block]
            writing.log(block_num=block, exp_num=number, block_type="train", task_name=task, reward=number)
    return folder / "life"


def test_a_remote_table_is_read_under_its_own_name(memory: Any) -> None:
    memory.pipe("/bucket/ewc/runs.csv", TEXT.encode())
    for url in ("memory://bucket/ewc/runs.csv", Path("memory://bucket/ewc/runs.csv")):
        place = locate(url)
        assert place.name == "runs.csv"
        assert read(url).id == "runs"
    assert locate("memory://bucket/ewc/runs.csv") == locate("memory:/bucket/ewc/runs.csv")  # copied once


def test_a_remote_folder_is_searched_like_a_local_one(memory: Any) -> None:
    for name in ("ewc/seed0.csv", "der/seed0.csv", "notes.txt", ".cache/x.csv"):
        memory.pipe(f"/runs/{name}", TEXT.encode())
    place = locate("memory://runs")
    assert place.name == "runs"
    assert [path.relative_to(place).as_posix() for path in find(place)] == ["der/seed0.csv", "ewc/seed0.csv"]


def test_a_remote_lifetime_equals_the_local_one(memory: Any, tmp_path: Path) -> None:
    here = write_journal(tmp_path)
    memory.put(str(here), "/logs/life", recursive=True)
    copy = locate("memory://logs/life")
    (one,) = lifetimes(copy, Options())
    assert copy.name == "life"
    assert one.experiences.equals(read(here).experiences)


def test_a_missing_remote_log_is_reported(memory: Any) -> None:
    with pytest.raises(NotALogError, match="memory://nowhere: no such file or folder"):
        locate("memory://nowhere")


def test_an_unknown_scheme_is_reported(memory: Any) -> None:
    with pytest.raises(LogError, match="no file system for 'gopher'"):
        locate("gopher://host/runs")


@pytest.mark.parametrize("url", ["http://[x]/a", "http://[", "https://[::1/log", "s3://[x"])
def test_an_invalid_url_is_reported(memory: Any, url: str) -> None:
    with pytest.raises(LogError, match="no file system for"):
        locate(url)


def test_a_remote_name_that_leads_out_of_its_folder_is_not_written(memory: Any) -> None:
    from perdure.log.places import _within

    result = {f"root/{name}": {"type": "file", "size": 1} for name in ("a.csv", "../evil.csv", "b/../../evil.csv")}
    assert [relative for relative, _ in _within(result, "root")] == [("a.csv",)]


def test_logs_in_a_bucket_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    s3fs = pytest.importorskip("s3fs", reason="needs the extra perdure[remote]")
    server = pytest.importorskip("moto.server", reason="needs moto, which serves a bucket on this machine")
    for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    try:
        host, port = running.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        files = s3fs.S3FileSystem(skip_instance_cache=True)
        files.mkdir("bucket")
        files.pipe("bucket/runs/ewc.csv", TEXT.encode())
        here = write_journal(tmp_path)
        files.put(str(here), "bucket/lives/life", recursive=True)
        assert read("s3://bucket/runs/ewc.csv").id == "ewc"
        assert [path.name for path in find(locate(Path("s3://bucket/runs")))] == ["ewc.csv"]
        assert read("s3:/bucket/lives/life").experiences.equals(read(here).experiences)
        with pytest.raises(NotALogError, match="no such file or folder"):
            locate("s3://bucket/absent")
    finally:
        running.stop()
