"""Running one verb in this process, and checking its JSON against the schema that ships with it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec
import typer
from typer.testing import CliRunner, Result

from perdure.schemas import document

__all__ = ["fits", "run_verb"]


def run_verb(verb: str, *arguments: object) -> Result:
    """`perdure VERB …`, wide enough for its tables; an error of ours is kept in `.exception`."""
    module = import_module(f"perdure.cli.{verb}")
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(verb, cls=getattr(module, "COMMAND", None))(getattr(module, verb))
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


def fits(name: str, value: Any) -> None:
    """Assert that `value` is what the struct of the document called `name` says; raises what is wrong, and where."""
    msgspec.convert(value, document(name))
