"""`perdure watch`: what a user types, and what they see."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tests.cli.verbs import run_verb

from perdure.errors import PerdureError


def test_once_says_where_everything_stands_and_ends(life: Path) -> None:
    done = run_verb("watch", life.parent, "--terminal", "--once")
    assert done.exit_code == 0, done.output
    assert "small" in done.stdout
    assert "done" in done.stdout


def test_the_same_facts_as_json(life: Path) -> None:
    done = run_verb("watch", life.parent, "--json", "-")
    (one,) = json.loads(done.stdout)["lifetimes"]
    assert (one["id"], one["state"], one["done"]) == ("logs/small", "done", 14)


def test_lifetimes_that_a_protocol_plans_are_counted_before_they_begin(tmp_path: Path) -> None:
    (tmp_path / "protocol.toml").write_text(
        'lifetimes = 3\nexperts = 2\n[learner]\nuse = "q-learning"\n[[scenarios]]\nlayout = "condensed"\n'
        'tasks = ["pong"]\nlearn = 4\nevaluate = 2\n'
    )
    run_verb("run", tmp_path / "protocol.toml", "--into", tmp_path / "run", "--workers", 0, "--only", "life-000")
    totals = json.loads(run_verb("watch", tmp_path / "run", "--json", "-").stdout)["totals"]
    assert (totals["lifetimes"], totals["states"]) == (3, {"done": 1})
    assert totals["experts"] == {"done": 0, "total": 2}
    assert totals["total"] == 3 * totals["done"]
    said = run_verb("watch", tmp_path / "run", "--terminal", "--once").stdout
    assert "2 not begun, 1 of 3 lifetimes done · 0 of 2 experts done · 33 %" in said
    assert "So far, from 1 of 3 lifetimes:" in said


def test_an_empty_folder_is_waited_for(tmp_path: Path) -> None:
    done = run_verb("watch", tmp_path, "--json", "-")
    assert json.loads(done.stdout)["lifetimes"] == []


def test_serving_others_needs_a_token(life: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
    done = run_verb("watch", life.parent, "--host", "0.0.0.0")
    assert isinstance(done.exception, PerdureError)
    assert "--token" in str(done.exception)


def test_without_the_extra_the_command_that_installs_it_is_given(life: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = run_verb("watch", life.parent)
    assert "pip install 'starlette" in str(done.exception)


def test_the_page_is_served_until_interrupted(life: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
    process = subprocess.Popen(
        [sys.executable, "-m", "perdure", "watch", str(life.parent)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        deadline = time.monotonic() + 20
        lives: list[object] = []
        while not lives and time.monotonic() < deadline:
            with urllib.request.urlopen(f"{address}state", timeout=10) as answer:
                lives = json.load(answer)["lifetimes"]
            time.sleep(0.1)
        assert len(lives) == 1
        os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=10)
    finally:
        process.kill()
        process.communicate()
