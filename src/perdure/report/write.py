"""write_report: from logs to one file, in the form that its suffix names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import PerdureError
from perdure.gather.model import Survey
from perdure.gather.survey import Source
from perdure.metrics.engine.settings import Settings
from perdure.report.material import gather, material
from perdure.report.model import Report, report_of

__all__ = ["FORMATS", "as_text", "write_report"]


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


def as_text(report: Report, suffix: str) -> str:
    """The report as a page, Markdown, JSON or LaTeX."""
    if suffix not in FORMATS:
        raise PerdureError(f"a report is written as {', '.join(FORMATS)}, by its suffix; found {suffix!r}")
    return FORMATS[suffix](report)


def write_report(
    logs: Survey | Source | Sequence[Source],
    to: str | os.PathLike[str] = "report.html",
    *,
    experts: Source | Sequence[Source] = (),
    settings: Settings | None = None,
    title: str | None = None,
    group: str | None = None,
    command: str = "",
    **how: Any,
) -> Report:
    """Score the lifetimes at or below `logs` and write what they show to one file; returns the same as data.

    The suffix of `to` chooses the form: .html opens offline in any browser, .md suits a pull request,
    .tex the appendix of a paper, .json a program. `command` is said in the provenance. `how` is what
    `perdure.survey` takes besides. A survey that `perdure.report.sketched` looked at is taken as it is.
    """
    target = Path(to)
    if target.suffix.lower() not in FORMATS:
        raise PerdureError(f"{target}: a report is written as {', '.join(FORMATS)}, by its suffix")
    given = material(logs, group) if isinstance(logs, Survey) else gather(logs, experts, settings, group=group, **how)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    report = report_of(given, title=title, command=command, now=now)
    text = as_text(report, target.suffix.lower())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.deliver(target, text.encode())
    except OSError as problem:
        raise PerdureError(f"{target}: cannot be written ({problem.strerror or problem})") from problem
    return report
