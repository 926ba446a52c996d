"""Writing many lifetimes into one file: whole or not at all; invalid values are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace
from tests.log.formats.bulk_lifetimes import LENGTH, SCENARIO, array, make_lifetimes, read_all

import perdure
from perdure.errors import LogError, PerdureError
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS
from perdure.log.write import bulk
from perdure.scenario.model import Block, Scenario


def failed_write_message(path: Path, *arguments: object, **more: object) -> str:
    with pytest.raises(PerdureError) as caught:
        perdure.write_lifetimes(path, *arguments, **more)  # type: ignore[arg-type]
    assert not path.exists()
    assert not list(path.parent.iterdir()) if path.parent.exists() else True
    return str(caught.value)


@pytest.mark.parametrize("name", ["lives.parquet", "lives"])
def test_a_failed_write_leaves_no_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def breaking() -> Iterator[Lifetime]:
        yield from make_lifetimes(2)
        raise LogError("the third is not there")

    assert failed_write_message(path, breaking()) == "the third is not there"
    assert "no lifetime to write" in failed_write_message(path, [])
    assert "no lifetime to write" in failed_write_message(path, values=array(0), scenario=SCENARIO)
    assert "lives or values, and not both" in failed_write_message(path)
    assert "give scenario=" in failed_write_message(path, values=array())
    assert f"expected a row per lifetime and {LENGTH} columns" in failed_write_message(
        path, values=array()[:, 1:], scenario=SCENARIO
    )
    assert "3 seeds for more lifetimes" in failed_write_message(
        path, values=array(), scenario=SCENARIO, seeds=[1, 2, 3]
    )
    assert "two lifetimes are called 'life-1'" in failed_write_message(
        path, values=array(2), scenario=SCENARIO, seeds=[1, 1]
    )
    steps = Scenario.of("steps", [Block("learn", "a", None)])
    assert "has no length in experiences" in failed_write_message(path, values=array(), scenario=steps)
    one, other = make_lifetimes(2)
    assert "two lifetimes are called" in failed_write_message(path, [one, one])
    assert "its measures are" in failed_write_message(path, [one, replace(other, measures={"reward": "lower"})])
    wider = replace(other, experiences=other.experiences.with_columns(pl.lit(1).alias("steps")))
    assert "differing: steps" in failed_write_message(path, [one, wider])
    unsayable = failed_write_message(path, [replace(one, manifest={"what": object()})])
    assert "cannot be written as JSON" in unsayable
    assert "choose another place" not in unsayable
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bulk, "_PER_PART", 1)  # so that the failure comes after some parts are written
        assert failed_write_message(path, breaking()) == "the third is not there"


def test_extra_columns_are_written_and_may_not_use_reserved_names(tmp_path: Path) -> None:
    (one,) = make_lifetimes(1)
    wider = replace(one, experiences=one.experiences.with_columns(pl.lit(7).alias("steps")))
    (back,) = read_all(perdure.write_lifetimes(tmp_path / "lives.parquet", [wider]))
    assert back.experiences.equals(wider.experiences)
    taken = replace(one, experiences=one.experiences.with_columns(pl.lit(7).alias("seed")))
    with pytest.raises(LogError, match="a column is called 'seed'"):
        perdure.write_lifetimes(tmp_path / "taken.parquet", [taken])


def test_a_file_is_replaced_whole_and_a_folder_is_not_touched(tmp_path: Path) -> None:
    file = perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(2), scenario=SCENARIO)
    with pytest.raises(LogError):
        perdure.write_lifetimes(file, values=array()[:, 1:], scenario=SCENARIO)
    assert len(read_all(file)) == 2
    perdure.write_lifetimes(file, values=array(4), scenario=SCENARIO)
    assert len(read_all(file)) == 4
    folder = perdure.write_lifetimes(tmp_path / "lives", values=array(2), scenario=SCENARIO)
    with pytest.raises(LogError, match="is there already"):
        perdure.write_lifetimes(folder, values=array(4), scenario=SCENARIO)
    assert len(read_all(folder)) == 2


def test_every_standard_column_comes_back_in_its_type(tmp_path: Path) -> None:
    (lifetime,) = read_all(perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(1), scenario=SCENARIO))
    assert dict(lifetime.experiences.schema) == {**STANDARD_COLUMNS, "reward": pl.Float64()}
