"""Public functions that span several stages, each with the name of its command."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perdure.gather.model import Survey
from perdure.gather.survey import Source
from perdure.settings import Settings
from perdure.stats.groups import GroupedSurvey

if TYPE_CHECKING:
    from perdure.log.accuracy_matrix import Unit
    from perdure.log.formats.matrix import Rows
    from perdure.log.problem import Check
    from perdure.reports.figures import Figure, FigureView, Size
    from perdure.reports.model import Report
    from perdure.reports.write import Form


def check(
    log: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    rows: Rows | None = None,
    unit: Unit | None = None,
) -> Check:
    """Check a log: find every problem, with its file and line."""
    from perdure.log.check import check_log

    return check_log(log, columns=columns, rows=rows, unit=unit)


def report(
    logs: Survey | Source | Sequence[Source],
    to: str | os.PathLike[str] = "report.html",
    *,
    experts: Source | Sequence[Source] = (),
    settings: Settings | None = None,
    title: str | None = None,
    form: Form | None = None,
    baseline: str | None = None,
    for_spreadsheets: bool = False,
    **how: Any,
) -> Report:
    """Write a report, a paper's table or a statement of methods."""
    from perdure.reports.write import write_report

    return write_report(
        logs,
        to,
        experts=experts,
        settings=settings,
        title=title,
        form=form,
        baseline=baseline,
        for_spreadsheets=for_spreadsheets,
        **how,
    )


def figure(
    kind: str,
    logs: GroupedSurvey | Source | Sequence[Source],
    view: FigureView | None = None,
    *,
    size: Size = "page",
    title: str | None = None,
) -> Figure:
    """Draw one figure of lifetimes."""
    from perdure.reports.figures import draw

    return draw(kind, logs, view, size=size, title=title)
