"""A paper's table as LaTeX (booktabs, siunitx), Markdown and CSV: the same cells in each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from perdure.log.export import without_formula
from perdure.reports.formats.latex import escaped as tex
from perdure.reports.formats.latex import needs_lualatex
from perdure.reports.formats.markdown import escaped as md
from perdure.reports.paper import Cell, Heading, PaperTable
from perdure.words import NOTHING

__all__ = ["csv_table", "latex_table", "markdown_table"]

_NUMBER = re.compile(r"−?\d+(\.\d+)?(e[−+]?\d+)?")


def latex_table(tables: Sequence[PaperTable], about: str = "") -> str:
    r"""Floats to be put in by \input; numbers stand under each other by their decimal points."""
    lines = [
        f"% {' '.join(about.split())}" if about else "",
        r"% In the preamble: \usepackage{booktabs,siunitx}   (siunitx 3 or newer)",
    ]
    made = [line for at, table in enumerate(tables) for line in _float(table, at)]
    if needs_lualatex("".join(made)):
        lines.append("% Some names need LuaLaTeX, and a font that has their letters.")
    return "\n".join([*(line for line in lines if line), *made]) + "\n"


def _float(table: PaperTable, at: int) -> Iterator[str]:
    columns = "".join(
        f"S[table-format={_format([row.cells[place] for row in table.rows])}]@{{}}l"
        for place in range(len(table.headings))
    )
    yield ""
    yield r"\begin{table}"
    yield r"  \centering"
    yield rf"  \caption{{{tex(table.caption)}.}}"
    yield rf"  \label{{tab:perdure-{at + 1}}}"
    yield r"  \small\setlength{\tabcolsep}{4pt}"
    yield r"  \sisetup{text-series-to-math = true}"
    yield rf"  \begin{{tabular}}{{lr{columns}}}"
    yield r"    \toprule"
    heads = "".join(rf" & \multicolumn{{2}}{{c}}{{{_head(one)}}}" for one in table.headings)
    yield rf"    Method & $n${heads} \\"
    yield r"    \midrule"
    for row in table.rows:
        cells = "".join(f" & {_first(cell)} & {_second(cell)}" for cell in row.cells)
        yield rf"    {{{tex(row.method)}}} & {row.n}{cells} \\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    if table.notes:
        yield r"  \par\smallskip"
        yield r"  \begin{minipage}{\linewidth}\footnotesize"
        yield from (f"    {tex(note)}" for note in table.notes)
        yield r"  \end{minipage}"
    yield r"\end{table}"


def _format(cells: Sequence[Cell]) -> str:
    """How wide the column's numbers are, as siunitx asks for it: `-2.2`."""
    numbers = [cell.mean for cell in cells if _NUMBER.fullmatch(cell.mean)]
    sign = "-" if any(one.startswith("−") for one in numbers) else ""
    parts = [one.removeprefix("−").partition("e")[0].partition(".") for one in numbers]
    before = max((len(whole) for whole, _, _ in parts), default=1)
    after = max((len(rest) for _, _, rest in parts), default=0)
    powers = [one.partition("e")[2] for one in numbers if "e" in one]
    power = f"e{'-' if any('−' in one for one in powers) else ''}{max(map(_digits, powers))}" if powers else ""
    return f"{sign}{before}{f'.{after}' if after else ''}{power}"


def _digits(power: str) -> int:
    return len(power.lstrip("−+0")) or 1


def _head(one: Heading) -> str:
    unit = f" ({tex(one.unit)})" if one.unit else ""
    return f"{tex(one.brief)}{unit} {tex(one.arrow)}"


def _first(cell: Cell) -> str:
    if not _NUMBER.fullmatch(cell.mean):
        return f"{{{tex(cell.mean)}}}"
    return (r"\bfseries " if cell.best else "") + cell.mean.replace("−", "-")


def _second(cell: Cell) -> str:
    """The interval and the marks, in bold beside a number in bold."""
    spread = cell.spread.replace("± ", r"{}\pm ").replace("[", r"\;[").replace("−", "-").replace(", ", r",\, ")
    mark = "^{" + cell.mark.replace("†", r"\dagger") + "}" if cell.mark else ""
    if not spread and not mark:
        return ""
    return (r"\boldmath" if cell.best else "") + f"${spread or '{}'}{mark}$"


def markdown_table(tables: Sequence[PaperTable], about: str = "") -> str:
    """Tables for a README or a supplement; what made them stands in a comment."""
    lines = [f"<!-- {md(about).replace('--', '- -')} -->", ""] if about else []
    for table in tables:
        heads = ["Method", "n", *(one.text for one in table.headings)]
        lines += [
            f"**{md(table.caption)}**",
            "",
            f"| {' | '.join(map(md, heads))} |",
            f"|---|{'--:|' * (len(heads) - 1)}",
        ]
        for row in table.rows:
            lines.append(f"| {md(row.method)} | {row.n} | {' | '.join(map(_bold, row.cells))} |")
        lines += ["", *([md(" ".join(table.notes)), ""] if table.notes else [])]
    return "\n".join(lines)


def _bold(cell: Cell) -> str:
    return f"**{md(cell.text)}**" if cell.best else md(cell.text)


def csv_table(tables: Sequence[PaperTable], *, for_spreadsheets: bool = False) -> str:
    """One row per method, the cells as the other forms write them; of several tables the caption says which.

    `for_spreadsheets` escapes what one would run as a formula.
    """
    told = without_formula if for_spreadsheets else str
    heads = list(dict.fromkeys(one.text for table in tables for one in table.headings))
    several = len(tables) > 1
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([*(["table"] if several else []), "method", "n", *map(told, heads)])
    for table in tables:
        for row in table.rows:
            texts = {one.text: cell.text for one, cell in zip(table.headings, row.cells, strict=True)}
            shown = ("" if (text := texts.get(head, "")) == NOTHING else text for head in heads)
            named = [*([table.caption] if several else []), row.method]
            writer.writerow([*map(told, named), row.n, *map(told, shown)])
    return written.getvalue()
