"""Write a report, a paper's table or a statement of methods of logs to one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from perdure import files
from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.gather.survey import Frame, Source
from perdure.log.read import refuse_overwriting
from perdure.registry import Registry
from perdure.reports.data import gather
from perdure.reports.model import Report, report_of
from perdure.reports.paper import combine_tables, latex_document, markdown_document, paper_tables
from perdure.settings import Settings
from perdure.stats.groups import group_survey
from perdure.stats.pairing import Want
from perdure.tables import escape_latex, escape_markdown

Form = Literal["report", "table", "methods"]


REPORTS: Registry[Callable[[Report], str]] = Registry("report format", "perdure.reports")
"""Suffix → function that returns a report as text."""
REPORTS.add_later(".html", "perdure.reports.formats.html:html")
REPORTS.add_later(".md", "perdure.reports.formats.text:markdown")
REPORTS.add(".json", lambda report: report.to_json() + "\n")
REPORTS.add_later(".tex", "perdure.reports.formats.text:latex")


TABLES = (".tex", ".md", ".csv")
"""Suffixes of a paper's table."""
_USUAL: Mapping[str, Form] = {".tex": "table", ".csv": "table", ".txt": "methods"}


def form_of(target: Path, form: Form | None = None) -> Form:
    """Return the form of a file of this name: .tex and .csv are a paper's table by default."""
    suffix = target.suffix.lower()
    chosen = form or _USUAL.get(suffix, "report")
    others: Mapping[Form, tuple[str, ...]] = {"table": TABLES, "methods": (".txt", ".md", ".tex")}
    suffixes = others.get(chosen) or REPORTS.names()
    if suffix not in suffixes:
        noun = {"report": "a report", "table": "a table", "methods": "a statement of methods"}[chosen]
        raise PerdureError(
            f"{noun} cannot be written as {suffix or 'a file without a suffix'}",
            f"choose one of {', '.join(suffixes)}",
            file=target,
        )
    return chosen


def as_text(report: Report, suffix: str) -> str:
    """Return the report as a page, Markdown, JSON, LaTeX, or in the format of a plug-in."""
    try:
        return REPORTS.get(suffix)(report)
    except UnknownNameError:
        raise PerdureError(
            f"a report cannot be written as {suffix!r}", f"choose one of {', '.join(REPORTS.names())}"
        ) from None


def write_report(
    logs: Survey | Source | Sequence[Source] | Frame,
    to: str | os.PathLike[str] = "report.html",
    *,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    title: str | None = None,
    group: str | None = None,
    command: str = "",
    form: Form | None = None,
    baseline: str | None = None,
    paired: Want = "auto",
    for_spreadsheets: bool = False,
    **how: Any,
) -> Report:
    """Score the lifetimes at or below `logs`, write a report to one file, and return it.

    The suffix of the file chooses its form. An .html page opens offline in any browser, .md suits a pull request, and
    .json a program. A .tex or .csv file is a paper's table of methods by metrics. A .txt file is the statement of
    methods.

    Parameters
    ----------
    logs
        Logs, or a survey of them. Only a survey made with `look=perdure.reports.thin_lifetime` has figures.
    to
        The file.
    experts
        Logs of single-task experts.
    settings
        How logs are read, prepared and scored.
    title
        Title of the report or of the table.
    group
        Pattern that groups lifetimes by their names.
    command
        Command line for the provenance.
    form
        "report", "table" or "methods", for a suffix that several forms share.
    baseline
        Method that others are compared with. [default: the last]
    paired
        Whether lifetimes of the same seed and task order are paired in comparisons: "auto", "yes" or "no".
    for_spreadsheets
        Whether text in a .csv is escaped that a spreadsheet would run as a formula.
    how
        More arguments of `perdure.survey`.
    """
    target = Path(to)
    chosen = form_of(target, form)
    sources = [source for item in (logs, experts) for source in (item if isinstance(item, list | tuple) else [item])]
    refuse_overwriting(target, [source for source in sources if isinstance(source, str | os.PathLike)])
    settings = None if settings is None else Settings.given_or_default(settings)
    requested = settings.ids if settings and chosen == "table" else ()
    if settings and requested:
        # Requested metrics restrict the columns; Holm's adjustment still covers all headline metrics.
        settings = settings.replace(metrics=settings.files)
    if isinstance(logs, Survey):
        data = group_survey(logs, group)
    else:
        data = gather(logs, experts, settings, group=group, **how)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    report = report_of(data, title=title, command=command, now=now, baseline=baseline, paired=paired)
    suffix = target.suffix.lower()
    if chosen == "table":
        tables = paper_tables(data, title=title, baseline=baseline, metrics=requested, paired=paired)
        footer = f"Perdure {report.provenance['perdure']}, {now}{f': {command}' if command else ''}"
        if suffix == ".csv":
            text = combine_tables(tables).to_csv(for_spreadsheets=for_spreadsheets)
        else:
            text = latex_document(tables, footer) if suffix == ".tex" else markdown_document(tables, footer)
    else:
        text = as_text(report, suffix) if chosen == "report" else _methods_text(report, suffix)
    with files.writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        files.deliver(target, text.encode())
    return report


def _methods_text(report: Report, suffix: str) -> str:
    escapes: Mapping[str, Callable[[str], str]] = {".tex": escape_latex, ".md": escape_markdown}
    return escapes.get(suffix, str)(report.methods) + "\n"
