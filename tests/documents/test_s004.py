"""The draft of 2 December 2019: a window of a tenth, its log, its output and its two helper functions."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.documents.by_hand import Values, document, listings, mean, output_of, run_json, write_tree

from perdure.classic.l2metrics2019 import AgentMetric, AgentMetricsReport, parse_blocks, read_log_data
from perdure.errors import PerdureError

SYLLABUS = Path(__file__).parents[2] / "examples" / "syllabi" / "s004-minigrid-continual.json"
TASK = "minigrid5x5"
BLOCKS: list[tuple[str, str, dict[str, Any], Values]] = [
    ("1-1.train", TASK, {"agent_pos": 1}, [min(0.02 * index, 0.9) for index in range(60)]),
    ("2-1.test", TASK, {"agent_pos": 1}, [0.8, 0.9, 0.7, 0.85]),
    ("3-2.train", TASK, {"agent_pos": 3}, [0.1 * (index % 7) + 0.01 * index for index in range(30)]),
    ("4-2.test", TASK, {"agent_pos": 1}, [0.5] * 20),
]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("L2DATA", str(tmp_path))
    return tmp_path


def rolling(values: Values, width: int) -> Values:
    return [sum(values[index : index + width]) / width for index in range(len(values) - width + 1)]


@pytest.mark.parametrize("sub_episodes", [1, 2])
def test_saturation_is_the_best_rolling_average_over_a_tenth_of_the_block(data: Path, sub_episodes: int) -> None:
    # §2.3: "multiple rewards may be logged per episode, the mean is taken"; "a smoothing parameter, s (default, 0.1)".
    name = write_tree(data, "log", BLOCKS, sub_episodes=sub_episodes)
    result = run_json("score", name, "--preset", "framework-2019", "--width", "0.1")["lifetimes"][0]["metrics"]
    curves = [rolling(values, len(values) // 10) for phase, *_, values in BLOCKS if phase.endswith("train")]
    assert result["saturation"]["value"] == pytest.approx(mean([max(curve) for curve in curves]))
    first = [next(index for index, value in enumerate(curve, 1) if value >= max(curve) - 1e-12) for curve in curves]
    assert result["time_to_saturation"]["value"] == mean(first)


def test_the_output_has_the_names_of_figure_4_1(data: Path) -> None:
    name = write_tree(data, "log", BLOCKS)
    call = [sys.executable, "-m", "perdure.classic.l2metrics2019", "-syllabus_subtype=CL", f"-log_dir={name}"]
    output = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    shown = dict(re.findall(r"'(\w+)': ([\d.eE+-]+)", output))
    # "An average of the scores achieved is reported in each phase/block": over all blocks, eleven at a time.
    best = [max(rolling(values, 11)) if len(values) >= 11 else mean(values) for *_, values in BLOCKS]
    printed = next(listing for listing in listings(4) if "global_perf" in listing)
    for key in re.findall(r"'(global_\w+)'", printed):
        assert key in shown, key
    for line in re.findall(r"^Metric: (.+)$", printed, re.MULTILINE):
        assert f"Metric: {line}" in output
    assert float(shown["global_within_block_saturation"]) == pytest.approx(mean(best))
    assert float(shown["global_perf"]) == pytest.approx(mean([value for *_, values in BLOCKS for value in values]))


def test_the_log_has_the_columns_of_figure_1_3_and_they_are_read_back(data: Path) -> None:
    rows = read_log_data(write_tree(data, "log", BLOCKS))
    assert "| timestamp class  |" in document(4)
    for column in ("class_name", "phase", "worker", "block", "task", "reward", "agent_pos"):
        assert column in rows.columns, column
    assert list(rows["reward"]) == pytest.approx([value for *_, values in BLOCKS for value in values])


def test_the_blocks_are_those_of_the_log_data(data: Path) -> None:
    # §4.2: "builds a pandas dataframe of the phase information contained in the log data".
    name = write_tree(data, "log", BLOCKS, sub_episodes=2)
    info, of_rows = parse_blocks(name), parse_blocks(read_log_data(name))
    assert list(info["phase"]) == [phase for phase, *_ in BLOCKS]
    assert list(info["phase_type"]) == ["train", "test", "train", "test"]
    assert list(info["length"]) == [len(values) for *_, values in BLOCKS]
    assert list(info.columns) == list(of_rows.columns)
    for column in info.columns:
        assert list(of_rows[column]) == list(info[column]), column


def test_a_mean_over_the_syllabus_is_a_custom_metric(data: Path) -> None:
    class Mine(AgentMetric):
        name = "An Average of Everything"
        capability = "continual_learning"

        def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:
            return {"everything": sum(dataframe["reward"]) / len(dataframe["reward"])}

    report = AgentMetricsReport(log_dir=write_tree(data, "log", BLOCKS), syllabus_subtype="CL")
    report.add(Mine())
    report.calculate()
    assert report.values["An Average of Everything"]["everything"] == pytest.approx(
        report.values["Global Mean"]["global_perf"]
    )


def test_without_a_reward_the_metrics_fail_with_a_message(data: Path) -> None:
    # §4.2: "the column in the data file must be named reward. Without this column, the metrics code will fail."
    with pytest.raises(PerdureError, match="reward"):
        AgentMetricsReport(log_dir=write_tree(data, "log", BLOCKS, column="score"))


def test_the_syllabus_of_figure_1_2_has_one_task_and_tests_the_trained_variants() -> None:
    messages = output_of("lint", SYLLABUS, "--type", "CL")
    assert "0 errors" in messages
    assert re.search(r"maintenance_on_test +[1-9]", messages), "later test phases contain previously trained parameters"
