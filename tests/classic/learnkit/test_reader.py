"""The learnkit tree: reading its columns, and refusing invalid trees."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.classic.learnkit.trees import CLASS, EPISODE, FIGURE, REWARDS, STEPS, line, put, read, report

from perdure.classic.learnkit import LEARNKIT
from perdure.errors import LogError
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS
from perdure.testing import check_reader


def test_the_tree_keeps_the_readers_contract(tree: Path) -> None:
    check_reader(LEARNKIT, tree)


def test_the_figures_rewards_follow_from_its_cumulative_steps(tmp_path: Path) -> None:
    rows = [
        line(phase="2-1.test", block=1, task=100, sub_task=number, steps=steps, reward=reward)
        for number, steps, reward in zip(range(4, 11), STEPS, REWARDS, strict=True)
    ]
    earlier = [line(phase="2-1.test", block=1, task=100, sub_task=3, steps=5, reward=0.982)]
    put(tmp_path, "0/2-1.test/minigrid5x5", earlier + rows)
    lifetime = read(tmp_path)
    steps = lifetime.experiences["steps"].to_numpy()
    rewards = lifetime.experiences["reward"].to_numpy()
    assert lifetime.experiences["sub_task"].to_list() == list(range(3, 11))
    np.testing.assert_allclose(rewards[1:], 1 - 0.9 * np.diff(steps) / 100, atol=1e-12)
    assert lifetime.scenario.blocks[0].mode == "evaluate"
    np.testing.assert_allclose(lifetime.passage().values, [rewards.mean()])


def test_every_column_of_the_figure_is_read(tree: Path) -> None:
    lifetime = read(tree)
    rows = lifetime.experiences
    assert lifetime.id == tree.name
    assert dict(lifetime.measures) == {"reward": "higher"}
    assert rows.columns[: len(STANDARD_COLUMNS)] == list(STANDARD_COLUMNS)
    assert rows["task_name"].unique().to_list() == [CLASS.lower()]
    assert rows["exp_num"].to_list() == [0, 0, 1, 2]
    assert rows["worker_id"].unique().to_list() == ["0"]
    assert rows["timestamp"][0] == "20191028T151845.076239"
    assert {"phase", "seed", "steps", "sub_task", "action_space", "observation_space", "agent_pos"} <= set(rows.columns)
    np.testing.assert_allclose(lifetime.passage().values, [(0.973 + 0.5) / 2, 0.973, 0.973])


def test_parameters_come_from_the_columns_after_the_spaces_without_a_block_report(tree: Path) -> None:
    assert json.loads(read(tree).experiences["task_params"][0]) == {"agent_pos": "[3 3]", "agent_dir": 0}


def test_parameters_come_from_the_block_report_and_the_columns(tree: Path) -> None:
    key = {"phase": "1.train", "worker": 0, "class_name": CLASS, "block": 0}
    report(tree, "0/1.train/grid", [key | {"params": '{"bot/paddle/width": 0.15, "agent_dir": 3}'}])
    blocks = read(tree).scenario.blocks
    assert dict(blocks[0].params) == {"bot/paddle/width": 0.15, "agent_dir": 3, "agent_pos": "[3 3]"}
    assert dict(blocks[1].params) == {"agent_pos": "[3 3]", "agent_dir": 0}


PARAMETER_CELLS = [
    ("0.15", 0.15),
    ("1", 1),
    ("1.0", 1.0),
    ("007", 7),
    (" 2 ", 2),
    ("+.5", 0.5),
    ("9007199254740993", 2**53 + 1),
    ("true", "true"),
    ('["a\\tb"]', '["a\\tb"]'),
    ("", None),
]


@pytest.mark.parametrize(("cell", "value"), PARAMETER_CELLS)
@pytest.mark.parametrize("spaces", [True, False])
def test_a_numeric_cell_is_a_number(tmp_path: Path, cell: str, value: Any, spaces: bool) -> None:
    between = ["action_space", "observation_space"] if spaces else []
    header = [*EPISODE, "reward", *between, "width"]
    quoted = '"' + cell.replace('"', '""') + '"' if '"' in cell else cell
    row = ["t", CLASS, "1.train", 0, 0, 0, 7, 3, 1, "DONE", 0.5, *between, quoted]
    put(tmp_path, "0/1.train/grid", ["\t".join(map(str, row)) + "\n"], header)
    document = json.loads(read(tmp_path).experiences["task_params"][0])
    assert document == ({} if value is None else {"width": value})


def test_a_cell_that_is_not_finite_is_a_number(tmp_path: Path) -> None:
    header = [*EPISODE, "reward", "width"]
    for index, cell in enumerate(("nan", "inf", "-inf")):
        row = ["t", CLASS, "1.train", 0, index, index, 7, 3, 1, "DONE", 0.5, cell]
        put(tmp_path, f"0/1.train/grid{index}", ["\t".join(map(str, row)) + "\n"], header)
    widths = [json.loads(text)["width"] for text in read(tmp_path).experiences["task_params"]]
    assert np.isnan(widths[0])
    assert widths[1:] == [float("inf"), float("-inf")]


def test_every_column_except_bookkeeping_spaces_and_measures_is_a_parameter(tmp_path: Path) -> None:
    header = [*EPISODE, "lives", "reward", "action_space", "width"]
    row = ["t", CLASS, "1.train", 0, 0, 0, 7, 3, 1, "DONE", 3, 0.5, "Discrete(3)", 0.2]
    put(tmp_path, "0/1.train/grid", ["\t".join(map(str, row)) + "\n"], header)
    assert json.loads(read(tmp_path).experiences["task_params"][0]) == {"lives": 3, "width": 0.2}
    named = read(tmp_path, measures={"lives": "higher"}).experiences["task_params"][0]
    assert json.loads(named) == {"width": 0.2}


def test_a_block_reported_with_two_parameter_sets_is_refused(tree: Path) -> None:
    key = {"phase": "1.train", "worker": 0, "class_name": CLASS, "block": 0}
    file = report(tree, "0/1.train/grid", [key | {"params": '{"a": 1}'}, key | {"params": '{"a": 2}'}])
    with pytest.raises(LogError, match=f"{file}:3: params is .*first reported with"):
        read(tree)


def test_a_sub_episode_that_is_not_done_is_incomplete(tmp_path: Path) -> None:
    lines = [line(task=0), line(task=1, termination_status="INCOMPLETE"), line(task=2, termination_status="")]
    put(tmp_path, "0/1.train/grid", lines)
    lifetime = read(tmp_path)
    assert lifetime.experiences["exp_status"].to_list() == ["complete", "incomplete", "incomplete"]
    assert lifetime.passage().dropped["incomplete"] == 2


@pytest.mark.parametrize(
    "phases",
    [
        ["0.test", "1.train", "1.test", "2.train", "2.test", "10.train"],
        ["1-0.test", "2-1.train", "3-1.test", "4-2.train", "11-2.test"],
        ["1-1.test", "2-1.train", "3-2.test"],
    ],
)
def test_phases_keep_their_order_if_block_numbers_restart(tmp_path: Path, phases: list[str]) -> None:
    for episode, phase in reversed(list(enumerate(phases))):
        put(tmp_path, f"0/{phase}/grid", [line(phase=phase, block=0, task=episode)])
    rows = read(tmp_path).experiences
    assert rows["phase"].to_list() == phases
    assert rows["block_num"].to_list() == list(range(len(phases)))
    assert rows["block"].to_list() == [0] * len(phases)


def test_block_numbers_that_increase_over_the_phases_are_unchanged(tmp_path: Path) -> None:
    put(tmp_path, "0/1.train/grid", [line(block=3, task=0), line(block=5, task=1)])
    put(tmp_path, "0/1.test/grid", [line(phase="1.test", block=7, task=2)])
    assert read(tmp_path).experiences["block_num"].to_list() == [3, 5, 7]


def test_workers_merge_by_episode_number(tmp_path: Path) -> None:
    put(tmp_path, "b/1.train/grid", [line(worker="b", task=1, reward=2), line(worker="b", task=3, reward=4)])
    put(tmp_path, "a/1.train/grid", [line(worker="a", task=0, reward=1), line(worker="a", task=2, reward=3)])
    np.testing.assert_array_equal(read(tmp_path).passage().values, [1, 2, 3, 4])


def test_worker_and_phase_come_from_the_folders_if_no_column_has_them(tmp_path: Path) -> None:
    put(tmp_path, "w7/2-1.test/grid", ["grid\t0\t5\t0.5\n"], ("class_name", "block", "task", "reward"))
    rows = read(tmp_path).experiences
    assert rows.select("worker_id", "block_type", "phase").row(0) == ("w7", "test", "2-1.test")


def test_columns_in_another_order_give_the_same_lifetime(tree: Path, tmp_path: Path) -> None:
    rows = pl.read_csv(tree / "0/1.train/grid/data-log.tsv", separator="\t", infer_schema=False)
    shutil.copytree(tree, tmp_path / "other")
    turned = rows.select(*reversed(FIGURE[:10]), *FIGURE[10:])
    turned.write_csv(tmp_path / "other/0/1.train/grid/data-log.tsv", separator="\t")
    standard = [*STANDARD_COLUMNS, "reward"]
    assert read(tmp_path / "other").experiences.select(standard).equals(read(tree).experiences.select(standard))


BATCHES = [*EPISODE[:7], "batch_id", "batch_size", "source", "error", "accuracy"]


def batch(task: int, number: str, error: float) -> str:
    cells = ("t", "CIFAR100", "1.train", 0, 0, task, 7, number, 32, "train", error, 1 - error)
    return "\t".join(map(str, cells)) + "\n"


def test_a_classification_log_has_an_experience_per_batch_and_a_lower_error_is_better(tmp_path: Path) -> None:
    put(tmp_path, "0/1.train/cifar", [batch(0, "x", 0.5), batch(0, "y", 0.25), batch(1, "x", 0.125)], BATCHES)
    lifetime = read(tmp_path)
    assert dict(lifetime.measures) == {"error": "lower", "accuracy": "higher"}
    np.testing.assert_array_equal(lifetime.passage("error").values, [0.5, 0.25, 0.125])
    assert lifetime.experiences["task"].to_list() == [0, 0, 1]


def test_a_reported_parameter_is_not_a_measure(tmp_path: Path) -> None:
    put(tmp_path, "0/1.train/cifar", [batch(0, "x", 0.5)], BATCHES)
    key = {"phase": "1.train", "worker": 0, "class_name": "CIFAR100", "block": 0}
    report(tmp_path, "0/1.train/cifar", [key | {"params": '{"accuracy": 1}'}])
    assert list(read(tmp_path).measures) == ["error"]


def test_measures_named_by_the_caller_override_the_log(tree: Path) -> None:
    lifetime = read(tree, measures={"steps": "lower"})
    assert dict(lifetime.measures) == {"steps": "lower"}
    assert lifetime.experiences.schema["steps"] == pl.Float64
    with pytest.raises(LogError, match=r"no column 'stebs'.*did you mean 'steps'"):
        read(tree, measures={"stebs": "lower"})


def test_a_last_line_torn_at_any_byte_is_skipped_with_a_note(tmp_path: Path) -> None:
    file = put(tmp_path, "0/1.train/grid", [line(task=0, seed="é"), line(task=1, seed="é")])
    whole = file.read_bytes()
    second = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(second, len(whole)):
        file.write_bytes(whole[:cut])
        lifetime = read(tmp_path)
        assert lifetime.experiences["exp_num"].to_list() == [0]
        assert len(lifetime.notes) == (1 if cut > second else 0)
    assert "0/1.train/grid/data-log.tsv:3: the last line is torn" in lifetime.notes[0]


def test_an_empty_file_and_a_torn_header_are_noted(tree: Path) -> None:
    put(tree, "0/2.train/grid", []).write_bytes(b"")
    put(tree, "0/2.test/grid", []).write_bytes(b"timestamp\tcla")
    notes = read(tree).notes
    assert any("2.train/grid/data-log.tsv: an empty file" in note for note in notes)
    assert any("2.test/grid/data-log.tsv:1: the last line is torn" in note for note in notes)


BAD_LINES = [
    (line(reward="high"), "reward is 'high'; expected a number"),
    (line(task="-1"), "task is '-1'; expected a whole number"),
    (line(block="1.5"), "block is '1.5'; expected a whole number"),
    (line(class_name=""), "class_name is blank; expected a name"),
    (line(phase="train"), "phase is 'train'; expected a phase such as 1.train"),
    (line(phase="1.test"), "phase is '1.test'; expected the phase of its folder, 1.train"),
    ("20191028\tgrid\n", "2 fields where the header has 15"),
    (line(seed='"x"y'), "the quotes on this line do not fit"),
    (line(seed='"x'), "a quote in the record that begins here is never closed"),
    (line(seed="a\0b"), "a NUL byte"),
    ("\n" + line(), "1 fields where the header has 15"),
]


@pytest.mark.parametrize(("bad", "what"), BAD_LINES)
def test_a_malformed_line_is_named(tmp_path: Path, bad: str, what: str) -> None:
    file = put(tmp_path, "0/1.train/grid", [line(), bad, line()])
    with pytest.raises(LogError) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(f"{file}:3: ")
    assert what in str(caught.value)


def test_a_byte_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    file = put(tmp_path, "0/1.train/grid", [line(), line(seed="X")])
    file.write_bytes(file.read_bytes().replace(b"X", b"\xff"))
    with pytest.raises(LogError, match=f"{file}:3: not UTF-8 text"):
        read(tmp_path)


def test_the_bad_file_among_many_is_named(tmp_path: Path) -> None:
    for number in range(20):
        put(
            tmp_path,
            f"0/1.train/task{number:02}",
            [line(task=number), line(task=number, reward="x" if number == 13 else 1)],
        )
    with pytest.raises(LogError, match=r"task13/data-log\.tsv:3: reward is 'x'"):
        read(tmp_path)


def test_missing_columns_are_named_with_the_existing_ones(tmp_path: Path) -> None:
    file = put(tmp_path, "0/1.train/grid", ["0\t1\t2\n"], ("blok", "task", "class_name"))
    with pytest.raises(LogError, match=rf"{file}:1: no column 'block' \(found: .*did you mean 'blok'"):
        read(tmp_path)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tree: Path) -> None:
    before = read(tree).experiences
    for file in tree.rglob("*.tsv"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert read(tree).experiences.equals(before)


def test_a_log_without_records_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "0/1.train/grid", [])
    with pytest.raises(LogError, match=r"no record in any data-log\.tsv"):
        read(tmp_path)


def test_a_data_file_at_the_wrong_depth_is_refused(tree: Path) -> None:
    put(tree, "0/1.train", [line()])
    with pytest.raises(LogError, match=r"not at <worker>/<phase>/<task>/data-log\.tsv"):
        read(tree)


def test_a_link_out_of_the_log_is_refused(tree: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "grid", [line()])
    (tree / "0" / "3.train").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LogError, match="leads out of the log"):
        read(tree)


def test_other_trees_are_not_recognised(tmp_path: Path) -> None:
    put(tmp_path, "worker-default/0-train", [line()])
    put(tmp_path, "w/train/grid", [line()])
    assert not LEARNKIT.recognises(tmp_path)
    assert not LEARNKIT.recognises(tmp_path / "nowhere")


WHOLE = ("\t".join(FIGURE) + "\n" + line() + line(task=1)).encode()


@given(
    st.integers(0, len(WHOLE) - 1),
    st.binary(max_size=4),
    st.integers(0, 6),
    st.sampled_from(["data-log", "block-report"]),
)
def test_damage_anywhere_is_a_log_error_or_harmless(place: int, put_in: bytes, taken_out: int, name: str) -> None:
    with TemporaryDirectory() as folder:
        file = put(Path(folder), "0/1.train/grid", [line()])
        report(
            Path(folder),
            "0/1.train/grid",
            [{"phase": "1.train", "worker": 0, "class": CLASS, "block": 0, "params": "{}"}],
        )
        damaged = file.with_name(f"{name}.tsv")
        whole = WHOLE if name == "data-log" else damaged.read_bytes()
        damaged.write_bytes(whole[:place] + put_in + whole[place + taken_out :])
        try:
            outcome: Lifetime | str = read(Path(folder))
        except LogError as problem:
            outcome = str(problem)
    if isinstance(outcome, str):
        assert folder in outcome
    else:
        assert outcome.experiences.columns[: len(STANDARD_COLUMNS)] == list(STANDARD_COLUMNS)
