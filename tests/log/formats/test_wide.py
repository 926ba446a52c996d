"""Wide tables: a row is a period of learning of the active task, then an evaluation of every task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perdure.errors import LogError
from perdure.log.formats.table import TABLE
from perdure.log.model import Lifetime
from perdure.log.read import Options
from perdure.testing import check_reader

PLAIN = "step,current_task,pong,breakout\n0,pong,0,1\n10,pong,5,1\n20,Breakout,3,6\n30,breakout,2,9\n"


def write_file(folder: Path, text: str, name: str = "runs.csv") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def read_wide(file: Path, options: Options | None = None) -> Lifetime:
    return TABLE.read(file, options or Options())


def block_means(lifetime: Lifetime, measure: str | None = None) -> list[tuple[str, str, float]]:
    passage = lifetime.passage(measure)
    return [
        (block.mode, block.task, float(passage.values[start]))
        for block, start in zip(passage.scenario.blocks, passage.starts, strict=False)
    ]


def test_each_row_is_learning_then_an_evaluation_of_every_task(tmp_path: Path) -> None:
    lifetime = read_wide(write_file(tmp_path, PLAIN))
    assert dict(lifetime.measures) == {"value": "higher"}
    assert block_means(lifetime) == [
        ("evaluate", "pong", 0),
        ("evaluate", "breakout", 1),  # step 0: nothing has been learned yet
        ("learn", "pong", 5),
        ("evaluate", "pong", 5),
        ("evaluate", "breakout", 1),
        ("learn", "breakout", 6),
        ("evaluate", "pong", 3),
        ("evaluate", "breakout", 6),
        ("learn", "breakout", 9),
        ("evaluate", "pong", 2),
        ("evaluate", "breakout", 9),
    ]
    assert lifetime.experiences["step"].to_list() == [0, 0, 10, 10, 10, 20, 20, 20, 30, 30, 30]
    check_reader(TABLE, tmp_path / "runs.csv")


def continual_world_table(tasks: list[str], active: list[int], way: str = "stochastic") -> str:
    """Return a table in the format of Continual World, two evaluations of each task in a row."""
    header = ["epoch"]
    for kind in (way, "deterministic"):
        for index, task in enumerate(tasks):
            of = f"test/{kind}/{index}/{task}"
            header += [f"{of}/return/avg", f"{of}/return/std", f"{of}/return/max", f"{of}/return/min"]
            header += [f"{of}/ep_length", f"{of}/success"]
        header += [f"test/{kind}/average_success"]
    header += ["train/return/avg", "train/success", "train/alpha/0", "train/active_env"]
    header += ["total_env_steps", "current_task_steps", "walltime"]
    lines = ["\t".join(header)]
    for row, number in enumerate(active, start=1):
        cells = [str(row)]
        for sign in (1, -1):
            for index in range(len(tasks)):
                cells += [str(sign * (100 * row + index)), "9", "9", "9", "200", str(sign * row / (10 + index))]
            cells += ["0.5"]
        lines.append("\t".join([*cells, str(row), str(row / 100), "0.1", str(number), str(row * 1000), "1000", "5.5"]))
    return "\n".join(lines) + "\n"


def test_continual_worlds_progress_file_is_read_unchanged(tmp_path: Path) -> None:
    lifetime = read_wide(
        write_file(tmp_path, continual_world_table(["hammer-v1", "push-wall-v1"], [0, 0, 1]), "progress.tsv")
    )
    assert list(lifetime.measures)[:3] == ["success", "return", "ep_length"]
    assert "deterministic/success" in lifetime.measures
    assert block_means(lifetime)[:6] == [
        ("learn", "hammer-v1", 0.01),  # train/success
        ("evaluate", "hammer-v1", 0.1),
        ("evaluate", "push-wall-v1", 1 / 11),
        ("learn", "hammer-v1", 0.02),
        ("evaluate", "hammer-v1", 0.2),
        ("evaluate", "push-wall-v1", 2 / 11),
    ]
    assert block_means(lifetime)[6][:2] == ("learn", "push-wall-v1")
    assert block_means(lifetime, "return")[1] == ("evaluate", "hammer-v1", 100.0)
    assert block_means(lifetime, "deterministic/return")[1] == ("evaluate", "hammer-v1", -100.0)
    check_reader(TABLE, tmp_path / "progress.tsv")


def test_a_task_under_two_numbers_is_two_variants_of_it(tmp_path: Path) -> None:
    lifetime = read_wide(
        write_file(tmp_path, continual_world_table(["a-v1", "b-v1", "a-v1"], [0, 1, 2]), "progress.tsv")
    )
    learned = [task for mode, task, _ in block_means(lifetime) if mode == "learn"]
    assert learned == ["a-v1_1", "b-v1", "a-v1_2"]
    assert "variants: _1 is the first" in lifetime.notes[0]


@pytest.mark.parametrize(
    ("header", "measures"),
    [
        ("eval/pong/reward,eval/breakout/reward", ["eval/reward"]),
        ("pong_success,breakout_success", ["success"]),
        ("acc_pong,loss_pong,acc_breakout,loss_breakout", ["acc", "loss"]),
    ],
)
def test_tasks_are_recognised_anywhere_in_the_column_names(header: str, measures: list[str], tmp_path: Path) -> None:
    cells = ",".join(str(number) for number in range(1, header.count(",") + 2))
    file = write_file(tmp_path, f"active_task,{header}\npong,{cells}\nbreakout,{cells}\n")
    lifetime = read_wide(file)
    assert list(lifetime.measures) == measures
    assert {task for _, task, _ in block_means(lifetime)} == {"pong", "breakout"}


@pytest.mark.parametrize("first", [0, 1])
def test_active_tasks_may_be_numbers(first: int, tmp_path: Path) -> None:
    lifetime = read_wide(write_file(tmp_path, f"active_task,pong,freeway\n{first},1,2\n{first + 1}.0,3,4\n"))
    assert [(task, value) for mode, task, value in block_means(lifetime) if mode == "learn"] == [
        ("pong", 1),
        ("freeway", 4),
    ]
    assert lifetime.notes == (f"runs.csv: active tasks are counted from {first}: {first} is pong",)


def test_the_column_of_the_active_task_may_have_any_name(tmp_path: Path) -> None:
    file = write_file(tmp_path, PLAIN.replace("current_task", "what"))
    assert block_means(read_wide(file, Options({"active_task": "what"}))) == block_means(
        read_wide(write_file(tmp_path, PLAIN, "other.csv"))
    )
    assert TABLE.claims(file, Options({"active_task": "what"}))
    assert not TABLE.claims(file, Options())


def test_a_declared_shape_without_its_column_is_refused_with_the_option(tmp_path: Path) -> None:
    file = write_file(tmp_path, "a,b\n1,2\n")
    with pytest.raises(LogError, match=r"no column 'active_task' \(found: a, b\); .*--column active_task="):
        read_wide(file, Options(shape="wide"))


def test_a_row_without_an_active_task_is_not_learning(tmp_path: Path) -> None:
    lifetime = read_wide(write_file(tmp_path, "active_task,pong,freeway\n,1,2\nNone,1,2\n-1,1,2\npong,3,4\n"))
    assert [mode for mode, *_ in block_means(lifetime)].count("learn") == 1
    assert "evaluated and never learned: freeway" in lifetime.notes[0]


def test_an_active_task_without_a_column_is_named_with_its_line(tmp_path: Path) -> None:
    file = write_file(tmp_path, PLAIN.replace("20,Breakout", "20,tennis"))
    with pytest.raises(
        LogError, match=r"runs\.csv:4: active_task \('current_task' in the file\) is 'tennis'; expected a"
    ):
        read_wide(file)


def test_a_bad_cell_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"runs\.csv:4: pong is 'high'; expected a number"):
        read_wide(write_file(tmp_path, PLAIN.replace("20,Breakout,3", "20,Breakout,high")))


def test_a_missing_evaluation_is_not_a_block(tmp_path: Path) -> None:
    lifetime = read_wide(write_file(tmp_path, "active_task,pong,freeway\npong,1,\nfreeway,,4\n"))
    assert block_means(lifetime) == [
        ("learn", "pong", 1),
        ("evaluate", "pong", 1),
        ("learn", "freeway", 4),
        ("evaluate", "freeway", 4),
    ]


def test_a_table_without_any_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no column of numbers for a task"):
        read_wide(write_file(tmp_path, "active_task,pong\npong,\n"))


def test_a_wide_table_may_hold_many_lifetimes(tmp_path: Path) -> None:
    lines = PLAIN.splitlines()
    text = "\n".join([f"seed,{lines[0]}", *(f"{seed},{line}" for line in lines[1:] for seed in (3, 4))]) + "\n"
    lifetimes = list(TABLE.lifetimes(write_file(tmp_path, text), Options()))
    alone = read_wide(write_file(tmp_path, PLAIN, "alone.csv"))
    assert [lifetime.seed for lifetime in lifetimes] == [3, 4]
    for lifetime in lifetimes:
        assert block_means(lifetime) == block_means(alone)
        np.testing.assert_array_equal(lifetime.experiences["exp_num"], alone.experiences["exp_num"])
