"""What is printed, whoever reads it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.color import Color
from tests.command import run_command

import perdure
from perdure.cli.terminal import styled, width
from perdure.scenario.draw import lifetime_line

posix = pytest.mark.skipif(os.name == "nt", reason="a shell of another kind")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "utf-16"])
def test_no_sign_ends_a_command_where_its_readers_know_fewer(life: Path, encoding: str) -> None:
    composed = ("compose", "condensed", "--task", "pöng😀", "--learn", "3")
    scored = ("score", str(life), "--json", "-")
    for words in (("list", "metrics"), ("score", str(life), "--all"), scored, composed):
        done = run_command(*words, encoding=encoding)
        assert done.returncode == 0, done.stderr
        if words is scored:
            assert json.loads(done.stdout)["lifetimes"][0]["id"] == life.name
        if words is composed:
            assert json.loads(done.stdout)["composed"]["order"] == ["pöng😀"]


def test_a_file_gets_utf_8_whatever_the_language_of_the_system(life: Path) -> None:
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    done = subprocess.run(
        [sys.executable, "-m", "perdure", "list", "metrics"],
        capture_output=True,
        check=True,
        timeout=120,
        env={**plain, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    )
    assert "≥" in done.stdout.decode()


@pytest.mark.parametrize("columns", ["120", "0", "-5", "wide", "", "٣", " 90 ", "9" * 5000])
def test_a_line_is_as_wide_as_the_standard_library_says(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == shutil.get_terminal_size((80, 24)).columns


def test_no_text_has_a_colour_that_light_or_dark_terminals_hide() -> None:
    folder = Path(perdure.__file__).parent
    sources = [*folder.glob("cli/*.py"), folder / "watch" / "terminal.py"]
    hidden = re.compile(r"""["'\[ ](bright_)?(yellow|grey|black|white|blue)["'\]]""")
    assert [source.name for source in sources if hidden.search(source.read_text(encoding="utf-8"))] == []


def test_the_colours_of_drawn_tasks_differ_from_white_and_black_paper() -> None:
    tasks = [f"task{number}" for number in range(8)]
    drawn = lifetime_line(perdure.compose("condensed", tasks, learn=9, evaluate=1).scenario, 100)
    channels = {Color.parse(str(span.style).removeprefix("bold ")).get_truecolor() for span in drawn.spans}
    assert len(channels) == 8
    for red, green, blue in channels:
        linear = [(part / 255) ** 2.2 for part in (red, green, blue)]
        light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert min(1.05 / (light + 0.05), (light + 0.05) / 0.05) > 3.4


def test_colours_are_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert styled("met", "green") == "met"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert styled("met", "green") == "\x1b[32mmet\x1b[0m"
    assert styled("met", "") == "met"
    assert styled("  ", "green") == "  "
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("met", "green") == "met"


def said_to(streams: str, *words: object) -> tuple[int, str]:
    """The status of a command whose streams a shell has bent like this, and all that still reached us."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -W error -m perdure "$@" {streams}', sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


@posix
def test_a_command_whose_stdout_is_closed_does_its_work(life: Path, tmp_path: Path) -> None:
    assert said_to(">&- 2>&-", "score", life) == (0, "")
    status, said = said_to(">&-", "score", life, "--json", tmp_path / "scores.json")
    assert status == 0
    assert "internal error" not in said
    assert json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["lifetimes"]


@posix
def test_what_is_for_stderr_is_not_printed_among_the_results(life: Path) -> None:
    (life / "perdure.toml").write_text("level = 0.9\n", encoding="utf-8")
    status, said = said_to("2>&-", "score", life, "--json", "-")
    assert status == 0
    assert json.loads(said)["lifetimes"]
    assert said_to("2>&-", "score", "nowhere") == (2, "")


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
def test_a_full_disk_is_told_once_and_never_hides_what_is_wrong(life: Path) -> None:
    assert said_to(">/dev/full", "list", "layouts") == (2, "perdure: No space left on device\n")
    status, said = said_to(">/dev/full", "score", life, "-q")
    assert (status, said) == (2, "perdure: No space left on device\n")
    assert said_to(">/dev/full 2>&1", "score", life) == (2, "")
    assert said_to("2>/dev/full", "score", "nowhere") == (2, "")


@posix
def test_a_reader_who_leaves_gets_no_complaint_and_no_word_that_all_was_done(life: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "perdure", "score", str(life), "-q"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
