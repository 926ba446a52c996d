"""Generated reference pages: each metric's formula, sites, null and weakness."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from perdure import FIGURES
from perdure.metrics import METRICS, Metric

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts import gallery, metric_pages, troubleshooting

DECLARED = list(METRICS)


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    return {case.title: text for case, text in troubleshooting.said()}


@pytest.mark.parametrize("metric", DECLARED, ids=lambda one: one.name)
def test_the_page_of_a_metric_has_its_formula_and_weakness(metric: Metric) -> None:
    assert metric.equation
    assert metric.weakness.endswith(".")
    assert "$" not in metric.summary + metric.weakness + "".join(metric.remarks)


@pytest.mark.parametrize("metric", DECLARED, ids=lambda one: one.name)
def test_the_drawing_fills_learning_blocks_and_frames_evaluation_blocks_of_its_sites(metric: Metric) -> None:
    scenario = next(scenario for scenario in metric_pages.small_scenarios() if any(metric.sites(scenario)))
    first, *_ = metric.sites(scenario)
    figure = ET.fromstring(metric_pages.drawing(metric))
    boxes = list(figure.iter("rect"))
    assert len(boxes) == len(scenario.blocks)
    assert [box.get("fill") != "none" for box in boxes] == [block.mode == "learn" for block in scenario.blocks]
    dark = {index for index, box in enumerate(boxes) if "1.0" in {box.get("fill-opacity"), box.get("stroke-opacity")}}
    assert dark == {block for blocks in first.blocks.values() for block in blocks}


def test_every_page_is_linked_from_the_list_and_every_formula_becomes_mathml() -> None:
    pages = metric_pages.metric_pages()
    ids = {name.removeprefix("metrics/") for name in pages} - {"metrics"}
    assert ids >= set(METRICS.names())
    assert all(f"(metrics/{name}.md)" in pages["metrics"] for name in ids)
    for item in DECLARED:
        text = pages[f"metrics/{item.name}"]
        assert "<math" in text
        assert "\\" not in text.replace(r"\|", ""), "a command that was not understood"


def test_the_page_shows_the_median_and_worst_null_or_that_none_was_measured(tmp_path: Path) -> None:
    def cell(mean: float, met: float) -> dict[str, dict[str, float]]:
        return {"RP": {"mean": mean, "met": met, "not_met": 0.01, "covered": 0.95 - met}}

    report = {"preset": "standard", "groups": 1000, "cells": {"a": cell(0.98, 0.02), "b": cell(1.01, 0.04)}}
    (tmp_path / "null-standard.json").write_text(json.dumps(report))
    (row,) = metric_pages.null_rows("relative_performance", "standard", tmp_path)
    assert row[2:] == ("0.98 … 1.01", "3 %, worst 4 %", "1 %, worst 1 %", "92 %, worst 91 %")
    assert not list(metric_pages.null_rows("droop", "standard", tmp_path))
    assert not list(metric_pages.null_rows("relative_performance", "new-2022", tmp_path))


@pytest.mark.parametrize("case", troubleshooting.CASES, ids=lambda one: one.title)
def test_the_errors_on_the_troubleshooting_page_are_errors(case: troubleshooting.Case, answers: dict[str, str]) -> None:
    text = answers[case.title]
    assert text
    assert "Traceback" not in text
    assert "\n" not in case.title


def test_the_python_page_has_every_public_name() -> None:
    pytest.importorskip("mkdocs")
    from scripts import reference_pages

    import perdure

    page = reference_pages.python()
    assert all(f"\n### {name}\n" in page for name in perdure.__all__)
    assert " at 0x" not in page


def test_the_page_of_schemas_has_every_key_of_every_document() -> None:
    pytest.importorskip("mkdocs")
    from scripts import reference_pages
    from scripts.schemas import DOCUMENTS, SYLLABUS, schema

    page = reference_pages.schemas()
    for name in (*DOCUMENTS, SYLLABUS):
        part = page.partition(f"\n## {name}\n")[2].partition("???")[0]
        assert all(f"`{key}`" in part for key in schema(name).get("properties", {}))


def test_the_gallery_has_every_kind_of_figure_with_its_command() -> None:
    page, pictures = gallery.gallery()
    for name in FIGURES:
        part = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"$ perdure figure {name} " in part
        assert f"(gallery/{name}.svg)" in part
    assert all(picture.lstrip().startswith(b"<") for picture in pictures.values())
