"""What became of what a model could do before, in logs and matrices alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.metrics import matrix_formulas
from perdure.testing import check_metric


def test_it_keeps_the_contract_of_metrics() -> None:
    check_metric(matrix_formulas.general_ability_change)


def life(into: Path, name: str, evaluations: list[tuple[float, float]], direction: str = "higher") -> Path:
    """One task learned, `other` evaluated before and after and never learned."""
    with perdure.Journal(into, name, measures={"score": direction}) as journal:  # type: ignore[dict-item]
        rows = [
            ("test", "other", evaluations[0][0]),
            ("test", "own", 1.0),
            ("train", "own", 1.5),
            ("train", "own", 2.0),
        ]
        rows += [("test", "own", 2.0), ("test", "other", evaluations[0][1])]
        block, last = -1, None
        for number, (mode, task, value) in enumerate(rows):
            block += (mode, task) != last
            last = (mode, task)
            journal.log(block_num=block, exp_num=number, block_type=mode, task_name=task, score=value)
    return into / name


@given(st.floats(-100, 100), st.floats(-100, 100))
def test_it_is_the_difference_as_measured_turned_about_where_lower_is_better(
    tmp_path_factory: pytest.TempPathFactory, before: float, after: float
) -> None:
    into = tmp_path_factory.mktemp("lives")
    for direction, sign in (("higher", 1.0), ("lower", -1.0)):
        score = perdure.score(life(into, direction, [(before, after)], direction))
        assert score.values["general_ability_change"] == pytest.approx(sign * (after - before))


def test_who_learns_everything_has_none(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "all") as journal:
        for number, mode in enumerate(("test", "train", "test")):
            journal.log(block_num=number, exp_num=number, block_type=mode, task_name="own", reward=1.0)
    score = perdure.score(tmp_path / "all")
    assert score.values["general_ability_change"] is None
