"""A log whose rows are let go when it is read is scored as with them."""

from __future__ import annotations

import inspect
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.errors import LogError
from perdure.gather.survey import survey
from perdure.log import cache, lean, plain, tsv
from perdure.log.formats.l2logger import L2LOGGER
from perdure.log.lean import Lean
from perdure.log.model import Lifetime, Passage
from perdure.log.plain import NeedsRows
from perdure.log.read import Options
from perdure.log.write.journal import Journal
from perdure.metrics.engine.settings import Settings

_HEADER = ["block_num", "exp_num", "worker_id", "block_type", "block_subtype", "task_name", "task_params", "exp_status"]
_HEADER += ["timestamp", "reward"]
_ODD = ("incomplete", "missing", "again", "shuffled", "parameters", "column", "workers")


def written(place: Path, rng: random.Random, odd: str = "") -> Path:
    """A life of three tasks, of which a few rows are `odd`."""
    place.mkdir(parents=True)
    (place / "logger_info.json").write_text(json.dumps({"metrics_columns": ["reward"], "log_format_version": "1.1"}))
    experience = 0
    for block in range(12):
        kind = "test" if block % 2 == 0 else "train"
        tasks = ["a", "b", "c_2"] if kind == "test" else [rng.choice(["a", "b", "c_2"])]
        lines: dict[str, list[list[str]]] = {}
        for task in tasks:
            for step in range(rng.randint(3, 30)):
                strange = rng.random() < 0.1
                status = "incomplete" if odd == "incomplete" and strange else "complete"
                value = "" if odd == "missing" and strange else f"{rng.random():.6f}"
                params = json.dumps({"noise": step}) if odd == "parameters" and strange else "{}"
                worker = rng.choice("uv") if odd == "workers" else "w"
                experience += not (odd == "again" and strange)
                time = f"20240101T{experience // 3600:02}{experience // 60 % 60:02}{experience % 60:02}.000000"
                line = [str(block), str(experience), worker, kind, "wake", task, params, status, time, value]
                lines.setdefault(worker, []).append([*line, "0.5"] if odd == "column" else line)
        for worker, rows in lines.items():
            if odd == "shuffled":
                rng.shuffle(rows)
            folder = place / worker / f"{block}-{kind}"
            folder.mkdir(parents=True)
            header = [*_HEADER, "dormant_units"] if odd == "column" else _HEADER
            (folder / "data-log.tsv").write_text("".join("\t".join(one) + "\n" for one in [header, *rows]))
    return place


@pytest.fixture
def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every log is long enough for two threads, and a piece is a block or two, or a part of one."""
    monkeypatch.setattr("perdure.log.lean._WORTH_SHARING", 0)
    monkeypatch.setattr("perdure.log.lean._LONG", 0)
    monkeypatch.setattr("perdure.log.lean._AT_ONCE", 700)


def with_rows(place: Path, settings: Settings | None = None) -> dict[str, Any]:
    """What the rows give: whoever looks at curves gets all of them."""
    return survey(place, settings=settings, look=lambda _curves, _count: None).as_json()


@pytest.mark.parametrize("odd", ["", *_ODD])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("long", [False, True])
def test_scores_without_the_rows_are_those_with_them(tmp_path: Path, odd: str, seed: int, long: bool) -> None:
    place = written(tmp_path / "life", random.Random(f"{odd}{seed}"), odd)
    with pytest.MonkeyPatch.context() as patched:
        if long:
            patched.setattr("perdure.log.lean._WORTH_SHARING", 0)
            patched.setattr("perdure.log.lean._LONG", 0)
            patched.setattr("perdure.log.lean._AT_ONCE", 700)
        assert survey(place).as_json() == with_rows(place)
    agnostic = Settings(variants="agnostic")
    assert survey(place, settings=agnostic).as_json() == with_rows(place, agnostic)


@pytest.mark.parametrize("odd", ["", "incomplete", "missing"])
def test_scores_from_the_copy_are_those_from_the_text(
    tmp_path: Path, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WORTH_KEEPING", 1)
    place = written(tmp_path / "life", random.Random(2), odd)
    expected = survey(place).as_json()
    cache.settle()
    copies = {file.name for file in (place / ".perdure").iterdir()}
    # Of the second, the rows say more than one value each.
    file = place / ".perdure" / ("experiences.parquet" if odd == "missing" else "values.bin")
    assert copies == {file.name, f"{file.stem}.json"}
    monkeypatch.setattr(tsv, "bodies", None)  # so that the text cannot be read
    monkeypatch.setattr(lean, "bodies", None)
    assert survey(place).as_json() == expected
    monkeypatch.undo()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    assert survey(place).as_json() == expected


@pytest.mark.parametrize(
    ("name", "other"), [("values.bin", "experiences.parquet"), ("experiences.parquet", "values.bin")]
)
def test_a_copy_under_the_name_of_the_other_is_as_good_as_none(
    tmp_path: Path, name: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WORTH_KEEPING", 1)
    place = written(tmp_path / "life", random.Random(2))
    expected = survey(place).as_json()
    assert with_rows(place) == expected
    cache.settle()
    folder = place / ".perdure"
    shutil.copy(folder / name, folder / other)
    shutil.copy((folder / name).with_suffix(".json"), (folder / other).with_suffix(".json"))
    assert survey(place).as_json() == expected
    assert with_rows(place) == expected
    cache.settle()


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("odd", ["", *_ODD])
def test_rows_are_let_go_where_values_in_order_say_it_all(tmp_path: Path, odd: str) -> None:
    place = written(tmp_path / "life", random.Random(1), odd)
    life, whole = (L2LOGGER.read(place, Options(lean=few)) for few in (True, False))
    assert isinstance(life.alike, Lean) == (odd in ("", "incomplete", "column"))
    assert life.height == whole.height == whole.experiences.height
    assert life.experiences.equals(whole.experiences)
    for variants in ("name", "agnostic", "params"):
        ours, theirs = life.passage(variants=variants), whole.passage(variants=variants)
        assert ours.values.tolist() == theirs.values.tolist()
        assert ours.scenario == theirs.scenario
        assert dict(ours.dropped) == dict(theirs.dropped)
        assert ours.rows.equals(theirs.rows)
        assert ours.row_starts.tolist() == theirs.row_starts.tolist()
        assert set(ours.columns) == set(theirs.columns)
        blocks = range(len(theirs.scenario.blocks))
        assert list(map(ours.times, blocks)) == list(map(theirs.times, blocks))


@pytest.mark.usefixtures("in_small_pieces")
def test_a_line_that_cannot_be_read_is_named_without_the_rows_too(tmp_path: Path) -> None:
    place = written(tmp_path / "life", random.Random(1))
    file = place / "w" / "7-train" / "data-log.tsv"
    file.write_text(file.read_text().replace("complete", "compleet", 1))
    with pytest.raises(LogError, match=r"7-train/data-log\.tsv:2: .*compleet"):
        L2LOGGER.read(place, Options(lean=True))


_SIGNS = [*'"\t\n\r\x00\x1f 0a-.e', "\ufeff", "é", '""', '"a\tb"', "\n\n", "complete", "1e400", "nan"]


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(["", *_ODD]))
def test_whatever_is_done_to_a_file_both_ways_of_reading_say_the_same(data: st.DataObject, odd: str) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr("perdure.log.lean._WORTH_SHARING", 0)
        patched.setattr("perdure.log.lean._LONG", 0)
        patched.setattr("perdure.log.lean._AT_ONCE", data.draw(st.sampled_from([100, 2000, 1 << 21])))
        place = written(Path(folder, "life"), random.Random(data.draw(st.integers(0, 20))), odd)
        file = data.draw(st.sampled_from(sorted(place.glob("*/*/data-log.tsv"))))
        content = bytearray(file.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            start = data.draw(st.integers(0, len(content)))
            end = start + data.draw(st.sampled_from([0, 1, 2, 9, 60]))
            content[start:end] = data.draw(st.one_of(st.sampled_from(_SIGNS).map(str.encode), st.binary(max_size=3)))
        file.write_bytes(bytes(content))
        assert told(place, few=True) == told(place, few=False)


def told(place: Path, *, few: bool) -> object:
    """What a reader says of a log, or what is wrong with it."""
    try:
        life = L2LOGGER.read(place, Options(lean=few, cache=False))
        passage = life.passage()
    except LogError as problem:
        return str(problem)
    times = [passage.times(block) for block in range(len(passage.scenario.blocks))]
    return life.notes, life.height, passage.values.tolist(), passage.scenario, dict(passage.dropped), times


def test_a_log_with_parameters_in_quotes_needs_no_rows(tmp_path: Path) -> None:
    place = written(tmp_path / "life", random.Random(3))
    for file in place.glob("*/*/data-log.tsv"):
        file.write_text(file.read_text().replace("{}", '"{""größe"": 2}"'))
    assert isinstance(L2LOGGER.read(place, Options(lean=True)).alike, Lean)
    assert told(place, few=True) == told(place, few=False)


def rewritten(place: Path, header: list[str], changed: dict[str, str]) -> None:
    """The columns in the order of `header`, and some other cells in the third row of each block."""
    for file in place.glob("*/*/data-log.tsv"):
        names, *rows = (line.split("\t") for line in file.read_text().splitlines())
        cells = [dict(zip(names, row, strict=True)) for row in rows]
        cells[2] |= changed
        lines = [header, *([one[name] for name in header] for one in cells)]
        file.write_text("".join("\t".join(line) + "\n" for line in lines))


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize(("first", "cell"), [("reward", "7.0"), ("timestamp", "20240")])
@pytest.mark.parametrize("length", range(1000, 2200, 150))
def test_a_cell_longer_than_a_piece_is_read_whole(tmp_path: Path, first: str, cell: str, length: int) -> None:
    place = written(tmp_path / "life", random.Random(4))
    rewritten(place, [first, *(name for name in _HEADER if name != first)], {first: cell.ljust(length, "0")})
    assert told(place, few=True) == told(place, few=False)


@pytest.mark.parametrize("last", ["task_name", "timestamp", "task_params"])
def test_lines_may_end_in_two_signs_whatever_stands_last(tmp_path: Path, last: str) -> None:
    place = written(tmp_path / "life", random.Random(5))
    rewritten(place, [*(name for name in _HEADER if name != last), last], {})
    for file in place.glob("*/*/data-log.tsv"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert told(place, few=True) == told(place, few=False)


def test_a_return_at_the_end_of_a_cell_is_no_part_of_it(tmp_path: Path) -> None:
    place = written(tmp_path / "life", random.Random(5))
    for file in place.glob("*/*/data-log.tsv"):
        file.write_bytes(file.read_bytes().replace(b"000000\t", b"000000\r\t").replace(b"wake\ta\t", b"wake\ta\r\t"))
    assert told(place, few=True) == told(place, few=False)


def test_a_block_number_may_begin_with_thousands_of_noughts(tmp_path: Path) -> None:
    place = written(tmp_path / "life", random.Random(6))
    file = place / "w" / "5-train" / "data-log.tsv"
    file.write_text(file.read_text().replace("\n5\t", f"\n{'0' * 5000}5\t"))
    assert isinstance(L2LOGGER.read(place, Options(lean=True)).alike, Lean)
    assert told(place, few=True) == told(place, few=False)


@pytest.mark.usefixtures("in_small_pieces")
def test_rows_that_are_looked_at_later_are_those_of_the_values(tmp_path: Path) -> None:
    with Journal(tmp_path, "life") as journal:
        at_work(journal, worker="u", numbers=range(0, 40, 2))
        life = L2LOGGER.read(journal.path, Options(lean=True))
        passage = life.passage()
        at_work(journal, worker="a", numbers=range(1, 40, 2))
        assert passage.rows["reward"].to_list() == passage.values.tolist()
        assert life.experiences.height == life.height == 20


def at_work(journal: Journal, worker: str, numbers: range) -> None:
    for number in numbers:
        journal.log(
            block_num=0, exp_num=number, block_type="train", task_name="a", worker_id=worker, reward=float(number)
        )


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("stops", [KeyboardInterrupt, NeedsRows])
def test_who_stops_one_thread_waits_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: type[BaseException]
) -> None:
    found = tsv.sources(written(tmp_path / "life", random.Random(1)))
    stopped, read = threading.Event(), []

    def records(*given: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            stopped.set()
            raise stops
        stopped.wait()
        time.sleep(0.05)  # until that has been noticed
        read.append(given)
        return plain.records(*given)

    monkeypatch.setattr(lean, "records", records)
    with pytest.raises(stops):
        lean.read_lean(found, ("reward",), [], tsv.Checksums(), lambda: pytest.fail("nobody looks"))
    assert len(read) < len(found) // 2 - 1


def test_a_class_whose_rows_are_fetched_can_be_looked_at() -> None:
    assert {"passage", "scenario"} <= dict(inspect.getmembers(Lifetime)).keys()
    assert not hasattr(Lifetime, "experiences")
    assert not hasattr(Passage, "rows")


def test_scoring_a_log_loads_no_tables(tmp_path: Path) -> None:
    place = written(tmp_path / "life", random.Random(3))
    code = (
        "import sys, perdure.gather.survey as many; many.survey([sys.argv[1]]); "
        "print([name for name in ('polars', 'importlib.metadata') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
