"""Scripts written for l2logger 1.8 run with one import changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.classic.sources import fetch_source

import perdure
from perdure.classic.l2logger import DataLogger
from perdure.log.check import check_l2logger


def record(**change: Any) -> dict[str, Any]:
    base = {"block_num": 0, "exp_num": 0, "block_type": "train", "task_name": "t_1", "task_params": {}, "reward": 0.1}
    return {**base, **change}


def test_a_script_for_l2logger_runs_unchanged(tmp_path: Path) -> None:
    # Written as by users of l2logger; only the import above differs.
    logger_info = {"metrics_columns": ["reward"]}
    scenario_info = {"author": "JHU APL", "complexity": "1-low", "difficulty": "2-medium", "scenario_type": "custom"}
    data_logger = DataLogger(str(tmp_path), "configs/my_scenario.v2.json", logger_info, scenario_info)
    for number in range(6):
        data_logger.log_record(
            {
                "block_num": number // 3,
                "exp_num": number,
                "block_type": "train" if number < 3 else "test",
                "worker_id": "worker-0",
                "task_name": "task_1",
                "task_params": {"param1": 1},
                "exp_status": "complete",
                "reward": number / 10,
            }
        )
    data_logger.close()
    folder = Path(data_logger.scenario_dir)
    assert folder.parent == tmp_path
    assert folder.name.startswith("my_scenario-")
    assert "." not in folder.name
    assert json.loads((folder / "scenario_info.json").read_text()) == scenario_info
    assert data_logger.logger_info == {"metrics_columns": ["reward"], "log_format_version": "1.1"}
    assert data_logger.scenario_info == scenario_info
    assert data_logger.logging_base_dir == str(tmp_path)
    lifetime = perdure.read(folder)
    assert [block.mode for block in lifetime.scenario.blocks] == ["learn", "evaluate"]
    assert lifetime.experiences["reward"].to_list() == [number / 10 for number in range(6)]


def test_a_closed_log_can_be_continued_as_in_l2logger(tmp_path: Path) -> None:
    logger = DataLogger(tmp_path, "s", {"metrics_columns": ["reward"]})
    logger.log_record(record())
    logger.close()
    logger.log_record(record(exp_num=1))
    logger.close()
    assert perdure.read(logger.scenario_dir).experiences["exp_num"].to_list() == [0, 1]
    assert check_l2logger(Path(logger.scenario_dir)).problems == ()


def test_training_and_testing_may_share_a_block_number_as_in_l2logger(tmp_path: Path) -> None:
    logger = DataLogger(tmp_path, "s", {"metrics_columns": ["reward"]})
    for number, kind in enumerate(["train", "test", "train"]):
        logger.log_record(record(exp_num=number, block_type=kind))
    logger.close()
    assert len(perdure.read(logger.scenario_dir).scenario.blocks) == 3


@pytest.mark.parametrize(
    "info", [{}, [], {"metrics_columns": "reward"}, {"metrics_columns": []}, {"metrics_columns": [1]}]
)
def test_bad_logger_info_is_a_runtime_error(tmp_path: Path, info: Any) -> None:
    with pytest.raises(RuntimeError):
        DataLogger(tmp_path, "s", info)


@pytest.mark.parametrize(
    "bad",
    [
        [],
        record(timestamp="now"),
        {"reward": 1.0},
        {key: value for key, value in record().items() if key != "task_params"},
        record(task_params=None),
        record(block_num=-1),
        record(block_type="eval"),
        record(worker_id="a b"),
        {**record(), "extra": 1, "block_num": "0"},
    ],
)
def test_a_bad_record_is_a_runtime_error_and_writes_nothing(tmp_path: Path, bad: Any) -> None:
    logger = DataLogger(tmp_path, "s", {"metrics_columns": ["reward"]})
    with pytest.raises(RuntimeError):
        logger.log_record(bad)
    assert not list(tmp_path.rglob("data-log.tsv"))


def test_changed_info_can_be_written_again(tmp_path: Path) -> None:
    logger = DataLogger(tmp_path, "s", {"metrics_columns": ["reward"]}, {"a": 1})
    logger.scenario_info["a"] = 2
    logger.write_info_files()
    assert json.loads((Path(logger.scenario_dir) / "scenario_info.json").read_text()) == {"a": 2}


@pytest.mark.slow
def test_the_test_of_l2logger_itself_passes(tmp_path: Path) -> None:
    own = fetch_source("l2logger", "1.8.2", tmp_path) / "test"
    # This package replaces the l2logger that the test imports.
    (tmp_path / "stand" / "l2logger").mkdir(parents=True)
    (tmp_path / "stand" / "l2logger" / "__init__.py").write_text("from perdure.classic import l2logger\n")
    places = [str(tmp_path / "stand"), str(Path(perdure.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-v", "test_simple_logging"],
        cwd=own,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 3 tests" in done.stderr
