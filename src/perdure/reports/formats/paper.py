"""Tables for papers as LaTeX (booktabs, siunitx), Markdown and CSV: the same cells in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from perdure.reports.paper import Heading, PaperCell, PaperTable
from perdure.tables import Cell, Table, escape_latex, escape_markdown, needs_lualatex
from perdure.text import NOTHING

_NUMBER = re.compile(r"−?\d+(\.\d+)?(e[−+]?\d+)?")


def latex_table(tables: Sequence[PaperTable], about: str = "") -> str:
    r"""Return floats to include with \input; numbers are aligned at their decimal points."""
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
    yield rf"  \caption{{{escape_latex(table.caption)}.}}"
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
        yield rf"    {{{escape_latex(row.method)}}} & {row.n}{cells} \\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    if table.notes:
        yield r"  \par\smallskip"
        yield r"  \begin{minipage}{\linewidth}\footnotesize"
        yield from (f"    {escape_latex(note)}" for note in table.notes)
        yield r"  \end{minipage}"
    yield r"\end{table}"


def _format(cells: Sequence[PaperCell]) -> str:
    """Return the width of a column's numbers for siunitx: `-2.2`."""
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
    unit = f" ({escape_latex(one.unit)})" if one.unit else ""
    return f"{escape_latex(one.brief)}{unit} {escape_latex(one.arrow)}"


def _first(cell: PaperCell) -> str:
    if not _NUMBER.fullmatch(cell.mean):
        return f"{{{escape_latex(cell.mean)}}}"
    return (r"\bfseries " if cell.best else "") + cell.mean.replace("−", "-")


def _second(cell: PaperCell) -> str:
    """Return interval and stars, in bold if the number is."""
    spread = cell.spread.replace("± ", r"{}\pm ").replace("[", r"\;[").replace("−", "-").replace(", ", r",\, ")
    mark = "^{" + cell.mark.replace("†", r"\dagger") + "}" if cell.mark else ""
    if not spread and not mark:
        return ""
    return (r"\boldmath" if cell.best else "") + f"${spread or '{}'}{mark}$"


def markdown_table(tables: Sequence[PaperTable], about: str = "") -> str:
    """Return tables for a README or a supplement; `about` is a comment."""
    lines = [f"<!-- {escape_markdown(about).replace('--', '- -')} -->", ""] if about else []
    for table in tables:
        lines += [table.table().to_markdown(), *([""] if table.notes else [])]
    return "\n".join(lines)


def csv_table(tables: Sequence[PaperTable], *, for_spreadsheets: bool = False) -> str:
    """Return one row per method; with several tables, a first column has their captions."""
    several = len(tables) > 1
    heads = list(dict.fromkeys(heading.text for table in tables for heading in table.headings))
    rows: list[list[Cell]] = []
    for table in tables:
        for row in table.rows:
            texts = {heading.text: cell.text for heading, cell in zip(table.headings, row.cells, strict=True)}
            shown = ("" if (text := texts.get(head, "")) == NOTHING else text for head in heads)
            rows.append([*([table.caption] if several else []), row.method, row.n, *shown])
    names = [*(["table"] if several else []), "method", "n", *heads]
    return Table.of(names, rows).to_csv(for_spreadsheets=for_spreadsheets)
