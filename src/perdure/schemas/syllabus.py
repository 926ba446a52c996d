"""The JSON Schema of a syllabus, written by hand because structs cannot express its language."""

from __future__ import annotations

from typing import Any

from perdure.scenario.grammar import SCENARIO_TYPES

SYLLABUS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Syllabus",
    "description": "What a learner goes through: phases, episodes, and how often. "
    "The words with $ are those of the 2019 metrics framework, with Perdure's additions.",
    "type": "object",
    "required": ["instructions"],
    "properties": {
        "$schema": {"type": "string"},
        "name": {"type": "string", "description": "The scenario's name; the file's name where it is missing."},
        "author": {"type": "string"},
        "description": {"type": "string"},
        "complexity": {"enum": ["1-low", "2-intermediate", "3-high"]},
        "difficulty": {"enum": ["1-easy", "2-medium", "3-hard"]},
        "scenario_type": {
            "enum": [*SCENARIO_TYPES],
            "description": "CL and ANT-A, -B, -C make perdure lint apply the structure rules of 2019.",
        },
        "pre_deployment": {"description": "What the learner went through before this lifetime, in your own words."},
        "composed": {"type": "object", "description": "How perdure compose made this syllabus."},
        "tasks": {
            "type": "object",
            "description": "What is known of each task.",
            "additionalProperties": {"$ref": "#/$defs/task"},
        },
        "instructions": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/instruction"}},
    },
    "$defs": {
        "task": {
            "type": "object",
            "properties": {
                "env": {"type": "string", "description": "The environment, where it is not named as the task is."},
                "bounds": {
                    "type": "array",
                    "items": {"type": "number"},
                    "minItems": 2,
                    "maxItems": 2,
                    "description": "The lowest and the highest value that the measure can take.",
                },
                "variants": {
                    "type": "object",
                    "description": "The parameters of each $variant.",
                    "additionalProperties": {"$ref": "#/$defs/parameters"},
                },
            },
            "additionalProperties": False,
        },
        "instruction": {
            "oneOf": [
                {"$ref": "#/$defs/phase"},
                {"$ref": "#/$defs/repeat"},
                {"$ref": "#/$defs/episode"},
                {"$ref": "#/$defs/info"},
            ]
        },
        "phase": {
            "type": "object",
            "required": ["$phase"],
            "properties": {
                "$phase": {
                    "type": "string",
                    "pattern": "^(0\\.test|[1-9][0-9]{0,8}\\.(train|test))$",
                    "description": "1.train, 1.test, 2.train, …; 0.test: evaluated before any learning.",
                },
                "subtype": {"enum": ["wake", "sleep"]},
            },
            "additionalProperties": False,
        },
        "repeat": {
            "type": "object",
            "required": ["$repeat"],
            "properties": {
                "$repeat": {
                    "oneOf": [
                        {"$ref": "#/$defs/instruction"},
                        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/instruction"}},
                    ]
                },
                "count": {"type": "integer", "minimum": 1, "maximum": 1000000000},
                "steps": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "A length in environment steps instead of episodes; only around a single $episode.",
                },
            },
            "oneOf": [{"required": ["count"]}, {"required": ["steps"]}],
            "additionalProperties": False,
        },
        "episode": {
            "type": "object",
            "required": ["$episode"],
            "properties": {
                "$episode": {"type": "string", "minLength": 1, "description": "The task."},
                "$variant": {"type": "string", "pattern": "^[^_]+$", "description": "A name for this parameter set."},
            },
            "patternProperties": {"^[^$]": {"$ref": "#/$defs/parameter"}, "^$": {"$ref": "#/$defs/parameter"}},
            "additionalProperties": False,
        },
        "info": {
            "type": "object",
            "required": ["$info"],
            "properties": {
                "$info": {
                    "type": "object",
                    "properties": {"disable_updates": {"type": "boolean"}},
                    "description": "Holds until the next $info.",
                }
            },
            "additionalProperties": False,
        },
        "parameters": {
            "type": "object",
            "patternProperties": {"^[^$]": {"$ref": "#/$defs/parameter"}},
            "additionalProperties": False,
        },
        "parameter": {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/parameter"}},
                {"$ref": "#/$defs/distribution"},
                {"$ref": "#/$defs/parameters"},
            ]
        },
        "distribution": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {
                "$uniform": {"$ref": "#/$defs/pair", "description": "[low, high]"},
                "$normal": {"$ref": "#/$defs/pair", "description": "[mean, standard deviation]"},
                "$linear": {"$ref": "#/$defs/pair", "description": "[first, last], interpolated over the block"},
                "$choice": {"type": "array", "minItems": 1},
            },
            "additionalProperties": False,
        },
        "pair": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    },
}
