"""Running one verb in this process, and checking its JSON against the schema that ships with it."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from typing import Any

import typer
from typer.testing import CliRunner, Result

__all__ = ["fits", "run_verb"]

_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def run_verb(verb: str, *arguments: object) -> Result:
    """`perdure VERB …`, wide enough for its tables; an error of ours is kept in `.exception`."""
    module = import_module(f"perdure.cli.{verb}")
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(verb, cls=getattr(module, "COMMAND", None))(getattr(module, verb))
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


def fits(name: str, value: Any) -> None:
    """Assert that `value` is what the schema called `name` describes."""
    _check(
        value, json.loads(files("perdure").joinpath(f"schemas/{name}.schema.json").read_text(encoding="utf-8")), name
    )


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    assert not types or any(_is(value, one) for one in types), f"{where} is {value!r}, not {types}"
    assert "enum" not in schema or value in schema["enum"], f"{where} is {value!r}"
    if isinstance(value, dict):
        known = schema.get("properties", {})
        assert set(schema.get("required", ())) <= set(value), f"{where} lacks {set(schema['required']) - set(value)}"
        for key, one in value.items():
            further = schema.get("additionalProperties", True)
            assert key in known or further is not False, f"{where} has {key}"
            _check(one, known.get(key, further if isinstance(further, dict) else {}), f"{where}.{key}")
    elif isinstance(value, list):
        assert len(value) >= schema.get("minItems", 0), where
        for at, one in enumerate(value):
            _check(one, schema.get("items", {}), f"{where}[{at}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), f"{where} is {value}"


def _is(value: Any, name: str) -> bool:
    if name in ("number", "integer"):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and (name == "number" or isinstance(value, int))
    return isinstance(value, _TYPES[name])
