"""JSON Schemas of inputs and outputs, generated from the Structs of protocols and results.

`python scripts/schemas.py` writes them, and a test compares them with the Structs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["DOCUMENTS", "document", "schema"]

DOCUMENTS = {
    "score": "perdure.schemas.score:Scores",
    "compare": "perdure.schemas.compare:Comparisons",
    "plan": "perdure.stats.plan:Plan",
    "protocol": "perdure.runner.document:ProtocolTable",
    "syllabus": "perdure.schemas.syllabus:SYLLABUS",
}
"""Schema → where it is declared."""


def document(name: str) -> Any:
    """The struct of a document; of a syllabus its schema."""
    module, _, attribute = DOCUMENTS[name].partition(":")
    return getattr(import_module(module), attribute)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema called `name`, made from its declaration."""
    from perdure.schemas.structs import schema_of

    made = document(name)
    return dict(made) if isinstance(made, dict) else schema_of(made)
