"""Every kind of figure, for zero to thirty tasks and every size of paper."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from perdure import figure as draw
from perdure.errors import MissingExtraError, PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.reports.data import gather
from perdure.reports.figures import FIGURES, Figure, FigureView, NothingToDrawError, save_figure
from perdure.reports.figures.curves import lifetime_curves, uses_scaled
from perdure.reports.figures.matrices import mean_matrix
from perdure.reports.palette import looks
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.groups import GroupedSurvey, groups

GatherRun = Callable[..., GroupedSurvey]
NOTHING = GroupedSurvey(Survey((), (), {}, "standard", {}), ())
SVG = "{http://www.w3.org/2000/svg}"


def seen(figure: Figure) -> ET.Element:
    return ET.fromstring(figure.svg())


def words(figure: Figure) -> list[str]:
    return [item.text or "" for item in seen(figure).iter(f"{SVG}text")]


@pytest.mark.parametrize("kind", FIGURES)
def test_nothing_to_draw_is_an_error_that_says_why(kind: str) -> None:
    with pytest.raises(PerdureError, match=f"nothing to draw as {kind}: .+"):
        draw(kind, NOTHING)


@pytest.mark.parametrize("tasks", [1, 3, 30])
def test_every_kind_has_its_words_and_marks_on_the_paper(gather_run: GatherRun, tasks: int) -> None:
    material = gather_run(tasks, 2, ("keeper", "forgetter")[: 2 if tasks < 9 else 1], learn=40, evaluate=3)
    count = 0
    for kind, size in ((kind, size) for kind in FIGURES for size in ("column", "page", 12)):
        try:
            figure = draw(kind, material, size=size)  # type: ignore[arg-type]
        except NothingToDrawError:
            continue
        count += 1
        marks = [item.tag for item in seen(figure).iter() if item.tag in (f"{SVG}path", f"{SVG}rect", f"{SVG}circle")]
        assert len(marks) > 1, kind  # one is the paper
        for item in seen(figure).iter(f"{SVG}text"):
            assert -1 <= float(item.get("x", 0)) <= figure.width + 1, (kind, item.text)
            assert 0 <= float(item.get("y", 0)) <= figure.height + 1, (kind, item.text)
    assert count > 20 if tasks > 1 else count > 10


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_figure_is_the_same_file(gather_run: GatherRun, tmp_path: Path, suffix: str) -> None:
    material = gather_run(2, 1, ("keeper",), learn=30)
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    save_figure(draw("lifetime", material), first)
    save_figure(draw("lifetime", material), second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("size", "inches"), [("column", 3.3), ("page", 6.9), (5, 5.0)])
def test_a_pdf_is_as_wide_as_asked_and_its_letters_are_a_truetype_font(
    gather_run: GatherRun, tmp_path: Path, size: object, inches: float
) -> None:
    target = tmp_path / "life.pdf"
    save_figure(draw("lifetime", gather_run(2, 1, ("keeper",), learn=30), size=size), target)  # type: ignore[arg-type]
    written = target.read_bytes()
    (width,) = {float(item) for item in re.findall(rb"/MediaBox\s*\[\s*0 0 ([0-9.]+)", written)}
    assert width == pytest.approx(inches * 72, abs=0.1)
    assert b"/Type3" not in written
    assert b"/FontFile2" in written


@pytest.mark.skipif(which("pdffonts") is None, reason="poppler lists the fonts of a PDF")
@pytest.mark.parametrize("kind", ["lifetime", "accuracy", "metrics"])
def test_every_font_of_a_pdf_is_embedded_and_none_is_of_type_3(
    gather_run: GatherRun, tmp_path: Path, kind: str
) -> None:
    save_figure(draw(kind, gather_run(3, 3)), tmp_path / "x.pdf")
    listed = subprocess.run(["pdffonts", str(tmp_path / "x.pdf")], capture_output=True, text=True, check=True).stdout
    fonts = listed.splitlines()[2:]
    assert fonts
    for line in fonts:
        assert "TrueType" in line
        assert re.search(r"Identity-H\s+yes\s+yes", line)


def test_text_stays_text_in_svg_and_a_style_sheet_stands_over_its_own(gather_run: GatherRun, tmp_path: Path) -> None:
    save_figure(
        draw("lifetime", gather_run(2, 1, ("keeper",)), title="A title"), tmp_path / "x.svg", style="text{fill:red}"
    )
    result = ET.parse(tmp_path / "x.svg").getroot()
    assert "A title" in [item.text for item in result.iter(f"{SVG}text")]
    (style,) = result.iter(f"{SVG}style")
    assert (style.text or "").endswith("text{fill:red}")


def test_a_title_replaces_the_figures_own_and_an_empty_one_removes_it(gather_run: GatherRun) -> None:
    material = gather_run(2, 1, ("keeper",))
    own = material.lifetimes[0].id
    assert own in words(draw("lifetime", material))
    assert own not in words(draw("lifetime", material, title="another"))
    assert {own, ""}.isdisjoint(words(draw("lifetime", material, title="")))


@pytest.mark.parametrize("size", ["wide", "0.1", 300, "nan"])
def test_a_size_that_is_none_is_refused(gather_run: GatherRun, size: object) -> None:
    with pytest.raises(PerdureError, match="say column, page, or 2 to 40 inches"):
        draw("lifetime", NOTHING, size=size)  # type: ignore[arg-type]


def test_a_task_has_one_colour_in_every_figure(gather_run: GatherRun) -> None:
    material = gather_run(3, 1, ("keeper",))
    look = looks(material.tasks)["task01"]
    for kind in ("lifetime", "trajectories", "scenario", "experts"):
        result = [item for item in seen(draw(kind, material)).iter(f"{SVG}g") if item.get("class") == f"c{look.shade}"]
        assert result, kind
        assert {item.get("color") for item in result} == {look.colour}, kind


def test_figures_of_a_mean_never_mix_groups(gather_run: GatherRun) -> None:
    material = gather_run(3, 2)
    result = {group.group: mean_matrix(material, FigureView(group=group.group)) for group in material.groups}
    final = {name: matrix.cells[0, -1] for name, matrix in result.items()}
    assert final["keeper · condensed"] > final["forgetter · condensed"] + 0.3


def test_steps_move_the_points_but_not_their_heights(gather_run: GatherRun) -> None:
    material = gather_run(2, 1, ("keeper",))
    by_steps, by_experiences = (
        lifetime_curves(material.lifetimes[0], FigureView(axis=axis)) for axis in ("steps", "experiences")
    )
    for item, other in zip(by_steps.learning, by_experiences.learning, strict=True):
        assert (np.diff(item.measured.x) >= 5 - 1e-9).all()
        assert (item.measured.y == other.measured.y).all()
    learning = next(item for item in by_steps.spans if item.mode == "learn")
    assert by_steps.learning[0].measured.x[0] == learning.first
    assert "steps taken" in words(draw("lifetime", material, FigureView(axis="steps")))


def test_a_log_without_steps_says_which_columns_were_looked_for(gather_run: GatherRun) -> None:
    material = gather_run(2, 1, ("keeper",), measures=("reward",))
    with pytest.raises(
        PerdureError, match=r"no column of this log counts steps .*episode_step_count.*over experiences"
    ):
        draw("lifetime", material, FigureView(axis="steps"))


def test_tasks_that_share_no_axis_are_scaled(gather_run: GatherRun) -> None:
    thinned = thinned_lifetime(gather_run(2, 1, ("keeper",)).lifetimes[0])
    span = thinned.ranges["task00"]
    apart = msgspec.structs.replace(thinned, ranges={"task00": span, "task01": replace(span, high=span.high * 100)})
    assert not uses_scaled(thinned, FigureView())
    assert uses_scaled(apart, FigureView())
    assert not uses_scaled(apart, FigureView(values="measured"))


def test_an_unknown_kind_lifetime_group_or_metric_offers_the_nearest(gather_run: GatherRun) -> None:
    material = gather_run(2, 1, ("keeper",))
    with pytest.raises(UnknownNameError, match="did you mean 'lifetime'"):
        draw("livetime", material)
    with pytest.raises(UnknownNameError, match=r"did you mean '.*/lives/keeper-0'"):
        draw("lifetime", material, FigureView(lifetime=material.lifetimes[0].id.replace("keeper", "keper")))
    with pytest.raises(UnknownNameError, match="did you mean 'keeper · condensed'"):
        draw("accuracy", material, FigureView(group="keeper condensed"))
    with pytest.raises(UnknownNameError, match="did you mean 'forward_transfer'"):
        draw("metrics", material, FigureView(metrics=("forward_transfr",)))


def test_a_suffix_that_is_no_picture_is_refused(gather_run: GatherRun, tmp_path: Path) -> None:
    with pytest.raises(PerdureError, match=r"cannot be written as '\.bmp'; choose one of \.svg, \.png, \.pdf"):
        save_figure(draw("lifetime", gather_run(1, 1, ("keeper",))), tmp_path / "life.bmp")


@pytest.mark.parametrize("suffix", [".png", ".pdf"])
def test_without_the_extra_the_command_that_installs_it_is_given(
    gather_run: GatherRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    figure = draw("lifetime", gather_run(1, 1, ("keeper",)))
    save_figure(figure, tmp_path / "life.svg")
    with pytest.raises(MissingExtraError, match=rf"a figure as \{suffix} needs .*pip install 'vl-convert-python"):
        save_figure(figure, tmp_path / f"life{suffix}")
    assert not (tmp_path / f"life{suffix}").exists()


@pytest.mark.parametrize("name", ["a $5 or $6 life", "<script>alert('x')</script>", 'a & b "c"', "\u4e2d\u6587"])
def test_names_from_logs_stand_as_they_are(gather_run: GatherRun, name: str) -> None:
    material = gather_run(1, 1, ("keeper",), experts=False)
    life = material.lifetimes[0]
    score = replace(life.score, identity=replace(life.score.identity, id=name))
    survey = replace(material.survey, lifetimes=(replace(life, score=score),))
    figure = draw("lifetime", GroupedSurvey(survey, ()))
    assert name in words(figure)
    assert not list(seen(figure).iter(f"{SVG}script"))


def test_power_has_a_panel_for_each_group_or_for_the_one_asked_for(gather_run: GatherRun) -> None:
    material = gather_run(3, 3)
    names = [group.group for group in material.groups]
    assert set(names) <= set(words(draw("power", material)))
    assert set(names) & set(words(draw("power", material, FigureView(group=names[1])))) == {names[1]}


def test_an_accuracy_matrix_alone_can_be_drawn(tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    file.write_text("98.5,62.3,55.1\n,97.8,58.6\n,,98.2\n")
    material = gather([file])
    for kind in ("accuracy", "learning-final", "forgetting", "trajectories", "overview"):
        draw(kind, material)
    titles = [item.text for item in seen(draw("forgetting", material)).iter(f"{SVG}title")]
    assert titles == ["task1, lost: 43.4", "task2, lost: 39.2"]


@pytest.mark.parametrize("later", ["98.5", "99.5"])
def test_a_learner_that_loses_nothing_is_drawn_too(tmp_path: Path, later: str) -> None:
    file = tmp_path / "matrix.csv"
    file.write_text(f"98.5,{later},{later}\n,97.8,97.8\n,,98.2\n")
    material = gather([file])
    for kind in ("forgetting", "overview"):
        places = {item.get("y") for item in seen(draw(kind, material)).iter(f"{SVG}rect")}
        assert places
        assert not places & {"nan", "inf", "-inf"}


def test_lifetimes_that_must_not_be_pooled_are_drawn_one_by_one(gather_run: GatherRun) -> None:
    material = gather_run(2, 2)
    mixed = GroupedSurvey(material.survey, (), "different presets")
    with pytest.raises(PerdureError, match="different presets"):
        draw("metrics", mixed)
    assert draw("accuracy", mixed).body
    assert groups(material.survey)


def test_drawing_loads_no_converter_until_a_file_needs_one() -> None:
    code = "import perdure.reports.figures, sys; print('vl_convert' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
