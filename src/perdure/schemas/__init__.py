"""JSON Schemas of inputs and outputs.

`python scripts/schemas.py` writes those of protocols and results from their Structs, and a test compares them. That of
a syllabus is written by hand, because Structs cannot express its language.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from typing import Any

__all__ = ["DOCUMENTS", "SYLLABUS", "document", "schema"]

SYLLABUS = "syllabus"

DOCUMENTS = {
    "score": "perdure.stats.groups:GroupedSurvey",
    "compare": "perdure.stats.systems:Comparisons",
    "plan": "perdure.stats.plan:Plan",
    "protocol": "perdure.runner.document:ProtocolTable",
}
"""Schema → its declaration."""


def document(name: str) -> Any:
    """Return the Struct of a document."""
    module, _, attribute = DOCUMENTS[name].partition(":")
    declared = getattr(import_module(module), attribute)
    if name not in ("score", "compare"):
        return declared
    from perdure.schemas.structs import document_of, settings_document

    return document_of(declared, settings=settings_document()) if name == "score" else document_of(declared)


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema called `name`."""
    from perdure.schemas.structs import schema_of

    if name == SYLLABUS:
        return dict(json.loads((files("perdure.schemas") / "syllabus.schema.json").read_text(encoding="utf-8")))
    return schema_of(document(name))
