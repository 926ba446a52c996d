"""Colours, markers and lines by task."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.reports.palette import COLOURS, contrast, dark_colours, looks, mix


@given(st.lists(st.text(min_size=1), unique=True, max_size=120))
def test_no_two_of_a_hundred_tasks_look_the_same(tasks: list[str]) -> None:
    seen = [(look.colour, look.shape, look.dash) for look in looks(tasks).values()]
    assert len(set(seen)) == len(seen)


@given(st.lists(st.text(min_size=1), unique=True, min_size=1, max_size=40), st.text(min_size=1))
def test_a_further_task_changes_no_colour(tasks: list[str], further: str) -> None:
    before, after = looks(tasks), looks([*tasks, further])
    assert all(after[task] == colour for task, colour in before.items())


def test_neighbouring_colours_differ_for_the_colour_blind_and_in_grey_by_marker() -> None:
    first = list(looks(str(number) for number in range(8)).values())
    assert len({look.shape for look in first}) == 8
    assert len({look.dash for look in first[:5]}) == 5


def test_every_colour_stands_out_on_white_and_on_dark_paper() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in COLOURS:
        assert 1.05 / (luminance(colour) + 0.05) > 1.9, colour
    for colour in dark_colours():
        assert (luminance(colour) + 0.05) / (luminance("#15181c") + 0.05) > 3, colour


@given(st.floats(0, 1))
def test_a_number_is_readable_on_every_colour_of_a_scale(amount: float) -> None:
    for pale, deep in (("#f1f5f9", "#0a4f86"), ("#ffffff", "#000000")):
        fill = mix(pale, deep, amount)
        assert max(contrast(fill, "#ffffff"), contrast(fill, "#000000")) >= 4.5


def test_black_and_white_have_the_largest_contrast() -> None:
    assert round(contrast("#000000", "#ffffff"), 6) == round(contrast("#ffffff", "#000000"), 6) == 21
    assert contrast("#123456", "#123456") == 1
