"""JSON Schema of the syllabus: it accepts the syllabi that lint accepts, and refuses mistakes that an editor can
detect.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from perdure.scenario.compose import compose
from perdure.scenario.lint import lint
from perdure.scenario.syllabus import syllabus_text

EXAMPLES = Path(__file__).parents[2] / "examples" / "syllabi"
SCHEMA: dict[str, Any] = json.loads(
    files("perdure").joinpath("schemas/syllabus.schema.json").read_text(encoding="utf-8")
)
TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value: Any, name: str) -> bool:
    if name in ("number", "integer"):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and (name == "number" or float(value).is_integer())
    return isinstance(value, TYPES[name])


def fits(value: Any, schema: Any) -> bool:
    """Check the part of JSON Schema that the syllabus schema uses."""
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema and not fits(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]):
        return False
    types = schema.get("type", [])
    if types and not any(is_type(value, name) for name in ([types] if isinstance(types, str) else types)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(fits(value, item) for item in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(fits(value, item) for item in schema["oneOf"]) != 1:
        return False
    if isinstance(value, dict):
        return fits_object(value, schema)
    if isinstance(value, list):
        return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)) and all(
            fits(item, schema.get("items", True)) for item in value
        )
    if isinstance(value, str):
        return len(value) >= schema.get("minLength", 0) and re.search(schema.get("pattern", ""), value) is not None
    if is_type(value, "number"):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def fits_object(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    if not set(schema.get("required", ())) <= set(value):
        return False
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        return False
    for key, inner in value.items():
        patterns = [item for pattern, item in schema.get("patternProperties", {}).items() if re.search(pattern, key)]
        known = [schema["properties"][key]] if key in schema.get("properties", {}) else []
        if not all(fits(inner, item) for item in (*known, *patterns)):
            return False
        if not known and not patterns and not fits(inner, schema.get("additionalProperties", True)):
            return False
    return True


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.stem)
def test_every_example_fits_the_schema(file: Path) -> None:
    assert fits(json.loads(file.read_text(encoding="utf-8")), SCHEMA)


@pytest.mark.parametrize("layout", ["condensed", "dispersed", "alternating", "permuted", "ant-a", "ant-b"])
def test_a_composed_syllabus_fits_the_schema(layout: str) -> None:
    assert fits(json.loads(syllabus_text(compose(layout, ["a", "b"], learn=30, evaluate=5))), SCHEMA)


@pytest.mark.parametrize(
    "instruction",
    [
        {"$epsiode": "Pong"},
        {"$phase": "1.Train"},
        {"$phase": "0.train"},
        {"$phase": "1.train", "subtype": "nap"},
        {"$repeat": {"$episode": "Pong"}},
        {"$repeat": {"$episode": "Pong"}, "count": 0},
        {"$repeat": {"$episode": "Pong"}, "count": 2.5},
        {"$repeat": {"$episode": "Pong"}, "count": 3, "steps": 5},
        {"$repeat": [], "count": 3},
        {"$episode": ""},
        {"$episode": "Pong", "$variant": "a_b"},
        {"$episode": "Pong", "w": {"$unifrom": [0, 1]}},
        {"$episode": "Pong", "w": {"$uniform": [0]}},
        {"$info": {"disable_updates": "yes"}},
        3,
    ],
)
def test_schema_and_lint_refuse_the_same_mistakes(instruction: Any) -> None:
    value = {"instructions": [{"$phase": "1.train"}, {"$episode": "Pong"}, instruction]}
    assert not fits(value, SCHEMA)
    assert not lint(json.dumps(value)).ok


def test_the_schema_has_exactly_the_words_of_the_language() -> None:
    from perdure.scenario.grammar import SCENARIO_TYPES
    from perdure.scenario.parameters import DISTRIBUTIONS

    assert SCHEMA["properties"]["scenario_type"]["enum"] == list(SCENARIO_TYPES)
    assert set(SCHEMA["$defs"]["distribution"]["properties"]) == set(DISTRIBUTIONS)
