"""Scripts written for l2metrics in December 2019 run with one import changed (2019, §4; draft, §4.2)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perdure.classic.l2metrics2019 import (
    AgentMetric,
    AgentMetricsReport,
    ClassificationMetric,
    ClassificationMetricsReport,
    GlobalMean,
    MetricsReport,
    parse_blocks,
    read_log_data,
)
from perdure.errors import PerdureError
from perdure.gather.survey import score
from perdure.settings import Settings

TREE = {
    ("1-1.train", "Pong"): [0.0] * 4 + [2.0] * 11,
    ("2-1.test", "Breakout"): [1.0, 3.0],
    ("3-2.train", "Breakout"): [1.0] * 11,
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("L2DATA", str(tmp_path))
    return tmp_path


def write_tree(data: Path, column: str = "reward") -> str:
    """Write a log as learnkit did: `$L2DATA/logs/<syllabus>-<timestamp>/<worker>/<phase>/<task>/`."""
    episode = 0
    for block, ((phase, task), values) in enumerate(TREE.items()):
        folder = data / "logs" / "syllabus-1575473425723" / "0" / phase / task
        folder.mkdir(parents=True)
        lines = [f"timestamp\tclass_name\tphase\tworker\tblock\ttask\tseed\t{column}"]
        for value in values:
            episode += 1
            lines.append(f"20191204T103025.0\t{task}\t{phase}\t0\t{block}\t{episode}\t1\t{value}")
        (folder / "data-log.tsv").write_text("\n".join(lines) + "\n")
    return "syllabus-1575473425723"


class WholeSyllabusMax(AgentMetric):
    """A custom metric: its name and its calculation."""

    name = "Whole Syllabus Maximum"
    description = "The highest value of all."

    def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:
        metrics_dict["blocks_seen"] = len(phase_info)
        return {"global_max": dataframe["reward"].max(), "before": metrics_dict["global_perf"]}


def test_a_custom_metric_augments_the_predefined_ones(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = AgentMetricsReport(log_dir=write_tree(data), syllabus_subtype="ANT-B")
    report.add(WholeSyllabusMax())
    report.calculate()
    everything = [value for values in TREE.values() for value in values]
    mean = sum(everything) / len(everything)
    assert report.values["Global Mean"] == {"global_perf": pytest.approx(mean)}
    assert report.values["Whole Syllabus Maximum"] == {"global_max": 3.0, "before": pytest.approx(mean)}
    report.report()
    assert "Metric: Whole Syllabus Maximum\nValue: {'global_max': 3.0" in capsys.readouterr().out


def test_within_block_saturation_is_the_mean_over_blocks(data: Path) -> None:
    report = AgentMetricsReport(write_tree(data))
    report.calculate()
    # Eleven 2s in a row after four 0s; the mean of two values; eleven 1s.
    assert report.values["Average Within Block Saturation Calculation"] == {
        "global_within_block_saturation": pytest.approx((2 + 2 + 1) / 3),
        "global_num_eps_to_saturation": pytest.approx((5 + 1 + 1) / 3),
    }


def test_custom_metrics_may_replace_the_predefined_ones(data: Path) -> None:
    report = AgentMetricsReport(write_tree(data), metrics=[GlobalMean(), WholeSyllabusMax()])
    report.calculate()
    assert list(report.values) == ["Global Mean", "Whole Syllabus Maximum"]


def test_a_syllabus_of_continual_learning_has_no_transfer_metrics(data: Path) -> None:
    name = write_tree(data)
    reports = {kind: AgentMetricsReport(name, kind) for kind in ("CL", "ANT_B")}
    for report in reports.values():
        report.calculate()
    assert "Transfer Matrix" in reports["ANT_B"].values
    assert "Transfer Matrix" not in reports["CL"].values
    with pytest.raises(PerdureError, match=r"unknown syllabus_subtype 'ANT-D'; did you mean 'ANT-C'"):
        AgentMetricsReport(name, "ANT-D")


def test_an_agents_log_must_have_a_reward_and_a_classifiers_need_not(data: Path) -> None:
    name = write_tree(data, "error")
    with pytest.raises(PerdureError, match="no column 'reward'"):
        AgentMetricsReport(name)
    report = ClassificationMetricsReport(name)
    report.calculate()
    # For errors, the lowest eleven in a row of each block.
    lowest = report.values["Average Within Block Saturation Calculation"]["global_within_block_saturation"]
    assert lowest == pytest.approx((7 * 2 / 11 + 2 + 1) / 3)


def test_a_metric_of_another_kind_than_its_report_is_refused(data: Path) -> None:
    class Mine(ClassificationMetric):
        name = "mine"

        def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:
            return 1.0

    with pytest.raises(PerdureError, match="is no AgentMetric"):
        AgentMetricsReport(write_tree(data)).add(Mine())
    assert issubclass(AgentMetricsReport, MetricsReport)


def test_the_frames_have_the_columns_of_the_logs(data: Path) -> None:
    name = write_tree(data)
    rows, blocks = read_log_data(name), parse_blocks(name)
    assert {"block", "phase", "task", "class_name", "worker", "reward"} <= set(rows.columns)
    assert list(blocks["phase_type"]) == ["train", "test", "train"]
    assert list(blocks["length"]) == [15, 2, 11]
    assert sum(rows["block"] == 1) == 2


def test_a_class_of_2019_is_a_metric_of_perdure(data: Path) -> None:
    file = data / "mine.py"
    file.write_text(
        "from perdure.classic.l2metrics2019 import AgentMetric, declared\n\n\n"
        "class Highest(AgentMetric):\n"
        "    name = 'Highest Reward'\n"
        "    description = 'The highest reward of all.'\n\n"
        "    def calculate(self, dataframe, phase_info, metrics_dict):\n"
        "        return {'global_max': dataframe['reward'].max()}\n\n\n"
        "declared(Highest())\n"
    )
    scores = score(write_tree(data), settings=Settings(preset="framework-2019", metrics=(str(file),)))
    assert scores["highest_reward"] == 3.0


def test_the_command_of_2019_is_a_command_of_perdure(data: Path) -> None:
    name = write_tree(data)
    call = [sys.executable, "-m", "perdure.classic.l2metrics2019", "-syllabus_subtype=ANT-B", f"-log_dir={name}"]
    done = subprocess.run([*call, "-syllabus_type", "agent"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Value: {'global_perf': " in done.stdout
    wrong = subprocess.run([*call[:3], "-log_dir", "nothing"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr.startswith("l2metrics: nothing: no such file")) == (2, True)
