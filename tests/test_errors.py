"""Errors and notes are facts: their words are made of these, and they survive the way to another process."""

from __future__ import annotations

import pickle

import pytest

from perdure.errors import LearnerError, LogError, RecordError, UnknownName, WriteError, closest, nearest
from perdure.log.problem import Note, Problem


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "it broke"),
        ({"fix": "mend it"}, "it broke; mend it"),
        ({"file": "a.tsv"}, "a.tsv: it broke"),
        ({"file": "a.tsv", "line": 3, "fix": "mend it"}, "a.tsv:3: it broke; mend it"),
    ],
)
@pytest.mark.parametrize("kind", [LogError, RecordError, WriteError, LearnerError])
def test_the_words_of_an_error_are_made_of_its_facts(kind: type[LogError], facts: dict[str, object], said: str) -> None:
    made = kind("it broke", **facts)  # type: ignore[arg-type]
    assert str(made) == said
    sent = pickle.loads(pickle.dumps(made))
    assert (type(sent), str(sent), vars(sent)) == (kind, said, vars(made))


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
