"""A log that grows is read as the whole log would be."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import perdure
from perdure.errors import LogError
from perdure.log.formats.growing import Growing
from perdure.log.formats.l2logger import L2LOGGER
from perdure.log.model import Lifetime
from perdure.log.read import Options
from perdure.log.tsv import parsed

OPTIONS = Options(cache=False)


def written(folder: Path, rng: np.random.Generator, blocks: int, extra: bool) -> Path:
    with perdure.Journal(folder, "life", ["reward"]) as journal:
        experience = 0
        for block in range(blocks):
            count = int(rng.integers(1, 8))
            more = {"note": [str(one) for one in rng.integers(0, 9, count)]} if extra else {}
            journal.log_many(
                block_num=block, exp_num=np.arange(experience, experience + count),
                block_type=("test", "train")[block % 2], task_name=f"Task_{rng.integers(2)}",
                reward=rng.normal(size=count).round(3), **more,
            )  # fmt: skip
            experience += count
    return folder / "life"


def outcome(reader: object, path: Path) -> Lifetime | str:
    try:
        found = reader.read(path, OPTIONS)  # type: ignore[attr-defined]
    except LogError as problem:
        return str(problem)
    assert isinstance(found, Lifetime)
    return found


def same(one: Lifetime | str, other: Lifetime | str) -> None:
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert one.experiences.equals(other.experiences)
    assert one.experiences.schema == other.experiences.schema
    assert (one.notes, one.complete, one.measures) == (other.notes, other.complete, other.measures)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 8), st.booleans(), st.data())
def test_a_log_cut_at_any_byte_and_grown_is_read_as_the_whole(
    tmp_path: Path, seed: int, blocks: int, extra: bool, data: st.DataObject
) -> None:
    for old in tmp_path.iterdir():
        shutil.rmtree(old)
    source = written(tmp_path, np.random.default_rng(seed), blocks, extra)
    target = tmp_path / "grown" / "life"
    target.mkdir(parents=True)
    for name in ("logger_info.json", "scenario_info.json", "manifest.json"):
        if (source / name).exists():
            shutil.copy(source / name, target / name)
    growing = Growing()
    for file in sorted(source.glob("*/*/data-log.tsv"), key=lambda one: int(one.parent.name.partition("-")[0])):
        content = file.read_bytes()
        grown = target / file.relative_to(source)
        grown.parent.mkdir(parents=True)
        cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=3))
        at = 0
        for cut in [*sorted(cuts), len(content)]:
            with grown.open("ab") as growing_file:
                growing_file.write(content[at:cut])
            at = cut
            same(outcome(growing, target), outcome(L2LOGGER, target))
    shutil.copy(source / "blocks.jsonl", target / "blocks.jsonl")
    same(outcome(growing, target), outcome(L2LOGGER, target))
    same(outcome(growing, target), outcome(L2LOGGER, source))


def test_only_further_bytes_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[int] = []

    def counted(text: bytes, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        lines.append(text.count(b"\n"))
        return parsed(text, schema)

    monkeypatch.setattr("perdure.log.formats.growing.parsed", counted)
    growing = Growing()
    with perdure.Journal(tmp_path, "life", ["reward"]) as journal:
        for block, count in enumerate((50, 3, 4)):
            journal.log_many(
                block_num=block, exp_num=np.arange(block * 100, block * 100 + count), block_type="train",
                task_name="a", reward=np.zeros(count),
            )  # fmt: skip
            growing.read(tmp_path / "life", OPTIONS)
    assert lines == [50, 3, 4]


@pytest.mark.parametrize("harm", ["cut", "replaced", "removed", "retyped"])
def test_what_is_not_growth_is_read_anew(tmp_path: Path, harm: str) -> None:
    life = written(tmp_path, np.random.default_rng(1), 6, extra=True)
    (life / "blocks.jsonl").unlink()
    growing = Growing()
    same(outcome(growing, life), outcome(L2LOGGER, life))
    file = next(life.glob("*/2-test/data-log.tsv"))
    lines = file.read_text().splitlines(keepends=True)
    if harm == "cut":
        file.write_text("".join(lines[:-1]))
    elif harm == "replaced":
        file.write_text("".join([lines[0], *lines[:0:-1]]))
        os.utime(file, ns=(1, 1))
    elif harm == "removed":
        shutil.rmtree(file.parent)
    else:
        with next(life.glob("*/5-train/data-log.tsv")).open("a") as grown:
            row = lines[-1].split("\t")
            header = lines[0].rstrip("\n").split("\t")
            row[header.index("block_num")], row[header.index("exp_num")] = "5", "9999"
            row[header.index("block_type")] = "train"
            row[header.index("note")] = "a word\n" if header[-1] == "note" else "a word"
            grown.write("\t".join(row))
    same(outcome(growing, life), outcome(L2LOGGER, life))
    same(outcome(growing, life), outcome(L2LOGGER, life))


def test_a_block_altered_behind_its_checksum_is_refused(tmp_path: Path) -> None:
    life = written(tmp_path, np.random.default_rng(2), 4, extra=False)
    file = next(life.glob("*/1-train/data-log.tsv"))
    file.write_bytes(file.read_bytes().replace(b"complete", b"complate", 1))
    assert outcome(Growing(), life) == outcome(L2LOGGER, life)
