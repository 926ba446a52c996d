"""check_reader: a good reader passes, and each breach of the contract is reported."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.log.formats.l2logger import L2LOGGER
from perdure.log.model import Lifetime
from perdure.log.read import Options, Reader
from perdure.log.rules import STANDARD_COLUMNS
from perdure.testing import check_reader, require

ROOT = Path(__file__).parents[2]
LINES = """{"env": "Pong", "mode": "train", "return": 1}
{"env": "Pong", "mode": "train", "return": 2.5}
{"env": "Pong", "mode": "test", "return": 3}
"""


def example() -> Any:
    spec = spec_from_file_location("json_lines", ROOT / "examples" / "reader" / "json_lines.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.READER


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "run.jsonl"
    file.write_text(LINES)
    return file


def test_the_example_reader_keeps_the_contract(log: Path) -> None:
    check_reader(example(), log)
    assert len((ROOT / "examples" / "reader" / "json_lines.py").read_text().splitlines()) <= 60


def test_the_example_reader_gives_the_blocks_of_its_log(log: Path) -> None:
    blocks = example().read(log, Options()).scenario.blocks
    assert [(block.mode, block.task, block.length) for block in blocks] == [
        ("learn", "pong", 2),
        ("evaluate", "pong", 1),
    ]


@pytest.mark.parametrize("bad", ["{", "[]", '{"env": "a", "mode": "nap", "return": 1}', '{"env": "a", "mode": "test"}'])
def test_the_example_reader_names_a_bad_line(bad: str, log: Path) -> None:
    log.write_text(LINES + bad + "\n")
    with pytest.raises(LogError, match=r"run\.jsonl:4: "):
        example().read(log, Options())


@pytest.mark.parametrize("log_folder", ["ll_logs/multi_task", "ste_logs/ste_task1_1_run1"])
def test_the_l2logger_reader_keeps_the_contract(log_folder: str) -> None:
    path = ROOT.parent / "shared" / "data" / "l2metrics-examples" / log_folder
    if not path.exists():
        pytest.skip("the shared example logs are not next to this checkout")
    check_reader(L2LOGGER, path)


class Broken:
    """The example reader with one mistake."""

    name = "broken"
    summary = "a log that is read wrongly"

    def __init__(self, change: Callable[[Lifetime], Any]) -> None:
        self.change = change
        self.good = example()

    def recognises(self, path: Path) -> bool:
        return bool(self.good.recognises(path))

    def read(self, path: Path, options: Options) -> Lifetime:
        changed: Lifetime = self.change(self.good.read(path, options))
        return changed


def rows(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Lifetime], Lifetime]:
    return lambda lifetime: replace(lifetime, experiences=change(lifetime.experiences))


UPWARD: Any = {"return": "up"}
LISTED: Any = ["torn"]
NAME = STANDARD_COLUMNS["task_name"]
BREACHES: list[tuple[Callable[[Lifetime], Any], str]] = [
    (lambda lifetime: lifetime.experiences, "read gave DataFrame; expected a Lifetime"),
    (lambda lifetime: replace(lifetime, id=""), "Lifetime.id is ''"),
    (lambda lifetime: replace(lifetime, measures={}), "no measure is declared"),
    (lambda lifetime: replace(lifetime, measures=UPWARD), "return is 'up'; expected 'higher' or 'lower'"),
    (lambda lifetime: replace(lifetime, measures={"reward": "higher"}), "expected the measures reward"),
    (lambda lifetime: replace(lifetime, notes=LISTED), "expected a tuple of text"),
    (rows(lambda frame: frame.clear()), "no rows"),
    (rows(lambda frame: frame.drop("timestamp")), "the first columns are"),
    (rows(lambda frame: frame.select("return", *STANDARD_COLUMNS)), "the first columns are return"),
    (rows(lambda frame: frame.with_columns(pl.col("block_num").cast(pl.Int32))), "block_num is Int32; expected Int64"),
    (rows(lambda frame: frame.with_columns(pl.col("return").cast(pl.Float32))), "return is Float32; expected Float64"),
    (rows(lambda frame: frame.with_columns(pl.lit("Pong", NAME).alias("task_name"))), "not folded to lower case"),
    (rows(lambda frame: frame.with_columns(pl.lit(None, NAME).alias("worker_id"))), "worker_id is null in 3 rows"),
    (
        rows(lambda frame: frame.with_columns(pl.lit("0").alias("worker_id"))),
        "worker_id is String; expected Categorical",
    ),
    (rows(lambda frame: frame.with_columns(pl.col("exp_num") - 1)), "exp_num is negative"),
    (rows(lambda frame: frame.reverse()), "rows are not in order"),
]


@pytest.mark.parametrize(("change", "message"), BREACHES)
def test_a_breach_of_the_contract_is_named(change: Callable[[Lifetime], Any], message: str, log: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        check_reader(Broken(change), log)
    assert message in str(caught.value)
    assert str(caught.value).startswith("broken: ")


def test_a_reader_that_writes_into_the_log_is_caught(tmp_path: Path, log: Path) -> None:
    def touch(lifetime: Lifetime) -> Lifetime:
        log.write_text(LINES + LINES)
        return lifetime

    with pytest.raises(AssertionError, match="read changed files"):
        check_reader(Broken(touch), log)


def test_a_reader_with_changing_results_is_caught(log: Path) -> None:
    answers = iter((1.0, 2.0))
    shifted = rows(lambda frame: frame.with_columns(pl.col("return") + next(answers)))
    with pytest.raises(AssertionError, match="twice gave two different lifetimes"):
        check_reader(Broken(shifted), log)


class Careless(Broken):
    """A base class for readers that break the contract in one line."""

    def __init__(self) -> None:
        super().__init__(lambda lifetime: lifetime)


class Nameless(Careless):
    name = ""


class Wordy(Careless):
    summary = "two\nlines"


class Eager(Careless):
    def recognises(self, path: Path) -> bool:
        return True


class Shy(Careless):
    def recognises(self, path: Path) -> bool:
        return False


class Touchy(Careless):
    def recognises(self, path: Path) -> bool:
        return path.stat().st_size > 0 and path.suffix == ".jsonl"


class Blunt(Careless):
    def read(self, path: Path, options: Options) -> Lifetime:
        path.read_bytes()
        return super().read(path, options)


class Inventive(Careless):
    seen = Path()

    def read(self, path: Path, options: Options) -> Lifetime:
        known = path if path.exists() else self.seen
        self.seen = known
        return super().read(known, options)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Nameless, "needs a name, one line of text; found ''"),
        (Wordy, "needs a summary, one line of text"),
        (Eager, "recognises is True for an empty folder"),
        (Shy, "is False; expected True"),
        (Touchy, "recognises raised FileNotFoundError"),
        (Blunt, "raised FileNotFoundError: .* expected a LogError"),
        (Inventive, "reading what does not exist gave a lifetime"),
    ],
)
def test_a_careless_reader_is_caught(kind: type[Careless], message: str, log: Path) -> None:
    with pytest.raises(AssertionError, match=message):
        check_reader(kind(), log)


def test_an_object_without_the_methods_is_not_a_reader(log: Path) -> None:
    class Half:
        name = "half"
        summary = "only words"

    half: Any = Half()
    assert not isinstance(half, Reader)
    with pytest.raises(AssertionError, match="half: needs a method 'recognises'"):
        check_reader(half, log)


def test_a_missing_log_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no such log"):
        check_reader(example(), tmp_path / "nothing.jsonl")


def test_require_raises_its_message() -> None:
    require(True, "never said")
    with pytest.raises(AssertionError, match=r"^said$"):
        require(False, "said")
