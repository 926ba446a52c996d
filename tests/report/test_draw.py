"""Every kind of figure, for no, one, three and thirty tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perdure.errors import PerdureError, UnknownName
from perdure.gather.model import Survey
from perdure.report.draw import KINDS, View, draw, save
from perdure.report.draw.data import AccuracyData, LifetimeData, accuracy
from perdure.report.draw.data import lifetime as lifetime_data
from perdure.report.material import Material, gather
from perdure.stats.groups import groups

Tell = Callable[..., Material]
NOTHING = Material(Survey((), (), {}, "standard", {}), ())


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_of_nothing_says_so(kind: str) -> None:
    figure = draw(kind, NOTHING)
    assert "Nothing to draw" in " ".join(text.get_text() for text in figure.texts)


@pytest.mark.parametrize("tasks", [1, 3, 30])
def test_every_kind_is_drawn_with_ink_on_it(told: Tell, tmp_path: Path, tasks: int) -> None:
    material = told(tasks, 2, ("keeper", "forgetter")[: 2 if tasks < 9 else 1], learn=40, evaluate=3)
    from matplotlib.image import imread

    for kind in KINDS:
        target = tmp_path / f"{kind}.png"
        save(draw(kind, material), target, dpi=40)
        picture = imread(target)
        assert (picture[..., :3] < 0.95).any(axis=2).mean() > 0.002, kind


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_same_figure_is_the_same_file(told: Tell, tmp_path: Path, suffix: str) -> None:
    material = told(2, 1, ("keeper",), learn=30)
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    save(draw("lifetime", material), first)
    save(draw("lifetime", material), second)
    assert first.read_bytes() == second.read_bytes()


def test_a_task_has_one_colour_in_every_figure(told: Tell) -> None:
    material = told(3, 1, ("keeper",))
    colour = material.looks["task01"].colour
    for kind in ("lifetime", "trajectories"):
        legend = draw(kind, material).legends[0]
        drawn = dict(zip((text.get_text() for text in legend.get_texts()), legend.get_lines(), strict=True))
        assert drawn["task01"].get_color() == colour, kind


def test_figures_of_a_mean_never_mix_groups(told: Tell) -> None:
    material = told(3, 2)
    found = {group.group: accuracy(material, View(group=group.group)) for group in material.groups}
    final = {name: one.cells[0][-1] or 0.0 for name, one in found.items() if isinstance(one, AccuracyData)}
    assert final["keeper · condensed"] > final["forgetter · condensed"] + 0.3


def test_steps_move_the_points_but_not_their_heights(told: Tell) -> None:
    material = told(2, 1, ("keeper",))
    by_steps, by_experiences = (lifetime_data(material, View(axis=axis)) for axis in ("steps", "experiences"))
    assert isinstance(by_steps, LifetimeData)
    assert isinstance(by_experiences, LifetimeData)
    for one, other in zip(by_steps.learning, by_experiences.learning, strict=True):
        assert (np.diff(one.measured.x) >= 5 - 1e-9).all()
        assert (one.measured.y == other.measured.y).all()
    learning = next(one for one in by_steps.spans if one.mode == "learn")
    assert by_steps.learning[0].measured.x[0] == learning.first
    assert draw("lifetime", material, View(axis="steps")).axes[1].get_xlabel() == "steps taken"


def test_a_log_without_steps_says_which_columns_were_looked_for(told: Tell) -> None:
    material = told(2, 1, ("keeper",), measures=("reward",))
    with pytest.raises(
        PerdureError, match=r"no column of this log counts steps .*episode_step_count.*over experiences"
    ):
        draw("lifetime", material, View(axis="steps"))


def test_tasks_that_share_no_axis_are_scaled(told: Tell) -> None:
    from perdure.report.draw.data.lives import used

    sketch = told(2, 1, ("keeper",)).lives[0].sketch
    span = sketch.ranges["task00"]
    apart = replace(sketch, ranges={"task00": span, "task01": replace(span, high=span.high * 100)})
    assert used(sketch, View()) == "measured"
    assert used(apart, View()) == "scaled"
    assert used(apart, View(values="measured")) == "measured"


def test_an_unknown_kind_lifetime_group_or_metric_offers_the_nearest(told: Tell) -> None:
    material = told(2, 1, ("keeper",))
    with pytest.raises(UnknownName, match="did you mean 'lifetime'"):
        draw("livetime", material)
    with pytest.raises(UnknownName, match=r"did you mean '.*/lives/keeper-0'"):
        draw("lifetime", material, View(lifetime=material.lives[0].id.replace("keeper", "keper")))
    with pytest.raises(UnknownName, match="did you mean 'keeper · condensed'"):
        draw("accuracy", material, View(group="keeper condensed"))
    with pytest.raises(UnknownName, match="did you mean 'forward_transfer'"):
        draw("metrics", material, View(metrics=("forward_transfr",)))


def test_a_suffix_that_is_no_picture_is_refused(told: Tell, tmp_path: Path) -> None:
    with pytest.raises(PerdureError, match=r"\.png, \.svg, \.pdf, by its suffix; found '\.bmp'"):
        save(draw("lifetime", NOTHING), tmp_path / "life.bmp")


def test_names_from_logs_are_not_taken_for_mathematics(told: Tell, tmp_path: Path) -> None:
    from perdure.report.draw.matplotlib.axes import short

    assert len(short("x" * 60, 20)) == 20
    material = told(1, 1, ("keeper",), experts=False)
    one = material.lives[0]
    named = replace(one, seen=replace(one.sketch, id="a $5 or $6 life"))
    priced = replace(material, groups=(), survey=replace(material.survey, lives=(named,)))
    save(draw("lifetime", priced), tmp_path / "priced.svg")
    assert "a $5 or $6 life" in (tmp_path / "priced.svg").read_text()


def test_a_long_title_goes_on_in_a_second_line() -> None:
    from perdure.report.draw.matplotlib.axes import wrapped

    assert wrapped("one two", 7) == "one two"
    assert wrapped("one two three", 8) == "one two\nthree"
    assert all(len(line) <= 10 for line in wrapped("a" * 15 + " " + "b" * 40, 10).splitlines())
    assert wrapped("costs $5", 20) == r"costs \$5"


def test_power_has_a_panel_for_each_group_or_for_the_one_asked_for(told: Tell) -> None:
    material = told(3, 3)
    names = [group.group for group in material.groups]
    assert [axes.get_title(loc="left") for axes in draw("power", material).axes] == names
    assert [axes.get_title(loc="left") for axes in draw("power", material, View(group=names[1])).axes] == names[1:]


def test_an_accuracy_matrix_alone_can_be_drawn(tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    file.write_text("98.5,62.3,55.1\n,97.8,58.6\n,,98.2\n")
    material = gather([file])
    for kind in KINDS:
        draw(kind, material)
    (bars,) = (draw("forgetting", material).axes[0].containers,)
    assert [round(bar.get_height(), 1) for bar in bars[0]] == [43.4, 39.2]


def test_lifetimes_that_must_not_be_pooled_are_drawn_one_by_one(told: Tell) -> None:
    material = told(2, 2)
    mixed = replace(material, groups=(), apart="different presets")
    assert "different presets" in draw("metrics", mixed).texts[0].get_text()
    assert draw("accuracy", mixed).axes
    assert groups(material.survey)
