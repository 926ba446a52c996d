"""Labels: a label gives the name and the variant of its task."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from perdure.scenario.model import Task


@given(st.text("ab_", max_size=6))
@example("0_")
@example("_")
@example("_a")
def test_a_task_read_off_a_label_is_written_by_that_label(label: str) -> None:
    assert Task.parse(label).label == label


def test_the_variant_is_the_text_after_the_last_underscore() -> None:
    assert Task.parse("space_invaders_wide") == Task("space_invaders", "wide")
