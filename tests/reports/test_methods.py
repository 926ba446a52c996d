"""The statement of methods matches the data and the settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import perdure
from perdure import report as write_report
from perdure.reports.data import gather, table_metrics
from perdure.reports.model import report_of
from perdure.reports.write import as_text
from perdure.stats.groups import GroupedSurvey
from perdure.tables import escape_latex

Run = Callable[..., Path]
GatherRun = Callable[..., GroupedSurvey]


def test_it_names_methods_their_lifetimes_and_every_metric_that_is_shown_with_its_source(gather_run: GatherRun) -> None:
    material = gather_run(2, 3)
    text = report_of(material).methods
    assert "6 lifetimes were scored: forgetter (3) and keeper (3)." in text
    assert "2 tasks, 240 learning experiences and 48 evaluation experiences" in text
    for name in table_metrics(material.groups):
        assert f"{name.replace('_', ' ').capitalize()}: " in text
        assert material.survey.metrics[name].source in text


def test_it_names_the_test_its_correction_the_baseline_and_the_versions(gather_run: GatherRun) -> None:
    report = report_of(gather_run(2, 3), baseline="keeper")
    (compared,) = report.comparisons
    assert (compared.system, compared.baseline) == ("forgetter", "keeper")
    sizes = {item.family for item in compared.tested.values()}
    assert len(sizes) == 1
    assert "two-sided paired t test on each metric, lifetimes paired by seed." in report.methods
    assert f"p was adjusted by Holm over the {sizes.pop()} metrics tested together" in report.methods
    assert "variance between experts" not in report.methods  # both have the same experts
    assert "compared with keeper" in report.methods
    assert f"Perdure {perdure.__version__}, preset standard" in report.methods


def test_experts_are_counted_where_there_are_any(gather_run: GatherRun) -> None:
    assert "Single-task experts: 1 per task, treated as a sample" in report_of(gather_run(2, 3)).methods
    assert "experts: " not in report_of(gather_run(2, 3, ("alone",), experts=False)).methods


def test_experts_of_a_method_are_counted_for_that_method(two_runs: tuple[Path, Path]) -> None:
    """Count one expert per task and run folder, also with two methods."""
    report = report_of(gather(two_runs))
    assert "Single-task experts: 1 per task and method, treated as a sample" in report.methods


def test_the_source_of_ranges_is_stated(run_folder: Run) -> None:
    run = run_folder(2, 3)
    bounds = perdure.Settings(bounds={"task00": (0, 1), "task01": (0, 1)})
    for settings, source in ((perdure.Settings(), "the range of the values"), (bounds, "recorded bounds")):
        statement = report_of(gather([run], settings=settings)).methods
        assert f"scaled to 1..101 task by task, from {source}." in statement


def test_a_preset_and_settings_that_somebody_gave_are_said(run_folder: Run) -> None:
    settings = perdure.Settings(preset="baker-2023", level=0.9, origins={"level": "command line"})
    text = report_of(gather([run_folder(2, 3)], settings=settings)).methods
    assert "Decided as baker-2023 does" in text
    assert "preset baker-2023" in text
    assert "level = 0.9" in text
    assert "95 %" not in text


def test_it_is_written_alone_and_in_reports(run_folder: Run, tmp_path: Path) -> None:
    run = run_folder(2, 3)
    text = write_report(run, tmp_path / "methods.txt").methods
    assert (tmp_path / "methods.txt").read_text() == text + "\n"
    write_report(run, tmp_path / "methods.tex", form="methods")
    assert (tmp_path / "methods.tex").read_text() == escape_latex(text) + "\n"
    for name in ("report.md", "report.json"):
        write_report(run, tmp_path / name)
        assert "Single-task experts: 1 per task, treated as a sample" in (tmp_path / name).read_text()


OLD_TABLE = "agent_config\trun_id\tmetrics_column\tperf_maintenance_mrlep\tforward_transfer_ratio\tste_rel_perf\n"


def test_a_page_counts_the_experts_and_not_the_places_that_hold_them(run_folder: Run) -> None:
    page = as_text(report_of(gather([run_folder(2, 3)])), ".html")
    assert re.search(r"2 tasks · measure: \w+ · 2 experts · preset", page)


def test_the_unit_of_each_number_is_stated(run_folder: Run) -> None:
    text = as_text(report_of(gather([run_folder(2, 3)])), ".md")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| performance\\_maintenance | Measure")]
    assert [row[2] for row in rows] == ["points"]


def test_scores_of_another_tool_are_described_by_their_own_preset(tmp_path: Path) -> None:
    rows = "".join(f"toy\trun-{run}\treward\t{run - 4.6}\t{1 + run}\t{1.1 + run / 10}\n" for run in range(12))
    (tmp_path / "ll_metrics.tsv").write_text(OLD_TABLE + rows)
    report = report_of(gather([tmp_path / "ll_metrics.tsv"]))
    assert "How values were prepared is not recorded. Metrics follow l2metrics-3.1." in report.methods
    assert not [word for word in ("smoothed", "logarithms", "scaled", "every experience") if word in report.methods]
    conditions = {verdict.condition for verdict in report.verdicts}
    assert conditions == {"Continuous Learning", "Transfer and Adaptation", "Scalability"}
    assert "− 5" not in as_text(report, ".md")
    page = as_text(report, ".html")
    assert [text for text in ("0 tasks", "no experts", '<td class="number">0</td>') if text in page] == []
    with_margin = gather(
        [tmp_path / "ll_metrics.tsv"], settings=perdure.Settings(margins={"performance_maintenance": 5})
    )
    assert as_text(report_of(with_margin), ".md").count("\\> 0 − 5") == 2


def test_scores_made_before_are_described_by_the_settings_that_made_them(run_folder: Run, tmp_path: Path) -> None:
    settings = perdure.Settings(window="hanning", width=9)
    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps(perdure.survey([run_folder(2, 3)], settings=settings).as_json()))
    assert "smoothed by a centred hanning window (9 experiences)" in report_of(gather([scores])).methods
