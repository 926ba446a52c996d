"""JSON Schemas in the package match the declarations of the documents."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from perdure.scenario.grammar import SCENARIO_TYPES

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts.schemas import DOCUMENTS, FOLDER, SYLLABUS, schema, text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_packaged_schema_matches_its_declaration(name: str) -> None:
    shipped = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert shipped == text(name), "run python scripts/schemas.py"
    assert json.loads(shipped) == schema(name), "laying it out changes nothing"


def test_every_packaged_schema_is_declared() -> None:
    assert {file.name for file in FOLDER.glob("*.json")} == {f"{name}.schema.json" for name in (*DOCUMENTS, SYLLABUS)}


def test_the_schema_of_a_syllabus_knows_every_scenario_type() -> None:
    assert schema(SYLLABUS)["properties"]["scenario_type"]["enum"] == [*SCENARIO_TYPES]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_object_refuses_unknown_keys_and_has_a_description(name: str) -> None:
    json_schema = schema(name)
    for item in (json_schema, *json_schema.get("$defs", {}).values()):
        assert item["additionalProperties"] is False
        assert item["description"].endswith((".", "`"))


def test_docstrings_of_fields_and_properties_become_descriptions() -> None:
    estimate = schema("score")["$defs"]["Estimate"]
    assert estimate["properties"]["says"]["description"] == "The meaning of the word for these lifetimes."
    assert estimate["properties"]["why"]["description"].startswith("The reason for a missing number")
    assert estimate["properties"]["threshold"] == {"anyOf": [{"type": "number"}, {"type": "null"}]}


def test_keys_that_are_always_written_are_required() -> None:
    score = schema("score")
    assert score["properties"].keys() - set(score["required"]) == {"checksum"}
    assert schema("compare")["properties"].keys() - set(schema("compare")["required"]) == {"settings", "settings_from"}
