"""The report as Markdown, for a pull request or a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from perdure.reports import tables
from perdure.reports.model import Report, given_settings
from perdure.stats.sentences import sentence
from perdure.words import number

__all__ = ["escaped", "markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")
_MARKS = {"met": "✅", "not met": "❌", "undecided": "◻️", "mixed": "🔶", "not measured": "–"}


def markdown(report: Report) -> str:
    """Verdicts, metrics, comparison, checklist and provenance; figures are left to the page."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """Text from a log as it stands, whatever Markdown would make of it; a table's cell stays one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _lines(report: Report) -> Iterator[str]:
    material = report.material
    yield f"# {escaped(report.title)}"
    yield ""
    for line in report.leads:
        yield escaped(line)
        yield ""
    for group in material.groups if report.leads else ():
        yield from _table(tables.accuracy(material, group))
    for verdict in report.verdicts:
        yield f"- {_MARKS[verdict.verdict]} **{verdict.verdict}** · {escaped(verdict.sentence)}"
    if not report.verdicts:
        yield escaped(material.apart or "No metric here has a threshold, so there is no verdict.")
    for note in report.notes:
        yield ""
        yield f"*{escaped(note)}*"
    yield ""
    yield "## Metrics"
    for group in material.groups:
        yield from _table(tables.metrics(material, group))
        yield from _table(tables.metrics(material, group, judged=False))
        for why, names in tables.without_value(group.estimates):
            yield f"- no value of {escaped(names)}: {escaped(why)}"
    for one in tables.tallied(report.tally) if report.tally else ():
        yield from _table(one)
    yield from _table(tables.capabilities(material))
    yield ""
    yield escaped(report.rule)
    if report.comparisons:
        yield ""
        yield "## Comparison"
        for compared in report.comparisons:
            yield ""
            for difference in compared.differences.values():
                yield f"- {escaped(sentence(difference, compared.system, compared.baseline))}"
            yield from _table(tables.comparison(compared))
    yield ""
    yield "## Lifetimes"
    yield from _table(tables.lifetimes(material))
    yield from _table(tables.costs(material))
    for path, why in material.survey.left_out:
        yield f"- left out: {escaped(path)}: {escaped(why)}"
    yield ""
    yield "## Definitions"
    yield from _table(tables.definitions(material.survey.metrics, report.valued))
    yield ""
    yield "## Statement of methods"
    yield ""
    yield escaped(report.methods)
    yield ""
    yield "## Reporting checklist"
    yield ""
    for item in report.checklist:
        mark = "x" if item.state == "present" else " "
        yield f"- [{mark}] {escaped(item.what)}: {item.state} ({escaped(item.found)})"
    yield ""
    yield "## Provenance"
    yield ""
    if report.provenance.get("command"):
        yield f"To repeat this report: {escaped(str(report.provenance['command']))}"
        yield ""
    yield f"Perdure {report.provenance['perdure']}, preset {report.provenance['preset']}."
    if given := given_settings(report):
        yield f"Settings given: {escaped(given)}."
    yield ""
    yield "<details><summary>Settings</summary>"
    yield ""
    yield from ("    " + line for line in json.dumps(report.provenance["settings"], indent=1, default=str).splitlines())
    yield ""
    yield "</details>"


def _table(given: tables.Table) -> Iterator[str]:
    given = given.filled()
    if not given.rows:
        return
    yield ""
    yield f"**{escaped(given.caption)}**"
    yield ""
    yield "| " + " | ".join(escaped(one.name) for one in given.columns) + " |"
    yield "|" + "|".join("--:" if one.kind == "number" else "---" for one in given.columns) + "|"
    for row in given.rows:
        cells = (cell if isinstance(cell, str) else number(cell) for cell in row)
        yield "| " + " | ".join(escaped(cell) for cell in cells) + " |"
    yield ""
    if given.note:
        yield escaped(given.note)
