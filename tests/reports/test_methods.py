"""The statement of methods matches the data and the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import perdure
from perdure import report as write_report
from perdure.reports.data import gather, table_metrics
from perdure.reports.model import report_of
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
