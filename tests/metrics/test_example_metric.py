"""The example package of two metrics: small, sound, and found once it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from perdure.metrics.contract import check_metric
from perdure.metrics.declare import metrics_in_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "metric"


def test_the_example_fits_in_forty_lines() -> None:
    assert len((EXAMPLE / "half_way.py").read_text().splitlines()) <= 40


def test_both_metrics_keep_the_contract() -> None:
    found = metrics_in_file(EXAMPLE / "half_way.py")
    assert list(found) == ["time_to_half_way", "kept_to_the_end"]
    for one in found.values():
        check_metric(one)


def test_once_installed_they_appear_in_every_score_and_list(tmp_path: Path, life: Path) -> None:
    # What an installer leaves behind: the module on the path, and its entry points beside it.
    points = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]["perdure.metrics"]
    installed = tmp_path / "site" / "perdure_half_way-0.1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: perdure-half-way\nVersion: 0.1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (installed / "entry_points.txt").write_text(f"[perdure.metrics]\n{lines}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed.parent), str(EXAMPLE)])}

    def perdure(*arguments: object) -> str:
        command = [sys.executable, "-m", "perdure", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    metrics = json.loads(perdure("score", life, "--json", "-"))["lifetimes"][0]["metrics"]
    assert metrics["time_to_half_way"]["value"] is not None
    assert metrics["kept_to_the_end"]["by"] == {"a_1": [metrics["kept_to_the_end"]["value"]]}
    assert "kept_to_the_end" in perdure("list", "metrics")
