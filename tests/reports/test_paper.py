"""A paper's table: what its cells, marks and bold numbers say is what the survey and the comparison say."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.reports.conftest import write_life

import perdure
from perdure import PerdureError, write_report
from perdure.errors import UnknownNameError
from perdure.reports.data import gather
from perdure.reports.formats.paper import csv_table, latex_table, markdown_table
from perdure.reports.paper import PaperTable, paper_tables
from perdure.stats.scored import GroupedSurvey
from perdure.tables import escape_latex

Tell = Callable[..., GroupedSurvey]
KEEPS = {"der++": 0.93, "naive": 0.6, "ewc_online": 0.8}
HOSTILE = r"[a] 5% & \input{x} $_^~#<>|*-- é β"
COMPILER = shutil.which("pdflatex")


def write_matrices(into: Path, methods: dict[str, float], seeds: int = 4, tasks: int = 3) -> Path:
    """A folder per method, in it a matrix per seed: what is learned at 90, and what is left of it later."""
    for at, (method, keeps) in enumerate(methods.items()):
        for seed in range(seeds):
            rng = np.random.default_rng([seed, at])
            rows = (
                [
                    f"{90 * keeps ** (row - column) + rng.normal(0, 1):.3f}" if column <= row else ""
                    for column in range(tasks)
                ]
                for row in range(tasks)
            )
            (into / method).mkdir(parents=True, exist_ok=True)
            (into / method / f"seed{seed}.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    return into


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    return write_matrices(tmp_path / "runs", KEEPS)


@pytest.fixture
def table(matrices: Path) -> PaperTable:
    (one,) = paper_tables(gather([matrices]), baseline="naive")
    return one


def compiled(body: Path, folder: Path) -> str:
    """What pdfTeX says of a document that puts the file in; it has to come to a page, or the test fails."""
    if COMPILER is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-extra texlive-science")
    text = (
        rf"\documentclass{{article}}\usepackage{{booktabs,siunitx}}\begin{{document}}\input{{{body}}}\end{{document}}"
    )
    (folder / "paper.tex").write_text(text)
    done = subprocess.run(
        [COMPILER, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 1000
    return (folder / "paper.log").read_text(errors="replace")


def test_a_folder_of_matrices_becomes_a_table_that_compiles(matrices: Path, tmp_path: Path) -> None:
    write_report(matrices, tmp_path / "table.tex")
    said = compiled(tmp_path / "table.tex", tmp_path)
    assert "siunitx Warning" not in said
    assert "Missing character" not in said


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Lifetimes of a learner whose name is made of what LaTeX takes for commands, and of another."""
    for learner, keeps in ((HOSTILE, 0.5), ("keeper", 0.97)):
        for seed in range(3):
            name = f"{'abc'[seed]}{learner[:1].isalpha():d}"
            write_life(tmp_path / "run", name, ["x", "y"], learner=learner, keeps=keeps, seed=seed)
    return tmp_path / "run"


def test_a_table_of_ratios_and_of_hostile_names_compiles(hostile: Path, tmp_path: Path) -> None:
    write_report(hostile, tmp_path / "table.tex", title=HOSTILE)
    text = (tmp_path / "table.tex").read_text()
    assert r"\;[" in text
    assert escape_latex(HOSTILE) in text
    compiled(tmp_path / "table.tex", tmp_path)


def test_the_whole_report_as_latex_compiles_whatever_learners_are_called(hostile: Path, tmp_path: Path) -> None:
    write_report(hostile, tmp_path / "appendix.tex", form="report")
    assert r"\label{tab:definitions}" in (tmp_path / "appendix.tex").read_text()
    compiled(tmp_path / "appendix.tex", tmp_path)


def test_latex_markdown_and_csv_have_the_same_cells(table: PaperTable) -> None:
    texts = [[cell.text for cell in row.cells] for row in table.rows]
    read = list(csv.reader(csv_table([table]).splitlines()))
    assert read[0] == ["method", "n", *(one.text for one in table.headings)]
    assert [row[2:] for row in read[1:]] == texts
    lines = [line.replace("\\", "") for line in markdown_table([table]).splitlines() if line.startswith("|")][2:]
    found = [[re.sub(r"^\*\*(.*)\*\*$", r"\1", cell.strip()) for cell in line.split("|")[3:-1]] for line in lines]
    assert found == texts
    body = latex_table([table]).partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    bare = re.sub(r"\\boldmath|\\bfseries|\\;|[{}$^]", "", body).replace(r"\pm", "±").replace("-", "−")
    for row, line in zip(texts, bare.strip().splitlines(), strict=True):
        cells = [one.strip() for one in line.strip().removesuffix(r"\\").split("&")][2:]
        assert [f"{mean} {rest}".strip() for mean, rest in zip(cells[::2], cells[1::2], strict=True)] == row


def test_what_every_abbreviation_stands_for_is_noted(table: PaperTable) -> None:
    assert "BWT" in {one.brief for one in table.headings}
    assert all(f"{one.brief}: " in table.notes[0] for one in table.headings)


def test_a_mark_is_the_adjusted_p_of_the_comparison(matrices: Path, table: PaperTable) -> None:
    found = perdure.compare(matrices, baseline="runs/naive")
    held = {one.system.removeprefix("runs/"): one.differences for one in found}
    for row in table.rows:
        for heading, cell in zip(table.headings, row.cells, strict=True):
            if row.method == "naive":
                assert cell.mark == ""
                continue
            p = held[row.method][heading.metric].p_holm
            assert p is not None
            assert len(cell.mark) == (p < 0.05) + (p < 0.01) + (p < 0.001)
    assert {len(cell.mark) for row in table.rows for cell in row.cells} >= {0, 3}
    assert any("adjusted by Holm over 4 metrics" in note for note in table.notes)


def test_bold_is_the_best_mean_by_the_metrics_own_direction(matrices: Path, table: PaperTable) -> None:
    means = {one.group: one.estimates for one in perdure.groups(perdure.survey(matrices))}
    for at, heading in enumerate(table.headings):
        best = (max if heading.better == "higher" else min)(
            means, key=lambda who: means[who][heading.metric].mean or 0.0
        )
        assert [row.method for row in table.rows if row.cells[at].best] == [best]
    assert {one.better for one in table.headings} == {"higher", "lower"}


def test_a_cell_holds_the_mean_and_half_its_interval(matrices: Path, table: PaperTable) -> None:
    found = {one.group: one.estimates for one in perdure.groups(perdure.survey(matrices))}
    for row in table.rows:
        assert row.n == 4
        for heading, cell in zip(table.headings, row.cells, strict=True):
            one = found[row.method][heading.metric]
            assert one.mean is not None
            assert one.width is not None
            mean, half = (float(text.replace("−", "-").strip("±* ")) for text in cell.text.split("±"))
            decimals = len(cell.mean.partition(".")[2])
            assert mean == pytest.approx(one.mean, abs=0.5001 * 10**-decimals)
            assert half == pytest.approx(one.width / 2, abs=0.5001 * 10**-decimals)


def test_ratios_are_written_with_both_ends_of_their_interval(told: Tell) -> None:
    material = told(2, 3)
    (one,) = paper_tables(material)
    at = [heading.metric for heading in one.headings].index("forward_transfer")
    estimates = {each.learner: each.estimates["forward_transfer"] for each in material.groups}
    for row in one.rows:
        low, high = map(float, row.cells[at].spread.strip("[]").split(", "))
        assert low < float(row.cells[at].mean) < high
        assert (low, high) == pytest.approx((estimates[row.method].low, estimates[row.method].high), rel=0.01)
    assert any("geometric mean" in note for note in one.notes)


def test_what_is_shown_changes_no_mark(matrices: Path, tmp_path: Path) -> None:
    """Holm's family is every headline metric, also where one column was asked for."""

    def column(name: str, *metrics: str) -> list[str]:
        settings = perdure.Settings(metrics=metrics)
        write_report(matrices, tmp_path / name, settings=settings, baseline="naive")
        rows = list(csv.DictReader((tmp_path / name).read_text().splitlines()))
        assert not metrics or len(rows[0]) == 3
        return [row["LA (%) ↑"] for row in rows]

    assert column("all.csv") == column("one.csv", "learning_accuracy")


def test_one_method_has_no_bold_and_no_marks(tmp_path: Path) -> None:
    (one,) = paper_tables(gather([write_matrices(tmp_path / "runs", {"naive": 0.6})]))
    assert not any(cell.best or cell.mark for row in one.rows for cell in row.cells)
    assert not any("gainst" in note for note in one.notes)


def test_two_lifetimes_are_not_tested_and_it_is_said(tmp_path: Path) -> None:
    (one,) = paper_tables(gather([write_matrices(tmp_path / "runs", KEEPS, seeds=2)]))
    assert not any(cell.mark for row in one.rows for cell in row.cells)
    assert any(note.startswith("Not tested against") for note in one.notes)


def test_one_seed_gives_no_interval(tmp_path: Path) -> None:
    (one,) = paper_tables(gather([write_matrices(tmp_path / "runs", KEEPS, seeds=1)]))
    assert all(cell.spread == "" and cell.mean != "–" for row in one.rows for cell in row.cells)


def test_scenario_types_are_tables_of_their_own(two_runs: tuple[Path, Path]) -> None:
    tables = paper_tables(gather(two_runs))
    assert [[row.method for row in one.rows] for one in tables] == [["keeper", "forgetter"]] * 2
    assert [one.caption.rpartition(" ")[2] for one in tables] == ["condensed", "dispersed"]
    assert {row[0] for row in csv.reader(csv_table(tables).splitlines())} == {"table", *(one.caption for one in tables)}


def test_a_baseline_that_nobody_is_called_is_refused(matrices: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"ewc_online"):
        paper_tables(gather([matrices]), baseline="ewc_onlin")


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [("a.html", "table", ".tex, .md, .csv"), ("a.csv", "report", ".html, .md, .json"), ("a.csv", "methods", ".txt")],
)
def test_a_form_is_refused_under_a_suffix_it_cannot_have(
    matrices: Path, tmp_path: Path, name: str, form: str, expected: str
) -> None:
    with pytest.raises(PerdureError, match=re.escape(expected)):
        write_report(matrices, tmp_path / name, form=form)  # type: ignore[arg-type]
    assert not (tmp_path / name).exists()
