"""A lifetime's records as one table in a file of one's choice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from perdure import files
from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.model import Lifetime
from perdure.log.read import refuse_overwriting

WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".parquet": lambda table, file: table.write_parquet(file),
    ".arrow": lambda table, file: table.write_ipc(file, compat_level=pl.CompatLevel.oldest()),
    ".csv": lambda table, file: table.write_csv(file),
    ".tsv": lambda table, file: table.write_csv(file, separator="\t"),
}


_FORMULA = r"^[=+\-@\t\r\n|%＝＋－＠]"
"""How a cell begins that a spreadsheet may take for a formula (OWASP, CSV injection)."""


def without_formula(text: str) -> str:
    """The text with an apostrophe before it, where a spreadsheet may run it."""
    return f"'{text}" if re.match(_FORMULA, text) else text


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before texts, and names of columns, that a spreadsheet may run; numbers stay."""
    texts = pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    harmless = table.with_columns(pl.when(texts.str.contains(_FORMULA)).then("'" + texts).otherwise(texts).name.keep())
    return harmless.rename({name: without_formula(name) for name in table.columns})


def export(lifetime: Lifetime, to: Path, *, for_spreadsheets: bool = False) -> None:
    """Write every record to `to`; the suffix names the format, and a half-written file never appears."""
    writer = WRITERS.get(to.suffix.lower())
    if writer is None:
        raise LogError(f"no format for the suffix {to.suffix!r}", f"choose one of {', '.join(WRITERS)}", file=to)
    refuse_overwriting(to, [lifetime.path] if lifetime.path is not None else ())
    if not to.parent.is_dir():
        raise LogError(f"cannot be written: there is no folder {to.parent}", "make it first", file=to)
    try:
        with files.replacing(to) as part:
            writer(without_formulas(lifetime.experiences) if for_spreadsheets else lifetime.experiences, part)
    except (OSError, pl.exceptions.PolarsError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        raise LogError(f"cannot be written: {reason}", "choose another place", file=to) from problem
