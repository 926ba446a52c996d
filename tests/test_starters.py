"""`perdure new`: the files that it writes work unchanged, and Perdure finds them once installed."""

from __future__ import annotations

import keyword
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.cli.new import Kind
from perdure.starters import KINDS, write_starter

Run = Callable[..., subprocess.CompletedProcess[str]]
SOURCE = Path(perdure.__file__).parents[1]


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(SOURCE)))}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def install(folder: Path) -> None:
    """Install a starter as pip would: a distribution next to the module, with its entry points."""
    about = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    place = folder / f"{about['name'].replace('-', '_')}-0.1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: 0.1.0\n")
    points = [
        line
        for group, entries in about["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()))
    ]
    (place / "entry_points.txt").write_text("\n".join(points) + "\n")


@pytest.mark.parametrize("kind", KINDS)
def test_a_starter_passes_its_own_tests_and_ruff(kind: str, tmp_path: Path) -> None:
    write_starter(kind, "head-start", tmp_path)
    done = python(tmp_path / "head-start", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    done = python(tmp_path / "head-start", "-m", "ruff", "check", "--isolated", "--line-length", "120", ".")
    assert done.returncode == 0, done.stdout


USED = {
    "metric": ("list", "metrics"),
    "task": ("list", "tasks"),
    "learner": ("list", "learners"),
    "reader": ("list", "readers"),
}


@pytest.mark.parametrize("kind", USED)
def test_an_installed_plugin_is_listed(kind: str, tmp_path: Path) -> None:
    write_starter(kind, "headStart", tmp_path)
    folder = tmp_path / "head-start"
    install(folder)
    done = python(folder, "-m", "perdure", *USED[kind])
    assert done.returncode == 0, done.stderr
    assert "head-start" in done.stdout or "head_start" in done.stdout


def test_an_installed_report_is_chosen_by_its_suffix(tmp_path: Path, life: Path) -> None:
    write_starter("report", "brief", tmp_path)
    install(tmp_path / "brief")
    done = python(tmp_path / "brief", "-m", "perdure", "report", str(life), "--to", "out.brief", "--title", "Mine")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "brief" / "out.brief").read_text().startswith("Mine\n")


def test_the_verb_offers_every_kind() -> None:
    assert set(KINDS) == set(Kind.__origin__.__args__)  # type: ignore[attr-defined]


def test_an_existing_file_is_not_overwritten(tmp_path: Path, run_cli: Run) -> None:
    (tmp_path / "mine").mkdir()
    done = run_cli("new", "metric", "mine", "--into", tmp_path)
    assert (done.returncode, "is there already; choose another name" in done.stderr) == (2, True)
    assert not list((tmp_path / "mine").iterdir())


@given(st.text(max_size=12))
def test_a_name_makes_a_module_or_is_refused(name: str) -> None:
    from perdure.starters import _words

    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or keyword.iskeyword(name.lower().strip("_-")):
        with pytest.raises(perdure.PerdureError, match="letters, digits and hyphens"):
            _words("metric", name)
    else:
        words = _words("metric", name)
        assert words["module"].isidentifier()
        assert words["Class"].isidentifier()
