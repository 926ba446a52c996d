"""Ratios have significant digits at both ends in every output."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.verbs import run_verb

ENDS = ("0.0021", "22")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two learners of five lifetimes; forward transfer of the first is 0.215, from 0.0021 to 21.6."""
    rows = ["lifetime\tlearner\tseed\tforward_transfer"]
    spread = np.log(21.6 / 0.0021) / 2 / 2.776 * np.sqrt(5)  # so that the t interval of five has these ends
    centre = np.log(21.6 * 0.0021) / 2
    shifts = np.array([-2, -1, 0, 1, 2]) / np.std([-2, -1, 0, 1, 2], ddof=1)
    for learner, factor in (("wide", 1.0), ("wider", 3.0)):
        values = np.exp(centre + shifts * spread) * factor
        rows += [f"{learner}{seed}\t{learner}\t{seed}\t{value}" for seed, value in enumerate(values)]
    file = tmp_path_factory.mktemp("scores") / "scores.tsv"
    file.write_text("\n".join(rows) + "\n")
    return file


def test_the_terminal_shows_both_ends(wide: Path) -> None:
    said = run_verb("score", wide).stdout
    line = next(line for line in said.splitlines() if "forward transfer" in line)
    assert "0.21" in line
    assert all(end in line for end in ENDS)


def test_a_comparison_shows_both_ends(wide: Path) -> None:
    done = run_verb("compare", wide, "--paired", "no", "--json", wide.with_name("compared.json"))
    found = json.loads(wide.with_name("compared.json").read_text())["comparisons"][0]
    low = found["metrics"]["forward_transfer"]["low"]
    assert 0 < low < 0.01
    assert f"{low:.2g}" in done.stdout
    assert " 0 …" not in done.stdout


@pytest.mark.parametrize("name", ["report.md", "report.html", "table.tex", "table.csv"])
def test_reports_and_tables_show_both_ends(wide: Path, name: str) -> None:
    form = () if name.startswith("report") else ("--metrics", "forward_transfer")
    assert run_verb("report", wide, "--to", wide.with_name(name), *form).exit_code == 0
    text = wide.with_name(name).read_text()
    assert all(end in text for end in ENDS)
