"""Files: only regular ones are opened, up to a size, and replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

import pytest

from perdure import files
from perdure.errors import LogError

posix = pytest.mark.skipif(sys.platform == "win32", reason="no named pipes or device files in folders")


@posix
def test_a_pipe_is_refused_at_once_for_reading_and_for_writing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT, os.O_RDWR):
        with pytest.raises(OSError, match="a named pipe, where a regular file is expected"):
            files.open_descriptor(tmp_path / "pipe", flags)


@posix
def test_folders_devices_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for path, message in (("socket", "a socket"), ("/dev/zero", "a device"), (".", "a folder")):
            with pytest.raises(OSError, match=f"{message}, where a regular file is expected"):
                files.read_bytes(path)


def test_a_missing_file_raises_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.read_bytes(tmp_path / "none")


def test_a_file_over_its_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as opened:
        opened.truncate(1 << 40)  # a sparse file: it takes no space on the disk, but would fill the memory
    with pytest.raises(OSError, match="more than the 67 MB that such a file may have"):
        files.read_bytes(file, files.HEADER_LIMIT)
    file.write_bytes(b"1234")
    assert files.read_bytes(file, 4) == b"1234"
    with pytest.raises(OSError, match="more than"):
        files.read_bytes(file, 3)


def test_a_link_may_not_leave_its_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "log" / "a.json", tmp_path / "b.json"
    inside.parent.mkdir()
    for file in (inside, outside):
        file.write_bytes(b"{}")
    link = tmp_path / "log" / "link"
    link.symlink_to(inside)
    assert files.read_bytes(link, within=inside.parent) == b"{}"
    link.unlink()
    link.symlink_to(outside)
    with pytest.raises(LogError, match="leads out of the log"):
        files.read_bytes(link, within=inside.parent)


def test_a_replacement_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    files.write(target, b"old")
    with contextlib.suppress(RuntimeError), files.replacement(target) as part:
        part.write_bytes(b"half of the n")
        raise RuntimeError
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    files.write(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with files.replacement(target) as one, files.replacement(target) as other:
        one.write_bytes(b"one")
        other.write_bytes(b"other")
    assert target.read_bytes() == b"one"


def test_only_a_file_named_by_the_user_is_written_through_a_link(tmp_path: Path) -> None:
    aim, link = tmp_path / "aim", tmp_path / "link"
    aim.write_bytes(b"old")
    link.symlink_to(aim)
    files.deliver(link, b"asked")
    assert (link.is_symlink(), aim.read_bytes()) == (True, b"asked")
    files.write(link, b"ours")
    assert (link.is_symlink(), link.read_bytes(), aim.read_bytes()) == (False, b"ours", b"asked")


def test_a_written_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "any").write_bytes(b"")
    files.write(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode
