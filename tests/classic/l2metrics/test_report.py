"""Scripts for l2metrics 3.1 run with one import changed, and a custom metric appears in every output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.classic.l2metrics import Metric, MetricsReport, main, store_expert
from perdure.classic.l2metrics31 import NAMES
from perdure.errors import PerdureError
from perdure.settings import Settings
from perdure.simulate import IdealLearner, experts, lifetimes, write_log

TASKS = ("pong", "breakout")
FILE = """
from perdure.classic.l2metrics import Metric, declared


class Highest(Metric):
    name = "Highest value"
    description = "The highest value of each learning block, as prepared."

    def calculate(self, dataframe, block_info, metrics_df):
        learning = block_info[block_info["block_type"] == "train"]["regime_num"]
        metrics_df["highest"] = dataframe["performance"].groupby(level=0).max().reindex(learning)
        return metrics_df


declared(Highest())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write three lifetimes of each of two learners, and an expert of each task."""
    monkeypatch.setenv("L2DATA", str(tmp_path / "l2data"))
    monkeypatch.chdir(tmp_path)
    evaluation = [perdure.Block("evaluate", task, 10) for task in TASKS]
    learning = [perdure.Block("learn", task, 40) for task in TASKS]
    scenario = perdure.Scenario.of("two", [*evaluation, learning[0], *evaluation, learning[1], *evaluation])
    for name, forgetting in (("keeps", 0.0), ("forgets", 0.5)):
        for lifetime in lifetimes(IdealLearner(name=name, forgetting=forgetting, noise=0.05), scenario, 3):
            write_log(lifetime, tmp_path / name)
    for expert in experts(IdealLearner(noise=0.02), scenario):
        write_log(expert, tmp_path / "experts")
    return tmp_path


def logs(place: Path, name: str) -> list[Path]:
    return sorted((place / name).iterdir())


def test_the_report_has_the_numbers_of_the_preset(place: Path) -> None:
    log, expert_logs = logs(place, "forgets")[0], logs(place, "experts")
    report = MetricsReport(
        log_dir=log, perf_measure="performance", maintenance_method="both", transfer_method="both", experts=expert_logs
    )
    report.calculate()
    scores = perdure.score(log, expert_logs, Settings(preset="l2metrics-3.1"))
    assert report.lifetime_values == {theirs: scores[ours] for theirs, ours in NAMES.items()}
    assert report.lifetime_values["sample_efficiency"] is not None


def test_a_stored_expert_is_used_and_storing_again_replaces_it(place: Path) -> None:
    log, expert_logs = logs(place, "keeps")[0], logs(place, "experts")
    for expert in expert_logs:
        for _ in range(2):
            store_expert(expert, "a")
    report = MetricsReport(log_dir=log, perf_measure="performance")
    report.calculate()
    assert {len(task["ste_rel_perf_vals"]) for task in report.ll_metrics_dict["task_metrics"].values()} == {2}
    store_expert(expert_logs[0], "w")
    assert main(["-R", "-l", str(place / "experts"), "-s", "w"]) == 0
    again = MetricsReport(log_dir=log, perf_measure="performance")
    again.calculate()
    assert {len(task["ste_rel_perf_vals"]) for task in again.ll_metrics_dict["task_metrics"].values()} == {1}
    assert again.lifetime_values["ste_rel_perf"] == pytest.approx(report.lifetime_values["ste_rel_perf"])
    with pytest.raises(PerdureError, match="an expert learns one task, and this learns 2"):
        store_expert(log)


def test_a_pickle_is_never_loaded_and_the_fix_is_reported(place: Path) -> None:
    folder = place / "l2data" / "taskinfo"
    folder.mkdir(parents=True)
    # A pickle written by hand that would run os.mkdir("loaded").
    (folder / "pong.pickle").write_bytes(b"cos\nmkdir\n(S'loaded'\ntR.")
    with pytest.warns(UserWarning, match=r"experts of pong are stored as pickles.*l2metrics/experts\.py"):
        MetricsReport(log_dir=logs(place, "keeps")[0], perf_measure="performance").calculate()
    assert not (place / "loaded").exists()
    source = Path(perdure.__file__).parent / "classic"
    assert not [file for file in source.rglob("*.py") if "import pickle" in file.read_text()]


def test_a_misspelt_option_is_refused_and_one_of_the_command_is_not(place: Path) -> None:
    log = logs(place, "keeps")[0]
    with pytest.raises(PerdureError, match=r"unknown option of MetricsReport 'perf_mesure'.*perf_measure"):
        MetricsReport(log_dir=log, perf_mesure="performance")
    MetricsReport(log_dir=log, perf_measure="performance", do_plot=False, output_dir="results")
    with pytest.raises(PerdureError, match="unknown measure"):
        MetricsReport(log_dir=log)
    with pytest.raises(PerdureError, match=r"call calculate\(\) first"):
        MetricsReport(log_dir=log, perf_measure="performance").report()


def test_an_added_metric_is_printed_and_saved(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas", reason="metrics written for l2metrics take frames of pandas")

    class Length(Metric):
        name = "Length"

        def calculate(self, dataframe: Any, block_info: Any, metrics_df: Any) -> Any:
            assert {"regime_num", "performance", "performance_raw"} <= set(dataframe.columns)
            metrics_df["length"] = block_info["length"]
            return metrics_df

    report = MetricsReport(log_dir=logs(place, "keeps")[0], perf_measure="performance")
    report.add([Length()])
    report.calculate()
    report.report()
    assert "length" in capsys.readouterr().out
    # Each task has three evaluations of 10 and 40 experiences of learning.
    assert report.lifetime_values["length"] == pytest.approx((3 * 10 + 40) / 4)
    report.save_metrics(place / "out", "my run")
    document = json.loads((place / "out" / "my_run_metrics.json").read_text())
    assert document["length"] == document["task_metrics"]["pong"]["length"] == pytest.approx(17.5)
    assert "length" in (place / "out" / "my_run_regime.tsv").read_text().splitlines()[0].split("\t")
    assert list(report.ll_metrics_df["length"]) == [pytest.approx(17.5)]


def test_a_metric_that_returns_no_table_is_named(place: Path) -> None:
    pytest.importorskip("pandas", reason="metrics written for l2metrics take frames of pandas")

    class Nothing(Metric):
        def calculate(self, dataframe: Any, block_info: Any, metrics_df: Any) -> Any:
            return None

    report = MetricsReport(log_dir=logs(place, "keeps")[0], perf_measure="performance")
    report.add(Nothing())
    with pytest.raises(PerdureError, match=r"Nothing\.calculate gave NoneType"):
        report.calculate()


def test_a_class_of_l2metrics_reaches_score_compare_and_report(place: Path) -> None:
    pytest.importorskip("pandas", reason="metrics written for l2metrics take frames of pandas")
    (place / "mine.py").write_text(FILE)
    how = ["--metrics", "mine.py", "--preset", "l2metrics-3.1"]
    scores = perdure.score(
        logs(place, "keeps")[0], settings=Settings(preset="l2metrics-3.1", metrics=(str(place / "mine.py"),))
    )
    assert set(scores.metrics["highest_value"].by) == set(TASKS)
    both = [scores.metrics["highest_value"].by[task] for task in TASKS]
    assert scores["highest_value"] == pytest.approx(sum(map(sum, both)) / 2)
    shown = [
        ("highest value", ["score", "keeps"]),
        ("highest value", ["compare", "keeps", "forgets", "--metrics", "highest_value"]),
        ("page.html", ["report", "keeps", "--to", "page.html"]),
    ]
    for words, call in shown:
        done = subprocess.run(
            [sys.executable, "-m", "perdure", *call, *how], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert words in done.stdout + done.stderr, call
    assert "highest_value" in (place / "page.html").read_text()


def test_the_command_goes_through_every_log_below_a_folder(place: Path) -> None:
    (place / "keeps" / "broken").mkdir()
    (place / "keeps" / "broken" / "logger_info.json").write_text("{}")
    call = [sys.executable, "-m", "perdure.classic.l2metrics", "-R", "-l", "keeps", "-p", "performance", "--no-plot"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "3 of 4 logs" in done.stdout
    assert done.stderr.startswith("l2metrics: keeps/broken")
    lines = (place / "results" / "ll_metrics.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["run_id", *(log.name for log in logs(place, "keeps")[1:])]
    assert len(json.loads((place / "results" / "ll_metrics.json").read_text())) == 3


def test_settings_from_a_file_override_the_command_as_in_l2metrics(place: Path) -> None:
    log = logs(place, "keeps")[0]
    (place / "settings.json").write_text(json.dumps({"perf_measure": "performance", "transfer_method": "contrast"}))
    assert main(["-l", str(log), "-c", "settings.json", "--no-plot", "-o", "named"]) == 0
    assert "forward_transfer_contrast" in json.loads((place / "results" / "named_metrics.json").read_text())
    assert json.loads((place / "results" / "named_settings.json").read_text())["perf_measure"] == "performance"
