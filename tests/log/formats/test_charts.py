"""CSV files that W&B and MLflow offer for the download of a chart, in the documented formats."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.errors import LogError
from perdure.log.formats.trackers import CHARTS
from perdure.log.read import Options, find, lifetimes
from perdure.testing import check_reader

SCALARS = [
    {"eval/pong/reward": 0.0, "eval/freeway/reward": 1.0},
    *({"train/pong/reward": float(step)} for step in range(5)),
    {"eval/pong/reward": 10.0, "eval/freeway/reward": 1.0},
    *({"train/freeway/reward": float(step)} for step in range(5)),
    {"eval/pong/reward": 6.0, "eval/freeway/reward": 9.0},
]
TOLD = ["evaluate", "evaluate", "learn", "evaluate", "evaluate", "learn", "evaluate", "evaluate"]


def write_wandb_chart(file: Path, runs: list[str]) -> Path:
    """Write the CSV of a panel's export menu: quoted, with the bounds of each value next to it."""
    tags = list(dict.fromkeys(tag for row in SCALARS for tag in row))
    names = [f"{run} - {tag}{end}" for run in runs for tag in tags for end in ("", "__MIN", "__MAX")]
    lines = [",".join(f'"{name}"' for name in ["Step", *names])]
    for step, row in enumerate(SCALARS):
        cells = [
            f'"{row[tag] + index}"' if tag in row else '""'
            for index, _ in enumerate(runs)
            for tag in tags
            for _ in "abc"
        ]
        lines.append(",".join([f'"{step}"', *cells]))
    file.write_text("\n".join(lines) + "\n")
    return file


def write_mlflow_chart(file: Path, runs: list[str]) -> Path:
    """Write the CSV of a chart's download button: metric by metric for each run."""
    tags = list(dict.fromkeys(tag for row in SCALARS for tag in row))
    lines = ["run_id,key,value,step,timestamp"]
    lines += [
        f"{run},{tag},{row[tag] + index},{step},{1794790339440 + step}"
        for index, run in enumerate(runs)
        for tag in tags
        for step, row in enumerate(SCALARS)
        if tag in row
    ]
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize("write", [write_wandb_chart, write_mlflow_chart])
def test_each_run_of_a_chart_is_a_lifetime_by_its_tags(write: type, tmp_path: Path) -> None:
    file = write(tmp_path / "export.csv", ["royal-sweep-1", "dim-sun - 2"])
    assert list(find(tmp_path)) == [file]
    result = list(lifetimes(file))
    assert [lifetime.inside for lifetime in result] == ["royal-sweep-1", "dim-sun - 2"]
    for index, lifetime in enumerate(result):
        passage = lifetime.passage()
        assert [block.mode for block in passage.scenario.blocks] == TOLD
        assert passage.values[0] == index
        assert sum(len(row) for row in SCALARS) == len(passage.values)
    assert {score.id for score in perdure.survey(file).scores} == {"export.csv#royal-sweep-1", "export.csv#dim-sun - 2"}


@pytest.mark.parametrize("write", [write_wandb_chart, write_mlflow_chart])
def test_a_chart_of_one_run_is_one_lifetime(write: type, tmp_path: Path) -> None:
    file = write(tmp_path / "one.csv", ["only"])
    assert len(perdure.read(file).scenario.blocks) == len(TOLD)
    check_reader(CHARTS, file)


def test_only_a_chart_of_wandb_is_noted_as_a_sample(tmp_path: Path) -> None:
    message = [
        any("sample" in note for note in perdure.read(write(tmp_path / "one.csv", ["only"])).notes)
        for write in (write_wandb_chart, write_mlflow_chart)
    ]
    assert message == [True, False]


def test_a_bad_cell_is_named_with_its_line(tmp_path: Path) -> None:
    file = write_mlflow_chart(tmp_path / "one.csv", ["only"])
    file.write_text(file.read_text().replace("10.0,", "ten,", 1))
    with pytest.raises(LogError, match=r"one\.csv:\d+.*ten"):
        perdure.read(file)


def test_a_chart_without_the_learned_task_is_refused_with_the_tags_to_log(tmp_path: Path) -> None:
    file = write_wandb_chart(tmp_path / "one.csv", ["only"])
    file.write_text(file.read_text().replace("train/", "rollout/"))
    with pytest.raises(LogError, match=r"nothing says which task was learned when.*train/TASK/MEASURE"):
        perdure.read(file)


@given(st.binary(max_size=80))
def test_any_bytes_give_a_log_error_and_nothing_else(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for head in (b"run_id,key,value,step,timestamp\n", b"Step,a - eval/b/c,a - eval/b/c__MIN,a - eval/b/c__MAX\n"):
            file = Path(folder, "x.csv")
            file.write_bytes(head + content)
            with contextlib.suppress(LogError):
                list(CHARTS.lifetimes(file, Options()))
