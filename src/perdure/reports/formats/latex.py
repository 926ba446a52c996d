"""The report's tables as LaTeX, for the appendix of a paper: plain tabulars that any class can hold."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.reports import tables
from perdure.reports.model import Report
from perdure.words import number

__all__ = ["escaped", "latex", "needs_lualatex"]

_HYPHENS = re.compile("-(?=-)")  # two of them would be a dash
_GREEK = (
    "α=alpha β=beta γ=gamma δ=delta ε=varepsilon ζ=zeta η=eta θ=theta ι=iota κ=kappa λ=lambda μ=mu ν=nu ξ=xi π=pi "
    "ρ=rho σ=sigma τ=tau υ=upsilon φ=varphi χ=chi ψ=psi ω=omega Γ=Gamma Δ=Delta Θ=Theta Λ=Lambda Ξ=Xi Π=Pi Σ=Sigma "
    "Φ=Phi Ψ=Psi Ω=Omega"
)
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"$<$", ">": r"$>$", "−": r"$-$", "–": r"\textendash{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "*": "{*}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "†": r"$\dagger$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\rightarrow$", "·": r"$\cdot$",
    "±": r"$\pm$", "×": r"$\times$", "′": "'", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}",
    **{letter: rf"$\{name}$" for letter, _, name in (one.partition("=") for one in _GREEK.split())},
}  # fmt: skip
_LAST_OF_PDFLATEX = "\u017f"  # the last letter of Latin Extended-A; beyond it pdfTeX stops at most characters


def latex(report: Report) -> str:
    """The metrics of each group, the comparison and the definitions as tables; needs the package booktabs."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """Text as it stands: no character of a log can be taken for a command; control characters are dropped."""
    return _HYPHENS.sub("-{}", "".join(_SPECIAL.get(one, one) for one in text if one.isprintable()))


def needs_lualatex(text: str) -> bool:
    """Whether a text, escaped already, holds letters that pdfTeX does not know."""
    return any(one > _LAST_OF_PDFLATEX for one in text)


def _lines(report: Report) -> Iterator[str]:
    material = report.material
    yield f"% {_comment(report.title)}, written by Perdure {report.provenance['perdure']}; \\usepackage{{booktabs}}"
    for line in report.leads:
        yield f"% {_comment(line)}"
    for verdict in report.verdicts:
        yield f"% {_comment(verdict.sentence)}"
    for at, group in enumerate(material.groups):
        if report.leads:
            yield from _table(tables.accuracy(material, group), f"matrix-{at + 1}")
        yield from _table(tables.metrics(material, group), f"metrics-{at + 1}", drop=("note",), note=report.rule)
        yield from _table(tables.metrics(material, group, judged=False), f"more-{at + 1}")
    for at, given in enumerate(tables.tallied(report.tally) if report.tally else ()):
        yield from _table(given, f"thresholds-{at + 1}")
    for at, one in enumerate(report.comparisons):
        yield from _table(tables.comparison(one), f"comparison-{at + 1}")
    defined = tables.definitions(material.survey.metrics, report.valued)
    yield from _table(defined, "definitions", drop=("the scenario needs",), wide="what it says")
    yield ""
    yield r"\paragraph{Methods.}"
    yield escaped(report.methods)


def _comment(text: str) -> str:
    return " ".join(text.split())


def _table(
    given: tables.Table, label: str, *, drop: tuple[str, ...] = (), wide: str = "", note: str = ""
) -> Iterator[str]:
    if not given.rows:
        return
    keep = [at for at, column in enumerate(given.columns) if column.name not in drop]
    columns = [given.columns[at] for at in keep]
    kinds = "".join(
        "p{0.4\\linewidth}" if one.name == wide else "r" if one.kind == "number" else "l" for one in columns
    )
    about = " ".join(part for part in (given.note, note) if part)
    yield ""
    yield r"\begin{table}"
    yield rf"  \caption{{{escaped(given.caption)}.{' ' + escaped(about) if about else ''}}}"
    yield rf"  \label{{tab:{label}}}"
    yield r"  \centering\small"
    yield rf"  \begin{{tabular}}{{{kinds}}}"
    yield r"    \toprule"
    yield "    " + " & ".join(escaped(one.name) for one in columns) + r" \\"
    yield r"    \midrule"
    for row in given.rows:
        cells = (row[at] for at in keep)
        texts = (cell if isinstance(cell, str) else number(cell) for cell in cells)
        yield "    " + " & ".join(escaped(text) for text in texts) + r" \\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"
