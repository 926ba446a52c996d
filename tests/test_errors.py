"""The text of errors and notes comes from their facts, and both can be sent to another process."""

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
    ("facts", "said"),
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
def test_the_words_of_an_error_are_made_of_its_facts(kind: type[LogError], facts: dict[str, object], said: str) -> None:
    error = kind("it broke", **facts)  # type: ignore[arg-type]
    assert str(error) == said
    sent = pickle.loads(pickle.dumps(error))
    assert (type(sent), str(sent), vars(sent)) == (kind, said, vars(error))


@pytest.mark.parametrize(
    "made",
    [
        UnknownNameError("metric", "meann", ["mean"]),
        MissingExtraError("torch", "torch", "a network"),
        WriteError("the disk is full", file="a.tsv"),
    ],
)
def test_an_error_keeps_its_kind_and_facts_in_a_wider_place(made: PerdureError) -> None:
    wider = (
        made.with_place(where="learner 2").with_place(file="b.toml", line=3).with_place(file="c.toml", where="protocol")
    )
    assert str(wider) == "c.toml: protocol: b.toml:3: " + ": ".join(
        item for item in (made.file, "learner 2", str(made).removeprefix("a.tsv: ")) if item
    )
    assert (wider.what, wider.fix, wider.file, wider.line) == (made.what, made.fix, "c.toml", None)
    assert made.where is None, "the error itself stays as it was"
    sent = pickle.loads(pickle.dumps(wider))
    assert (type(sent), str(sent), vars(sent)) == (type(made), str(wider), vars(wider))
    other = LearnerError.from_error(wider)
    assert (type(other), str(other)) == (LearnerError, str(wider))


def test_of_the_file_that_an_error_knows_only_the_line_is_added() -> None:
    error = LogError("it broke", file="a.tsv")
    assert str(error.with_place(file="a.tsv", line=3)) == "a.tsv:3: it broke"
    assert str(error.with_place(file="a.tsv", line=3).with_place(file="a.tsv", line=9)) == "a.tsv:3: it broke"


def test_a_note_is_its_words_and_knows_its_problem() -> None:
    problem = Problem("error", "a.tsv", 3, "the last line is torn", "cut it", tolerated=True)
    sent = pickle.loads(pickle.dumps(Note(problem)))
    assert sent == "a.tsv:3: the last line is torn"
    assert sent.problem == problem


def test_an_unknown_name_says_what_to_do_apart_from_what_is_wrong() -> None:
    problem = UnknownNameError("metric", "meann", ["mean", "median"])
    assert (problem.what, problem.fix) == ("unknown metric 'meann'", "did you mean 'mean'?")
    assert closest("xyz", ["mean"]) is None
    assert nearest("xyz", ["mean"]) == "known: mean"


def test_any_exception_has_a_message_that_json_and_people_take() -> None:
    class SpeechlessError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    assert message_of(ValueError("as it is: é 😀")) == "as it is: é 😀"
    assert message_of(OSError("caf\udce9.txt")) == "caf\\udce9.txt"
    assert message_of(SpeechlessError()) == "(its message cannot be made: ValueError)"
    assert message_of(ValueError("x" * 10**6)).endswith("xxx … (1,000,000 characters)")
    assert len(message_of(ValueError("\udce9" * 10**6))) < 20_000
