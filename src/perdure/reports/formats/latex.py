"""The report's tables as LaTeX, for the appendix of a paper: plain tabulars that any class can hold."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from perdure.reports import tables
from perdure.reports.model import Report
from perdure.tables import Table, escape_latex


def latex(report: Report) -> str:
    """Return the tables of metrics, comparisons and definitions; they need the package booktabs."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    data = report.data
    yield f"% {_comment(report.title)}, written by Perdure {report.provenance['perdure']}; \\usepackage{{booktabs}}"
    for line in report.leads:
        yield f"% {_comment(line)}"
    for verdict in report.verdicts:
        yield f"% {_comment(verdict.sentence)}"
    for at, group in enumerate(data.groups):
        if report.leads:
            yield from _float(tables.accuracy(data, group), f"matrix-{at + 1}")
        judged = tables.metrics(data, group).without("note")
        note = " ".join(part for part in (judged.note, report.rule) if part)
        yield from _float(msgspec.structs.replace(judged, note=note), f"metrics-{at + 1}")
        yield from _float(tables.metrics(data, group, judged=False), f"more-{at + 1}")
    for at, given in enumerate(tables.tallied(report.tally) if report.tally else ()):
        yield from _float(given, f"thresholds-{at + 1}")
    for at, one in enumerate(report.comparisons):
        yield from _float(tables.comparison(one), f"comparison-{at + 1}")
    defined = tables.definitions(data.survey.metrics, report.valued)
    yield from _float(defined.without("the scenario needs"), "definitions", wide="definition")
    yield ""
    yield r"\paragraph{Methods.}"
    yield escape_latex(report.methods)


def _comment(text: str) -> str:
    return " ".join(text.split())


def _float(table: Table, label: str, *, wide: str = "") -> Iterator[str]:
    if table.rows:
        yield ""
        yield table.to_latex(label, wide=wide)
