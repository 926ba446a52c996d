"""The report as Markdown, for a pull request or a notebook, and its tables as LaTeX, for the appendix of a paper."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from perdure.reports import tables
from perdure.reports.model import Report, given_settings
from perdure.tables import Table, escape_latex, escape_markdown

_MARKS = {"met": "✅", "not met": "❌", "undecided": "◻️", "mixed": "🔶", "not measured": "–"}


def markdown(report: Report) -> str:
    """Return verdicts, metrics, comparisons, checklist and provenance; figures are on the page only."""
    return "\n".join(_markdown_lines(report)) + "\n"


def _markdown_lines(report: Report) -> Iterator[str]:
    data = report.data
    yield f"# {escape_markdown(report.title)}"
    yield ""
    for line in (*report.compared, *report.leads):
        yield escape_markdown(line)
        yield ""
    for group in data.groups if report.leads else ():
        yield from _table(tables.accuracy(data, group))
    for verdict in report.verdicts:
        yield f"- {_MARKS[verdict.verdict]} **{verdict.verdict}** · {escape_markdown(verdict.sentence)}"
    if not report.verdicts:
        yield escape_markdown(data.apart or "No metric here has a threshold, so there is no verdict.")
    for note in report.notes:
        yield ""
        yield f"*{escape_markdown(note)}*"
    yield ""
    yield "## Metrics"
    for group in data.groups:
        yield from _table(tables.metrics(data, group))
        yield from _table(tables.metrics(data, group, judged=False))
        for why, names in tables.metrics_without_value(group.estimates):
            yield f"- no value of {escape_markdown(names)}: {escape_markdown(why)}"
    for table in tables.tally_tables(report.tally) if report.tally else ():
        yield from _table(table)
    yield from _table(tables.capabilities(data))
    yield ""
    yield escape_markdown(report.rule)
    if report.comparisons:
        yield ""
        yield "## Comparison"
        for compared in report.comparisons:
            yield ""
            yield from (f"- {escape_markdown(line)}" for line in tables.comparison_sentences(compared))
            yield from _table(tables.comparison(compared))
    yield ""
    yield "## Lifetimes"
    yield from _table(tables.lifetimes(data))
    yield from _table(tables.costs(data))
    for path, why in data.survey.left_out:
        yield f"- left out: {escape_markdown(path)}: {escape_markdown(why)}"
    yield ""
    yield "## Definitions"
    yield from _table(tables.definitions(data, report.valued))
    yield ""
    yield "## Statement of methods"
    yield ""
    yield escape_markdown(report.methods)
    yield ""
    yield "## Reporting checklist"
    yield ""
    for item in report.checklist:
        mark = "x" if item.state == "present" else " "
        yield f"- [{mark}] {escape_markdown(item.what)}: {item.state} ({escape_markdown(item.found)})"
    yield ""
    yield "## Provenance"
    yield ""
    if report.provenance.get("command"):
        yield f"To repeat this report: {escape_markdown(str(report.provenance['command']))}"
        yield ""
    yield f"Perdure {report.provenance['perdure']}, preset {report.provenance['preset']}."
    if settings := given_settings(report):
        yield f"Settings given: {escape_markdown(settings)}."
    yield ""
    yield "<details><summary>Settings</summary>"
    yield ""
    yield from ("    " + line for line in json.dumps(report.provenance["settings"], indent=1, default=str).splitlines())
    yield ""
    yield "</details>"


def _table(table: Table) -> Iterator[str]:
    table = table.drop_empty_columns()
    if table.rows:
        yield ""
        yield table.to_markdown()


def latex(report: Report) -> str:
    """Return the tables of metrics, comparisons and definitions; they need the packages booktabs and graphicx."""
    return "\n".join(_latex_lines(report)) + "\n"


def _latex_lines(report: Report) -> Iterator[str]:
    data = report.data
    written = f"written by Perdure {report.provenance['perdure']}"
    yield f"% {_comment(report.title)}, {written}; \\usepackage{{booktabs,graphicx}}"
    for line in (*report.compared, *report.leads):
        yield f"% {_comment(line)}"
    for verdict in report.verdicts:
        yield f"% {_comment(verdict.sentence)}"
    for index, group in enumerate(data.groups, 1):
        if report.leads:
            yield from _float(tables.accuracy(data, group), f"matrix-{index}")
        judged = tables.metrics(data, group).drop("note")
        note = " ".join(part for part in (judged.note, report.rule) if part)
        yield from _float(msgspec.structs.replace(judged, note=note), f"metrics-{index}")
        yield from _float(tables.metrics(data, group, judged=False), f"more-{index}")
    for index, table in enumerate(tables.tally_tables(report.tally) if report.tally else (), 1):
        yield from _float(table, f"thresholds-{index}")
    for index, compared in enumerate(report.comparisons, 1):
        yield from _float(tables.comparison(compared), f"comparison-{index}")
    defined = tables.definitions(data, report.valued)
    yield from _float(defined.drop("the scenario needs"), "definitions", wide="definition")
    yield ""
    yield r"\paragraph{Methods.}"
    yield escape_latex(report.methods)


def _comment(text: str) -> str:
    return " ".join(text.split())


def _float(table: Table, label: str, *, wide: str = "") -> Iterator[str]:
    if table.rows:
        yield ""
        yield table.to_latex(label, wide=wide, fit=True)
