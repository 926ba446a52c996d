"""Adjusted p-values, in the order given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.stats.interval import holm

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def test_holm_by_hand() -> None:
    # .001 · 3, then .04 · 2, then .5 · 1
    assert holm([0.04, 0.5, 0.001]) == pytest.approx([0.08, 0.5, 0.003])
    assert holm([]) == []


@given(P_VALUES)
def test_holm_lies_between_no_adjustment_and_bonferroni(p_values: list[float]) -> None:
    for raw, stepped in zip(p_values, holm(p_values), strict=True):
        assert raw <= stepped <= min(1, raw * len(p_values)) + 1e-15


@given(P_VALUES, st.randoms())
def test_holm_does_not_depend_on_the_order(p_values: list[float], random: object) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = holm([p_values[at] for at in order])
    assert [shuffled[order.index(at)] for at in range(len(order))] == holm(p_values)
