"""Hostile protocols: each is refused immediately with a message, like any other invalid protocol."""

from __future__ import annotations

import copy
import tomllib
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import PerdureError, ProtocolError
from perdure.log.manifest import object_text
from perdure.runner.plan import RunPlan
from perdure.runner.protocol import parse_protocol, read_protocol

PROTOCOL = """
name = "x"
lifetimes = 2
experts = 1
[learner]
use = "q-learning"
params = {}
[[scenarios]]
layout = "condensed"
tasks = ["pong:wide"]
learn = 3
[tasks.pong]
params = { points = 1 }
variants = { wide = {} }
"""

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("what", "instead", "words"),
    [
        ("lifetimes = 2", "lifetimes = 1000000000", "'lifetimes' is 1000000000; expected a whole number, 1 to 100,000"),
        ("experts = 1", "experts = 1000000000", "'experts' is 1000000000; expected a whole number, 0 to 100,000"),
        ("lifetimes = 2", 'lifetimes = "auto"\npower = { effect = 1e-9 }', "are more than 100,000 lifetimes"),
        ("learn = 3", "learn = 10000000000000000", "give a whole number from 1 to 1,000,000,000"),
        ("learn = 3", "learn = 3\nsuperblocks = 1000000000", "cannot be divided among 1000000000 superblocks"),
        ("params = {}", f"params = {{ a = {DEEP} }}", "nested too deep to be read"),
        ("params = {}", f"params = {{ a = {'[' * 150}{']' * 150} }}", "nested more than 100 levels deep"),
        ("params = {}", f"params = {{ a{'.a' * 100_000} = 1 }}", ":7: a key of more than 200 parts"),
        ("[tasks.pong]", f"[tasks{'.a' * 100_000}]\n[tasks.pong]", "a key of more than 200 parts"),
        ("lifetimes = 2", f"lifetimes = {'9' * 5000}", "not TOML: Exceeds the limit"),
        (
            "lifetimes = 2",
            f"lifetimes = {'9' * 4000}",
            "lifetimes: a number of 13288 bits; write one that 64 bits hold",
        ),
        ("lifetimes = 2", f"seed = 0x{'f' * 6000}", "seed: a number of 24000 bits"),
        ("points = 1", f"points = {'9' * 4000}", "tasks.pong.params.points: a number of 13288 bits"),
        ("points = 1", "points = 1979-05-27", "points is 1979-05-27, a date; write it as text"),
        ("params = {}", "params = { rate = nan }", "learner.params.rate is nan, which is not finite"),
        ("params = {}", "params = { rate = -1e999 }", "learner.params.rate is -inf, which is not finite"),
        ('"x"', f'"{"x" * 1_000_000}"', "expected a name without slashes, of at most 200 characters"),
        ('"x"', r'"a\u001b]0;pwned\u0007"', "'name' is 'a\\x1b]0;pwned\\x07'"),
        ("wide = {}", 'wide = "text"', "[tasks.pong]: variant 'wide' is 'text'; expected a table"),
        ('layout = "condensed"', r'file = "a\u0000b"', "expected the name of a file"),
    ],
)
def test_a_hostile_protocol_is_refused_with_a_message(tmp_path: Path, what: str, instead: str, words: str) -> None:
    text = PROTOCOL.replace("experts = 1\n", "") if "power" in instead else PROTOCOL
    assert what in text
    if "superblocks" in instead:
        text = text.replace("condensed", "dispersed")
    file = tmp_path / "protocol.toml"
    file.write_text(text.replace(what, instead))
    with pytest.raises(ProtocolError) as refused:
        read_protocol(file)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 1000


VALUES = [
    "text",
    "",
    [],
    [1],
    ["text"],
    {},
    1,
    -1,
    True,
    1.5,
    1.7e308,
    -1.7e308,
    {"a": {"b": 1}},
    [[1]],
    date(1979, 5, 27),
]
PLACES: list[tuple[str | int, ...]] = [
    *(
        (key,)
        for key in [
            "name",
            "seed",
            "lifetimes",
            "experts",
            "learner",
            "scenarios",
            "tasks",
            "pre_deployment",
            "power",
            "seeds",
            "limits",
            "score",
        ]
    ),
    *(("learner", key) for key in ("use", "name", "params")),
    *(("scenarios", 0, *more) for more in ((), ("name",), ("tasks",), ("layout",), ("learn",), ("file",), ("seed",))),
    *(
        ("tasks", "pong", *more)
        for more in ((), ("params",), ("variants",), ("variants", "wide"), ("bounds",), ("env",))
    ),
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_any_value_in_any_place_is_accepted_or_refused_with_a_message(place: tuple[str | int, ...]) -> None:
    for value in VALUES:
        document: Any = tomllib.loads(PROTOCOL)
        index = document
        for key in place[:-1]:
            index = index[key]
        index[place[-1]] = copy.deepcopy(value)
        with suppress(PerdureError):
            protocol = parse_protocol(document)
            assert len(RunPlan(protocol).jobs) > 0
            object_text(protocol.document, "protocol.json")
