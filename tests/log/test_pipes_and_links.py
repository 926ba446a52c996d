"""Files that are not regular files: pipes, links that lead outside, headers of gigabytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import perdure
from perdure.errors import LogError
from perdure.log.read import find

ANSWERED_WITHIN_S = 60  # generous: the test is that the command does not wait for ever


FILES = [
    "manifest.json",
    "logger_info.json",
    "scenario_info.json",
    "blocks.jsonl",
    "worker-default/1-train/data-log.tsv",
]


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders")
@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_place_of_a_file_is_refused_immediately(life: Path, name: str) -> None:
    (life / name).unlink()
    os.mkfifo(life / name)
    # One process for all verbs that read, because a process that waits for a pipe cannot be stopped from inside.
    script = (
        "import sys; from typer.testing import CliRunner; from perdure.cli.app import application\n"
        "for verb in ('score', 'check', 'lint'):\n"
        "    done = CliRunner().invoke(application(), [verb, sys.argv[1]])\n"
        "    print(verb, done.exit_code, done.output, done.exception)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(life)],
        capture_output=True,
        text=True,
        timeout=ANSWERED_WITHIN_S,
        check=True,
    )
    assert "a named pipe, where a regular file is expected" in done.stdout
    assert "score 0" not in done.stdout
    assert "check 0" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders")
@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "matrix.json", "matrix.npz", "info.json", "run.toml"])
def test_a_pipe_as_an_argument_is_refused_immediately(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    verbs = {"info.json": ["score", ".", "--experts"], "run.toml": ["run"]}.get(name, ["score"])
    done = subprocess.run(
        [sys.executable, "-m", "perdure", *verbs, str(tmp_path / name)],
        capture_output=True,
        text=True,
        timeout=ANSWERED_WITHIN_S,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders")
def test_a_journal_that_joins_does_not_wait_for_a_pipe(life: Path) -> None:
    (life / "blocks.jsonl").unlink()
    os.mkfifo(life / "blocks.jsonl")
    with (
        pytest.raises(LogError, match="a named pipe, where a regular file is expected"),
        perdure.Journal(life.parent, "small", join=True) as journal,
    ):
        journal.log(block_num=4, exp_num=20, block_type="test", task_name="a_1", reward=1.0)


def test_a_header_of_gigabytes_is_not_read(life: Path) -> None:
    with (life / "manifest.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(LogError, match=r"manifest\.json: cannot be read: .*more than the 67 MB"):
        perdure.read(life)


def test_the_argument_and_lifetime_folders_may_be_links(life: Path, tmp_path: Path) -> None:
    collected = tmp_path / "collected"
    (collected / "sub").mkdir(parents=True)
    for link in (collected / "one", collected / "sub" / "again"):  # the same lifetime, which counts once
        link.symlink_to(life)
    assert [place.name for place in find(collected)] == ["one"]
    assert perdure.read(collected / "one").experiences.equals(perdure.read(life).experiences)
    (tmp_path / "argument").symlink_to(collected)
    assert [place.name for place in find(tmp_path / "argument")] == ["one"]


def test_a_link_to_a_lifetime_in_the_same_folder_is_not_a_second_lifetime(life: Path) -> None:
    (life.parent / "alias").symlink_to(life)
    (life.parent / "loop").symlink_to(life.parent)
    assert [place.name for place in find(life.parent)] == ["small"]


@pytest.mark.parametrize("name", [*FILES, "worker-default/2-test", "worker-default"])
def test_no_link_inside_a_lifetime_may_lead_out_of_it(life: Path, tmp_path: Path, name: str) -> None:
    (life / name).rename(tmp_path / "aside")
    (life / name).symlink_to(tmp_path / "aside")
    with pytest.raises(LogError, match="leads out of the log"):
        perdure.read(life)
