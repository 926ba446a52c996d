"""Table: columns and rows of plain values, rendered as HTML, Markdown, LaTeX, CSV, a data frame or for the terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
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


class Column(msgspec.Struct, frozen=True):
    """The head of a column."""

    name: str
    kind: Literal["text", "number", "span", "id", "verdict"] = "text"
    """A span is text that must not be wrapped, such as an interval or a threshold."""
    about: str = ""
    """What its values are."""


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

    def filled(self) -> Table:
        """Return the table without empty columns."""
        return self._with(at for at in range(len(self.columns)) if any(row[at] not in ("", None) for row in self.rows))

    def without(self, *names: str) -> Table:
        """Return the table without the columns of these names."""
        return self._with(at for at, column in enumerate(self.columns) if column.name not in names)

    def _with(self, places: Iterator[int]) -> Table:
        kept = tuple(places)
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return msgspec.structs.replace(self, columns=tuple(self.columns[at] for at in kept), rows=rows)

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
        for at, column in enumerate(self.columns):
            cells = [row[at] for row in self.rows]
            numeric = all(cell is None or not isinstance(cell, str) for cell in cells)
            frame[column.name] = cells if numeric else [texts[at] for texts in self.texts]
        return pl.DataFrame(frame, strict=False)

    def to_csv(self, *, for_spreadsheets: bool = False) -> str:
        """Return CSV; `for_spreadsheets` escapes text that a spreadsheet would run as a formula."""
        from perdure.log.export import without_formula

        def cell_text(cell: Cell) -> Cell:
            return without_formula(cell) if for_spreadsheets and isinstance(cell, str) else cell

        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow([cell_text(column.name) for column in self.columns])
        writer.writerows([cell_text(cell) for cell in row] for row in self.rows)
        return written.getvalue()

    def to_markdown(self) -> str:
        """Return Markdown: the caption in bold, the table, and the note."""
        lines = [
            f"**{escape_markdown(self.caption)}**",
            "",
            f"| {' | '.join(escape_markdown(column.name) for column in self.columns)} |",
            f"|{'|'.join('--:' if column.kind == 'number' else '---' for column in self.columns)}|",
        ]
        for row in self.texts:
            cells = (
                f"**{escape_markdown(cell)}**" if isinstance(cell, Strong) else escape_markdown(cell) for cell in row
            )
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join([*lines, "", *([escape_markdown(self.note)] if self.note else [])])

    def to_latex(self, label: str, *, wide: str = "") -> str:
        """Return a floating table, which needs the package booktabs; the column `wide` is wrapped."""
        kinds = "".join(
            "p{0.4\\linewidth}" if column.name == wide else "r" if column.kind == "number" else "l"
            for column in self.columns
        )
        note = f" {escape_latex(self.note)}" if self.note else ""
        lines = [
            r"\begin{table}",
            rf"  \caption{{{escape_latex(self.caption)}.{note}}}",
            rf"  \label{{tab:{label}}}",
            r"  \centering\small",
            rf"  \begin{{tabular}}{{{kinds}}}",
            r"    \toprule",
            "    " + " & ".join(escape_latex(column.name) for column in self.columns) + r" \\",
            r"    \midrule",
            *("    " + " & ".join(map(escape_latex, row)) + r" \\" for row in self.texts),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines)

    def to_html(self, most: int | None = None) -> str:
        """Return an HTML table without attributes, of at most `most` rows."""
        heads = "".join(f"<th>{escape(column.name)}</th>" for column in self.columns)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.texts[:most])
        body = "".join(f"<tr>{cells}</tr>" for cells in rows)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def to_terminal(self, *, wrap: bool = False) -> RichTable:
        """Return a table for Rich, with names on one line unless `wrap`."""
        from rich.markup import escape as plain
        from rich.table import Table as RichTable

        made = RichTable(title=plain(self.caption), title_justify="left", box=None, pad_edge=False)
        made.padding = (0, 1, 0, 0)
        for column in self.columns:
            if column.kind == "number":
                made.add_column(plain(column.name), justify="right", no_wrap=True)
            else:
                made.add_column(plain(column.name), no_wrap=not wrap, overflow="fold")
        for row in self.texts:
            made.add_row(*(f"[bold]{plain(cell)}[/]" if isinstance(cell, Strong) else plain(cell) for cell in row))
        return made


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
_LAST_OF_PDFLATEX = "\u017f"  # the last letter of Latin Extended-A; pdfTeX knows few characters beyond it


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it is; control characters are dropped."""
    return _HYPHENS.sub("-{}", "".join(_LATEX.get(letter, letter) for letter in text if letter.isprintable()))


def needs_lualatex(text: str) -> bool:
    """Return whether an escaped text has letters that pdfTeX does not know."""
    return any(letter > _LAST_OF_PDFLATEX for letter in text)
