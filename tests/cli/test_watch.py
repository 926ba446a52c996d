"""`perdure watch`: what a user types, and what they see."""

from __future__ import annotations

import json
import os
import shutil
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
    share = totals["done"] / (totals["total"] + totals["expert_experiences"])
    assert f"2 not begun, 1 of 3 lifetimes done · 0 of 2 experts done · {share:.0%}".replace("%", " %") in said
    assert "So far, from 1 of 3 lifetimes and 0 of 2 experts:" in said


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three lifetimes and two experts that has ended, ten minutes ago."""
    into = tmp_path_factory.mktemp("watch")
    (into / "protocol.toml").write_text(
        'lifetimes = 3\nexperts = 2\n[learner]\nuse = "q-learning"\n[[scenarios]]\nlayout = "condensed"\n'
        'tasks = ["pong"]\nlearn = 4\nevaluate = 2\n'
    )
    done = run_verb("run", into / "protocol.toml", "--into", into / "run", "--workers", 0)
    assert done.exit_code == 0, done.exception
    return into / "run"


def unfinished(run: Path, into: Path, *ids: str) -> Path:
    """Copy a run as a kill leaves it: without the last lines of the ledgers of `ids`, and quiet for ten minutes."""
    shutil.copytree(run, into)
    for name in ids:
        ledger = into / name / "blocks.jsonl"
        ledger.write_text("\n".join(ledger.read_text().splitlines()[:-2]) + "\n")
    for file in (into, *into.rglob("*")):
        os.utime(file, (time.time() - 600, time.time() - 600))
    return into


def test_a_finished_run_gives_no_warning(finished: Path, tmp_path: Path) -> None:
    done = run_verb("watch", unfinished(finished, tmp_path / "run"), "--json", "-")
    facts = json.loads(done.stdout)
    assert (done.exit_code, facts["warnings"]) == (0, [])
    said = run_verb("watch", tmp_path / "run", "--terminal", "--once").stdout
    assert said.startswith("3 of 3 lifetimes done\n")
    assert "So far" not in said


@pytest.mark.parametrize(
    ("ids", "count", "answer"),
    [
        (("lives/life-001",), "1 lifetime is unfinished", "So far, from 2 of 3 lifetimes:"),
        (("experts/pong-01",), "1 expert is unfinished", "So far, from 3 of 3 lifetimes and 1 of 2 experts:"),
        (
            ("lives/life-001", "experts/pong-01"),
            "1 lifetime and 1 expert are unfinished",
            "2 of 3 lifetimes and 1 of 2",
        ),
    ],
)
def test_a_run_that_was_killed_is_named_with_what_it_left_unfinished(
    finished: Path, tmp_path: Path, ids: tuple[str, ...], count: str, answer: str
) -> None:
    run = unfinished(finished, tmp_path / "run", *ids)
    facts = json.loads(run_verb("watch", run, "--json", "-").stdout)
    (warning,) = facts["warnings"]
    assert f"{run}: no run is active, and {count}; run its protocol again into this folder" in warning
    states = facts["totals"]["states"]
    assert (states.get("quiet", 0), states["done"]) == (count.count("lifetime"), 3 - count.count("lifetime"))
    said = run_verb("watch", run, "--terminal", "--once").stdout
    assert answer in " ".join(said.split())
    assert "expert" not in count or not said.splitlines()[0].endswith("100 %")


def test_a_run_that_is_active_is_not_called_abandoned(finished: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="the system has no locks")
    run = unfinished(finished, tmp_path / "run", "lives/life-001", "experts/pong-01")
    with (run / ".run" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        facts = json.loads(run_verb("watch", run, "--json", "-").stdout)
    assert facts["warnings"] == []


def test_an_empty_folder_is_waited_for(tmp_path: Path) -> None:
    done = run_verb("watch", tmp_path, "--json", "-")
    assert json.loads(done.stdout)["lifetimes"] == []


def test_a_folder_that_does_not_exist_is_an_error_at_once_and_waited_for_otherwise(tmp_path: Path) -> None:
    once = run_verb("watch", tmp_path / "nowhere", "--once")
    assert "no such file or folder" in str(once.exception)


def test_serving_others_needs_a_token(life: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
    done = run_verb("watch", life.parent, "--host", "0.0.0.0")
    assert isinstance(done.exception, PerdureError)
    assert "--token" in str(done.exception)


def test_without_the_extra_the_command_that_installs_it_is_given(life: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = run_verb("watch", life.parent)
    assert "pip install 'starlette" in str(done.exception)


def test_the_page_waits_for_its_folder_and_is_served_until_interrupted(life: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
    later = tmp_path / "later"  # the run begins after the watch
    process = subprocess.Popen(
        [sys.executable, "-m", "perdure", "watch", str(later)],
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
        with urllib.request.urlopen(f"{address}state", timeout=10) as answer:
            assert json.load(answer)["warnings"] == [f"{later}: does not exist yet"]
        shutil.copytree(life.parent, later)
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
