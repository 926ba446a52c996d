"""Code blocks of the README and the docs run page by page, each page in its own folder."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?P<kind>[\w ]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_ONLY = {"json", "text", "toml", "yaml"}
NEEDS = {
    "coming-from-l2metrics.md": ("pandas",),
    "minigrid-ppo.md": ("stable_baselines3", "minigrid"),
    "pytorch.md": ("torch",),
    "run-lifetimes-on-a-gpu.md": ("jax",),
    "stable-baselines3.md": ("stable_baselines3",),
    "watch-a-run.md": ("starlette", "uvicorn"),
}
COUNTED = r"""def _counted(text): return _re.sub(r"\d+(?= more metric| without a value| remark)", "some", text)"""
MAKE = re.compile(r"^make (demo|test)\b")


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match["kind"].strip(), match["body"]) for match in BLOCK.finditer(page.read_text())]


def script_of(page: Path) -> str:
    """Return the page as one Python program that runs its console lines as commands between its Python blocks."""
    parts = ["import re as _re, subprocess as _subprocess", COUNTED]
    for kind, body in blocks(page):
        if kind == "python":
            parts.append(body)
        elif kind.split()[0] == "console":
            for command, output in commands(body):
                parts.append(f"_done = _subprocess.run({command!r}, shell=True, capture_output=True, text=True)")
                parts.append(f"assert _done.returncode == 0, ({command!r}, _done.stdout, _done.stderr)")
                if kind == "console exact":
                    # The number of further metrics is not part of the page: a new metric would change every page.
                    parts.append(f"assert _counted(_done.stdout.strip()) == _counted({output.strip()!r}), _done.stdout")
    return "\n".join(parts)


def commands(body: str) -> list[tuple[str, str]]:
    results: list[tuple[str, str]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            results.append((line[2:], ""))
        elif results:
            results[-1] = (results[-1][0], results[-1][1] + line + "\n")
    return [(command, output) for command, output in results if not MAKE.match(command)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_runs_as_printed(page: Path, tmp_path: Path) -> None:
    kinds = {kind.split()[0] for kind, _ in blocks(page)}
    assert kinds <= {"python", "console"} | SHOWN_ONLY, f"{page.name} has a block that no test knows"
    for package in NEEDS.get(page.name, ()):
        pytest.importorskip(package, reason=f"{package} is an extra")
    if not kinds & {"python", "console"}:
        return
    scripts = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "L2DATA": str(tmp_path / "l2data"),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script_of(page)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_menu_lists_the_pages_on_disk_and_the_generated_pages() -> None:
    menu = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    on_disk = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:] if page.parent.name != "reference"}
    on_disk |= {f"notebooks/{path.stem}.md" for path in (ROOT / "docs/notebooks").glob("*.ipynb")}
    assert {page for page in menu if not page.startswith("reference/")} == on_disk


def test_the_preset_page_describes_every_preset_and_its_departures(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocs")
    from perdure.metrics.presets import PRESETS

    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    pages = importlib.import_module("reference_pages")
    page = pages.presets()
    for preset in PRESETS:
        part = page.partition(f"\n## {preset.name}\n")[2].partition("\n## ")[0]
        assert {"### Preparation", "### Metrics", "### Over lifetimes", "### Where it differs"} <= set(
            part.splitlines()
        )
        assert all(departure["because"] in part for departure in pages.DEPARTURES[preset.name])
        assert all(f"`{key}`" in part for key in preset.fixes)


def test_the_list_of_described_sources_is_complete() -> None:
    listed = (ROOT / "tests/documents/README.md").read_text().partition("## What they describe")[2]
    rows = re.findall(r"^\| (?!where)[^-|].*\|$", listed, re.MULTILINE)
    assert len(rows) == int(re.findall(r"^(\d+) things", listed, re.MULTILINE)[0])
    assert all(len(row.split(" | ")) == 3 for row in rows)


def test_the_install_page_lists_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys() - {"dev"}
    table = (ROOT / "docs/install.md").read_text().partition("## Extras")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z0-9]+)` \|", table, re.MULTILINE)) == extras


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_point_to_existing_files(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text())
    assert not [target for target in targets if not (page.parent / target).exists()]
