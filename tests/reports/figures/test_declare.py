"""A figure is one function."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.verbs import run_verb

from perdure import FIGURES, PerdureError, Survey
from perdure.reports.figures import Canvas, Figure, FigureView, NothingToDrawError
from perdure.reports.figures.declare import figure
from perdure.stats.groups import GroupedSurvey


@pytest.fixture
def declared() -> Iterator[str]:
    @figure
    def blank_page(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
        """Draw an empty page."""
        raise NothingToDrawError("it is blank")

    yield "blank-page"
    del FIGURES["blank-page"]


def test_a_figure_is_listed_by_its_functions_name_and_the_first_line_of_its_docstring(declared: str) -> None:
    facts = json.loads(run_verb("figure", "list", "--json", "-").stdout)
    assert facts["figures"][-1] == {"name": declared, "summary": "Draw an empty page."}


def test_a_figure_says_why_there_is_nothing_to_draw(declared: str) -> None:
    with pytest.raises(PerdureError, match="nothing to draw as blank-page: it is blank"):
        FIGURES[declared].draw(GroupedSurvey(Survey((), (), {}, "standard", {}), ()))
