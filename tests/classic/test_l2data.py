"""The data folder of 2019: verbs write trees and `info.json`, and find them again."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

import perdure
from perdure.classic.l2data import write_experts, write_trees
from perdure.errors import LogError
from perdure.gather.survey import score, survey
from perdure.settings import Settings

FALLING = [0.9] * 4 + [0.4] * 11
RISING = [float(value) for value in range(15)]


def write_log(folder: Path, name: str, blocks: list[tuple[str, str, list[float]]], direction: str = "higher") -> Path:
    with perdure.Journal(folder, name, measures={"value": direction}) as journal:  # type: ignore[dict-item]
        count = 0
        for number, (mode, task, values) in enumerate(blocks):
            for value in values:
                journal.log(
                    block_num=number, exp_num=count, block_type=mode, task_name=task, task_params={}, value=value
                )
                count += 1
    return folder / name


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("L2DATA", str(tmp_path / "l2data"))
    return tmp_path / "l2data"


def test_taskinfo_states_the_mean_saturation_of_each_tasks_experts(tmp_path: Path, data: Path) -> None:
    write_log(tmp_path / "experts", "one", [("train", "Pong", RISING)])
    write_log(tmp_path / "experts", "two", [("train", "pong", [value + 2 for value in RISING])])
    write_log(tmp_path / "experts", "third", [("train", "breakout", [1.0] * 3)])
    stated, written = write_experts(tmp_path / "experts", data)
    best = sum(RISING[-11:]) / 11  # the highest mean of eleven values in a row
    assert stated == pytest.approx({"pong": best + 1, "breakout": 1.0})
    assert written.files == (data / "taskinfo" / "info.json",)
    assert json.loads(written.files[0].read_text()) == stated


def test_an_error_is_stated_as_an_error(tmp_path: Path, data: Path) -> None:
    write_log(tmp_path / "experts", "one", [("train", "digits", FALLING)], "lower")
    assert write_experts(tmp_path / "experts", data)[0] == pytest.approx({"digits": 0.4})


@pytest.mark.parametrize("stated", ['{"freeway": 2}', '{"Pong": 7, "freeway": 2}'])
def test_stated_values_of_other_tasks_are_kept(tmp_path: Path, data: Path, stated: str) -> None:
    (data / "taskinfo").mkdir(parents=True)
    (data / "taskinfo" / "info.json").write_text(stated)
    write_log(tmp_path / "experts", "one", [("train", "pong", [7.0])])
    assert write_experts(tmp_path / "experts", data)[0] == {"freeway": 2, "pong": 7.0}


def test_another_value_for_a_stated_task_is_refused(tmp_path: Path, data: Path) -> None:
    file = data / "taskinfo" / "info.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"Pong": 1, "freeway": 2}')
    write_log(tmp_path / "experts", "one", [("train", "pong", [7.0])])
    with pytest.raises(LogError, match=r"info\.json: states 1 for Pong, and these experts give 7; move it away"):
        write_experts(tmp_path / "experts", data)
    assert file.read_text() == '{"Pong": 1, "freeway": 2}'


def test_a_lifetime_of_several_tasks_is_not_an_expert(tmp_path: Path, data: Path) -> None:
    write_log(tmp_path / "lives", "one", [("train", "a", [1.0]), ("train", "b", [1.0])])
    with pytest.raises(LogError, match="an expert learns one task alone"):
        write_experts(tmp_path / "lives", data)


def test_stated_experts_are_found_without_being_named(tmp_path: Path, data: Path) -> None:
    write_log(data / "logs", "life", [("train", "pong_wide", [3.0] * 11)])
    (data / "taskinfo").mkdir()
    (data / "taskinfo" / "info.json").write_text('{"pong": 2.0, "pon": 9.0}')
    result = survey("life", settings=Settings("framework-2019"))
    assert result.scores[0]["ste_relative"] == pytest.approx(1.5)
    assert result.notes == (f"experts as stated in {data / 'taskinfo' / 'info.json'}",)
    assert result.settings["experts"] == [str(data / "taskinfo" / "info.json")]
    # Expert logs have priority over a number, and only the preset of 2019 reads the file.
    expert = write_log(tmp_path, "expert", [("train", "pong_wide", [1.0] * 11)])
    assert score("life", [expert], Settings(preset="framework-2019"))["ste_relative"] == pytest.approx(3.0)
    assert survey("life").notes == ()


def test_every_lifetime_of_a_run_becomes_a_tree_that_scores_the_same(tmp_path: Path, data: Path) -> None:
    run = tmp_path / "mine"
    blocks = [("train", "a", RISING), ("test", "b", [1.0, 2.0]), ("train", "b", FALLING), ("test", "a", [3.0])]
    write_log(run / "lives", "life-000", blocks)
    write_log(run / "experts", "a-00", [("train", "a", RISING)])
    written = write_trees(run, data)
    (tree,) = written.files
    assert re.fullmatch(r"mine-life-000-\d{13}", tree.name)
    assert (tree / "worker-default" / "1.test" / "b" / "data-log.tsv").is_file()
    ours, theirs = (
        score(item, settings=Settings(preset="framework-2019")) for item in (run / "lives" / "life-000", tree.name)
    )
    assert theirs.values == ours.values
    assert write_trees(run, data) == written  # writing again changes nothing


def test_experts_and_twins_become_trees_only_if_given_alone(tmp_path: Path, data: Path) -> None:
    lifetime = perdure.read(write_log(tmp_path / "logs", "life", [("train", "a", RISING), ("test", "a", [1.0])]))
    experts_and_twins = [replace(lifetime, id=role, role=role) for role in ("expert", "twin")]
    perdure.write_lifetimes(tmp_path / "all.parquet", [lifetime, *experts_and_twins])
    (tree,) = write_trees(tmp_path / "all.parquet", data).files
    assert tree.name.startswith("all.parquet-life-")
    for expert in experts_and_twins:
        perdure.write_learnkit(expert, tmp_path / "trees", expert.role)
    assert write_trees(tmp_path / "trees", data).files == ()
    (tree,) = write_trees(tmp_path / "trees" / "twin", data).files
    assert tree.name.startswith("twin-")


def test_lifetimes_of_the_same_name_and_time_have_separate_trees(tmp_path: Path, data: Path) -> None:
    table = pl.DataFrame(
        {"task_name": ["a"] * 3, "block_type": ["train"] * 3, "block_num": [0] * 3, "exp_num": [0, 1, 2]}
    )
    for folder, reward in (("first", 1.0), ("second", 2.0)):
        (tmp_path / folder).mkdir()
        table.with_columns(pl.lit(reward).alias("reward")).write_csv(tmp_path / folder / "same.csv")
        os.utime(tmp_path / folder / "same.csv", (1e9, 1e9))
    first, second = (write_trees(tmp_path / folder / "same.csv", data).files for folder in ("first", "second"))
    assert [item.name for item in (*first, *second)] == ["same.csv-1000000000000", "same.csv-1000000000001"]
    assert [perdure.read(item[0]).experiences["reward"][0] for item in (first, second)] == [1.0, 2.0]
    again = [write_trees(tmp_path / folder / "same.csv", data).files for folder in ("second", "first")]
    assert again == [second, first]


def test_a_bare_name_of_a_syllabus_is_found_in_the_data_folder(data: Path) -> None:
    (data / "syllabi").mkdir(parents=True)
    text = (Path(__file__).parents[2] / "examples" / "syllabi" / "ant-b.json").read_text()
    (data / "syllabi" / "mine.json").write_text(text)
    assert perdure.read_syllabus("mine").scenario == perdure.read_syllabus("mine.json").scenario
