"""The pages that are made when the documentation is built: each metric's formula, places, null and weakness."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from perdure.metrics import METRICS, Metric

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts import metric_pages

DECLARED = list(METRICS)


@pytest.mark.parametrize("metric", DECLARED, ids=lambda one: one.name)
def test_a_metric_says_its_formula_and_its_weakness(metric: Metric) -> None:
    assert metric.equation
    assert metric.weakness.endswith(".")
    assert "$" not in metric.summary + metric.weakness + "".join(metric.remarks)


@pytest.mark.parametrize("metric", DECLARED, ids=lambda one: one.name)
def test_the_drawing_fills_the_learning_and_frames_the_evaluation_blocks_of_its_own_sites(metric: Metric) -> None:
    scenario = next(one for one in metric_pages.small_scenarios() if any(metric.sites(one)))
    first, *_ = metric.sites(scenario)
    figure = ET.fromstring(metric_pages.drawing(metric))
    boxes = list(figure.iter("rect"))
    assert len(boxes) == len(scenario.blocks)
    assert [one.get("fill") != "none" for one in boxes] == [block.mode == "learn" for block in scenario.blocks]
    dark = {index for index, one in enumerate(boxes) if "1.0" in {one.get("fill-opacity"), one.get("stroke-opacity")}}
    assert dark == {block for blocks in first.blocks.values() for block in blocks}


def test_every_page_is_linked_from_the_list_and_every_formula_becomes_mathml() -> None:
    pages = metric_pages.metric_pages()
    ids = {name.removeprefix("metrics/") for name in pages} - {"metrics"}
    assert ids >= set(METRICS.names())
    assert all(f"(metrics/{name}.md)" in pages["metrics"] for name in ids)
    for one in DECLARED:
        text = pages[f"metrics/{one.name}"]
        assert "<math" in text
        assert "\\" not in text.replace(r"\|", ""), "a command that was not understood"


def test_what_the_null_bench_wrote_is_shown_by_its_middle_and_worst_cell_and_its_absence_said(tmp_path: Path) -> None:
    def cell(mean: float, met: float) -> dict[str, dict[str, float]]:
        return {"RP": {"mean": mean, "met": met, "not_met": 0.01, "covered": 0.95 - met}}

    report = {"preset": "standard", "groups": 1000, "cells": {"a": cell(0.98, 0.02), "b": cell(1.01, 0.04)}}
    (tmp_path / "null-standard.json").write_text(json.dumps(report))
    (row,) = metric_pages.null_rows("relative_performance", "standard", tmp_path)
    assert row[2:] == ("0.98 … 1.01", "3 %, worst 4 %", "1 %, worst 1 %", "92 %, worst 91 %")
    assert not list(metric_pages.null_rows("droop", "standard", tmp_path))
    assert not list(metric_pages.null_rows("relative_performance", "new-2022", tmp_path))
