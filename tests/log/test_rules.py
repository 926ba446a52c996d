"""Rules for records: the writers, the reader and `check` use one table, so that no written record is refused later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import perdure
from perdure.errors import RecordError
from perdure.log.check import check_l2logger
from perdure.log.problem import Problem
from perdure.log.rules import MEASURE, RULES, Rule

RECORD: dict[str, Any] = {"block_num": 0, "exp_num": 0, "block_type": "train", "task_name": "pong", "reward": 1.0}
EVERY = (*RULES.values(), MEASURE)

# Texts that are almost valid for each field, in addition to arbitrary ones.
NEARLY = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="0123456789+-. eE_naifNT", max_size=24),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.datetimes().map(lambda one: one.strftime("%Y%m%dT%H%M%S.%f")),
    st.sampled_from(["train", "test", "wake", "sleep", "complete", "incomplete", "{}", "[]", '{"a": NaN}', "..", "٣"]),
    st.integers(0, 300).map(lambda count: "a" * count),
    st.integers(0, 300).map(lambda count: "0" * count + "7"),
)
VALUES = st.one_of(
    NEARLY,
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.dictionaries(st.text(max_size=5), st.one_of(st.floats(), st.text(max_size=5), st.integers()), max_size=3),
)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.field)
@given(texts=st.lists(NEARLY, min_size=1, max_size=20))
@example(texts=["1\n", "20240102T030405.000000\n", "w\n"])
def test_a_rule_gives_the_same_verdict_for_a_text_and_a_column(rule: Rule, texts: list[str]) -> None:
    broken = [not (rule.sound(text) if text else rule.blank is not None) for text in texts]
    assert rule.broken(pl.Series(texts, dtype=pl.String)).to_list() == broken


def errors_of(problems: tuple[Problem, ...]) -> Iterator[Problem]:
    return (problem for problem in problems if problem.level == "error")


@pytest.mark.parametrize("field", [field for field in RULES if field != "timestamp"] + ["reward", "other"])
@pytest.mark.parametrize("many", [False, True], ids=["log", "log_many"])
@given(value=VALUES)
@example(value=10**18)
@example(value=2**63 - 1)
@example(value=2**63)
@example(value="\ud800")
def test_written_records_are_checked_and_read_without_problems(field: str, many: bool, value: Any) -> None:
    with TemporaryDirectory() as folder:
        journal = perdure.Journal(folder, "life")
        try:
            if many:
                journal.log_many(**{**RECORD, field: value, "exp_num": value if field == "exp_num" else [0]})
            else:
                journal.log(**{**RECORD, field: value})
        except RecordError:
            return
        finally:
            journal.close()
        checked = check_l2logger(journal.path)
        assert checked.rows == 1
        assert not list(errors_of(checked.problems))
        assert perdure.read(journal.path).experiences.height == 1


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.field)
@given(text=NEARLY)
def test_check_refuses_every_line_that_the_reader_refuses(rule: Rule, text: str) -> None:
    cells = dict.fromkeys(("block_num", "exp_num"), "0") | {"worker_id": "w", "block_type": "train"}
    cells |= {"block_subtype": "wake", "task_name": "pong", "task_params": "{}", "exp_status": "complete"}
    cells |= {"timestamp": "", "reward": "1"}
    cells[rule.field if rule.field in cells else "reward"] = '"' + text.replace('"', '""') + '"'
    with TemporaryDirectory() as folder:
        log = Path(folder)
        (log / "logger_info.json").write_text(json.dumps({"metrics_columns": ["reward"]}))
        (log / "w" / "0-train").mkdir(parents=True)
        lines = ["\t".join(cells), "\t".join(cells.values())]
        (log / "w" / "0-train" / "data-log.tsv").write_text("\n".join(lines) + "\n", newline="")
        refused = {error.line for error in errors_of(check_l2logger(log).problems)}
        if refused != {2}:
            assert perdure.read(log).experiences.height == 1
