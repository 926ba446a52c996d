"""What outputs and inputs look like: a struct for each document, and the JSON Schemas made from them.

`python scripts/schemas.py` writes them, and a test says when they are not as the structs are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["DOCUMENTS", "document", "schema"]

DOCUMENTS = {
    "score": "perdure.schemas.score:Scores",
    "compare": "perdure.schemas.compare:Comparisons",
    "plan": "perdure.schemas.plan:Plan",
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
