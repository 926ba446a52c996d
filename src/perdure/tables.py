"""Table: columns and rows of plain values, rendered as HTML, Markdown, LaTeX, CSV, a data frame or for the terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from perdure.lazy import pl
from perdure.text import number

if TYPE_CHECKING:
    from rich.table import Table as RichTable


Cell = str | float | int | None


class Strong(str):
    """Text that is shown in bold."""

    __slots__ = ()


class Coloured(str):
    """Text that has a colour in the terminal."""

    colour: str

    def __new__(cls, text: str, colour: str) -> Coloured:
        """Return the text with its colour."""
        cell = super().__new__(cls, text)
        cell.colour = colour
        return cell


class Column(msgspec.Struct, frozen=True):
    """The head of a column."""

    name: str
    kind: Literal["text", "number", "value", "span", "id", "verdict"] = "text"
    """A value is a mean with its interval and stars; a span is other text that must not be wrapped."""
    about: str = ""
    """Description of the cells."""

    @property
    def right(self) -> bool:
        """Whether the cells are aligned on the right."""
        return self.kind in ("number", "value")


class Table(msgspec.Struct, frozen=True):
    """Rows under columns, with a caption and a note."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
        """Return a table of columns without a caption."""
        return cls("", tuple(map(Column, names)), tuple(map(tuple, rows)))

    def drop_empty_columns(self) -> Table:
        """Return the table without empty columns."""
        columns = range(len(self.columns))
        return self.select([place for place in columns if any(row[place] not in ("", None) for row in self.rows)])

    def drop(self, *names: str) -> Table:
        """Return the table without the columns of these names."""
        return self.select([place for place, column in enumerate(self.columns) if column.name not in names])

    def select(self, places: Sequence[int]) -> Table:
        """Return the table with the columns at these positions, in this order."""
        columns = tuple(self.columns[place] for place in places)
        rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        return msgspec.structs.replace(self, columns=columns, rows=rows)

    @property
    def texts(self) -> list[list[str]]:
        """The rows as they are shown; a missing value is a dash."""
        return [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in self.rows]

    def as_data(self) -> dict[str, Any]:
        """Return the table as plain data, from which the script of a page makes a table."""
        columns = [[column.name, column.kind, column.about] for column in self.columns]
        return {"caption": self.caption, "columns": columns, "rows": self.texts, "note": self.note}

    def to_frame(self) -> pl.DataFrame:
        """Return a Polars frame. A column of numbers only stays numeric; other cells are as they are shown."""
        frame: dict[str, list[Any]] = {}
        for place, column in enumerate(self.columns):
            cells = [row[place] for row in self.rows]
            has_text = any(isinstance(cell, str) for cell in cells)
            frame[column.name] = [texts[place] for texts in self.texts] if has_text else cells
        return pl.DataFrame(frame, strict=False)

    def to_csv(self, *, for_spreadsheets: bool = False) -> str:
        """Return CSV; `for_spreadsheets` escapes text that a spreadsheet would run as a formula."""
        from perdure.log.write.export import without_formula

        def cell_text(cell: Cell) -> Cell:
            return without_formula(cell) if for_spreadsheets and isinstance(cell, str) else cell

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([cell_text(column.name) for column in self.columns])
        writer.writerows([cell_text(cell) for cell in row] for row in self.rows)
        return text.getvalue()

    def to_markdown(self) -> str:
        """Return Markdown: the caption in bold, the table, and the note."""
        lines = [
            f"**{escape_markdown(self.caption)}**",
            "",
            f"| {' | '.join(escape_markdown(column.name) for column in self.columns)} |",
            f"|{'|'.join('--:' if column.right else '---' for column in self.columns)}|",
        ]
        for row in self.texts:
            cells = (
                f"**{escape_markdown(cell)}**" if isinstance(cell, Strong) else escape_markdown(cell) for cell in row
            )
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join([*lines, "", *([escape_markdown(self.note)] if self.note else [])])

    def to_latex(self, label: str, *, wide: str = "", fit: bool = False) -> str:
        """Return a floating table, which needs the package booktabs; the column `wide` is wrapped.

        With `fit`, a table that is wider than its page is scaled down, which needs the package graphicx.
        Columns of values need the package siunitx, which aligns their numbers at the decimal point.
        """
        kinds, heads = list[str](), list[str]()
        for place, column in enumerate(self.columns):
            name = escape_latex(column.name)
            if column.kind == "value":
                kinds.append(f"S[table-format={_number_format([texts[place] for texts in self.texts])}]@{{}}l")
                heads.append(rf"\multicolumn{{2}}{{c}}{{{name}}}")
            else:
                kinds.append("p{0.4\\linewidth}" if column.name == wide else "r" if column.right else "l")
                heads.append(name)
        rows = [
            " & ".join(
                _latex_value(cell) if column.kind == "value" else escape_latex(cell)
                for column, cell in zip(self.columns, row, strict=True)
            )
            for row in self.texts
        ]
        lines = [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape_latex(self.caption)}.}}",
            rf"  \label{{tab:{label}}}",
            r"  \small\setlength{\tabcolsep}{4pt}",
            *(
                [r"  \sisetup{text-series-to-math = true}"]
                if "value" in [column.kind for column in self.columns]
                else []
            ),
            *([r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"] if fit else []),
            rf"  \begin{{tabular}}{{{''.join(kinds)}}}",
            r"    \toprule",
            rf"    {' & '.join(heads)} \\",
            r"    \midrule",
            *(rf"    {row} \\" for row in rows),
            r"    \bottomrule",
            r"  \end{tabular}" + ("}" if fit else ""),
        ]
        if self.note:
            lines += [
                r"  \par\smallskip",
                r"  \begin{minipage}{\linewidth}\footnotesize",
                f"    {escape_latex(self.note)}",
                r"  \end{minipage}",
            ]
        return "\n".join([*lines, r"\end{table}"])

    def to_html(self) -> str:
        """Return an HTML table without attributes."""
        heads = "".join(f"<th>{escape(column.name)}</th>" for column in self.columns)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.texts)
        body = "".join(f"<tr>{cells}</tr>" for cells in rows)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def to_terminal(self, *, wrap: bool = False) -> RichTable:
        """Return a table for Rich, with names on one line unless `wrap`."""
        from rich.markup import escape as plain
        from rich.table import Table as RichTable

        table = RichTable(title=plain(self.caption) or None, title_justify="left", box=None, pad_edge=False)
        table.padding = (0, 1, 0, 0)
        for column in self.columns:
            if column.right:
                table.add_column(plain(column.name), justify="right", no_wrap=True)
            else:
                table.add_column(plain(column.name), no_wrap=not wrap, overflow="fold")
        for row in self.texts:
            table.add_row(*map(_terminal_cell, row))
        return table


def _terminal_cell(cell: str) -> str:
    from rich.markup import escape as plain

    style = cell.colour if isinstance(cell, Coloured) else "bold" if isinstance(cell, Strong) else ""
    return f"[{style}]{plain(cell)}[/]" if style else plain(cell)


# --- text of logs in other formats -----------------------------------------------------------------

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#])")
_HYPHENS = re.compile("-(?=-)")  # LaTeX would print two of them as a dash
_GREEK = (
    "α=alpha β=beta γ=gamma δ=delta ε=varepsilon ζ=zeta η=eta θ=theta ι=iota κ=kappa λ=lambda μ=mu ν=nu ξ=xi π=pi "
    "ρ=rho σ=sigma τ=tau υ=upsilon φ=varphi χ=chi ψ=psi ω=omega Γ=Gamma Δ=Delta Θ=Theta Λ=Lambda Ξ=Xi Π=Pi Σ=Sigma "
    "Φ=Phi Ψ=Psi Ω=Omega"
)
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"$<$", ">": r"$>$", "−": r"$-$", "–": r"\textendash{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "*": "{*}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "†": r"$\dagger$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\rightarrow$", "·": r"$\cdot$",
    "±": r"$\pm$", "×": r"$\times$", "′": "'", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}",
    **{letter: rf"$\{name}$" for letter, _, name in (pair.partition("=") for pair in _GREEK.split())},
}  # fmt: skip
_LAST_OF_PDFLATEX = "\u017f"  # last letter of Latin Extended-A; pdfTeX supports few characters beyond it


_VALUE = re.compile(r"(−?\d+(?:\.\d+)?(?:e[−+]?\d+)?)(?: (± \S+?|\[.*?\]))?([*†]*)")
"""A mean, its interval, and the mark of its test."""


def _latex_value(cell: str) -> str:
    """Return a value in two columns: its number, then its interval and mark; both in bold if the cell is."""
    value = _VALUE.fullmatch(cell)
    if not value:
        return f"{{{escape_latex(cell)}}} & "
    mean, spread, mark = value.groups(default="")
    spread = spread.replace("± ", r"{}\pm ").replace("[", r"\;[").replace("−", "-").replace(", ", r",\, ")
    exponent = "^{" + mark.replace("†", r"\dagger") + "}" if mark else ""
    bold, bold_math = (r"\bfseries ", r"\boldmath") if isinstance(cell, Strong) else ("", "")
    rest = f"{bold_math}${spread or '{}'}{exponent}$" if spread or mark else ""
    return f"{bold}{mean.replace('−', '-')} & {rest}"


def _number_format(cells: Sequence[str]) -> str:
    """Return the width of a column's numbers for siunitx: `-2.2`."""
    numbers = [value[1] for cell in cells if (value := _VALUE.fullmatch(cell))]
    sign = "-" if any(number.startswith("−") for number in numbers) else ""
    parts = [number.removeprefix("−").partition("e")[0].partition(".") for number in numbers]
    before = max((len(integer) for integer, _, _ in parts), default=1)
    after = max((len(rest) for _, _, rest in parts), default=0)
    powers = [power for number in numbers if (power := number.partition("e")[2])]
    digits = max((len(power.lstrip("−+0")) or 1 for power in powers), default=0)
    exponent = f"e{'-' if any('−' in power for power in powers) else ''}{digits}" if powers else ""
    return f"{sign}{before}{f'.{after}' if after else ''}{exponent}"


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def escape_latex(text: str) -> str:
    """Escape text for LaTeX, and drop control characters."""
    return _HYPHENS.sub("-{}", "".join(_LATEX.get(letter, letter) for letter in text if letter.isprintable()))


def needs_lualatex(text: str) -> bool:
    """Return whether an escaped text has letters that pdfTeX does not support."""
    return any(letter > _LAST_OF_PDFLATEX for letter in text)
