"""A figure is one declaration: what it shows, and the function that draws it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.verbs import run_verb

from perdure import FIGURES, PerdureError
from perdure.reports.draw.data.view import Nothing, View
from perdure.reports.draw.kinds import figure
from perdure.reports.draw.svg.axes import Looks
from perdure.reports.draw.svg.paper import Figure, Paper
from perdure.reports.material import Material


@pytest.fixture
def declared() -> Iterator[str]:
    def nothing(material: Material, view: View | None = None) -> Nothing:
        del material, view
        return Nothing("it is blank")

    @figure(nothing)
    def blank_page(data: object, looks: Looks, paper: Paper) -> Figure:
        """A page with nothing on it."""
        del data, looks
        return Figure(paper.width, 0, "", "nothing")

    yield "blank-page"
    del FIGURES["blank-page"]


def test_a_figure_is_listed_by_its_functions_name_and_the_first_line_of_its_docstring(declared: str) -> None:
    facts = json.loads(run_verb("figure", "list", "--json", "-").stdout)
    assert facts["figures"][-1] == {"name": declared, "summary": "A page with nothing on it."}


def test_where_its_data_is_nothing_a_figure_says_why(declared: str) -> None:
    with pytest.raises(PerdureError, match="nothing to draw as blank-page: it is blank"):
        FIGURES[declared].drawn(Nothing("it is blank"), {})
