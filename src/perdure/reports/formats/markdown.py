"""The report as Markdown, for a pull request or a notebook."""

from __future__ import annotations

import json
from collections.abc import Iterator

from perdure.reports import tables
from perdure.reports.model import Report, given_settings
from perdure.tables import Table, escape_markdown

_MARKS = {"met": "✅", "not met": "❌", "undecided": "◻️", "mixed": "🔶", "not measured": "–"}


def markdown(report: Report) -> str:
    """Return verdicts, metrics, comparisons, checklist and provenance; figures are on the page only."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    data = report.data
    yield f"# {escape_markdown(report.title)}"
    yield ""
    for line in report.leads:
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
        for why, names in tables.without_value(group.estimates):
            yield f"- no value of {escape_markdown(names)}: {escape_markdown(why)}"
    for one in tables.tallied(report.tally) if report.tally else ():
        yield from _table(one)
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
    yield from _table(tables.definitions(data.survey.metrics, report.valued))
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
    if given := given_settings(report):
        yield f"Settings given: {escape_markdown(given)}."
    yield ""
    yield "<details><summary>Settings</summary>"
    yield ""
    yield from ("    " + line for line in json.dumps(report.provenance["settings"], indent=1, default=str).splitlines())
    yield ""
    yield "</details>"


def _table(table: Table) -> Iterator[str]:
    table = table.filled()
    if table.rows:
        yield ""
        yield table.to_markdown()
