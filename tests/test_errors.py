"""Errors and notes are facts: their words are made of these, and they survive the way to another process."""

from __future__ import annotations

import pickle

import pytest

from perdure.errors import (
    LearnerError,
    LogError,
    MissingExtra,
    PerdureError,
    RecordError,
    UnknownName,
    WriteError,
    closest,
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
    made = kind("it broke", **facts)  # type: ignore[arg-type]
    assert str(made) == said
    sent = pickle.loads(pickle.dumps(made))
    assert (type(sent), str(sent), vars(sent)) == (kind, said, vars(made))


@pytest.mark.parametrize(
    "made",
    [
        UnknownName("metric", "meann", ["mean"]),
        MissingExtra("torch", "torch", "a network"),
        WriteError("the disk is full", file="a.tsv"),
    ],
)
def test_an_error_keeps_its_kind_and_facts_in_a_wider_place(made: PerdureError) -> None:
    wider = made.at(file="b.toml", line=3, where="learner 2").at(file="c.toml", line=9, where="protocol")
    file, line = (made.file, None) if made.file else ("b.toml", 3)
    assert (wider.what, wider.fix, wider.file, wider.line) == (made.what, made.fix, file, line)
    assert wider.where == "protocol: learner 2"
    assert str(wider).endswith(f": protocol: learner 2: {made.what}" + (f"; {made.fix}" if made.fix else ""))
    assert made.where is None, "the error itself stays as it was"
    sent = pickle.loads(pickle.dumps(wider))
    assert (type(sent), str(sent), vars(sent)) == (type(made), str(wider), vars(wider))


def test_a_note_is_its_words_and_knows_its_problem() -> None:
    problem = Problem("error", "a.tsv", 3, "the last line is torn", "cut it", tolerated=True)
    sent = pickle.loads(pickle.dumps(Note(problem)))
    assert sent == "a.tsv:3: the last line is torn"
    assert sent.problem == problem


def test_an_unknown_name_says_what_to_do_apart_from_what_is_wrong() -> None:
    problem = UnknownName("metric", "meann", ["mean", "median"])
    assert (problem.what, problem.fix) == ("unknown metric 'meann'", "did you mean 'mean'?")
    assert closest("xyz", ["mean"]) is None
    assert nearest("xyz", ["mean"]) == "known: mean"
