"""Run the notebooks of the documentation and keep their outputs (python scripts/notebooks.py); show them as pages."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["NOTEBOOKS", "executed", "page"]

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def executed(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run the cells in `folder`, one after the other, and return the notebook with their outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells: list[dict[str, Any]] = []
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            executed_cell = dict(cell)
            if cell["cell_type"] == "code":
                count = sum(cell["cell_type"] == "code" for cell in cells) + 1
                executed_cell |= {"execution_count": count, "outputs": _outputs("".join(cell["source"]), names, count)}
            cells.append(executed_cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the printed output of a cell and the display of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        for method, kind in (("_repr_html_", "text/html"), ("_repr_svg_", "image/svg+xml")):
            if hasattr(value, method):
                data[kind] = _lines(getattr(value, method)())
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def page(notebook: dict[str, Any], name: str) -> str:
    """Return the notebook as a Markdown page: text, code and outputs."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            picture = data.get("text/html") or data.get("image/svg+xml")
            text = "".join(output.get("text") or data.get("text/plain") or ())
            parts.append("".join(picture) if picture else f"```text\n{text.rstrip()}\n```")
    parts.insert(1, f"[The notebook itself]({name}.ipynb) runs in Jupyter as it stands.")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run every notebook in a folder of its own and write its outputs."""
    os.environ.setdefault("COLUMNS", "100")
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(json.loads(path.read_text()), Path(folder))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(path.name, file=sys.stderr)


if __name__ == "__main__":
    main()
