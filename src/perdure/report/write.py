"""write_report: from logs to one file: a report, a paper's table or a statement of methods, as its suffix says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from perdure import files
from perdure.errors import PerdureError
from perdure.gather.model import Survey
from perdure.gather.survey import Source
from perdure.metrics.engine.settings import Settings
from perdure.report.material import gather, material
from perdure.report.model import Report, report_of
from perdure.report.paper import PaperTable, paper_tables

__all__ = ["FORMATS", "FORMS", "Form", "as_text", "form_of", "table_text", "write_report"]

Form = Literal["report", "table", "methods"]


def _html(report: Report) -> str:
    from perdure.report.formats.html import html

    return html(report)


def _markdown(report: Report) -> str:
    from perdure.report.formats.markdown import markdown

    return markdown(report)


def _latex(report: Report) -> str:
    from perdure.report.formats.latex import latex

    return latex(report)


def _json(report: Report) -> str:
    return json.dumps(report.as_json(), ensure_ascii=False, allow_nan=False, indent=2, default=str) + "\n"


FORMATS: Mapping[str, Callable[[Report], str]] = {".html": _html, ".md": _markdown, ".json": _json, ".tex": _latex}
"""Suffix → what writes it."""


def _latex_table(tables: Sequence[PaperTable], about: str) -> str:
    from perdure.report.formats.paper import latex_table

    return latex_table(tables, about)


def _markdown_table(tables: Sequence[PaperTable], about: str) -> str:
    from perdure.report.formats.paper import markdown_table

    return markdown_table(tables, about)


def _csv_table(tables: Sequence[PaperTable], _about: str) -> str:
    from perdure.report.formats.paper import csv_table

    return csv_table(tables)


TABLES: Mapping[str, Callable[[Sequence[PaperTable], str], str]] = {
    ".tex": _latex_table,
    ".md": _markdown_table,
    ".csv": _csv_table,
}
FORMS: Mapping[Form, tuple[str, ...]] = {
    "report": tuple(FORMATS),
    "table": tuple(TABLES),
    "methods": (".txt", ".md", ".tex"),
}
"""What is written → the suffixes that it may have."""
_USUAL: Mapping[str, Form] = {".tex": "table", ".csv": "table", ".txt": "methods"}


def form_of(target: Path, form: Form | None = None) -> Form:
    """What is written to a file of this name: .tex and .csv are a paper's table unless something else is asked for."""
    suffix = target.suffix.lower()
    chosen = form or _USUAL.get(suffix, "report")
    if suffix not in FORMS[chosen]:
        what = {"report": "a report", "table": "a table", "methods": "a statement of methods"}[chosen]
        raise PerdureError(f"{target}: {what} is written as {', '.join(FORMS[chosen])}, by its suffix")
    return chosen


def as_text(report: Report, suffix: str) -> str:
    """The report as a page, Markdown, JSON or LaTeX."""
    if suffix not in FORMATS:
        raise PerdureError(f"a report is written as {', '.join(FORMATS)}, by its suffix; found {suffix!r}")
    return FORMATS[suffix](report)


def table_text(tables: Sequence[PaperTable], suffix: str, about: str = "") -> str:
    """A paper's tables as LaTeX, Markdown or CSV; `about` says in a comment what made them."""
    if suffix not in TABLES:
        raise PerdureError(f"a table is written as {', '.join(TABLES)}, by its suffix; found {suffix!r}")
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
    **how: Any,
) -> Report:
    """Score the lifetimes at or below `logs` and write what they show to one file; returns the same as data.

    The suffix of `to` chooses the form: .html opens offline in any browser, .md suits a pull request, .json a program;
    .tex and .csv are a paper's table of methods by metrics, .txt is the statement of methods. `form` asks for one of
    the three, "report", "table" or "methods", where a suffix can be several. `baseline` is the method that others
    are compared with, the last if not named. `command` is said in the provenance. `how` is what `perdure.survey` takes
    besides. A survey that `perdure.report.sketched` looked at is taken as it is.
    """
    target = Path(to)
    chosen = form_of(target, form)
    asked = settings.ids if settings and chosen == "table" else ()
    if settings and asked:  # metrics asked for by name restrict what is shown, not what is tested beside it
        settings = replace(settings, metrics=settings.files)
    given = material(logs, group) if isinstance(logs, Survey) else gather(logs, experts, settings, group=group, **how)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    report = report_of(given, title=title, command=command, now=now, baseline=baseline)
    text = _text(report, target.suffix.lower(), chosen, baseline=baseline, metrics=asked, title=title)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.deliver(target, text.encode())
    except OSError as problem:
        raise PerdureError(f"{target}: cannot be written ({problem.strerror or problem})") from problem
    return report


def _text(report: Report, suffix: str, form: Form, *, title: str | None, **how: Any) -> str:
    if form == "report":
        return as_text(report, suffix)
    if form == "methods":
        return _methods(report, suffix)
    made = report.provenance
    about = f"Perdure {made['perdure']}, {made['written']}" + (f": {made['command']}" if made["command"] else "")
    return table_text(paper_tables(report.material, title=title, **how), suffix, about)


def _methods(report: Report, suffix: str) -> str:
    from perdure.report.formats.latex import escaped as tex
    from perdure.report.formats.markdown import escaped as markdown

    written: Mapping[str, Callable[[str], str]] = {".tex": tex, ".md": markdown}
    return written.get(suffix, str)(report.methods) + "\n"
