"""Drawings of a scenario: one line shows a lifetime."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.scenario.compose import compose
from perdure.scenario.draw import cells, lifetime_legend, lifetime_line
from perdure.scenario.model import Block, Scenario
from perdure.scenario.syllabus import parse_syllabus


def draw_plain(scenario: Scenario, width: int) -> str:
    return "".join(cell.symbol for cell in cells(scenario, width))


def test_learning_is_a_capital_and_evaluation_a_small_letter() -> None:
    blocks = [Block("evaluate", "x", 5), Block("learn", "y", 30), Block("evaluate", "y", 5), Block("learn", "x", 60)]
    assert draw_plain(Scenario.of("s", blocks), 13) == "bA███aB██████"


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef"), st.none() | st.integers(1, 10**9)), max_size=300),
    st.integers(1, 120),
)
def test_a_drawing_fits_its_width(rows: list[tuple[bool, str, int | None]], width: int) -> None:
    blocks = [Block("learn" if learn else "evaluate", task, length) for learn, task, length in rows]
    scenario = Scenario.of("s", blocks)
    assert len(cells(scenario, width)) <= width
    assert len(lifetime_line(scenario, width).plain) <= width


def test_every_learning_block_of_a_dispersed_lifetime_is_drawn() -> None:
    tasks = ["a:x", "a:y", "b:x", "b:y", "c:x", "c:y"]
    text = draw_plain(compose("dispersed", tasks, learn=300, evaluate=10).scenario, 78)
    assert sum(symbol.isupper() for symbol in text) == 18
    assert text.count("░") == 19


def test_a_million_blocks_are_drawn_as_any_other_number() -> None:
    syllabus, _ = parse_syllabus(
        json.dumps(
            {
                "instructions": [
                    {"$phase": "1.train"},
                    {"$repeat": [{"$episode": "a"}, {"$episode": "b"}], "count": 50_000},
                ]
            }
        )
    )
    assert len(draw_plain(syllabus.scenario, 80)) == 80


def test_each_task_has_one_colour() -> None:
    scenario = compose("condensed", ["a", "b"], learn=30, evaluate=5).scenario
    line = lifetime_line(scenario, 40)
    colours = {
        line.plain[span.start].lower(): str(span.style).removeprefix("bold ")
        for span in line.spans
        if line.plain[span.start] != "█"
    }
    assert len(set(colours.values())) == len(colours) == 2


def test_the_legend_names_every_task() -> None:
    assert lifetime_legend(compose("condensed", ["a", "b"], learn=30, evaluate=5, seed=1).scenario).plain.startswith(
        ("A a  B b", "A b  B a")
    )


@pytest.mark.parametrize("number", [26, 30])
def test_a_scenario_with_more_tasks_than_letters_can_be_drawn(number: int) -> None:
    scenario = compose("permuted", [f"task{i}" for i in range(number)], learn=30, evaluate=0).scenario
    assert draw_plain(scenario, number).startswith("ABC")
