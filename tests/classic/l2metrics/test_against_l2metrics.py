"""l2metrics 3.1 itself, in its own environment, gives the same numbers for the same metric and log.

`make test-old-tools` creates that environment; without it the tests are skipped.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.classic.sources import OLD, needs_old_tools

import perdure
from perdure.simulate import IdealLearner, experts, lifetime, write_log

ROOT = Path(__file__).parents[3]
pytestmark = needs_old_tools

SUBCLASS = """
import numpy as np
from l2metrics.core import Metric


class Spread(Metric):
    name = "Spread"
    capability = "continual_learning"
    requires = {"syllabus_type": "agent"}
    description = "How far the values of a regime lie apart, beside how good it ends."

    def __init__(self, perf_measure):
        super().__init__()
        self.perf_measure = perf_measure

    def calculate(self, dataframe, block_info, metrics_df):
        metrics_df["spread"] = np.full(len(metrics_df), np.nan)
        metrics_df["rows"] = np.full(len(metrics_df), np.nan)
        for _, block in block_info.iterrows():
            number = block["regime_num"]
            values = dataframe.loc[dataframe["regime_num"] == number, self.perf_measure]
            if block["block_type"] == "train":
                metrics_df.at[number, "spread"] = (values.max() - values.min()) / metrics_df["term_perf"][number]
            metrics_df.at[number, "rows"] = len(dataframe.loc[[number]])
        return metrics_df
"""
"""Written for l2metrics, and given to both unchanged."""

CALCULATE = """
import json, sys
from numbers import Number

options = json.loads(sys.argv[1])
if options.pop("here"):
    from perdure.classic.l2metrics import stand_in
    stand_in()
from l2metrics.report import MetricsReport
from spread import Spread

seen = {}

class Looking(Spread):
    def calculate(self, dataframe, block_info, metrics_df):
        found = super().calculate(dataframe, block_info, metrics_df)
        seen.update(rows=dataframe, blocks=block_info, metrics=found)
        return found

report = MetricsReport(**options)
report.add(Looking(options["perf_measure"]))
report.calculate()
report.save_metrics(sys.argv[2], "made")
print(json.dumps({
    "frames": {name: {str(key): [one if isinstance(one, (dict, list, str, Number)) else str(one) for one in table[key]]
                      for key in table} for name, table in seen.items()},
    "index": seen["rows"].index.tolist(),
    "kinds": {name: [table[key].dtype.kind for key in table if table[key].dtype.kind not in "OTU"]
              for name, table in seen.items()},
    "facts": report.ll_metrics_dict,
}, default=lambda one: one.item()))
"""
OPTIONS: list[dict[str, Any]] = [
    {},
    {"maintenance_method": "both", "transfer_method": "both", "aggregation_method": "median"},
    {"variant_mode": "agnostic", "smoothing_method": "hanning", "window_length": 9},
    {"clamp_outliers": True, "normalization_method": "run", "do_smooth_eval_data": True},
    {"ste_averaging_method": "time", "normalization_method": "none"},
    {"data_range": {"pong_1": {"min": -1, "max": 2}, "breakout_1": {"min": 0, "max": 1}}, "smoothing_method": "none"},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a log, experts as l2metrics stores them, and the same experts as logs, by the documented step."""
    folder = tmp_path_factory.mktemp("old")
    evaluation = [perdure.Block("evaluate", task, 10) for task in ("pong_1", "breakout_1")]
    pong, breakout = (perdure.Block("learn", task, 60) for task in ("pong_1", "breakout_1"))
    blocks = [*evaluation, pong, *evaluation, breakout, *evaluation, pong, *evaluation, pong, *evaluation]
    scenario = perdure.Scenario.of("two tasks", blocks)
    learner = IdealLearner(forgetting=0.4, noise=0.05)
    write_log(lifetime(learner, scenario, id="forgetful"), folder / "logs")
    for number in range(2):
        for expert in experts(IdealLearner(noise=0.03 + number / 50), scenario):
            write_log(expert, folder / f"experts{number}")
    (folder / "spread.py").write_text(SUBCLASS)
    (folder / "calculate.py").write_text(CALCULATE)
    (folder / "l2data").mkdir()
    for number in range(2):
        run(folder, [str(OLD), "-m", "l2metrics", "-R", "-s", "a", "-l", f"experts{number}"])
    run(folder, [str(OLD), str(ROOT / "examples" / "l2metrics" / "experts.py")])
    return folder


def run(folder: Path, command: list[str]) -> str:
    environment = {**os.environ, "L2DATA": str(folder / "l2data"), "HOME": str(folder), "PYTHONWARNINGS": "ignore"}
    if command[0] == str(OLD):
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_same(item: Any, other: Any, where: str = "") -> None:
    """Assert equality, with numbers to a relative 1e-9; None here is NaN in l2metrics."""
    if isinstance(item, float) and math.isnan(item):
        item = None
    if isinstance(other, float) and math.isnan(other):
        other = None
    if isinstance(item, dict) and isinstance(other, dict):
        assert set(item) == set(other), where
        for key in item:
            assert_same(item[key], other[key], f"{where}/{key}")
    elif isinstance(item, list) and isinstance(other, list):
        assert len(item) == len(other), where
        for index, (first, second) in enumerate(zip(item, other, strict=True)):
            assert_same(first, second, f"{where}/{index}")
    elif isinstance(item, float | int) and isinstance(other, float | int):
        assert item == pytest.approx(other, rel=1e-9, abs=1e-9), where
    else:
        assert item == other, where


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "defaults")
def test_the_same_subclass_sees_the_same_frames_and_gives_the_same_numbers(
    place: Path, options: dict[str, Any]
) -> None:
    pytest.importorskip("pandas", reason="metrics written for l2metrics take frames of pandas")
    message = {"log_dir": "logs/forgetful", "perf_measure": "performance", **options}
    results = []
    for python, here in ((OLD, False), (Path(sys.executable), True)):
        call = [str(python), "calculate.py", json.dumps({**message, "here": here}), "ours" if here else "theirs"]
        (place / call[-1]).mkdir(exist_ok=True)
        results.append(json.loads(run(place, call).splitlines()[-1]))
    theirs, ours = results
    for table in ("rows", "blocks", "metrics"):
        assert list(ours["frames"][table]) == list(theirs["frames"][table]), table
    assert_same(ours["frames"], theirs["frames"])
    assert ours["index"] == theirs["index"]
    assert ours["kinds"] == theirs["kinds"]
    own = {"spread", "rows"}
    assert own < set(ours["facts"]), "an added metric reaches the outputs, unlike in l2metrics"
    stored = {key: value for key, value in ours["facts"].items() if key not in own}
    stored["task_metrics"] = {
        task: {key: value for key, value in facts.items() if key not in own}
        for task, facts in stored["task_metrics"].items()
    }
    assert_same(stored, theirs["facts"])


def test_the_command_writes_the_same_files_with_the_same_numbers(place: Path) -> None:
    options = ["-l", "logs/forgetful", "-p", "performance", "-m", "both", "-t", "both"]
    run(place, [str(OLD), "-m", "l2metrics", *options, "-O", "their", "--no-plot"])
    run(place, [sys.executable, "-m", "perdure.classic.l2metrics", *options, "-O", "our"])
    names = {path.name for path in (place / "their").iterdir() if path.is_file()}
    assert names == {path.name for path in (place / "our").iterdir() if path.is_file()}
    both = [json.loads((place / side / "forgetful_metrics.json").read_text()) for side in ("our", "their")]
    assert_same(*both)
    tables = [(place / side / "forgetful_regime.tsv").read_text().splitlines() for side in ("our", "their")]
    for ours, theirs in zip(*tables, strict=True):
        for our, other in zip(ours.split("\t"), theirs.split("\t"), strict=True):
            try:
                assert float(our) == pytest.approx(float(other), rel=1e-9)
            except ValueError:
                assert our == other
    assert {path.name for path in (place / "our" / "plots").iterdir()} == {
        f"forgetful_{end}.png" for end in ("raw", "evaluation", "learning", "ste")
    }
