"""Paper's table: cells, marks and bold numbers agree with the survey and the comparison."""

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
from perdure import PerdureError
from perdure import report as write_report
from perdure.errors import UnknownNameError
from perdure.reports.data import gather
from perdure.reports.paper import combine_tables, latex_document, markdown_document, paper_tables
from perdure.stats.groups import GroupedSurvey
from perdure.tables import Cell, Strong, Table, escape_latex

GatherRun = Callable[..., GroupedSurvey]
KEEPS = {"der++": 0.93, "naive": 0.6, "ewc_online": 0.8}
HOSTILE = r"[a] 5% & \input{x} $_^~#<>|*-- é β"
COMPILER = shutil.which("pdflatex")


def write_matrices(into: Path, methods: dict[str, float], seeds: int = 4, tasks: int = 3) -> Path:
    """Write a folder per method with a matrix per seed: 90 just after learning, and less later."""
    for number, (method, keeps) in enumerate(methods.items()):
        for seed in range(seeds):
            rng = np.random.default_rng([seed, number])
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
def table(matrices: Path) -> Table:
    (item,) = paper_tables(gather([matrices]), baseline="naive")
    return item


def compiled(body: Path, folder: Path) -> str:
    """Compile a document that inputs the file, and return the log of pdfTeX. Fail without a page."""
    if COMPILER is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-extra texlive-science")
    packages = r"\usepackage{booktabs,graphicx,siunitx}"
    text = rf"\documentclass{{article}}{packages}\begin{{document}}\input{{{body}}}\end{{document}}"
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
    message = compiled(tmp_path / "table.tex", tmp_path)
    assert "siunitx Warning" not in message
    assert "Missing character" not in message


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Write lifetimes of two learners, one with a name of LaTeX commands."""
    for learner, keeps in ((HOSTILE, 0.5), ("keeper", 0.97)):
        for seed in range(3):
            name = f"{'abc'[seed]}{learner[:1].isalpha():d}"
            write_life(tmp_path / "run", name, ["x", "y"], learner=learner, keeps=keeps, seed=seed)
    return tmp_path / "run"


def test_the_tables_of_a_whole_report_are_not_wider_than_a_page(matrices: Path, tmp_path: Path) -> None:
    write_report(matrices, tmp_path / "report.tex", form="report", baseline="naive")
    assert "Overfull" not in compiled(tmp_path / "report.tex", tmp_path)


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


def test_latex_markdown_and_csv_have_the_same_cells(table: Table) -> None:
    texts = [[str(cell) for cell in row[2:]] for row in table.rows]
    read = list(csv.reader(combine_tables([table]).to_csv().splitlines()))
    assert read[0] == ["method", "n", *(column.name for column in table.columns[2:])]
    assert [row[2:] for row in read[1:]] == texts
    lines = [line.replace("\\", "") for line in markdown_document([table]).splitlines() if line.startswith("|")][2:]
    result = [[re.sub(r"^\*\*(.*)\*\*$", r"\1", cell.strip()) for cell in line.split("|")[3:-1]] for line in lines]
    assert result == texts
    body = latex_document([table]).partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    bare = re.sub(r"\\boldmath|\\bfseries|\\;|[{}$^]", "", body).replace(r"\pm", "±").replace("-", "−")
    for row, line in zip(texts, bare.strip().splitlines(), strict=True):
        cells = [cell.strip() for cell in line.strip().removesuffix(r"\\").split("&")][2:]
        assert [f"{mean} {rest}".strip() for mean, rest in zip(cells[::2], cells[1::2], strict=True)] == row


def test_what_every_abbreviation_stands_for_is_noted(table: Table) -> None:
    briefs = [column.name.partition(" ")[0] for column in table.columns[2:]]
    assert "BWT" in briefs
    assert all(f"{brief}: " in table.note for brief in briefs)


def stars(cell: Cell) -> int:
    return str(cell).count("*")


def test_a_mark_is_the_adjusted_p_of_the_comparison(matrices: Path, table: Table) -> None:
    result = perdure.compare(matrices, baseline="runs/naive")
    held = {item.system.removeprefix("runs/"): item.differences for item in result}
    for method, _, *cells in table.rows:
        for column, cell in zip(table.columns[2:], cells, strict=True):
            if method == "naive":
                assert stars(cell) == 0
                continue
            p = held[str(method)][column.about].p_holm
            assert p is not None
            assert stars(cell) == (p < 0.05) + (p < 0.01) + (p < 0.001)
    assert {stars(cell) for row in table.rows for cell in row} >= {0, 3}
    assert "adjusted by Holm over 4 metrics" in table.note


def test_bold_is_the_best_mean_by_the_metrics_own_direction(matrices: Path, table: Table) -> None:
    means = {item.group: item.estimates for item in perdure.groups(perdure.survey(matrices))}
    for place, column in enumerate(table.columns[2:], 2):
        best = (max if column.name.endswith("↑") else min)(means, key=lambda who: means[who][column.about].mean or 0.0)
        assert [row[0] for row in table.rows if isinstance(row[place], Strong)] == [best]
    assert {column.name[-1] for column in table.columns[2:]} == {"↑", "↓"}


def test_a_cell_holds_the_mean_and_half_its_interval(matrices: Path, table: Table) -> None:
    result = {item.group: item.estimates for item in perdure.groups(perdure.survey(matrices))}
    for method, count, *cells in table.rows:
        assert count == 4
        for column, cell in zip(table.columns[2:], cells, strict=True):
            estimate = result[str(method)][column.about]
            assert estimate.mean is not None
            assert estimate.width is not None
            mean, half = (text.replace("−", "-").strip("±* ") for text in str(cell).split("±"))
            decimals = len(mean.partition(".")[2])
            assert float(mean) == pytest.approx(estimate.mean, abs=0.5001 * 10**-decimals)
            assert float(half) == pytest.approx(estimate.width / 2, abs=0.5001 * 10**-decimals)


def test_ratios_are_written_with_both_ends_of_their_interval(gather_run: GatherRun) -> None:
    material = gather_run(2, 3)
    (item,) = paper_tables(material)
    place = [column.about for column in item.columns].index("forward_transfer")
    estimates = {each.learner: each.estimates["forward_transfer"] for each in material.groups}
    for row in item.rows:
        mean, low, high = (float(text.strip("[],*")) for text in str(row[place]).split(" "))
        assert low < mean < high
        estimate = estimates[str(row[0])]
        assert (low, high) == pytest.approx((estimate.low, estimate.high), rel=0.01)
    assert "geometric mean" in item.note


def test_what_is_shown_changes_no_mark(matrices: Path, tmp_path: Path) -> None:
    """Adjust by Holm over every headline metric, also if one column is requested."""

    def column(name: str, *metrics: str) -> list[str]:
        settings = perdure.Settings(metrics=metrics)
        write_report(matrices, tmp_path / name, settings=settings, baseline="naive")
        rows = list(csv.DictReader((tmp_path / name).read_text().splitlines()))
        assert not metrics or len(rows[0]) == 3
        return [row["LA (%) ↑"] for row in rows]

    assert column("all.csv") == column("one.csv", "learning_accuracy")


def test_one_method_has_no_bold_and_no_marks(tmp_path: Path) -> None:
    (item,) = paper_tables(gather([write_matrices(tmp_path / "runs", {"naive": 0.6})]))
    assert not any(isinstance(cell, Strong) or stars(cell) for row in item.rows for cell in row)
    assert "gainst" not in item.note


def test_two_lifetimes_are_not_tested_and_it_is_said(tmp_path: Path) -> None:
    (item,) = paper_tables(gather([write_matrices(tmp_path / "runs", KEEPS, seeds=2)]))
    assert not any(stars(cell) for row in item.rows for cell in row)
    assert "Not tested against" in item.note


def test_one_seed_gives_no_interval(tmp_path: Path) -> None:
    (item,) = paper_tables(gather([write_matrices(tmp_path / "runs", KEEPS, seeds=1)]))
    assert all(re.fullmatch(r"[−\d.]+", str(cell)) for row in item.rows for cell in row[2:])


def test_scenario_types_are_tables_of_their_own(two_runs: tuple[Path, Path]) -> None:
    tables = paper_tables(gather(two_runs))
    assert [[row[0] for row in item.rows] for item in tables] == [["keeper", "forgetter"]] * 2
    assert [item.caption.rpartition(" ")[2] for item in tables] == ["condensed", "dispersed"]
    rows = csv.reader(combine_tables(tables).to_csv().splitlines())
    assert {row[0] for row in rows} == {"table", *(item.caption for item in tables)}


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
