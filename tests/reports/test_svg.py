"""Paths, words and marks as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perdure.reports.palette import looks
from perdure.reports.svg import Figure, ellipsize, marker, path, text, text_width, wrap_text

PLACES = st.floats(-900, 900)


def read(line: str) -> list[list[tuple[float, float]]]:
    """Return the pieces of a path as points, as a browser reads them."""
    pieces: list[list[tuple[float, float]]] = []
    for letter, rest in re.findall(r"([Mlh])([^Mlh]*)", line):
        given = [int(item) for item in re.findall(r"-?\d+", rest)]
        if letter == "h":
            continue
        for x, y in zip(given[::2], given[1::2], strict=True):
            if letter == "M":
                pieces.append([(x, y)])
            else:
                before = pieces[-1][-1]
                pieces[-1].append((before[0] + x, before[1] + y))
    return [[(x / 10, y / 10) for x, y in piece] for piece in pieces]


@given(st.lists(st.tuples(PLACES, PLACES), min_size=1, max_size=40))
def test_a_path_goes_through_its_points_to_a_twentieth_of_a_pixel(points: list[tuple[float, float]]) -> None:
    x, y = zip(*points, strict=True)
    (pieces,) = read(path(x, y))
    for here in points:
        assert min(abs(here[0] - a) + abs(here[1] - b) for a, b in pieces) <= 0.1 + 1e-9
    assert np.allclose(pieces[-1], points[-1], atol=0.051)


@given(st.lists(st.none() | PLACES, min_size=1, max_size=30))
def test_what_is_absent_is_a_gap_and_nothing_else_is(values: list[float | None]) -> None:
    y = np.array([np.nan if item is None else item for item in values])
    known = np.isfinite(y)
    runs = int((known & ~np.r_[False, known[:-1]]).sum())
    assert len(read(path(np.arange(len(y)), y))) == runs


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60))
def test_any_words_are_well_formed_and_come_back(words: str) -> None:
    svg = Figure(100, 100, text(1, 1, words, 10) + marker("star", 5, 5, 3, words), words).svg()
    result = ET.fromstring(svg)
    message = [item.text for item in result.iter("{http://www.w3.org/2000/svg}text")]
    assert message == ([words] if words else [])
    assert result.get("aria-label") == words


@given(st.text(max_size=60))
def test_what_xml_cannot_hold_is_marked_and_the_rest_is_there(words: str) -> None:
    svg = Figure(100, 100, text(1, 1, f"<{words}>", 10) + marker("star", 5, 5, 3, words), words).svg()
    message = ET.fromstring(svg.encode()).find("{http://www.w3.org/2000/svg}text")
    assert message is not None
    assert message.text is not None
    assert len(message.text.replace("\n", "\r")) == len(f"<{words}>".replace("\r\n", "\r"))


@given(st.text(min_size=1, max_size=80), st.floats(10, 400))
def test_a_name_that_is_made_to_fit_fits_and_keeps_its_ends(name: str, room: float) -> None:
    shown = ellipsize(name, 10, room)
    assert text_width(shown, 10) <= room
    if shown and shown != name:
        assert shown[0] == name[0]
        assert shown[-1] == name[-1] or shown[-1] == "…"


def test_a_long_title_goes_on_in_a_second_line() -> None:
    assert wrap_text("one two", 10, 400) == ("one two",)
    lines = wrap_text("a title that is much too long for one line of a narrow column", 10, 200)
    assert len(lines) == 2
    assert all(text_width(line, 10) <= 200 for line in lines)
    assert wrap_text("", 10, 100) == ()


def test_every_marker_can_be_drawn() -> None:
    shapes = {item.shape for item in looks(map(str, range(40))).values()}
    assert len(shapes) == 11
    assert len({marker(shape, 0, 0, 5) for shape in shapes}) == 11
