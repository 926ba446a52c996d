"""Write a report, a paper's table or a statement of methods of logs to one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Unpack

from perdure import files
from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.gather.survey import Sources
from perdure.log.read import refuse_overwriting
from perdure.registry import Registry
from perdure.reports.data import gather
from perdure.reports.model import Report, report_of
from perdure.reports.paper import combine_tables, latex_document, markdown_document, paper_tables
from perdure.settings import Settings, settings_from
from perdure.settings.model import SettingsByName
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


def report(
    logs: Survey | Sources,
    to: str | os.PathLike[str] = "report.html",
    *,
    experts: Sources = (),
    settings: Settings | None = None,
    title: str | None = None,
    form: Form | None = None,
    baseline: str | None = None,
    paired: Want = "auto",
    command: str = "",
    for_spreadsheets: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **by_name: Unpack[SettingsByName],
) -> Report:
    """Write a report, a table for a paper, or a statement of methods.

    Parameters
    ----------
    logs
        Logs, or a survey. A survey has figures only if it was made with ``look=perdure.reports.thin_lifetime``.
    to
        Output file. A report: .html, .md, .json; a paper's table: .tex, .csv; a statement of methods: .txt.
    experts
        Logs of single-task experts.
    settings
        Settings made before.
    title
        Title of the report, or caption of the table.
    form
        ``"report"``, ``"table"`` or ``"methods"``, if the suffix does not decide.
    baseline
        Method that the others are compared with. By default the last.
    paired
        Whether to pair lifetimes that have the same seed and task order.
    command
        Command to show in the provenance.
    for_spreadsheets
        Escape text in a .csv that a spreadsheet would run as a formula.
    progress
        Called with the number of lifetimes that are done and the number of all.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    Report
        The content of the report, as data.

    Raises
    ------
    PerdureError
        If the suffix does not fit the form, or the file cannot be written.

    Examples
    --------
    >>> report = perdure.report("logs", "report.md", title="Replay and naive")
    >>> report.answers[0]
    '4 lifetimes of replay cannot rule out that up to 53 % collapse; on average replay ends ...'
    """
    target = Path(to)
    chosen = form_of(target, form)
    sources = [source for item in (logs, experts) for source in (item if isinstance(item, list | tuple) else [item])]
    refuse_overwriting(target, [source for source in sources if isinstance(source, str | os.PathLike)])
    settings = settings_from(settings, report, **by_name)
    requested = settings.ids if chosen == "table" else ()
    if requested:
        # Requested metrics restrict the columns; Holm's adjustment still covers all headline metrics.
        settings = settings.replace(metrics=settings.files)
    data = group_survey(logs) if isinstance(logs, Survey) else gather(logs, experts, settings, progress=progress)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    content = report_of(data, title=title, command=command, now=now, baseline=baseline, paired=paired)
    suffix = target.suffix.lower()
    if chosen == "table":
        tables = paper_tables(data, title=title, baseline=baseline, metrics=requested, paired=paired)
        footer = f"Perdure {content.provenance['perdure']}, {now}{f': {command}' if command else ''}"
        if suffix == ".csv":
            text = combine_tables(tables).to_csv(for_spreadsheets=for_spreadsheets)
        else:
            text = latex_document(tables, footer) if suffix == ".tex" else markdown_document(tables, footer)
    else:
        text = as_text(content, suffix) if chosen == "report" else _methods_text(content, suffix)
    with files.writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        files.deliver(target, text.encode())
    return content


def _methods_text(report: Report, suffix: str) -> str:
    escapes: Mapping[str, Callable[[str], str]] = {".tex": escape_latex, ".md": escape_markdown}
    return escapes.get(suffix, str)(report.methods) + "\n"
