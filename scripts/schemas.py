"""Write the JSON Schemas that ship with Perdure from the declarations of its documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perdure.schemas import DOCUMENTS, schema

__all__ = ["FOLDER", "text"]

FOLDER = Path(__file__).parents[1] / "src" / "perdure" / "schemas"
_WIDTH = 120


def text(name: str) -> str:
    """Return the text of the schema file `name`."""
    return _laid_out(schema(name)) + "\n"


def _laid_out(value: Any, indent: str = "") -> str:
    """Format JSON so that short values stay on one line."""
    plain = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(plain) <= _WIDTH or not isinstance(value, dict | list):
        return plain
    deeper, ends = indent + "  ", "{}" if isinstance(value, dict) else "[]"
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    items = value.values() if isinstance(value, dict) else value
    lines = (f"{deeper}{key}{_laid_out(item, deeper)}" for key, item in zip(keys, items, strict=True))
    return ends[0] + "\n" + ",\n".join(lines) + f"\n{indent}{ends[1]}"


if __name__ == "__main__":
    for one in DOCUMENTS:
        (FOLDER / f"{one}.schema.json").write_text(text(one), encoding="utf-8")
