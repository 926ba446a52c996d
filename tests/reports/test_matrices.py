"""Report of accuracy matrices: it starts with their own metrics, never with those that need a log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.log.formats.language_models import write_models, write_numbered

import perdure
from perdure.reports.data import gather
from perdure.reports.model import report_of
from perdure.reports.write import as_text

PRINTED = "98.5,62.3,55.1,51.8,49.2\n,97.8,58.6,52.4,50.1\n,,98.2,61.3,53.7\n,,,97.5,58.9\n,,,,98.1\n"  # S002's


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    (tmp_path / "matrix.csv").write_text(PRINTED)
    return tmp_path / "matrix.csv"


@pytest.mark.parametrize("suffix", [".html", ".md", ".tex"])
def test_it_leads_with_aa_la_bwt_and_fm_and_says_of_no_condition_that_it_was_not_measured(
    matrix: Path, suffix: str
) -> None:
    text = as_text(report_of(gather(matrix)), suffix)
    assert "not measured for" not in text
    assert "it was not scored" not in text
    lead = text.index("AA 62, LA 98.02, BWT −45.02, FM 45.02 (%)")
    assert lead < text.index("average")


def test_the_page_opens_with_the_heat_map(matrix: Path) -> None:
    page = as_text(report_of(gather(matrix)), ".html")
    assert re.findall(r'<svg class="figure"[^>]*aria-label="([^"]+)"', page)[0].startswith("Accuracy matrix")


def test_the_matrix_stands_in_text_too(matrix: Path) -> None:
    text = as_text(report_of(gather(matrix)), ".md")
    assert "| task1 | 98.5 | 62.3 | 55.1 | 51.8 | 49.2 |" in text
    assert "| task5 | – | – | – | – | 98.1 |" in text


def test_its_headline_stands_in_one_table_and_bwt_alone_has_a_verdict(tmp_path: Path) -> None:
    for seed in range(4):
        (tmp_path / f"seed{seed}.csv").write_text(PRINTED.replace("49.2", f"{49 + seed}"))
    report = report_of(gather(tmp_path))
    (verdict,) = report.verdicts
    assert (verdict.verdict, verdict.condition) == ("not met", "Continuous Learning")
    assert "bwt" in verdict.sentence
    text = as_text(report, ".md")
    table = text[text.index("## Metrics") : text.index("exploratory: no verdict")]
    assert [name for name in ("average", "learning", "bwt", "forgetting") if f"| {name}" not in table] == []
    assert report.as_json()["leads"][0].startswith(f"{tmp_path.name}, 4 lifetimes: AA ")


def test_margins_are_in_the_unit_of_the_matrix_and_notes_of_all_are_there_once(tmp_path: Path) -> None:
    for seed in range(4):
        rows = [",".join(f"{float(cell) / 100}" if cell else "" for cell in row.split(",")) for row in PRINTED.split()]
        (tmp_path / f"seed{seed}.csv").write_text("\n".join([*rows[:-1], rows[-1][:-1] + str(seed)]))
    report = report_of(gather(tmp_path))
    text, page = as_text(report, ".md"), as_text(report, ".html")
    assert text.count("\\> 0 − 0.05") == 2
    assert "− 5 " not in text
    assert page.count("rows are the evaluated tasks") == 1
    header = next(line for line in text.splitlines() if line.startswith("| lifetime |"))
    assert header.count("|") == 2 + len(("lifetime", "seed", "tasks", "AA", "LA", "BWT", "FM")) - 1


def test_one_seed_is_labelled_as_over_items_with_the_margin_of_its_own_unit(tmp_path: Path) -> None:
    page = as_text(report_of(gather(write_models(tmp_path / "results"))), ".html")
    assert "values; bars: 95 % intervals over items, one seed" in page
    assert re.search(r"<th[^>]*>(<[^>]*>)*95 % interval over items, one seed", page)
    assert "Keeps general abilities?" in page
    drawn = perdure.figure("metrics", tmp_path / "results").body
    assert "Ticks: lifetimes; lines: 95 % interval over items, one seed; dashed: the threshold" in drawn
    for seed in range(2):
        write_numbered(tmp_path / "ewc" / f"seed-{seed}")
    text = as_text(report_of(gather(tmp_path / "ewc")), ".md")
    assert re.search(r"\| bwt \| −0.25 .*> 0 − 0.05", text)


def test_logs_are_still_decided_by_their_own_headline(tmp_path: Path) -> None:
    """Performance maintenance decides about a log, although a log has a bwt too."""
    with perdure.Journal(tmp_path, "life", measures=["accuracy"], learner="toy") as journal:
        for block, (kind, task) in enumerate(
            [("test", "a"), ("train", "a"), ("test", "a"), ("train", "b"), ("test", "a")]
        ):
            for at in range(12):
                journal.log(block_num=block, exp_num=12 * block + at, block_type=kind, task_name=task, accuracy=at / 12)
    report = report_of(gather(tmp_path))
    assert len(report.verdicts) == 3
    assert not any("bwt" in item.sentence for item in report.verdicts)
    assert report.leads == ()


def test_time_and_memory_of_a_log_are_shown_for_each_task(tmp_path: Path) -> None:
    lines, at = ["block_num,exp_num,block_type,task_name,timestamp,learner,accuracy,memory_mb"], 0
    for block, (kind, task, used) in enumerate([("train", "a", 100), ("test", "a", 900), ("train", "b", 300)]):
        for number in range(3):
            when = f"20240101T0000{at * (2 if task == 'a' else 5):02}.000000"
            lines.append(f"{block},{at},{kind},{task},{when},toy,0.5,{used + number}")
            at += 1
    (tmp_path / "life.csv").write_text("\n".join([*lines, ""]))
    report = report_of(gather(tmp_path / "life.csv"))
    # Three learning experiences, two intervals: 2 s each for a, 5 s each for b; evaluations do not count.
    text = as_text(report, ".md")
    assert "| toy | a | 4 | 102 |" in text
    assert "| toy | b | 10 | 302 |" in text
    (memory,) = [item for item in report.checklist if item.what == "Memory used"]
    assert (memory.state, memory.found) == ("present", "302 MB at most")
