"""Baker et al. 2023's tables, recomputed by the example; numbers from the project's outside numbers."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "published"


@pytest.fixture(scope="module")
def recompute() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("recompute")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize(
    ("name", "t"),
    [
        ("DF-CNN", (-2.36, 0.67, -3.00, 21.69, 30.50)),
        ("META-KFO", (-8.20, None, -7.71, 20.70, 31.30)),
        ("RL M15", (-2.37, 3.39, 4.11, -14.43, 1.56)),
        ("Dispersed", (-3.77, 18.81, 3.59, 6.45, 9.06)),  # with the population's sd turned into the sample's
    ],
)
def test_t_follows_from_the_printed_means_and_sds(
    recompute: ModuleType, name: str, t: tuple[float | None, ...]
) -> None:
    found = [one.t for one in recompute.cells() if one.configuration.name == name]
    assert [one is None for one in found] == [one is None for one in t]
    assert [one for one in found if one] == pytest.approx([one for one in t if one], abs=0.005)


def test_the_note_on_dispersed_hrl_is_true_of_every_metric(recompute: ModuleType) -> None:
    row = [one for one in recompute.cells() if one.configuration.name == "Dispersed"]
    assert {one.metric: one.t_agrees for one in row} == {"PM": True, "FT": True, "BT": False, "RP": True, "SE": True}


def test_49_of_90_metrics_lie_above_their_threshold(recompute: ModuleType) -> None:
    found = list(recompute.cells())
    counts = [sum(one.passes for one in found if one.metric == metric) for metric in recompute.METRICS]
    assert (len(found), counts, sum(counts)) == (90, [3, 13, 9, 10, 14], 49)


def test_the_wrong_tail_is_printed_for_upenn_and_argonne_and_nobody_else(recompute: ModuleType) -> None:
    wrong = [one for one in recompute.cells() if one.wrong_tail]
    assert {one.configuration.group for one in wrong} == {"UPenn", "Argonne"}
    below = [one for one in recompute.cells() if one.printed.t is not None and one.printed.t < 0]
    assert {id(one.configuration) for one in below if one.configuration.group in ("UPenn", "Argonne")} == {
        id(one.configuration) for one in wrong
    }
    first = next(recompute.cells())
    assert first.p == pytest.approx(0.988, abs=5e-4)


def test_every_other_p_follows_from_its_t_but_one(recompute: ModuleType) -> None:
    odd = [one for one in recompute.cells() if one.p_agrees is False and not one.wrong_tail]
    assert [(one.configuration.name, one.metric) for one in odd] == [("M12 Condensed", "SE")]


def test_the_example_prints_its_tables(recompute: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    recompute.main()
    said = capsys.readouterr().out
    assert "49 of 90" in said
    assert "2.13 is half the 95 % interval" in said
