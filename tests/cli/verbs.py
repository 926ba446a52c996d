"""Running one verb in this process, and checking its JSON against the schema that ships with it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec
from scripts.schemas import document
from typer.testing import CliRunner, Result

from perdure.cli.app import application
from perdure.errors import PerdureError

__all__ = ["Outcome", "fits", "outcome", "run_verb", "scored"]


class Outcome(NamedTuple):
    """The exit status of a command and its output, stdout and stderr together."""

    status: int
    said: str


def run_verb(verb: str, *arguments: object, columns: int = 200) -> Result:
    """`perdure VERB …`, wide enough for its tables; an error of ours is kept in `.exception`."""
    words = [verb, *(str(one) for one in arguments)]
    return CliRunner().invoke(application((verb,)), words, env={"COLUMNS": str(columns)})


def outcome(verb: str, *arguments: object) -> Outcome:
    """Run `perdure VERB …` and return its status and output as a shell has them: an error of ours is status 2."""
    result = run_verb(verb, *arguments)
    if isinstance(result.exception, PerdureError):
        return Outcome(2, f"{result.output}perdure: {result.exception}")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.output)


def scored(*arguments: object) -> tuple[int, dict[str, Any]]:
    """Run `perdure score … --json -` and return its status and its JSON, empty if nothing could be scored."""
    done = run_verb("score", *arguments, "--json", "-")
    if isinstance(done.exception, PerdureError):
        return 2, {}
    return done.exit_code, json.loads(done.stdout)


def fits(name: str, value: Any) -> None:
    """Assert that `value` is what the struct of the document called `name` says; raises what is wrong, and where."""
    msgspec.convert(value, document(name))
