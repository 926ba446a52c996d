"""JSON Schemas of inputs and outputs, generated from the Structs of protocols, settings and results.

`python scripts/schemas.py` writes them, and a test compares them with the Structs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["DOCUMENTS", "document", "schema"]

DOCUMENTS = {
    "score": "perdure.stats.groups:GroupedSurvey",
    "compare": "perdure.stats.systems:Comparisons",
    "plan": "perdure.stats.plan:Plan",
    "protocol": "perdure.runner.document:ProtocolTable",
    "syllabus": "perdure.schemas.syllabus:SYLLABUS",
}
"""Schema → its declaration."""


def document(name: str) -> Any:
    """Return the Struct of a document, or the schema of a syllabus."""
    module, _, attribute = DOCUMENTS[name].partition(":")
    declared = getattr(import_module(module), attribute)
    if name not in ("score", "compare"):
        return declared
    from perdure.schemas.structs import document_of, settings_document

    return document_of(declared, settings=settings_document()) if name == "score" else document_of(declared)


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema called `name`."""
    from perdure.schemas.structs import schema_of

    declared = document(name)
    return dict(declared) if isinstance(declared, dict) else schema_of(declared)
