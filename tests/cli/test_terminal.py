"""What is printed, whoever reads it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.cli.terminal import styled, width


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "utf-16"])
def test_no_sign_ends_a_command_where_its_readers_know_fewer(life: Path, encoding: str) -> None:
    for words in (("list", "metrics"), ("score", str(life), "--all"), ("score", str(life), "--json", "-")):
        done = subprocess.run(
            [sys.executable, "-m", "perdure", *words],
            capture_output=True,
            check=False,
            timeout=120,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert done.returncode == 0, done.stderr
        said = done.stdout.decode(encoding)
        if "--json" in words:
            assert json.loads(said)["lifetimes"][0]["id"] == life.name


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


@pytest.mark.parametrize("columns", ["120", "0", "-5", "wide", "", "٣"])
def test_a_line_is_as_wide_as_the_standard_library_says(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == shutil.get_terminal_size((80, 24)).columns


def test_colours_are_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert styled("met", "green") == "met"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert styled("met", "green") == "\x1b[32mmet\x1b[0m"
    assert styled("met", "") == "met"
    assert styled("  ", "green") == "  "
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("met", "green") == "met"
