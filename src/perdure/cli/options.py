"""What the verbs share: options with one spelling, and one way to print JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["Columns", "Json", "Log", "Quiet", "column_mapping", "emit_json"]

Log = Annotated[
    Path, typer.Argument(help="A log: a folder, a table, or a bare name under $L2DATA/logs.", show_default=False)
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write the same facts as JSON ('-' is stdout).")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but results.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="OURS=THEIRS", help="A column of your own table, e.g. exp_num=episode. Repeatable."
    ),
]


def column_mapping(pairs: list[str] | None) -> dict[str, str]:
    """`["exp_num=episode"]` as `{"exp_num": "episode"}`."""
    mapping: dict[str, str] = {}
    for pair in pairs or ():
        ours, equals, theirs = pair.partition("=")
        if not (ours and equals and theirs):
            raise typer.BadParameter(f"--column {pair!r}: expected OURS=THEIRS, as in exp_num=episode")
        mapping[ours] = theirs
    return mapping


def emit_json(facts: Any, target: str) -> None:
    """Write `facts` to a file, or to stdout where `target` is '-'. NaN cannot occur in it."""
    import json

    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, indent=2)
    if target == "-":
        typer.echo(text)
        return
    from perdure import files
    from perdure.errors import PerdureError

    try:
        files.deliver(Path(target), f"{text}\n".encode())
    except OSError as problem:
        raise PerdureError(f"{target}: cannot write JSON there: {problem.strerror}") from problem
