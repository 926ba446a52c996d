"""Systems × metrics against thresholds, in the form of Baker et al. 2023's Tables 14 and F.19."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.stats.lives import life, lives

from perdure.gather.survey import survey
from perdure.metrics.declare import Threshold
from perdure.metrics.presets import headline
from perdure.metrics.score import Score
from perdure.stats.groups import groups
from perdure.stats.tally import Tally, tally_of_groups, tally_of_systems
from perdure.text import initials

PAPER = "baker-2023"
HEADLINE = headline()
BARS = {name: Threshold(0.0 if name == "performance_maintenance" else 1.0, headline="log") for name in HEADLINE}
FOLDER = Path(__file__).parents[2] / "examples" / "published"


@pytest.fixture(scope="module")
def published() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("recompute")
    finally:
        sys.path.remove(str(FOLDER))


def sample(mean: float, sd: float, n: int) -> np.ndarray:
    """Values with exactly this mean and this sd (ddof 1)."""
    values = np.random.default_rng(n).normal(size=n)
    return np.asarray(mean + sd * (values - values.mean()) / values.std(ddof=1))


def configuration(means: tuple[float, ...], sds: tuple[float, ...], n: int) -> tuple[Score, ...]:
    columns = [sample(mean, sd, n) for mean, sd in zip(means, sds, strict=True)]
    return tuple(
        life(f"life-{at}", seed=at, preset=PAPER, values=dict(zip(HEADLINE, map(float, row), strict=True)))
        for at, row in enumerate(np.transpose(columns))
    )


def whole(published: ModuleType) -> Tally:
    """Table F.19's 18 configurations; where the means are lost, values that give its t."""
    systems = {}
    for one in published.CONFIGURATIONS:
        thresholds = [BARS[name].threshold or 0.0 for name in HEADLINE]
        ts = [cell.t for cell in one.cells]
        means = tuple(bar + (0.0 if t is None else t / one.n**0.5) for bar, t in zip(thresholds, ts, strict=True))
        systems[f"{one.group} {one.name}"] = configuration(means, tuple(0.0 if t is None else 1.0 for t in ts), one.n)
    made = tally_of_systems(systems, BARS)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("n", "means", "sds", "t"),
    [  # Baker et al. 2023, Tables 6 to 8, and the t that follow from them
        (36, (-0.44, 1.01, 0.99, 1.94, 1.61), (1.12, 0.09, 0.02, 0.26, 0.12), (-2.36, 0.67, -3.00, 21.69, 30.50)),
        (36, (-20.81, 1.00, 0.91, 2.38, 3.40), (15.22, 0.0, 0.07, 0.40, 0.46), (-8.20, None, -7.71, 20.70, 31.30)),
        (12, (-14.0, 1.95, 1.19, 0.75, 1.88), (20.5, 0.97, 0.16, 0.06, 1.96), (-2.37, 3.39, 4.11, -14.43, 1.56)),
    ],
)
def test_t_is_what_the_printed_means_and_sds_give(
    n: int, means: tuple[float, ...], sds: tuple[float, ...], t: tuple[float | None, ...]
) -> None:
    made = tally_of_systems({"one": configuration(means, sds, n)}, BARS)
    assert made is not None
    found = [made.rows[0].decisions[name].t for name in HEADLINE]
    assert [one is None for one in found] == [one is None for one in t]
    assert [one for one in found if one is not None] == pytest.approx([one for one in t if one is not None], abs=5e-3)


def test_p_is_of_a_mean_above_the_threshold_where_t_is_negative_too() -> None:
    made = tally_of_systems({"DF-CNN": configuration((-0.44, 1, 1, 1, 1), (1.12, 1, 1, 1, 1), 36)}, BARS)
    assert made is not None
    # Table 14 prints .012, the other tail
    assert made.rows[0].decisions["performance_maintenance"].p == pytest.approx(0.988, abs=5e-4)


def test_49_of_the_90_published_are_met(published: ModuleType) -> None:
    made = whole(published)
    assert made.met() == (49, 90)
    assert [made.met(metric=name) for name in HEADLINE] == [(3, 18), (13, 18), (9, 18), (10, 18), (14, 18)]
    assert made.told.startswith("49 of 90 met")
    assert "all equal" in made.told  # META-KFO's forward transfer


def test_the_counts_of_systems_and_of_metrics_both_add_up(published: ModuleType) -> None:
    made = whole(published)
    by_system = [made.met(system=row.system) for row in made.rows]
    by_metric = [made.met(metric=name) for name in made.metrics]
    assert tuple(map(sum, zip(*by_system, strict=True))) == tuple(map(sum, zip(*by_metric, strict=True))) == made.met()


def test_t_of_the_24_condensed_lifetimes_is_the_published_one(shared: Path) -> None:
    table = survey(shared / "data" / "l2metrics-examples" / "evaluation" / "ll_metrics.tsv")
    made = tally_of_groups(groups(table))
    assert made is not None
    (row,) = (one for one in made.rows if "condensed" in one.system)
    expected = (0.9020, 17.8558, -1.3629, 25.2483, 110.0424)
    assert [row.decisions[name].t for name in HEADLINE] == pytest.approx(list(expected), abs=5e-5)


def test_standard_has_no_such_table_because_its_p_answer_more_than_one_question() -> None:
    assert tally_of_systems({"a": lives([1.0, 2.0, 3.0])}, BARS) is None


def test_a_single_group_has_a_table_of_its_own() -> None:
    assert tally_of_groups(()) is None


def test_metrics_go_by_their_initials() -> None:
    assert [initials(name) for name in HEADLINE] == ["PM", "FT", "BT", "RP", "SE"]
    assert initials("bwt") == "bwt"


def test_initials_are_explained_under_a_table_and_a_name_that_stands_for_itself_is_not() -> None:
    made = tally_of_systems({"one": configuration((1.0,) * 5, (0.5,) * 5, 8)}, BARS)
    assert made is not None
    assert made.told.endswith(f"threshold. {', '.join(f'{initials(name)} {name}' for name in HEADLINE)}.")
    alone = tally_of_systems(
        {"one": lives([1.0, 2.0, 4.0], "bwt", preset=PAPER)}, {"bwt": Threshold(0.0, headline="log")}
    )
    assert alone is not None
    assert alone.told.endswith("of a mean above the threshold.")
