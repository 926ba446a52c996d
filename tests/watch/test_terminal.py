"""A run in the terminal."""

from __future__ import annotations

import io
from pathlib import Path

from tests.reports.conftest import write_life
from tests.watch.conftest import Writer

from perdure.stats.answer import answers
from perdure.stats.decide import decide
from perdure.watch.monitor import Monitor
from perdure.watch.terminal import sparkline, table


def test_the_terminal_table_fits_80_columns_with_ids_whole(tmp_path: Path) -> None:
    from rich.console import Console

    name = "a-learner-with-a-rather-long-name-and-seed-000000012"
    created = Writer(tmp_path / "logs", name)
    created.block(0)
    created.block(1)
    monitor = Monitor([tmp_path / "logs"])
    monitor.settle()
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(monitor))
    text = console.export_text()
    assert all(len(line) <= 80 for line in text.splitlines())
    assert name in "".join(line[:23].strip() for line in text.splitlines())
    created.journal.close()


def test_values_are_shown_with_what_was_decided_of_them(tmp_path: Path) -> None:
    from rich.console import Console

    for seed in range(3):
        write_life(tmp_path / "lives", f"life-{seed}", ["a", "b"], keeps=0.4, seed=seed, evaluate=20)
    monitor = Monitor([tmp_path])
    monitor.settle()
    progress = monitor.progress()
    material = monitor.data()
    assert material is not None
    for item, life in zip(progress, material.lifetimes, strict=True):
        bars = material.survey.bars
        expected = {name: decide((life.score,), name, bars[name]).verdict for name in item.verdicts}
        assert item.verdicts == expected
        assert item.verdicts["performance_maintenance"] == "not met"
    assert monitor.answers() == tuple(item.sentence for item in answers(material.groups))
    assert monitor.answers()[0].startswith("toy forgets: it loses between ")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(monitor))
    assert console.export_text().count(" ✗ ") >= 3


def test_a_sparkline_rises_with_its_values() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([]) == ""
    assert sparkline([3, 3]) == "▁▁"
    assert len(sparkline(list(range(1000)))) == 16


def test_the_terminal_says_how_far_all_are_and_what_is_decided_so_far(tmp_path: Path) -> None:
    from rich.console import Console

    for seed in range(3):
        write_life(tmp_path / "lives", f"life-{seed}", ["a", "b"], keeps=0.4, seed=seed, evaluate=20)
    running = Writer(tmp_path / "lives", "life-3")
    running.block(0)
    monitor = Monitor([tmp_path])
    monitor.settle()
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(monitor))
    lines = console.export_text().splitlines()
    assert lines[0].startswith("1 running, 3 of 4 lifetimes done")
    assert "So far, from 3 of 4 lifetimes:" in [line.strip() for line in lines]
    first = next(line for line in lines if "life-" in line)
    assert "running" in first
    running.journal.close()


def test_the_change_of_a_matrix_is_not_called_pm(tmp_path: Path) -> None:
    from rich.console import Console

    (tmp_path / "matrix.csv").write_text("90,50\n,70\n")
    monitor = Monitor([tmp_path / "matrix.csv"])
    monitor.settle()
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(monitor))
    text = console.export_text()
    assert "BWT" in text
    assert "PM" not in text
