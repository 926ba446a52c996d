"""Errors and notes: their text comes from their fields, and they can be pickled."""

from __future__ import annotations

import pickle

import pytest

from perdure.errors import (
    LearnerError,
    LogError,
    MissingExtraError,
    PerdureError,
    RecordError,
    UnknownNameError,
    WriteError,
    closest,
    message_of,
    nearest,
)
from perdure.log.problem import Note, Problem


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({}, "it broke"),
        ({"fix": "mend it"}, "it broke; mend it"),
        ({"file": "a.tsv"}, "a.tsv: it broke"),
        ({"file": "a.tsv", "line": 3, "fix": "mend it"}, "a.tsv:3: it broke; mend it"),
        ({"where": "block 2"}, "block 2: it broke"),
        ({"file": "a.tsv", "line": 3, "where": "block 2", "fix": "mend it"}, "a.tsv:3: block 2: it broke; mend it"),
    ],
)
@pytest.mark.parametrize("kind", [LogError, RecordError, WriteError, LearnerError])
def test_the_text_of_an_error_is_made_of_its_fields(kind: type[LogError], facts: dict[str, object], text: str) -> None:
    error = kind("it broke", **facts)  # type: ignore[arg-type]
    assert str(error) == text
    sent = pickle.loads(pickle.dumps(error))
    assert (type(sent), str(sent), vars(sent)) == (kind, text, vars(error))


@pytest.mark.parametrize(
    "original",
    [
        UnknownNameError("metric", "meann", ["mean"]),
        MissingExtraError("torch", "torch", "a network"),
        WriteError("the disk is full", file="a.tsv"),
    ],
)
def test_an_error_keeps_its_class_and_fields_when_a_place_is_added(original: PerdureError) -> None:
    wider = (
        original.with_place(where="learner 2")
        .with_place(file="b.toml", line=3)
        .with_place(file="c.toml", where="protocol")
    )
    assert str(wider) == "c.toml: protocol: b.toml:3: " + ": ".join(
        item for item in (original.file, "learner 2", str(original).removeprefix("a.tsv: ")) if item
    )
    assert (wider.what, wider.fix, wider.file, wider.line) == (original.what, original.fix, "c.toml", None)
    assert original.where is None, "the original error is unchanged"
    sent = pickle.loads(pickle.dumps(wider))
    assert (type(sent), str(sent), vars(sent)) == (type(original), str(wider), vars(wider))
    other = LearnerError.from_error(wider)
    assert (type(other), str(other)) == (LearnerError, str(wider))


def test_adding_the_known_file_of_an_error_adds_only_the_line() -> None:
    error = LogError("it broke", file="a.tsv")
    assert str(error.with_place(file="a.tsv", line=3)) == "a.tsv:3: it broke"
    assert str(error.with_place(file="a.tsv", line=3).with_place(file="a.tsv", line=9)) == "a.tsv:3: it broke"


def test_a_note_is_a_string_that_keeps_its_problem() -> None:
    problem = Problem("error", "a.tsv", 3, "the last line is torn", "cut it", tolerated=True)
    sent = pickle.loads(pickle.dumps(Note(problem)))
    assert sent == "a.tsv:3: the last line is torn"
    assert sent.problem == problem


def test_an_unknown_name_keeps_the_fix_apart_from_the_problem() -> None:
    problem = UnknownNameError("metric", "meann", ["mean", "median"])
    assert (problem.what, problem.fix) == ("unknown metric 'meann'", "did you mean 'mean'?")
    assert closest("xyz", ["mean"]) is None
    assert nearest("xyz", ["mean"]) == "known: mean"


def test_any_exception_has_a_readable_message_that_json_can_encode() -> None:
    class SpeechlessError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    assert message_of(ValueError("as it is: é 😀")) == "as it is: é 😀"
    assert message_of(OSError("caf\udce9.txt")) == "caf\\udce9.txt"
    assert message_of(SpeechlessError()) == "(its message cannot be made: ValueError)"
    assert message_of(ValueError("x" * 10**6)).endswith("xxx … (1,000,000 characters)")
    assert len(message_of(ValueError("\udce9" * 10**6))) < 20_000
