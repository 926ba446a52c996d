"""Terminal output: every name, message and path is printed as text, without control sequences."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.scoring import BLOCKS, write
from tests.faults.ill import write_protocol

from perdure.cli.terminal import clean

TITLE = "\x1b]0;pwned\x07"
NAME = f"{TITLE}[/red][link=file:///x]\x1b[2J\x9b2J\u202e"
ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1?A|\r")
"""Colours, and what a progress bar of ours does: hide the cursor, clear its line, go up."""

Shown = Callable[..., tuple[int, str]]


def run_on_terminal(*arguments: object, cwd: Path) -> tuple[int, str]:
    """Run `perdure …` with standard output and error connected to one terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "150"}
    command = [sys.executable, "-m", "perdure", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, cwd=cwd, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # Linux reports this when the last process closes the terminal
        pass
    os.close(ours)
    return process.wait(60), shown.decode("utf-8", "replace")


@pytest.fixture
def hostile_logs(tmp_path: Path) -> Path:
    """Log lifetimes whose learner, scenario, task and folder names contain terminal control sequences."""
    folder = tmp_path / "logs"
    for number in range(3):
        place = write(tmp_path, f"life-{number}", BLOCKS)
        (place / "blocks.jsonl").unlink()
        shutil.rmtree(place / ".perdure", ignore_errors=True)
        manifest = json.loads((place / "manifest.json").read_text())
        manifest |= {"learner": f"{NAME}{number % 2}", "scenario": {"name": NAME}, "seed": number, "id": NAME}
        (place / "manifest.json").write_text(json.dumps(manifest))
        (place / "scenario_info.json").write_text(json.dumps({"scenario_type": NAME}))
        for file in place.glob("*/*/data-log.tsv"):
            file.write_text(file.read_text().replace("a_1", f"a{TITLE}_1"))
        folder.mkdir(exist_ok=True)
        place.rename(folder / f"life-{number}{TITLE}")
    return folder


def refuse_escapes(shown: str) -> None:
    left = ALLOWED.sub("", shown)
    match = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", left)
    assert match is None, ascii(left[max(0, match.start() - 100) : match.end() + 100])
    assert "\x1b]" not in shown


VERBS: dict[str, tuple[str, ...]] = {
    "score": ("score", "logs"),
    "score json": ("score", "logs", "--json", "-"),
    "score one": ("score", f"logs/life-0{TITLE}"),
    "compare": ("compare", "logs"),
    "correlate": ("correlate", "logs"),
    "report": ("report", "logs", "--to", f"re{TITLE}port.html", "--title", NAME),
    "check": ("check", "logs"),
    "watch": ("watch", "logs", "--once"),
    "nothing there": ("score", f"no{NAME}"),
    "unknown option": ("score", f"--{NAME}"),
    "unknown verb": (f"sc{NAME}",),
    "lint": ("lint", f"sylla{TITLE}bus.json"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_terminal_gets_no_control_sequences(tmp_path: Path, hostile_logs: Path, verb: str) -> None:
    (tmp_path / f"sylla{TITLE}bus.json").write_text(json.dumps({NAME: [{"$phase": NAME}]}))
    status, shown = run_on_terminal(*VERBS[verb], cwd=tmp_path)
    refuse_escapes(shown)
    assert "pwned" in shown or verb in ("correlate", "watch")  # these print no such name, or shorten it
    assert "internal error" not in shown
    assert status in (0, 1, 2)


def test_errors_and_output_of_a_learner_contain_no_control_sequences(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, "PrintsBinary", "at = 0")
    status, shown = run_on_terminal("run", file, "--into", f"run{TITLE}", "--workers", "1", cwd=tmp_path)
    assert status == 1
    assert "ZeroDivisionError: \\u001b]0;pwned" in shown
    refuse_escapes(shown)


def test_json_output_keeps_the_names_unchanged() -> None:
    facts = {"name": NAME, "more": "\x85\u2028\t\n\udcff"}
    assert json.loads(clean(json.dumps(facts, ensure_ascii=False))) == facts


def test_colours_of_perdure_are_shown(tmp_path: Path, life: Path) -> None:
    _, shown = run_on_terminal("score", life, cwd=tmp_path)
    assert "\x1b[" in shown
    _, shown = run_on_terminal("score", "--help", cwd=tmp_path)
    assert "\x1b[" in shown
