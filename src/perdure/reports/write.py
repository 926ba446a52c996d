"""write_report: from logs to one file: a report, a paper's table or a statement of methods, as its suffix says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from perdure import files
from perdure.errors import PerdureError, UnknownName
from perdure.gather.model import Survey
from perdure.gather.survey import Source
from perdure.log.read import refuse_overwriting
from perdure.metrics.engine.settings import Settings
from perdure.registry import Registry
from perdure.reports.data import gather
from perdure.reports.model import Report, report_of
from perdure.reports.paper import PaperTable, paper_tables
from perdure.stats.scored import group_survey

__all__ = ["REPORTS", "Form", "as_text", "form_of", "table_text", "write_report"]

Form = Literal["report", "table", "methods"]


REPORTS: Registry[Callable[[Report], str]] = Registry("report format", "perdure.reports")
"""Suffix → what writes a report of it."""
for _suffix, _function in (
    (".html", "html:html"),
    (".md", "markdown:markdown"),
    (".json", "document:document"),
    (".tex", "latex:latex"),
):
    REPORTS.add_later(_suffix, f"perdure.reports.formats.{_function}")


def _latex_table(tables: Sequence[PaperTable], about: str) -> str:
    from perdure.reports.formats.paper import latex_table

    return latex_table(tables, about)


def _markdown_table(tables: Sequence[PaperTable], about: str) -> str:
    from perdure.reports.formats.paper import markdown_table

    return markdown_table(tables, about)


def _csv_table(tables: Sequence[PaperTable], _about: str, *, for_spreadsheets: bool = False) -> str:
    from perdure.reports.formats.paper import csv_table

    return csv_table(tables, for_spreadsheets=for_spreadsheets)


TABLES: Mapping[str, Callable[[Sequence[PaperTable], str], str]] = {
    ".tex": _latex_table,
    ".md": _markdown_table,
    ".csv": _csv_table,
}
_USUAL: Mapping[str, Form] = {".tex": "table", ".csv": "table", ".txt": "methods"}


def form_of(target: Path, form: Form | None = None) -> Form:
    """What is written to a file of this name: .tex and .csv are a paper's table unless something else is asked for."""
    suffix = target.suffix.lower()
    chosen = form or _USUAL.get(suffix, "report")
    others: Mapping[Form, tuple[str, ...]] = {"table": tuple(TABLES), "methods": (".txt", ".md", ".tex")}
    suffixes = others.get(chosen) or REPORTS.names()
    if suffix not in suffixes:
        what = {"report": "a report", "table": "a table", "methods": "a statement of methods"}[chosen]
        raise PerdureError(
            f"{what} cannot be written as {suffix or 'a file without a suffix'}",
            f"choose one of {', '.join(suffixes)}",
            file=target,
        )
    return chosen


def as_text(report: Report, suffix: str) -> str:
    """The report as a page, Markdown, JSON, LaTeX, or what a plug-in writes."""
    try:
        return REPORTS.get(suffix)(report)
    except UnknownName:
        raise PerdureError(
            f"a report cannot be written as {suffix!r}", f"choose one of {', '.join(REPORTS.names())}"
        ) from None


def table_text(tables: Sequence[PaperTable], suffix: str, about: str = "") -> str:
    """A paper's tables as LaTeX, Markdown or CSV; `about` says in a comment what made them."""
    if suffix not in TABLES:
        raise PerdureError(f"a table cannot be written as {suffix!r}", f"choose one of {', '.join(TABLES)}")
    return TABLES[suffix](tables, about)


def write_report(
    logs: Survey | Source | Sequence[Source],
    to: str | os.PathLike[str] = "report.html",
    *,
    experts: Source | Sequence[Source] = (),
    settings: Settings | None = None,
    title: str | None = None,
    group: str | None = None,
    command: str = "",
    form: Form | None = None,
    baseline: str | None = None,
    for_spreadsheets: bool = False,
    **how: Any,
) -> Report:
    """Score the lifetimes at or below `logs` and write what they show to one file; returns the same as data.

    The suffix of `to` chooses the form: .html opens offline in any browser, .md suits a pull request, .json a program;
    .tex and .csv are a paper's table of methods by metrics, .txt is the statement of methods. `form` asks for one of
    the three, "report", "table" or "methods", where a suffix can be several. `baseline` is the method that others
    are compared with, the last if not named. `for_spreadsheets` escapes text in a .csv that a spreadsheet would run as
    a formula. `command` is said in the provenance. `how` is what `perdure.survey` takes
    besides. A survey that `perdure.reports.sketched` looked at is taken as it is.
    """
    target = Path(to)
    chosen = form_of(target, form)
    several = [one for some in (logs, experts) for one in (some if isinstance(some, list | tuple) else [some])]
    refuse_overwriting(target, [one for one in several if isinstance(one, str | os.PathLike)])
    asked = settings.ids if settings and chosen == "table" else ()
    if settings and asked:  # metrics asked for by name restrict what is shown, not what is tested beside it
        settings = settings.replace(metrics=settings.files)
    if isinstance(logs, Survey):
        data = group_survey(logs, group)
    else:
        data = gather(logs, experts, settings, group=group, **how)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    report = report_of(data, title=title, command=command, now=now, baseline=baseline)
    tables = partial(paper_tables, report.material, title=title, baseline=baseline, metrics=asked)
    if chosen == "table" and target.suffix.lower() == ".csv":
        text = _csv_table(tables(), "", for_spreadsheets=for_spreadsheets)
    else:
        text = _text(report, target.suffix.lower(), chosen, tables)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.deliver(target, text.encode())
    except OSError as problem:
        raise PerdureError(
            f"cannot be written ({problem.strerror or problem})", "choose another place", file=target
        ) from problem
    return report


def _text(report: Report, suffix: str, form: Form, tables: Callable[[], Sequence[PaperTable]]) -> str:
    if form == "report":
        return as_text(report, suffix)
    if form == "methods":
        return _methods(report, suffix)
    made = report.provenance
    about = f"Perdure {made['perdure']}, {made['written']}" + (f": {made['command']}" if made["command"] else "")
    return table_text(tables(), suffix, about)


def _methods(report: Report, suffix: str) -> str:
    from perdure.reports.formats.latex import escaped as tex
    from perdure.reports.formats.markdown import escaped as markdown

    written: Mapping[str, Callable[[str], str]] = {".tex": tex, ".md": markdown}
    return written.get(suffix, str)(report.methods) + "\n"
