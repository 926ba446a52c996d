"""Running one verb in this process, and checking its JSON against the schema that ships with it."""

from __future__ import annotations

from typing import Any

import msgspec
from typer.testing import CliRunner, Result

from perdure.cli.command import application
from perdure.schemas import document

__all__ = ["fits", "run_verb"]


def run_verb(verb: str, *arguments: object, columns: int = 200) -> Result:
    """`perdure VERB …`, wide enough for its tables; an error of ours is kept in `.exception`."""
    words = [verb, *(str(one) for one in arguments)]
    return CliRunner().invoke(application((verb,)), words, env={"COLUMNS": str(columns)})


def fits(name: str, value: Any) -> None:
    """Assert that `value` is what the struct of the document called `name` says; raises what is wrong, and where."""
    msgspec.convert(value, document(name))
